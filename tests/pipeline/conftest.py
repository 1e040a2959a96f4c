"""No test of a model reaches for the network or takes more than a thread; and one run that nobody disturbs, for tests that do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from sharing import shared_folder

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

    def make(home: Path) -> None:
        started = begin(cheap(home), home / "whole", *WORDS)
        assert started.wait() == 0, started.words
        assert not (home / "whole" / "work").exists()

    home = shared_folder(tmp_path_factory, "undisturbed", make)
    return Whole(home / "pipeline.toml", home / "whole")
