"""Blocks of work on all cores, in order; the results do not depend on how many there are."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_threads(work: Callable[..., T], tasks: Iterable[tuple[object, ...]], workers: int | None = None) -> Iterator[T]:
    """Run ``work(*task)`` for every task and yield the results in order, with few tasks in flight so that memory is bounded.

    The linear algebra library is held to one thread meanwhile: its own threads would fight with these over the cores.
    """
    from threadpoolctl import threadpool_limits

    workers = workers or os.cpu_count() or 1
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[T]] = deque()
        for task in tasks:
            if len(waiting) > workers:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, *task))
        while waiting:
            yield waiting.popleft().result()
