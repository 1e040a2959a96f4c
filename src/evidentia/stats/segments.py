"""Sweeps for many weightings at once: tie groups that hold a positive keep a step of their own, the rest is merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.stats.sweeps import Counts

DENSE = 0.1  # from this share of non-zero counts on, a dense product is faster than a sparse one


@dataclass(frozen=True, eq=False)
class Segments:
    """Positives, negatives, and negatives tied with positives, per step of the score order and cluster."""

    positive: Any  # scipy.sparse array, or a plain one where it would be almost full: steps x clusters
    negative: Any
    tied: Any | None

    def counts(self, weights: Floats) -> Counts:
        """The sweep under many weightings at once (weights is clusters x replicates)."""
        gained, passed = self.positive @ weights, self.negative @ weights
        tied = None if self.tied is None else self.tied @ weights
        return Counts(cumulated(gained), cumulated(passed), gained, passed, tied)


def segments(scores: Floats, labels: Bools, clusters: Ints, n_clusters: int) -> Segments:
    """Prepare a sweep: a step is a tie group that holds a positive, with the groups without one that stand before it.

    Nothing is lost by merging those: areas, average precision and the best rate within a budget change only where a positive
    is passed, and the merged groups lie on one horizontal stretch of the curve.

    >>> steps = segments(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]), np.array([0, 0, 1]), 2)
    >>> steps.counts(np.ones((2, 1))).tp.tolist()
    [[0.0], [1.0], [2.0]]
    """
    order = np.argsort(-scores)
    ranked, positive, owner = scores[order], labels[order], clusters[order]
    tie = np.concatenate([[0], np.cumsum(ranked[1:] != ranked[:-1])]) if len(ranked) else np.zeros(0, np.int64)
    groups = int(tie[-1]) + 1 if len(tie) else 0
    holds = np.bincount(tie, positive, minlength=groups) > 0
    step = np.concatenate([[0], np.cumsum(holds)[:-1]])[tie] if groups else tie
    shape = (int(step[-1]) + 1 if groups else 1, n_clusters)
    shared = ~positive & holds[tie] if groups else positive
    return Segments(
        _matrix(step, owner, positive, shape),
        _matrix(step, owner, ~positive, shape),
        _matrix(step, owner, shared, shape) if shared.any() else None,
    )


def _matrix(step: Ints, owner: Ints, mask: Bools, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(int(mask.sum())), (step[mask], owner[mask])), shape=shape)
    return matrix.toarray() if matrix.nnz > DENSE * shape[0] * shape[1] else matrix


def cumulated(steps: Floats) -> Floats:
    """Running sums down the rows; row by row, which is four times as fast as numpy's own cumsum along this axis.

    >>> cumulated(np.array([[1.0], [2.0]])).tolist()
    [[0.0], [1.0], [3.0]]
    """
    points = np.empty((steps.shape[0] + 1, steps.shape[1]))
    points[0] = 0.0
    for i, row in enumerate(steps):
        np.add(points[i], row, out=points[i + 1])
    return points
