"""The counts of a sweep without an order over all units: only the scores of positives make steps, and the rest is counted."""

from __future__ import annotations

from threading import Lock

import numpy as np

from evidentia.array_types import Floats
from evidentia.stats.sweeps import Counts


class Steps:
    """A sweep whose positives are known; the other units are added in any number of sorted parts.

    >>> steps = Steps(np.array([0.9, 0.5]))
    >>> steps.add(np.array([0.1, 0.5, 0.7]))
    >>> steps.counts().tp.tolist(), steps.counts().fp.tolist()
    ([0.0, 1.0, 2.0, 2.0], [0.0, 0.0, 2.0, 3.0])
    >>> steps.turns().tp.tolist(), steps.turns().fp.tolist()
    ([0.0, 0.0, 1.0, 1.0, 2.0, 2.0], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    """

    def __init__(self, positives: Floats) -> None:
        self.scores, gained = np.unique(positives, return_counts=True)  # a step for each different score
        self.gained = gained.astype(np.int32)
        self.below = np.zeros(len(self.scores), np.int64)  # other units with a lower score than each step
        self.equal = np.zeros(len(self.scores), np.int32)
        self.others = 0
        self._lock = Lock()

    def add(self, ascending: Floats) -> None:
        """Count more units that are not positive; several threads may do so."""
        if not len(ascending):
            return
        below = np.searchsorted(ascending, self.scores, side="left")
        tied = np.flatnonzero(ascending[np.minimum(below, len(ascending) - 1)] == self.scores)
        equal = np.searchsorted(ascending, self.scores[tied], side="right") - below[tied]
        with self._lock:
            self.below += below
            self.equal[tied] += equal.astype(np.int32)
            self.others += len(ascending)

    def counts(self) -> Counts:
        """The sweep from the highest score down: each step passes the units above it too, and a last one the rest."""
        gained, tied = (np.append(each[::-1], 0).astype(np.float64) for each in (self.gained, self.equal))
        fp = np.concatenate([[0.0], (self.others - self.below)[::-1], [float(self.others)]])
        tp = np.concatenate([[0.0], np.cumsum(gained)])
        return Counts(tp, fp, gained, np.diff(fp), tied, np.append(self.scores[::-1], np.nan))

    def turns(self) -> Counts:
        """The same with all points at which a curve turns: for each score the units above it, then those at it."""
        if not len(self.scores):  # no positives: one step passes everything
            return self.counts()
        counts = self.counts()
        tp, through = counts.tp[1:-1], counts.fp[1:-1]
        above = through - self.equal[::-1]
        tp_at = np.concatenate([[0.0], np.column_stack([counts.tp[:-2], tp]).ravel(), tp[-1:]])
        fp_at = np.concatenate([[0.0], np.column_stack([above, through]).ravel(), counts.fp[-1:]])
        passed = np.diff(fp_at)
        return Counts(tp_at, fp_at, np.diff(tp_at), passed, passed, np.append(np.repeat(self.scores[::-1], 2), np.nan))
