"""How many units lie below each of many thresholds, and how many positives among them, under many weightings at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.stats.resampling import ReplicatePlan, each_block, heaviest

EXACT = 2**24  # below this float32 counts without rounding, at half the memory


@dataclass(frozen=True, eq=False)
class CountsBelow:
    """What lies below some thresholds (thresholds x weightings), and what there is in all (weightings)."""

    below: Floats
    positives_below: Floats
    units: Floats
    positives: Floats


@dataclass(frozen=True, eq=False)
class ThresholdCounts:
    """Units and positives below every threshold; the last row has all of them."""

    units: NDArray[Any]
    positives: NDArray[Any]

    def at(self, places: Ints) -> CountsBelow:
        """The counts at some of the thresholds."""
        rows = (self.units[places], self.positives[places], self.units[-1], self.positives[-1])
        return CountsBelow(*(row.astype(np.float64) for row in rows))


class ThresholdSteps:
    """Units between one threshold and the next, per cluster: all weightings are then one sparse product and running sums.

    >>> steps = ThresholdSteps(np.array([0.2, 0.5]), np.array([False, True]), np.array([0, 1]), 2, np.array([0.5, 0.7]))
    >>> steps.counts(np.ones((2, 1))).units.tolist()
    [[1.0], [2.0], [2.0]]
    """

    def __init__(self, scores: Floats, labels: Bools, clusters: Ints, n_clusters: int, thresholds: Floats) -> None:
        self.rows, self.clusters = len(thresholds) + 1, n_clusters
        # thresholds are inclusive: a score is below those that come after the ones which it reaches
        step = np.searchsorted(thresholds, scores, side="right")
        self.step = np.concatenate([step, step[labels] + self.rows])
        self.owner = np.concatenate([clusters, clusters[labels]])
        largest = int(np.bincount(clusters, minlength=1).max())
        self.kind: type = np.float32 if largest * heaviest(n_clusters) < EXACT else np.float64

    @cached_property
    def matrix(self) -> Any:
        """Units, and below them positives, of every step (rows) and cluster."""
        from scipy.sparse import csr_array  # slow to import, and only resamples need it

        ones: NDArray[Any] = np.ones(len(self.step), self.kind)
        return csr_array((ones, (self.step, self.owner)), shape=(2 * self.rows, self.clusters))

    def unweighted(self) -> ThresholdCounts:
        """The counts where every cluster counts once."""
        counts = np.bincount(self.step, minlength=2 * self.rows).reshape(2, self.rows, 1).cumsum(axis=1)
        return ThresholdCounts(counts[0], counts[1])

    def counts(self, weights: Floats) -> ThresholdCounts:
        """The counts under some weightings (clusters x weightings)."""
        counts = (self.matrix @ weights.astype(self.kind)).reshape(2, self.rows, weights.shape[1])
        for row in range(1, self.rows):  # numpy's own cumsum along this axis is slower
            counts[:, row] += counts[:, row - 1]
        return ThresholdCounts(counts[0], counts[1])

    def over(self, plan: ReplicatePlan) -> ThresholdCounts:
        """The counts in every replicate of a plan."""
        counts: NDArray[Any] = np.empty((2, self.rows, plan.resamples), self.kind)
        for replicates, block in each_block(self.counts, plan):
            counts[0, :, replicates], counts[1, :, replicates] = block.units, block.positives
        return ThresholdCounts(counts[0], counts[1])
