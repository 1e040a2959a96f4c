"""The folds, some at a time: every step is kept when it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass

from evidentia.array_types import Floats
from evidentia.corpus import Posts
from evidentia.pipeline.fold import Division, run_step
from evidentia.pipeline.stage import View
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import GATE, System
from evidentia.pipeline.workers import Workers, block_signals

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Job:
    """One fold to be run."""

    system: System
    posts: Posts
    division: Division
    store: Checkpoints


def run_jobs(jobs: Sequence[Job], *, workers: int, progress: Progress | None = None) -> None:
    """Run every fold, some at a time; what is already kept is not done again."""
    total = sum(len(tuple(job.system)) for job in jobs)
    left = [job for job in jobs if not all(job.store.has(job.division.fold, step.name) for step in job.system)]
    if len(left) <= 1 or workers <= 1:
        for job in left:
            run_fold(job)
            _tell(progress, jobs, total)
        return
    _in_processes(left, jobs, workers, progress)


def _in_processes(left: Sequence[Job], jobs: Sequence[Job], workers: int, progress: Progress | None) -> None:
    """A process for each fold, some at a time."""
    total, started = sum(len(tuple(job.system)) for job in jobs), Workers()
    with ThreadPoolExecutor(workers, initializer=block_signals) as threads:
        try:
            waiting = {threads.submit(started.run, run_fold, job) for job in left}
            while waiting:
                done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                _tell(progress, jobs, total)
        finally:  # after an error, or the keyboard, nobody needs what the others are doing
            started.stop()
            threads.shutdown(cancel_futures=True)


def _tell(progress: Progress | None, jobs: Sequence[Job], total: int) -> None:
    if progress is not None:
        progress(jobs[0].store.count(), total)


def run_fold(job: Job) -> None:
    """Every step of one fold, one after the other; the linear algebra keeps to one thread, so bytes do not depend on cores."""
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
                outcome = run_step(step, view, job.division, job.posts.gold, seed=seed)
                job.store.write(fold, step.name, outcome, seconds=time.perf_counter() - began)
                scores = outcome.scores
            if step.name != GATE:
                view = after(view, step.name, scores, step.keep)


def after(view: View, name: str, scores: Floats, keep: int | None) -> View:
    """The view once a step has spoken and cut."""
    updated = view.with_scores(name, scores)
    return updated if keep is None else updated.narrowed(name, keep)
