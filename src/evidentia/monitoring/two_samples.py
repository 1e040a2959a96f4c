"""Tests of two samples of posts. Both take the reference for the sample that it is: its own error is in the p value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Floats


@dataclass(frozen=True)
class Difference:
    """How far a batch lies from the reference, and how likely so much would be if nothing had changed."""

    effect: float
    p: float


def rate_difference(batch: Floats, reference: Floats) -> Difference:
    """The difference of two shares, and Fisher's exact p: twice the smaller tail.

    >>> round(rate_difference(np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0])).p, 6)
    0.1
    """
    from scipy.special import gammaln

    hits, n, m = int(batch.sum()), len(batch), len(reference)
    total = hits + int(reference.sum())
    possible = np.arange(max(0, total - m), min(n, total) + 1)
    factorials = (possible, n - possible, total - possible, m - total + possible)
    weight = -np.sum([gammaln(count + 1.0) for count in factorials], axis=0)
    share = np.exp(weight - weight.max())
    tail = min(share[possible <= hits].sum(), share[possible >= hits].sum()) / share.sum()
    return Difference(float(batch.mean() - reference.mean()), min(1.0, 2 * float(tail)))


def order_difference(batch: Floats, reference: Floats) -> Difference:
    """How much likelier than one half a post of the batch has the larger value, and the p of the rank-sum test.

    Equal values count one half; the normal approximation is corrected for them and for continuity.

    >>> order_difference(np.array([3.0, 4.0]), np.array([1.0, 2.0])).effect
    0.5
    """
    from scipy.special import erfc
    from scipy.stats import rankdata

    n, m = len(batch), len(reference)
    ranks = rankdata(np.concatenate([batch, reference]))
    larger = ranks[:n].sum() - n * (n + 1) / 2
    effect = float(larger / (n * m) - 0.5)
    _, ties = np.unique(ranks, return_counts=True)
    total = n + m
    lost = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1))
    variance = n * m * (total + 1 - lost) / 12
    if variance <= 0:
        return Difference(effect, 1.0)
    away = max(0.0, abs(larger - n * m / 2) - 0.5) / np.sqrt(variance)
    return Difference(effect, float(erfc(away / np.sqrt(2))))
