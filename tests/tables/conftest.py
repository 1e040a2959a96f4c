"""Small tables on disk, and the problems that reading them gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evidentia.errors import Problem
from evidentia.tables import validate_run

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write lines (or bytes) to a file of the given name."""

    def writer(*lines: str | bytes, name: str = "run.csv") -> Path:
        raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
        path = tmp_path / name
        path.write_bytes(b"".join(line + b"\n" for line in raw))
        return path

    return writer


def only(problems: tuple[Problem, ...], code: str) -> str:
    """The message of the one problem of this code, and no other problem beside it."""
    assert [problem.code for problem in problems] == [code], problems
    return problems[0].message


def the_problem(path: object, code: str, **options: object) -> str:
    """The message of the only problem that a run has."""
    return only(validate_run(path, **options), code)


def says(message: str, *parts: str) -> None:
    """The message holds all of these."""
    for part in parts:
        assert part in message, f"{part!r} is not in: {message}"
