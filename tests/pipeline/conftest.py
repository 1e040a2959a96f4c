"""No test of a model reaches for the network or takes more than a thread; and one run that nobody disturbs, for tests that do."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from .stopping import begin, cheap

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
WORDS = ("--resamples", 20, "--no-report")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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
