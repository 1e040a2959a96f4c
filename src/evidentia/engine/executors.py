"""Where blocks are worked on: processes of this machine, or the workers of a Dask cluster; results come in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, Protocol, TypeVar

from evidentia.errors import EvidentiaError, InputError, Problem, counted
from evidentia.workers import end_with

Task = TypeVar("Task")
Result = TypeVar("Result")
ATTEMPTS = 3  # how often a task is given to another worker when one dies over it
PATIENCE = 20  # seconds for a scheduler to answer, and for its first worker to be there
AHEAD = 2  # tasks in flight for each worker: one in work, one that waits
WORKER = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
WORKER |= dict.fromkeys(
    ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(64 << 20)
)  # what is freed is used again


class Executor(Protocol):
    """Something that runs a function over tasks."""

    workers: int

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """The results in the order of the tasks, with few in flight."""


class Refused:
    """The problems of a task, as a result: an exception would lose their codes on its way."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems


def _answer(work: Callable[[Task], Result], task: Task) -> Result | Refused:
    try:
        return work(task)
    except InputError as error:
        return Refused(error.problems)


def _opened(answer: Result | Refused) -> Result:
    if isinstance(answer, Refused):
        raise InputError(*answer.problems)
    return answer


class LocalProcesses:
    """Processes of this machine, one core each. A process that dies is replaced, and its tasks are done again."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """The results in the order of the tasks; after the third death over one block there is an error."""
        at, deaths = 0, 0
        while at < len(tasks):
            try:
                for answer in self._pooled(partial(_answer, work), tasks[at:]):
                    yield _opened(answer)
                    at, deaths = at + 1, 0
            except BrokenProcessPool:
                deaths += 1
                if deaths == ATTEMPTS:
                    raise EvidentiaError(
                        f"A worker died {ATTEMPTS} times over block {at + 1} of {len(tasks)}, perhaps for want of memory. "
                        "Give less --memory, which makes blocks smaller, or fewer --workers."
                    ) from None

    def _pooled(self, work: Callable[[Task], Any], tasks: Sequence[Task]) -> Iterator[Any]:
        context = multiprocessing.get_context("spawn")
        number, of_parent = min(self.workers, len(tasks)), (os.getpid(),)
        with (
            _one_thread(),
            ProcessPoolExecutor(number, context, initializer=end_with, initargs=of_parent) as pool,
        ):
            waiting: deque[Future[Any]] = deque()
            try:
                for task in tasks:
                    waiting.append(pool.submit(work, task))
                    if len(waiting) >= AHEAD * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes that are started now use one core each, and keep some of the memory that they free."""
    before = {name: os.environ.get(name) for name in WORKER}
    os.environ.update(WORKER)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class DaskWorkers:
    """The workers of a Dask cluster: one that is there by its address, or one of this machine."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        try:
            distributed: Any = import_module("distributed")  # most of it has no types
        except ImportError:
            raise InputError(
                "--engine dask needs the distributed extra: pip install 'evidentia[distributed]'."
            ) from None
        if address is None:
            with _one_thread():
                self.cluster: Any = distributed.LocalCluster(
                    n_workers=workers or os.cpu_count() or 1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                )
        else:
            self.cluster = None
        try:
            self.client: Any = distributed.Client(self.cluster if address is None else address, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError):
            raise InputError(
                f"There is no Dask scheduler at {address}. Give --engine dask:HOST:PORT, or dask alone for one of this machine."
            ) from None
        try:
            self.client.wait_for_workers(workers or 1, timeout=PATIENCE)
        except TimeoutError:
            self.close()
            raise InputError(
                f"After {PATIENCE} s the Dask scheduler at {address or 'this machine'} has not got "
                f"{counted(workers or 1, 'worker')}. Start some with dask worker ADDRESS, or ask for fewer --workers."
            ) from None
        workers_there = self.client.scheduler_info(n_workers=-1)["workers"].values()
        self.workers = sum(worker["nthreads"] for worker in workers_there)  # a thread more is a block more in memory

    @property
    def dashboard(self) -> str:
        """Where the progress of the cluster is shown."""
        return str(self.client.dashboard_link)

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """The results in the order of the tasks; the scheduler gives the tasks of a dead worker to another."""
        distributed: Any = import_module("distributed")

        waiting: deque[Any] = deque()
        answer = partial(_answer, work)
        try:
            for task in tasks:
                waiting.append(self.client.submit(answer, task, pure=False))
                if len(waiting) >= AHEAD * self.workers:
                    yield _opened(waiting.popleft().result())
            while waiting:
                yield _opened(waiting.popleft().result())
        except distributed.KilledWorker:
            raise EvidentiaError(
                "Dask's workers died over one block again and again, perhaps for want of memory. Give less --memory, which "
                "makes blocks smaller."
            ) from None
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Let go of the cluster, and end it where it is ours."""
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()


@contextmanager
def executor_named(name: str, workers: int | None = None) -> Iterator[LocalProcesses | DaskWorkers]:
    """The executor of ``local``, ``dask`` or ``dask:ADDRESS``."""
    if workers is not None and workers < 1:
        raise InputError(f"There cannot be {workers} workers. Give --workers 1 or more.")
    kind, _, address = name.partition(":")
    with _closed_pipes_as_errors():
        if kind == "local" and not address:
            yield LocalProcesses(workers)
            return
        if kind != "dask":
            raise InputError(f"There is no engine {name!r}. Engines are: local, dask, dask:HOST:PORT.")
        cluster = DaskWorkers(address or None, workers)
        try:
            yield cluster
        finally:
            cluster.close()


@contextmanager
def _closed_pipes_as_errors() -> Iterator[None]:
    """Let a worker that dies not end us too: the command stops like others when a pipe closes, and this is a pipe to the worker."""
    if not hasattr(signal, "SIGPIPE") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)
