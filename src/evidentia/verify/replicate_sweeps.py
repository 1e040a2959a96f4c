"""Sweeps over every threshold, for many weightings of the posts at once.

Only thresholds at the score of a positive matter: between two of them nothing is found, so areas gain nothing and the best
rate within a budget does not change. Per threshold and post it is counted once how many units are new there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from evidentia.verify.draws import Bools, Floats, Ints
from evidentia.verify.interval_names import Defined
from evidentia.verify.replicate_table import Block, over


@dataclass(frozen=True, eq=False)
class Passed:
    """At every threshold, highest first, and for every replicate: found, false alarms, and those exactly at it."""

    found: Floats
    gained: Floats
    alarms: Floats
    tied: Floats
    positives: Floats
    negatives: Floats


@dataclass(eq=False)
class Sweep:
    """Counts per threshold and post of what is new there, and what is to be read off."""

    positive: Any  # sparse: thresholds x posts
    negative: Any  # one more row: negatives below every threshold
    tied: Any
    readings: dict[Hashable, Callable[[Passed], Floats]] = field(default_factory=dict)

    def passed(self, weights: Floats) -> Passed:
        """The counts under weights (posts x replicates)."""
        gained, negative = self.positive @ weights, self.negative @ weights
        found = np.cumsum(gained, axis=0)
        alarms = np.cumsum(negative[:-1], axis=0)
        return Passed(found, gained, alarms, self.tied @ weights, gained.sum(axis=0), negative.sum(axis=0))


def sweep_of(score: Floats, label: Bools, post: Ints, posts: int) -> Sweep:
    """Prepare a sweep over units with scores, labels and posts."""
    thresholds = np.unique(score[label])[::-1]
    at = np.searchsorted(-thresholds, -score, side="left")  # the first threshold that the unit reaches
    reached = np.append(thresholds, np.nan)[at]
    size = len(thresholds)
    return Sweep(
        _counted(at, post, label, size, posts),
        _counted(at, post, ~label, size + 1, posts),
        _counted(at, post, ~label & (score == reached), size, posts),
    )


def _counted(at: Ints, post: Ints, mask: Bools, rows: int, posts: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(int(mask.sum())), (at[mask], post[mask])), shape=(rows, posts))


def auroc(passed: Passed) -> Floats:
    """Pairs of a positive and a negative in the right order, ties one half."""
    below = passed.negatives - passed.alarms + passed.tied / 2
    return over((passed.gained * below).sum(axis=0), passed.positives * passed.negatives)


def auprc(passed: Passed) -> Floats:
    """The precision at every threshold, by the recall gained there; undefined with one class."""
    precision = passed.found / np.maximum(passed.found + passed.alarms, 1)
    total = np.where(passed.negatives > 0, passed.positives, 0.0)
    return over((passed.gained * precision).sum(axis=0), total)


def best_rate(passed: Passed, budget: float) -> Floats:
    """The most that is found with a false positive rate within budget; undefined with one class."""
    within = passed.alarms / np.maximum(passed.negatives, 1) <= budget
    found = np.where(within, passed.found, 0.0).max(axis=0, initial=0.0)
    return over(found, np.where(passed.negatives > 0, passed.positives, 0.0))


@dataclass(frozen=True, eq=False)
class Reading:
    """One number read off a sweep; all readings of a sweep are taken while its counts are there."""

    sweep: Sweep
    key: Hashable

    def values(self, block: Block) -> Floats:
        """The reading, taken with all others of its sweep when the first is asked for."""
        if (id(self.sweep), self.key) not in block.swept:
            passed = self.sweep.passed(block.weights)
            for key, read in self.sweep.readings.items():
                block.swept[id(self.sweep), key] = read(passed)
        return block.swept[id(self.sweep), self.key]


def reading(sweep: Sweep, what: Defined) -> Reading:
    """What a definition reads off its sweep."""
    key = (what.base, what.cut)
    read: dict[str, Callable[[Passed], Floats]] = {"AUROC": auroc, "AUPRC": auprc}
    sweep.readings[key] = read.get(what.base) or partial(best_rate, budget=what.level)
    return Reading(sweep, key)
