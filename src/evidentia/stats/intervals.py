"""Intervals from replicate values: percentile, bias-corrected and accelerated, and exact where a proportion collapses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.tables.queries import Floats, Ints

SAME = 1e-9  # what is closer than this is the same up to rounding, which must not decide about bias and skew


@dataclass(frozen=True, eq=False)
class Limits:
    """Lower and upper limits (NaN where there are none) and how many replicates were undefined."""

    low: Floats
    high: Floats
    left_out: Ints


def percentile_limits(values: Floats, level: float) -> Limits:
    """Percentile interval of every row of replicate values; NaN marks an undefined replicate and is left out.

    >>> percentile_limits(np.array([[1.0, 2.0, 3.0, np.nan]]), 0.5).low
    array([1.5])
    """
    ranked = np.sort(values, axis=1)
    left_out = np.isnan(values).sum(axis=1)
    tail = (1 - level) / 2
    return Limits(_quantile(ranked, left_out, tail), _quantile(ranked, left_out, 1 - tail), left_out)


def bca_limits(values: Floats, points: Floats, jackknife: Floats, level: float) -> Limits:
    """Bias-corrected and accelerated interval (Efron 1987); falls back to percentile where the correction is undefined."""
    from scipy.special import ndtr, ndtri

    ranked = np.sort(values, axis=1)
    left_out = np.isnan(values).sum(axis=1)
    used = np.maximum(values.shape[1] - left_out, 1)
    gap = values - points[:, None]
    same = np.abs(gap) <= SAME * np.maximum(1.0, np.abs(points[:, None]))
    below = (np.sum((gap < 0) & ~same, axis=1) + 0.5 * np.sum(same, axis=1)) / used
    bias = ndtri(np.clip(below, 0.5 / used, 1 - 0.5 / used))
    acceleration = _acceleration(jackknife)
    tail = (1 - level) / 2
    shares = []
    for z in (ndtri(tail), ndtri(1 - tail)):
        shift = bias + z
        shares.append(ndtr(bias + shift / np.maximum(1 - acceleration * shift, 1e-9)))
    return Limits(_quantile(ranked, left_out, shares[0]), _quantile(ranked, left_out, shares[1]), left_out)


def _acceleration(jackknife: Floats) -> Floats:
    """One sixth of the skewness of the values with each cluster left out; none where they differ by rounding only."""
    held = np.maximum(np.sum(~np.isnan(jackknife), axis=1, keepdims=True), 1)
    middle = np.nansum(jackknife, axis=1, keepdims=True) / held
    gaps = np.nan_to_num(middle - jackknife)
    skewed = np.abs(gaps).max(axis=1, initial=0.0) > SAME * np.maximum(1.0, np.abs(middle[:, 0]))
    spread = np.sum(gaps**2, axis=1) ** 1.5
    skew: Floats = np.divide(np.sum(gaps**3, axis=1), 6 * spread, out=np.zeros(len(spread)), where=skewed)
    return skew


def clopper_pearson(successes: int, trials: int, level: float) -> tuple[float, float]:
    """The exact binomial interval.

    >>> round(clopper_pearson(0, 10, 0.95)[1], 6)
    0.308497
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, tail))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - tail))
    return low, high


def _quantile(ranked: Floats, left_out: Ints, share: float | Floats) -> Floats:
    """Linear (type 7) quantiles of the defined part of sorted rows; NaN where nothing is defined."""
    used = ranked.shape[1] - left_out
    at = np.maximum(used - 1, 0) * np.broadcast_to(share, len(ranked))
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(used - 1, 0))
    rows = np.arange(len(ranked))
    below, above = ranked[rows, low], ranked[rows, high]
    cut: Floats = np.where(used > 0, below + (above - below) * (at - low), np.nan)
    return cut
