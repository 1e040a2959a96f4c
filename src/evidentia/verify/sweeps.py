"""Sweeps over every threshold, for many weightings of the posts at once.

Only thresholds at the score of a positive matter: between two of them nothing is found, so areas gain nothing and the best
rate within a budget does not change. Per threshold and post it is counted once how many units are new there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.recipes import Block


@dataclass(frozen=True, eq=False)
class Passed:
    """At every threshold, highest first, and for every replicate: found, false alarms, and those exactly at it."""

    hits: Floats
    gained: Floats
    alarms: Floats
    tied: Floats
    positives: Floats
    negatives: Floats


@dataclass(eq=False)
class ThresholdSweep:
    """Counts per threshold and post of what is new there, and what is to be read off."""

    positive: Any  # sparse: thresholds x posts
    negative: Any  # one more row: negatives below every threshold
    tied: Any
    readings: dict[Hashable, Callable[[Passed], Floats]] = field(default_factory=dict)

    def passed(self, weights: Floats) -> Passed:
        """The counts under weights (posts x replicates)."""
        gained, negative = self.positive @ weights, self.negative @ weights
        hits = np.cumsum(gained, axis=0)
        alarms = np.cumsum(negative[:-1], axis=0)
        return Passed(hits, gained, alarms, self.tied @ weights, gained.sum(axis=0), negative.sum(axis=0))

    def reading(self, key: Hashable, read: Callable[[Passed], Floats]) -> Reading:
        """The recipe of what a function reads off the sweep."""
        self.readings[key] = read
        return Reading(self, key)


def sweep_of(score: Floats, label: Bools, post: Ints, posts: int) -> ThresholdSweep:
    """Prepare a sweep over units with scores, labels and posts."""
    thresholds = np.unique(score[label])[::-1]
    at = np.searchsorted(-thresholds, -score, side="left")  # the first threshold that the unit reaches
    reached = np.append(thresholds, np.nan)[at]
    size = len(thresholds)
    return ThresholdSweep(
        _counted(at, post, label, size, posts),
        _counted(at, post, ~label, size + 1, posts),
        _counted(at, post, ~label & (score == reached), size, posts),
    )


def _counted(at: Ints, post: Ints, mask: Bools, rows: int, posts: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(int(mask.sum())), (at[mask], post[mask])), shape=(rows, posts))


@dataclass(frozen=True, eq=False)
class Reading:
    """A number read off a sweep; all readings of a sweep are taken while its counts are there."""

    sweep: ThresholdSweep
    key: Hashable

    def values(self, block: Block) -> Floats:
        """The reading, taken with all others of its sweep when the first is asked for."""
        if (id(self.sweep), self.key) not in block.swept:
            passed = self.sweep.passed(block.weights)
            for key, read in self.sweep.readings.items():
                block.swept[id(self.sweep), key] = read(passed)
        values: Floats = block.swept[id(self.sweep), self.key]
        return values
