"""What the tests of the configuration share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evidentia.errors import InputError
from evidentia.pipeline.config import Config, parse_config, read_config

LEAST = {"corpus": {"path": "synthetic"}}


def config(**tables: Any) -> Config:
    return parse_config(LEAST | tables, base=Path())


def problems(content: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        parse_config(content, base=Path(), name="run.toml")
    return [(problem.code, problem.message) for problem in caught.value.problems]


def the_problem(**tables: Any) -> tuple[str, str]:
    (found,) = problems(LEAST | tables)
    return found


def refused(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_config(path)
    assert [problem.code for problem in caught.value.problems] == ["CONFIG_TOML"]
    return str(caught.value)
