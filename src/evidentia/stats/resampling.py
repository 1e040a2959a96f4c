"""The resampling plan: which clusters each replicate draws, the same for every measure, group, curve and system.

Replicate b draws ``Generator(Philox(key=[seed, b])).integers(n, size=n)``, so that any block, thread or machine can make any
replicate alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray

from evidentia.tables.queries import Floats, Ints

Multiplicities = NDArray[np.uint16]
CACHED = 1 << 27  # multiplicities kept in memory rather than drawn again for every pass
BLOCK_CELLS = 3 << 19  # multiplicities in work at once


@dataclass(frozen=True, eq=False)
class ResamplingPlan:
    """Clusters 0..n-1, drawn with replacement; within each stratum separately where there are strata."""

    clusters: int
    resamples: int
    seed: int
    strata: tuple[Ints, ...] | None = None
    block: int | None = None  # replicates at once; None chooses by memory, and the results are the same
    _cache: dict[str, Multiplicities] = field(default_factory=dict, repr=False)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Which replicates, and how often each of them draws every cluster (clusters x replicates)."""
        size = self.block or block_size(self.clusters)
        for start in range(0, self.resamples, size):
            rows = slice(start, min(start + size, self.resamples))
            yield rows, np.ascontiguousarray(self.multiplicities(rows.start, rows.stop).T, np.float64)

    def multiplicities(self, start: int, stop: int) -> Multiplicities:
        """How often the replicates from ``start`` to ``stop`` draw every cluster."""
        if self.clusters * self.resamples > CACHED:
            return self._draw(start, stop)
        if "all" not in self._cache:
            self._cache["all"] = self._draw(0, self.resamples)
        return self._cache["all"][start:stop]

    def _draw(self, start: int, stop: int) -> Multiplicities:
        drawn = np.empty((stop - start, self.clusters), np.uint16)
        bits = Philox(key=[self.seed, start])
        generator, fresh = Generator(bits), bits.state
        for row, replicate in enumerate(range(start, stop)):
            fresh["state"]["key"][1] = replicate  # the same as Philox(key=[seed, replicate]), without building it anew
            bits.state = fresh
            if self.strata is None:
                picks = generator.integers(self.clusters, size=self.clusters)
            else:
                picks = np.concatenate([part[generator.integers(len(part), size=len(part))] for part in self.strata])
            drawn[row] = np.bincount(picks, minlength=self.clusters)
        return drawn


@dataclass(frozen=True)
class LeaveOneOut:
    """The jackknife as a plan: "replicate" i holds every cluster once but cluster i."""

    clusters: int

    @property
    def resamples(self) -> int:
        """One for every cluster."""
        return self.clusters

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """The weights, made block by block."""
        size = block_size(self.clusters)
        for start in range(0, self.clusters, size):
            rows = slice(start, min(start + size, self.clusters))
            weights = np.ones((self.clusters, rows.stop - start))
            weights[np.arange(start, rows.stop), np.arange(rows.stop - start)] = 0.0
            yield rows, weights


def block_size(clusters: int) -> int:
    """How many replicates to handle at once."""
    return max(8, min(1024, BLOCK_CELLS // max(clusters, 1)))


Plan = ResamplingPlan | LeaveOneOut
