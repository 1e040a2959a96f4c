"""Counts at every distinct score: sort once, then a weighted cumulative pass."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from evidentia.tables.queries import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Counts:
    """True and false positives when everything with at least ``scores[i]`` is called positive, at index i + 1.

    Index 0 is (0, 0): everything is rejected. Tied scores share one point, and no point is left out.
    """

    tp: Floats
    fp: Floats
    scores: Floats


def sweep_counts(
    scores: Floats, labels: Bools, weights: Floats | None, codes: Ints | None, groups: int
) -> tuple[Counts, ...]:
    """The counts of every group; weights say how often each unit counts.

    >>> sweep_counts(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]), None, None, 1)[0].tp
    array([0., 1., 2.])
    """
    order = np.argsort(-scores)  # units with equal scores end up in one point, so their order does not matter
    if codes is None:
        return (_counts(order, scores, labels, weights),)
    by_group = order[np.argsort(codes[order].astype(np.int16 if groups < 2**15 else np.int64), kind="stable")]
    ends = np.searchsorted(codes[by_group], np.arange(groups + 1))
    return tuple(_counts(by_group[start:stop], scores, labels, weights) for start, stop in itertools.pairwise(ends))


def _counts(order: Ints, scores: Floats, labels: Bools, weights: Floats | None) -> Counts:
    if weights is not None:
        order = order[weights[order] > 0]
    ranked = scores[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))[: len(ranked)]
    positive = labels[order].astype(float)
    negative = 1.0 - positive
    if weights is not None:
        positive, negative = positive * weights[order], negative * weights[order]
    tp = np.concatenate([[0.0], np.cumsum(positive)[ends]])
    fp = np.concatenate([[0.0], np.cumsum(negative)[ends]])
    return Counts(tp, fp, ranked[ends])


def best_within_budget(tp: Floats, fp: Floats, budget: float) -> int:
    """The index of most true positives with FPR within budget, at its largest threshold; 0 rejects everything.

    >>> best_within_budget(np.array([0.0, 1, 1, 2]), np.array([0.0, 0, 1, 2]), 0.5)
    1
    """
    return int(np.searchsorted(tp, tp[last_within_budget(fp, budget)], side="left"))


def last_within_budget(fp: Floats, budget: float) -> Ints:
    """The last point (on axis 0) with FPR within budget, for any number of sweeps at once: bisection, since fp never falls.

    >>> int(last_within_budget(np.array([0.0, 0, 1, 2]), 0.5))
    2
    """
    negatives = np.maximum(fp[-1], 1.0)
    low = np.zeros(fp.shape[1:], np.int64)
    high = np.full(fp.shape[1:], len(fp))
    for _ in range(len(fp).bit_length()):
        middle = (low + high) // 2
        inside = np.take_along_axis(fp, middle[None], axis=0)[0] / negatives <= budget
        settled = high - low <= 1
        low = np.where(inside & ~settled, middle, low)
        high = np.where(inside | settled, high, middle)
    return low
