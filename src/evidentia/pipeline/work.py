"""The folds in processes of their own: every step is kept when it is done, and nobody outlives the command."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as ready
from multiprocessing.process import BaseProcess

from evidentia.corpus import Posts
from evidentia.errors import EvidentiaError, OutputError, WorkerError, place_of
from evidentia.pipeline.fold import Division, run_step
from evidentia.pipeline.stage import View
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import GATE, System
from evidentia.tables.queries import Floats

Progress = Callable[[int, int], None]
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_LOOK_EVERY = 1.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
    with _single_threaded_children():
        _in_processes(left, jobs, workers, progress)


def _in_processes(left: Sequence[Job], jobs: Sequence[Job], workers: int, progress: Progress | None) -> None:
    """A process for each fold, some at a time.

    A pool would hand jobs over by a thread that waits for ever where the readers are gone: here only this thread writes, and only
    while it starts a process that reads.
    """
    total, waiting = sum(len(tuple(job.system)) for job in jobs), list(left)
    running: dict[Connection, BaseProcess] = {}
    resource_tracker.ensure_running()  # starting it opens our ears again, so before anybody else is started
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                _start(waiting.pop(0), running)
            for reader in ready(list(running), timeout=0.5):
                assert isinstance(reader, Connection)
                _hear(reader)
                running.pop(reader).join()
            _tell(progress, jobs, total)
    finally:  # after an error, or the keyboard, nobody needs what the others are doing
        for process in running.values():
            process.kill()
            process.join()


def _start(job: Job, running: dict[Connection, BaseProcess]) -> None:
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_run_apart, args=(job, writer, os.getpid()), daemon=True)
    with _deaf_to_the_keyboard():
        process.start()
    writer.close()  # the worker has its own end: when it dies, ours says so
    running[reader] = process


def _hear(reader: Connection) -> None:
    """Raise what went wrong in a worker, if anything did."""
    try:
        error, told = reader.recv()
    except EOFError:
        raise OutputError(
            "A worker was killed (not enough memory?). What was done is kept: continue with --resume, perhaps with fewer --workers."
        ) from None
    if error is not None:
        raise error from (None if told is None else RuntimeError(told))  # shown where EVIDENTIA_DEBUG asks for it


@contextmanager
def _deaf_to_the_keyboard() -> Iterator[None]:
    """What is started here never hears Ctrl-C, from its first moment on: only the parent does, which then ends the others.

    Nor do its threads end everything where a pipe breaks, as the one to a worker that was killed does. The parent itself waits with
    Ctrl-C, which another of its threads may take, until the worker has all that it needs to start.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGPIPE})
    pressed: list[int] = []
    usual = None
    if threading.current_thread() is threading.main_thread():
        usual = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if usual is not None:
            signal.signal(signal.SIGINT, usual)
        if pressed:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Children take one thread each: more of them than cores would wait for each other, busily."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _tell(progress: Progress | None, jobs: Sequence[Job], total: int) -> None:
    if progress is not None:
        progress(jobs[0].store.count(), total)


def _prepare(parent: int) -> None:
    """In a worker: end with the parent, and leave the keyboard to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed while we were starting
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """Where the system does not tell: look whether the parent is still there."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os._exit(1)


def _run_apart(job: Job, writer: Connection, parent: int) -> None:
    """Run a fold in a worker. A bug goes back as its kind and place: an exception's words may hold text, or not travel."""
    _prepare(parent)
    try:
        run_fold(job)
    except (EvidentiaError, MemoryError) as error:
        writer.send((error, None))
    except Exception as error:
        writer.send((WorkerError(place_of(error)), traceback.format_exc()))
    else:
        writer.send((None, None))


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
    heard = view.heard(name, scores)
    return heard if keep is None else heard.narrowed(name, keep)
