"""Resampling: which clusters each replicate draws, the same for everything, and the one driver that runs over all of them.

Replicate b of the exact bootstrap draws ``Generator(Philox(key=[seed, b])).integers(n, size=n)``, so that any block, thread or
machine can make any replicate alone. The Poisson bootstrap weighs each cluster by its name (see ``poisson``), so that any of them
can also make any part of the clusters alone.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.stats.poisson import Words, poisson_weights

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
Progress = Callable[[int, int], None]
Multiplicities = NDArray[np.uint16]
CACHED = 1 << 27  # multiplicities kept in memory rather than drawn again for every pass
RAW_CELLS = 1 << 15  # draws made at once
BLOCK_CELLS = 3 << 19  # multiplicities in work at once


@dataclass(frozen=True, eq=False)
class ResamplingPlan:
    """Clusters 0..n-1, drawn with replacement; within each stratum separately where there are strata."""

    clusters: int
    resamples: int
    seed: int
    strata: tuple[Ints, ...] | None = None
    block: int | None = None  # replicates at once; None chooses by memory, and the results are the same
    scaled: ClassVar[bool] = False  # every replicate draws n clusters
    _cache: dict[str, Multiplicities] = field(default_factory=dict, repr=False)
    _made: list[int] = field(default_factory=lambda: [0], repr=False)  # replicates in the cache

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Which replicates, and how often each of them draws every cluster (clusters x replicates)."""
        for rows in _parts(self.resamples, self.block or block_size(self.clusters)):
            yield rows, np.ascontiguousarray(self.multiplicities(rows.start, rows.stop).T, np.float64)

    def multiplicities(self, start: int, stop: int) -> Multiplicities:
        """How often the replicates from ``start`` to ``stop`` draw every cluster."""
        if self.clusters * self.resamples > CACHED:
            return self._draw(start, stop)
        if "all" not in self._cache:
            self._cache["all"] = np.empty((self.resamples, self.clusters), np.uint16)
        drawn, ready = self._cache["all"], self._made[0]
        if stop > ready:  # as far as asked for, so that the first blocks are in work while later ones are drawn
            drawn[ready:stop] = self._draw(ready, stop)
            self._made[0] = stop
        return drawn[start:stop]

    def _draw(self, start: int, stop: int) -> Multiplicities:
        if self.strata is None:
            return _counted(self.clusters, self.seed, range(start, stop))
        drawn = np.empty((stop - start, self.clusters), np.uint16)
        source = _Source(self.seed)
        for row, replicate in enumerate(range(start, stop)):
            generator = source.at(replicate)
            picks = np.concatenate([part[generator.integers(len(part), size=len(part))] for part in self.strata])
            drawn[row] = np.bincount(picks, minlength=self.clusters)
        return drawn


@cache
def _key(seed: int) -> int:
    """The seed as numpy reads it: one beyond 63 bits is rounded."""
    state: Any = np.random.Philox(key=[seed, 0]).state
    return int(state["state"]["key"][0])


class _Source:
    """Generators at the start of any replicate: the same as ``Generator(Philox(key=[seed, b]))``, without building it anew."""

    def __init__(self, seed: int) -> None:
        self.bits = np.random.Philox(0)  # for one with a key numpy asks the system for entropy, which is slow
        self.generator = np.random.Generator(self.bits)
        state: Any = self.bits.state
        self.key = [_key(seed), 0]  # lists: numpy is slow to read its own arrays one by one
        self.fresh: Any = state | {"state": {"counter": [0, 0, 0, 0], "key": self.key}, "buffer": [0, 0, 0, 0]}

    def at(self, replicate: int) -> np.random.Generator:
        """The generator, set to where a replicate starts."""
        self.key[1] = replicate
        self.bits.state = self.fresh
        return self.generator

    def words(self, replicates: range, width: int) -> NDArray[np.uint64]:
        """The first raw words of some replicates, a row each."""
        key, bits, fresh, draw, rows = self.key, self.bits, self.fresh, self.bits.random_raw, []
        for replicate in replicates:  # in one loop: calls cost as much as the numbers
            key[1] = replicate
            bits.state = fresh
            rows.append(draw(width))
        return np.concatenate(rows).reshape(len(rows), width)


