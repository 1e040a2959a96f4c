"""Folds in processes of their own: they end with their parent, and what goes wrong in them is said once, without text."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evidentia.corpus import Posts
from evidentia.errors import InputError, OutputError, WorkerError, place_of
from evidentia.pipeline.plan import Plan
from evidentia.pipeline.stage import Lesson, Parts
from evidentia.pipeline.stages.classifiers import Lexical
from evidentia.pipeline.stages.gate import BestCandidate
from evidentia.pipeline.stages.retrievers import Bm25
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import Step, System
from evidentia.pipeline.work import compute
from evidentia.synth import synthetic_corpus

from .conftest import Whole
from .stopping import begin, checkpoints, kill, until

SECRET = "I have not slept in days"
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")


class UntoldError(Exception):
    """An exception that can be sent to another process, and not be received there."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


@dataclass(frozen=True)
class Failing(Lexical):
    """A stage that fails as it learns."""

    how: str = "input"

    def fit_each(self, inputs: Any, lessons: Sequence[Lesson], *, seed: int, threads: int = 1) -> list[Parts]:
        if self.how == "input":
            raise InputError("The corpus is too small.", "Give more posts.")
        if self.how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "untold":
            raise UntoldError(SECRET, SECRET)
        raise ValueError(SECRET)


@pytest.fixture(scope="module")
def posts() -> Posts:
    return synthetic_corpus(posts=24, mean_sentences=6)


def plan_of(posts: Posts, stage: Lexical) -> Plan:
    steps = (Step("retriever", Bm25(), 8), Step("words", stage))
    return Plan.of(System(steps, Step("gate", BestCandidate("words"))), posts, folds=2, final=False)


def steps_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/*"))


def test_an_input_error_in_a_worker_arrives_whole(posts: Posts, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^The corpus is too small.\nGive more posts.$") as raised:
        compute(plan_of(posts, Failing()), Checkpoints(tmp_path), workers=2)
    assert [problem.message for problem in raised.value.problems] == ["The corpus is too small.", "Give more posts."]
    assert {step for step in steps_in(tmp_path) if "/." not in step} <= {"0/retriever", "1/retriever"}


@pytest.mark.slow
@pytest.mark.parametrize(("how", "kind"), [("bug", "ValueError"), ("untold", "UntoldError")])
def test_a_bug_in_a_worker_arrives_as_its_kind_and_place_without_its_words(
    how: str, kind: str, posts: Posts, tmp_path: Path
) -> None:
    with pytest.raises(WorkerError, match=rf"^{kind} in test_work.py, line \d+$") as raised:
        compute(plan_of(posts, Failing(how=how)), Checkpoints(tmp_path), workers=2)
    assert place_of(raised.value) == raised.value.place
    assert SECRET in str(raised.value.__cause__)  # for EVIDENTIA_DEBUG, which asks for it


@pytest.mark.slow
def test_a_worker_that_is_killed_is_said(posts: Posts, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"^A worker was killed \(not enough memory\?\). What was done is kept"):
        compute(plan_of(posts, Failing(how="killed")), Checkpoints(tmp_path), workers=2)


@pytest.mark.slow
def test_the_signals_of_the_parent_are_as_before(posts: Posts, tmp_path: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    compute(plan_of(posts, Lexical()), Checkpoints(tmp_path), workers=2)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert steps_in(tmp_path) == [f"{fold}/{step}" for fold in "01" for step in ("gate", "retriever", "words")]


def test_kept_steps_are_not_done_again(posts: Posts, tmp_path: Path) -> None:
    store = Checkpoints(tmp_path)
    compute(plan_of(posts, Lexical()), store, workers=1)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    compute(plan_of(posts, Failing()), store, workers=1)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@linux
@pytest.mark.sample(every=2)
@pytest.mark.parametrize("after", [0, 1])
def test_workers_end_with_their_parent(after: int, whole: Whole, tmp_path: Path) -> None:
    """Also while they are still being started, and have not yet asked to end with it."""
    (tmp_path / "pipeline.toml").write_bytes(whole.config.read_bytes())
    started = begin(tmp_path / "pipeline.toml", tmp_path / "out", "--workers", 2, *whole.words)
    assert until(lambda: len(started.children()) >= 2, started)
    assert until(lambda: checkpoints(tmp_path / "out") >= after, started)
    assert kill(started)
