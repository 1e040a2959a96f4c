"""Counts at every threshold from score and label alone: positives are held, negatives are counted part by part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.sweeps import Passed
from evidentia.verify.tuning import Point

PART = 1 << 20  # negatives in work at once


@dataclass(eq=False)
class Steps:
    """The thresholds at the scores of positives, ascending, with the positives at each and the negatives that reach it.

    Units count once, or by their weights.
    """

    thresholds: Floats
    gained: NDArray[Any]
    alarms: NDArray[Any] = field(init=False)  # one more: those that reach none come first
    tied: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.alarms = np.zeros(len(self.thresholds) + 1, self.gained.dtype)
        self.tied = np.zeros(len(self.thresholds), self.gained.dtype)

    @classmethod
    def of(cls, positives: Floats, weights: Floats | None = None) -> Steps:
        """The thresholds that some positives give."""
        thresholds, at = np.unique(positives, return_inverse=True)
        kind = np.int64 if weights is None else np.float64  # without a positive they would be whole numbers
        return cls(thresholds, np.bincount(at, weights, minlength=len(thresholds)).astype(kind))

    def add(self, negatives: Floats, weights: Floats | None = None) -> None:
        """Count negatives at the highest threshold that each reaches."""
        for start in range(0, len(negatives), PART):
            part = slice(start, start + PART)
            order = np.argsort(negatives[part])
            score, weight = negatives[part][order], None if weights is None else weights[part][order]
            at = np.searchsorted(self.thresholds, score, side="right")
            self.alarms += np.bincount(at, weight, minlength=len(self.alarms)).astype(self.alarms.dtype)
            same = (at > 0) & (np.append(np.nan, self.thresholds)[at] == score)
            tied = np.bincount(at[same] - 1, None if weight is None else weight[same], minlength=len(self.tied))
            self.tied += tied.astype(self.tied.dtype)

    @property
    def positives(self) -> float:
        """How many positives there are."""
        return float(self.gained.sum())

    @property
    def negatives(self) -> float:
        """How many negatives were counted."""
        return float(self.alarms.sum())

    def passed(self) -> Passed:
        """The counts from the highest threshold down, as one replicate."""
        gained, new = self.gained[::-1, None].astype(np.float64), self.alarms[:0:-1, None]
        return Passed(
            np.cumsum(gained, axis=0),
            gained,
            np.cumsum(new, axis=0).astype(np.float64),
            self.tied[::-1, None].astype(np.float64),
            np.array([self.positives]),
            np.array([self.negatives]),
        )

    def points(self) -> list[Point]:
        """What every threshold gives, the highest first; the last one passes everything."""
        hits, alarms = np.cumsum(self.gained[::-1]), np.cumsum(self.alarms[:0:-1])
        points = list(map(Point, self.thresholds[::-1].tolist(), hits.tolist(), alarms.tolist()))
        return [*points, Point(-np.inf, int(self.positives), int(self.negatives))]


def steps_of(score: Floats, label: Bools, weights: Floats | None = None) -> Steps:
    """The counts over some queries."""
    positive, negative = (None, None) if weights is None else (weights[label], weights[~label])
    steps = Steps.of(score[label], positive)
    steps.add(score[~label], negative)
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
