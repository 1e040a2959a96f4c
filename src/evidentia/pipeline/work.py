"""The work: every step of every fold learns on TRAIN, is asked about the other posts, and is kept; some folds at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.corpus.posts import rows_of
from evidentia.pipeline.plan import Division, Plan
from evidentia.pipeline.progress import Training, Watch, no_watch
from evidentia.pipeline.stage import Lesson, Parts, Stage, StepResult, View
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import GATE, Step, System
from evidentia.workers import in_processes


@dataclass(frozen=True, eq=False)
class FoldJob:
    """One fold to be run."""

    system: System
    posts: Posts
    division: Division
    store: Checkpoints
    threads: int = 1

    @property
    def is_done(self) -> bool:
        """Whether every step is kept."""
        return all(self.store.has(self.division.fold, step.name) for step in self.system)


def compute(plan: Plan, store: Checkpoints, *, workers: int, told: Callable[[Training], None] = no_watch) -> None:
    """Run all folds, some at a time (0 workers: one for every core); what is kept is not done again."""
    jobs = [FoldJob(plan.system, plan.posts, division, store) for division in plan.divisions()]
    cores = workers or os.cpu_count() or 1
    left = [job for job in jobs if not job.is_done]
    workers = min(cores, len(jobs))
    together = len(left) > 1 and workers > 1
    folds, steps = [job.division.fold for job in jobs], [step.name for step in plan.system]
    watch = Watch(folds, steps, workers if together else 1, told)

    def look() -> None:
        watch.look(store.spent())

    look()
    if together:
        in_processes(run_fold, _shared(left, cores), workers=workers, look=look)
        return
    for job in left:
        run_fold(job, look)


def _shared(jobs: list[FoldJob], cores: int) -> list[FoldJob]:
    """Folds share the cores; those of the last round, which may be fewer, have more of them."""
    together = min(cores, len(jobs))
    first = len(jobs) - (len(jobs) % together or together)
    share = [together] * first + [len(jobs) - first] * (len(jobs) - first)
    return [replace(job, threads=cores // number) for job, number in zip(jobs, share, strict=True)]


def run_fold(job: FoldJob, look: Callable[[], None] | None = None) -> None:
    """Every step of one fold, one after the other, with a look at each that is done.

    The linear algebra keeps to one thread, so bytes do not depend on cores.
    """
    import sklearn.ensemble  # noqa: F401 - a limit only holds for libraries that are there when it is set
    from threadpoolctl import threadpool_limits

    fold = job.division.fold
    with threadpool_limits(limits=1):
        view = View.of(job.posts)
        assert job.posts.gold is not None
        for number, step in enumerate(job.system):
            if job.store.has(fold, step.name):
                scores = job.store.scores(fold, step.name)
            else:
                seed = job.system.seed + 1000 * number
                began = time.perf_counter()
                result = run_step(step, view, job.division, job.posts.gold, seed=seed, threads=job.threads)
                job.store.write(fold, step.name, result, seconds=time.perf_counter() - began)
                scores = result.scores
                if look is not None:
                    look()
            if step.name != GATE:
                view = after(view, step.name, scores, cut_of(step, job.store, fold))


def cut_of(step: Step, store: Checkpoints, fold: str) -> int | None:
    """How many candidates a step lets through in a fold."""
    return step.cut(lambda: store.parts(fold, step.name)["model"])


def after(view: View, name: str, scores: Floats, keep: int | None) -> View:
    """The view once a step has spoken and cut."""
    updated = view.with_scores(name, scores)
    return updated if keep is None else updated.narrowed(name, keep)


def run_step(step: Step, view: View, division: Division, gold: Bools, *, seed: int, threads: int = 1) -> StepResult:
    """Learn a step on TRAIN and ask it about everything."""
    stage, train = step.stage, division.train
    space = stage.space(view.take(train))
    inputs = stage.inputs(space, view)
    taught = _Taught(stage, space, inputs, division, gold, view.posts.offsets)
    if not stage.learns:
        (model,) = taught.fit([train], seed)
        return StepResult(space, model, stage.score(space, model, inputs))
    parts = [] if stage.per == "post" else [division.part == part for part in np.unique(division.part).tolist()]
    model, *others = taught.fit([train, *(train[~unseen] for unseen in parts)], seed, threads)
    scores = np.zeros((len(view.posts) if stage.per == "post" else len(view.posts.texts), len(view.posts.criteria)))
    taught.ask(model, division.others, scores)
    for other, unseen in zip(others, parts, strict=True):
        taught.ask(other, train[unseen], scores)
    return StepResult(space, model, scores)


@dataclass(frozen=True, eq=False)
class _Taught:
    """A stage before its posts: taught about some of them, asked about others."""

    stage: Stage
    space: Parts
    inputs: Any
    division: Division
    gold: Bools
    offsets: Ints

    def fit(self, each: Sequence[Ints], seed: int, threads: int = 1) -> list[Parts]:
        """Learn from each set of posts a model of its own."""
        lessons = [self.lesson(posts) for posts in each]
        return self.stage.fit_each(self.inputs, lessons, seed=seed, threads=threads)

    def lesson(self, posts: Ints) -> Lesson:
        """Some posts to learn from. Only their gold and that of TUNE is handed over."""
        seen = rows_of(np.concatenate([posts, self.division.tune]), self.offsets)
        visible = np.zeros_like(self.gold)
        visible[seen] = self.gold[seen]
        return Lesson(posts, self.division.tune, visible)

    def ask(self, model: Parts, posts: Ints, scores: Floats) -> None:
        """Write down what a model says of some posts."""
        rows = posts if self.stage.per == "post" else rows_of(posts, self.offsets)
        answer = self.stage.score(self.space, model, self.inputs.take(posts))
        assert answer.shape == (len(rows), scores.shape[1])
        scores[rows] = answer
