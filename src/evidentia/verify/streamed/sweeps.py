"""Counts at every threshold from score and label alone: positives are held, negatives are counted part by part."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.sweeps import Passed
from evidentia.verify.tuning import Point

PART = 1 << 20  # negatives in work at once


@dataclass(eq=False)
class Steps:
    """The thresholds at the scores of positives, ascending, with the positives at each and the negatives that reach it."""

    thresholds: Floats
    gained: NDArray[np.int64]
    alarms: NDArray[np.int64] = field(init=False)  # one more: those that reach none come first
    tied: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.alarms = np.zeros(len(self.thresholds) + 1, np.int64)
        self.tied = np.zeros(len(self.thresholds), np.int64)

    @classmethod
    def of(cls, positives: Floats) -> Steps:
        """The thresholds that some positives give."""
        return cls(*np.unique(positives, return_counts=True))

    def add(self, negatives: Floats) -> None:
        """Count negatives at the highest threshold that each reaches."""
        for start in range(0, len(negatives), PART):
            part = np.sort(negatives[start : start + PART])
            at = np.searchsorted(self.thresholds, part, side="right")
            self.alarms += np.bincount(at, minlength=len(self.alarms))
            reached = at[at > 0] - 1
            same = reached[self.thresholds[reached] == part[at > 0]]
            self.tied += np.bincount(same, minlength=len(self.tied))

    @property
    def positives(self) -> int:
        """How many positives there are."""
        return int(self.gained.sum())

    @property
    def negatives(self) -> int:
        """How many negatives were counted."""
        return int(self.alarms.sum())

    def passed(self) -> Passed:
        """The counts from the highest threshold down, as one replicate."""
        gained, new = self.gained[::-1, None].astype(np.float64), self.alarms[:0:-1, None]
        return Passed(
            np.cumsum(gained, axis=0),
            gained,
            np.cumsum(new, axis=0).astype(np.float64),
            self.tied[::-1, None].astype(np.float64),
            np.array([float(self.positives)]),
            np.array([float(self.negatives)]),
        )

    def points(self) -> list[Point]:
        """What every threshold gives, the highest first; the last one passes everything."""
        hits, alarms = np.cumsum(self.gained[::-1]), np.cumsum(self.alarms[:0:-1])
        points = list(map(Point, self.thresholds[::-1].tolist(), hits.tolist(), alarms.tolist()))
        return [*points, Point(-np.inf, self.positives, self.negatives)]


def steps_of(score: Floats, label: Bools) -> Steps:
    """The counts over some queries."""
    steps = Steps.of(score[label])
    steps.add(score[~label])
    return steps


def turns(score: Floats, label: Bools, most: int) -> tuple[tuple[float, float], ...]:
    """Where the ROC curve changes direction, from (0, 0) to (1, 1); nothing with one class.

    >>> turns(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]), 9)
    ((0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0))
    """
    values, at = np.unique(score, return_inverse=True)
    if label.all() or not label.any():
        return ()
    up: Ints = np.bincount(at[label], minlength=len(values))[::-1]
    across: Ints = np.bincount(at[~label], minlength=len(values))[::-1]
    turned = across[:-1] * up[1:] != up[:-1] * across[1:]
    kept = np.concatenate([[0], np.flatnonzero(turned) + 1, [len(values)]])
    if len(kept) > most:
        kept = kept[[round(place * (len(kept) - 1) / (most - 1)) for place in range(most)]]
    hits, alarms = np.append(0, np.cumsum(up))[kept], np.append(0, np.cumsum(across))[kept]
    return tuple(zip((alarms / across.sum()).tolist(), (hits / up.sum()).tolist(), strict=True))
