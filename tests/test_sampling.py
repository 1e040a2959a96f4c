"""The default run has some cases of every kind, and `-m slow` has the whole lists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

CASES = """import pytest
from hypothesis import given, strategies as st
from sampling import examples

KINDS = [(kind, number) for kind in "ab" for number in range(7)]

@pytest.mark.sample(every=3, by=("kind",))
@pytest.mark.parametrize(("kind", "number"), KINDS)
def test_listed(kind, number): pass

tried = []
@examples(200)
@given(st.integers())
def test_property(number): tried.append(number)

@pytest.mark.sample(every=1)
def test_examples(): assert len(tried) == EXAMPLES

def test_plain(): pass
"""
CONFTEST = Path(__file__).parent / "conftest.py"
WORDS = ("-n", "0", "-vv", "-p", "no:cacheprovider", "-c", str(CONFTEST.parents[1] / "pyproject.toml"))


def ran(folder: Path, *words: str, examples: int) -> list[str]:
    """The tests that passed; none may fail."""
    (folder / "test_cases.py").write_text(CASES.replace("EXAMPLES", str(examples)))
    shutil.copy(CONFTEST, folder)
    command = [sys.executable, "-m", "pytest", *WORDS, *words, str(folder)]
    env = {**os.environ, "PYTHONPATH": str(CONFTEST.parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.findall(r"test_cases\.py::(\S+) PASSED", done.stdout)


def test_the_default_run_takes_every_third_of_every_kind(tmp_path: Path) -> None:
    passed = ran(tmp_path, examples=30)
    assert passed[-3:] == ["test_property", "test_examples", "test_plain"]
    starts = set()
    for kind in "ab":
        numbers = [int(name[-2]) for name in passed if name.startswith(f"test_listed[{kind}")]
        assert numbers == list(range(numbers[0], 7, 3))
        starts.add(numbers[0])
    assert len(starts) == 2  # the kinds do not leave out the same cases


def test_slow_takes_the_whole_list_and_all_examples(tmp_path: Path) -> None:
    passed = Counter(name.partition("[")[0] for name in ran(tmp_path, "-m", "slow", examples=200))
    assert passed == {"test_listed": 14, "test_property": 1, "test_examples": 1}
