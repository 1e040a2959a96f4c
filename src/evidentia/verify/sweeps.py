"""Sweeps over every threshold, for many weightings of the posts at once.

Only thresholds at the score of a positive matter: between two of them nothing is found, so areas gain nothing and the best
rate within a budget does not change. Per threshold and post it is counted once how many units are new there. Counts are whole
numbers, which add up faster than others, and the thresholds of a replicate stand side by side in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.recipes import Block, Counts

CELLS = 1 << 16  # thresholds x replicates in work at once: they stay close to the processor


@dataclass(frozen=True, eq=False)
class Passed:
    """At every threshold, highest first, and for every replicate: found, false alarms, and those exactly at it."""

    hits: Counts
    gained: Counts
    alarms: Counts
    tied: Counts
    positives: Counts
    negatives: Counts

    @cached_property
    def rate(self) -> Floats:
        """The false positive rate at every threshold; 0 without negatives."""
        rate: Floats = self.alarms / np.maximum(self.negatives, 1)
        return rate


@dataclass(eq=False)
class ThresholdSweep:
    """Counts per threshold and post of what is new there, and what is to be read off."""

    positive: Any  # sparse: thresholds x posts
    negative: Any  # one more row: negatives below every threshold
    tied: Any
    readings: dict[Hashable, Callable[[Passed], Floats]] = field(default_factory=dict)

    def passed(self, weights: Counts) -> Passed:
        """The counts under weights (posts x replicates)."""
        gained, negative, tied = (
            np.asfortranarray(counted @ weights) for counted in (self.positive, self.negative, self.tied)
        )
        hits, alarms = np.cumsum(gained, axis=0, dtype=np.int32), np.cumsum(negative[:-1], axis=0, dtype=np.int32)
        return Passed(hits, gained, alarms, tied, gained.sum(axis=0), negative.sum(axis=0))

    def read_off(self, weights: Counts) -> dict[Hashable, Floats]:
        """All readings, a few replicates at a time."""
        size, count = max(1, CELLS // self.negative.shape[0]), weights.shape[1]
        values = {key: np.empty(count) for key in self.readings}
        for start in range(0, count, size):
            passed = self.passed(weights[:, start : start + size])
            for key, read in self.readings.items():
                values[key][start : start + size] = read(passed)
        return values

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

    return csr_array((np.ones(int(mask.sum()), np.int32), (at[mask], post[mask])), shape=(rows, posts))


@dataclass(frozen=True, eq=False)
class Reading:
    """A number read off a sweep; all readings of a sweep are taken while its counts are there."""

    sweep: ThresholdSweep
    key: Hashable

    def values(self, block: Block) -> Floats:
        """The reading, taken with all others of its sweep when the first is asked for."""
        if (id(self.sweep), self.key) not in block.swept:
            for key, values in self.sweep.read_off(block.times).items():
                block.swept[id(self.sweep), key] = values
        taken: Floats = block.swept[id(self.sweep), self.key]
        return taken
