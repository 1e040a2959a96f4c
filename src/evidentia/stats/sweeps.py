"""Counts at every distinct score: sort once, then a weighted cumulative pass."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Counts:
    """A sweep from the highest score down, points on axis 0; a second axis holds weightings of the same units.

    ``tp`` and ``fp`` count the positives and negatives passed so far, from (0, 0) on. ``gained`` and ``passed`` are what each
    step adds, and ``tied`` are the negatives of a step that share a score with its positives: they count one half in an area.
    """

    tp: Floats
    fp: Floats
    gained: Floats
    passed: Floats
    tied: Floats | None
    scores: Floats | None = None  # of the steps; None where steps were merged


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
    passed = np.diff(fp)
    return Counts(tp, fp, np.diff(tp), passed, passed, ranked[ends])


def best_within_budget(tp: Floats, fp: Floats, budget: float) -> int:
    """The index of most true positives with FPR within budget, at its largest threshold; 0 rejects everything.

    >>> best_within_budget(np.array([0.0, 1, 1, 2]), np.array([0.0, 0, 1, 2]), 0.5)
    1
    """
    return int(np.searchsorted(tp, tp[last_within_budget(fp, budget)], side="left"))


def last_within_budget(fp: Floats, budget: float) -> Ints:
    """The last point with FPR within budget, for any number of sweeps at once: bisection, since fp never falls.

    >>> int(last_within_budget(np.array([0.0, 0, 1, 2]), 0.5))
    2
    """
    sweeps = fp.reshape(len(fp), -1)
    negatives, which = np.maximum(sweeps[-1], 1.0), np.arange(sweeps.shape[1])
    low, high = np.zeros(len(which), np.int64), np.full(len(which), len(fp))
    for _ in range(len(fp).bit_length()):
        middle = (low + high) // 2
        inside = sweeps[middle, which] / negatives <= budget
        settled = high - low <= 1
        low = np.where(inside & ~settled, middle, low)
        high = np.where(inside | settled, high, middle)
    return low.reshape(fp.shape[1:])


def column_sums(steps: Floats) -> Floats:
    """Sums over axis 0, one row after the other also for a single column, so that a block of any size gives the same bits.

    numpy adds a lone column pairwise, which rounds differently.

    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    if steps.ndim == 1 or steps.shape[1] > 1:
        total: Floats = steps.sum(axis=0)
        return total
    twice: Floats = np.repeat(steps, 2, axis=1).sum(axis=0)
    return twice[:1]