def _counted(clusters: int, seed: int, replicates: range) -> Multiplicities:
    """How often each replicate draws every cluster, a few replicates at once.

    ``integers`` costs more to call than its numbers cost to make, so they are made here from the raw bits as numpy makes them.
    Where numpy would throw a number away and take another, and where the first replicate shows that this numpy works
    otherwise, it is called after all.
    """
    source = _Source(seed)
    drawn = np.empty((len(replicates), clusters), np.uint16)
    size = max(1, RAW_CELLS // max(clusters, 1))
    alike = clusters > 0 and len(replicates) > 0 and _same_as_numpy(source, clusters, replicates[0])
    for first in range(0, len(replicates), size):
        part = replicates[first : first + size]
        shape = (len(part), clusters)
        picks, again = (
            _from_raw(source, clusters, part) if alike else (np.empty(shape, np.int64), np.ones(len(part), np.bool_))
        )
        for row in np.flatnonzero(again).tolist():
            picks[row] = source.at(part[row]).integers(clusters, size=clusters)
        picks += np.arange(len(part))[:, None] * clusters
        counts = np.bincount(picks.ravel(), minlength=len(part) * clusters)
        drawn[first : first + len(part)] = counts.reshape(shape)
    return drawn


def _from_raw(source: _Source, clusters: int, replicates: range) -> tuple[Ints, Bools]:
    """Lemire's bounded integers from the low and the high half of every word, and which replicates must be drawn again."""
    raw = source.words(replicates, (clusters + 1) // 2)
    scaled = raw.view(np.uint32)[:, :clusters] * np.uint64(clusters)
    rest = scaled.astype(np.uint32)
    again: Bools = np.any(rest < ((1 << 32) - clusters) % clusters, axis=1)
    return (scaled >> np.uint64(32)).astype(np.int64), again


def _same_as_numpy(source: _Source, clusters: int, replicate: int) -> bool:
    if sys.byteorder != "little":
        return False
    picks, again = _from_raw(source, clusters, range(replicate, replicate + 1))
    return bool(again[0]) or np.array_equal(picks[0], source.at(replicate).integers(clusters, size=clusters))


@dataclass(frozen=True, eq=False)
class PoissonPlan:
    """Clusters by their keys (see ``cluster_keys``), each with a weight of its own in every replicate."""

    keys: Words
    resamples: int
    seed: int
    block: int | None = None
    scaled: ClassVar[bool] = True  # the weights add up to n on average only

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return len(self.keys)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Which replicates, and how often each of them counts every cluster (clusters x replicates)."""
        for rows in _parts(self.resamples, self.block or block_size(self.clusters)):
            yield rows, poisson_weights(self.keys, self.seed, range(rows.start, rows.stop)).astype(np.float64)


@dataclass(frozen=True)
class LeaveOneOut:
    """The jackknife as a plan: "replicate" i holds every cluster once but cluster i."""

    clusters: int
    scaled: ClassVar[bool] = False

    @property
    def resamples(self) -> int:
        """One for every cluster."""
        return self.clusters

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """The weights, made block by block."""
        for rows in _parts(self.clusters, block_size(self.clusters)):
            weights = np.ones((self.clusters, rows.stop - rows.start))
            weights[np.arange(rows.start, rows.stop), np.arange(rows.stop - rows.start)] = 0.0
            yield rows, weights


def block_size(clusters: int) -> int:
    """How many replicates to handle at once."""
    return max(8, min(1024, BLOCK_CELLS // max(clusters, 1)))


def heaviest(clusters: int) -> int:
    """What the weights of no replicate add up to: they are n in all, and about n where they are Poisson.

    Of 10^30 Poisson replicates not one is as heavy, whatever the number of clusters.
    """
    return 2 * clusters + 64


def _parts(count: int, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


BootstrapPlan = ResamplingPlan | PoissonPlan
ReplicatePlan = BootstrapPlan | LeaveOneOut


def in_threads(work: Callable[..., T], tasks: Iterable[tuple[object, ...]], workers: int | None = None) -> Iterator[T]:
    """Run ``work(*task)`` for every task on all cores and yield the results in order, with few in flight to bound memory.

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


def each_block(
    read: Callable[[Floats], T], plan: ReplicatePlan, progress: Progress | None = None
) -> Iterator[tuple[slice, T]]:
    """Yield, block by block in order, which replicates it holds and what ``read`` makes of their weights."""

    def work(rows: slice, weights: Floats) -> tuple[slice, T]:
        return rows, read(weights)

    for rows, values in in_threads(work, plan.blocks()):
        yield rows, values
        if progress is not None:
            progress(rows.stop, plan.resamples)


def over_replicates(
    read: Callable[[Floats], Mapping[Key, NDArray[Any]]], plan: ReplicatePlan, progress: Progress | None = None
) -> dict[Key, NDArray[Any]]:
    """Join what ``read`` makes of the weights (clusters x replicates) of every block; replicates are the last axis.

    A replicate in which no cluster counts says nothing, whatever is read of it.
    """

    def some(weights: Floats) -> tuple[Mapping[Key, NDArray[Any]], Bools]:
        empty: Bools = weights.sum(axis=0) == 0 if plan.scaled else np.zeros(weights.shape[1], np.bool_)
        return read(weights), empty

    values: dict[Key, NDArray[Any]] = {}
    for rows, (block, empty) in each_block(some, plan, progress):
        for key, part in block.items():
            if key not in values:
                values[key] = np.empty((*part.shape[:-1], plan.resamples), part.dtype)
            values[key][..., rows] = part
            values[key][..., rows][..., empty] = np.nan
    return values


def part_of(progress: Progress | None, done: int, of: int) -> Progress | None:
    """Report one of several equal parts of a job as the share of the whole that it is."""
    return None if progress is None else lambda step, steps: progress(done * steps + step, of * steps)
