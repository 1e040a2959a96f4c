"""Run the command: in a process of its own where that matters, else in this one, which is much faster."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from evidentia.cli.main import main

PROGRESS = re.compile(r"evidentia: fold \w+ \w+ \d+\.\d s \(\d+ of \d+ stages(, about [^)]+ left)?\)\n")
PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


def _words(words: tuple[object, ...]) -> list[str]:
    """The words of a command; without intervals unless it asks for them, since those have tests of their own."""
    plain = [str(word) for word in words]
    if plain and plain[0] in {"evaluate", "demo"} and not any(word.startswith("--resamples") for word in plain):
        plain += ["--resamples", "0"]
    return plain


def evidentia(*words: object) -> Ran:
    """Run `evidentia WORDS...` here. An exception that the command lets through is raised: a user would see a traceback."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["evidentia", *_words(words)]
    pipes = signal.getsignal(signal.SIGPIPE)
    with patch.dict(os.environ, PLAIN), patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            signal.signal(signal.SIGPIPE, pipes)  # a pipe to another process must not end the tests
    return Ran(code, out.getvalue(), err.getvalue())


def evidentia_apart(*words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """Run `evidentia WORDS...` in a process of its own, as a user does."""
    done = subprocess.run(
        [*program(), *_words(words)],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, **PLAIN, **(env or {})},
        check=False,
        timeout=600,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def program() -> list[str]:
    """The installed command, else the module that it starts."""
    installed = Path(sys.executable).parent / "evidentia"
    return [str(installed)] if installed.is_file() else [sys.executable, "-m", "evidentia.cli.main"]


def refused(ran: Ran, *parts: str) -> None:
    """The command refused to work: exit code 2, a message on stderr that holds these parts, nothing else."""
    assert ran.code == 2, ran
    assert ran.out == ""
    assert "Traceback" not in ran.err
    for part in parts:
        assert part in ran.err, f"{part!r} is not in: {ran.err}"


def without_progress(err: str) -> str:
    """What a command said beside the stages that it has done."""
    return PROGRESS.sub("", err)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, also hidden ones, by its path."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
