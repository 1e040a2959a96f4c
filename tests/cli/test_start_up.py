"""The command as a program: help at once, completion, versions, and a reader that goes away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evidentia
from builders.runs import Files

from .command import PLAIN, evidentia_apart, program
from .command import evidentia as evidentia_here

COMMANDS = (
    "evaluate",
    "compare",
    "selective",
    "validate",
    "measures",
    "explain",
    "tune",
    "power",
    "synth",
    "demo",
    "corpus",
    "run",
    "ablate",
    "predict",
    "table",
)
HEAVY = ("numpy", "scipy", "polars", "pandas", "pyarrow", "sklearn", "matplotlib", "torch", "jinja2")


def test_version() -> None:
    ran = evidentia_apart("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"evidentia {evidentia.__version__}\n", "")


@pytest.mark.parametrize("words", [[], ["evaluate"]], ids=["the program", "a command"])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    script = (
        "import sys; sys.argv = ['evidentia', *sys.argv[1:], '--help']\n"
        "from evidentia.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **PLAIN},
        check=False,
    )
    assert "Usage: evidentia" in done.stdout
    assert done.stdout.splitlines()[-1] == "LOADED []", done.stderr


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = f"import sys, evidentia; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], encoding="utf-8") == "[]\n"


def test_every_command_is_listed_with_what_it_does() -> None:
    ran = evidentia_apart("--help")
    assert ran.code == 0
    for command in COMMANDS:
        assert any(line.startswith(f"│ {command} ") and len(line.split()) > 4 for line in ran.out.splitlines()), command
    assert "--show-completion" in ran.out
    assert "not a medical device" in ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_its_own(command: str) -> None:
    ran = evidentia_here(command, "-h")
    assert (ran.code, ran.err) == (0, "")
    assert f"Usage: evidentia {command} " in ran.out
    assert "--help" in ran.out


def test_without_a_command_the_help_is_shown() -> None:
    ran = evidentia_apart()
    assert "Usage: evidentia" in ran.out + ran.err
    assert "Traceback" not in ran.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_shell_completion_knows_the_commands() -> None:
    ran = evidentia_apart(env={"_EVIDENTIA_COMPLETE": "source_bash"})
    assert "_evidentia_completion" in ran.out
    asked = {"_EVIDENTIA_COMPLETE": "complete_bash", "COMP_WORDS": "evidentia e", "COMP_CWORD": "1"}
    assert evidentia_apart(env=asked).out.split() == ["evaluate", "explain"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.sample(every=4)
@pytest.mark.parametrize(
    "words", ["measures", "measures --names", "explain MAP@10", "evaluate RUN --json", "evaluate RUN"]
)
def test_a_reader_that_goes_away_is_no_error(words: str, files: Files) -> None:
    line = " ".join([*program(), words.replace("RUN", str(files.per_query))])
    script = f'{line} | head -c 1 > /dev/null; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", script],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **PLAIN, "PYTHONUNBUFFERED": "1"},
    )
    assert done.stderr == ""
    assert done.stdout in {"0\n", "141\n"}  # done, or ended by the pipe; 1 would say that a check failed


@pytest.mark.parametrize("resamples", ["0", "20"])
def test_an_evaluation_does_not_load_what_it_does_not_need(resamples: str, files: Files, tmp_path: Path) -> None:
    """scipy.stats alone takes as long to import as the contract takes to compute."""
    words = [
        "evaluate",
        str(files.per_query),
        "-q",
        "--no-report",
        "--resamples",
        resamples,
        "-o",
        str(tmp_path / "out"),
    ]
    script = (
        f"import sys; sys.argv = ['evidentia', *{words!r}]\n"
        "from evidentia.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "unwanted = ('scipy.stats', 'sklearn', 'torch', 'jinja2', 'rich', 'vl_convert')\n"
        "print('LOADED', [name for name in unwanted if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", env={**os.environ, **PLAIN}, check=False
    )
    assert done.stdout.splitlines()[-1] == "LOADED []", done.stderr
