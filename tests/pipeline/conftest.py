"""One run that nobody disturbs, for all tests that disturb one."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from .stopping import begin, cheap

WORDS = ("--resamples", 20, "--no-report")


@dataclass(frozen=True)
class Whole:
    """A configuration, the folder of its undisturbed run, and what it was asked."""

    config: Path
    out: Path
    words: tuple[object, ...] = WORDS


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The undisturbed run, made once for all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    home = shared / "undisturbed"
    home.mkdir(exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = Whole(cheap(home), home / "whole")
        if not (made.out / "manifest.json").exists():
            started = begin(made.config, made.out, *made.words)
            assert started.wait() == 0, started.words
            assert not (made.out / "work").exists()
    return made
