"""One bootstrap driver: blocks of replicates on all cores, in order; the results do not depend on how many cores there are."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats
from evidentia.stats.resampling import Plan

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
Progress = Callable[[int, int], None]


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


def each_block(read: Callable[[Floats], T], plan: Plan, progress: Progress | None = None) -> Iterator[tuple[slice, T]]:
    """Yield, block by block in order, which replicates it holds and what ``read`` makes of their weights."""

    def work(rows: slice, weights: Floats) -> tuple[slice, T]:
        return rows, read(weights)

    for rows, values in in_threads(work, plan.blocks()):
        yield rows, values
        if progress is not None:
            progress(rows.stop, plan.resamples)


def over_replicates(
    read: Callable[[Floats], Mapping[Key, NDArray[Any]]], plan: Plan, progress: Progress | None = None
) -> dict[Key, NDArray[Any]]:
    """Join what ``read`` makes of the weights (clusters x replicates) of every block; replicates are the last axis."""
    values: dict[Key, NDArray[Any]] = {}
    for rows, block in each_block(read, plan, progress):
        for key, part in block.items():
            if key not in values:
                values[key] = np.empty((*part.shape[:-1], plan.resamples), part.dtype)
            values[key][..., rows] = part
    return values


def part_of(progress: Progress | None, done: int, of: int) -> Progress | None:
    """Report one of several equal parts of a job as the share of the whole that it is."""
    return None if progress is None else lambda step, steps: progress(done * steps + step, of * steps)
