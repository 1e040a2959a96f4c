"""Intervals from replicate values: on a transformed scale, percentile, bias-corrected, and exact where a proportion collapses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.stats import student
from evidentia.stats.exact import totals_of

Bounds = tuple[float | None, float | None]

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


def transformed_limits(values: Floats, points: Floats, effective: Floats, bounds: Bounds, level: float) -> Limits:
    """Student's t interval on a scale without bounds, carried back; the standard error is that of the replicates.

    A measure in [a, b] is moved to the log-odds of (x - a) / (b - a), one with a single bound to the logarithm of its
    distance from it. ``effective`` is the number of clusters that would tell as much if all were of one size; it sets the
    degrees of freedom. NaN where a value lies on a bound, or where fewer than two clusters count.

    >>> limits = transformed_limits(np.array([[0.8, 0.9, 1.0]]), np.array([0.9]), np.array([100.0]), (0.0, 1.0), 0.95)
    >>> limits.low.round(3), limits.high.round(3)
    (array([0.495]), array([0.988]))
    """
    reach = standard_errors(values, effective) * t_quantile(effective, level)
    return Limits(*_carried(points, reach, bounds), np.isnan(values).sum(axis=1))


def standard_errors(values: Floats, effective: Floats) -> Floats:
    """The spread of the defined replicates of every row; NaN with fewer than two of them, or of one cluster.

    The bootstrap's variance is too small by the factor (n - 1) / n, which is made good here.
    """
    enough = (np.sum(~np.isnan(values), axis=1) > 1) & (effective > 1)
    errors = np.full(len(values), np.nan)
    for row in np.flatnonzero(enough):  # row by row, which needs no second matrix of this size
        defined = values[row][~np.isnan(values[row])]
        errors[row] = defined.std(ddof=1) * np.sqrt(effective[row] / (effective[row] - 1))
    return errors


def scale_of(bounds: Bounds) -> str:
    """The name of the method that a measure with these bounds gets.

    >>> scale_of((0.0, 1.0)), scale_of((0.0, None)), scale_of((None, None))
    ('logit-t', 'log-t', 't')
    """
    return {0: "t", 1: "log-t", 2: "logit-t"}[sum(bound is not None for bound in bounds)]


def t_quantile(effective: Floats, level: float) -> Floats:
    """How many standard errors an interval reaches to either side; NaN for one cluster."""
    return student.t_quantile(np.where(effective > 1, effective - 1, np.nan), level)


def _carried(points: Floats, reach: Floats, bounds: Bounds) -> tuple[Floats, Floats]:
    """Limits at a distance that is measured on the transformed scale (its slope turns ``reach`` into it)."""
    low, high = bounds
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if low is not None and high is not None:
            odds, away = (
                (points - low) / (high - points),
                np.exp(reach * (high - low) / ((points - low) * (high - points))),
            )
            limits = low + (high - low) * _share(odds / away), low + (high - low) * _share(odds * away)
        elif low is not None:
            away = np.exp(reach / (points - low))
            limits = low + (points - low) / away, low + (points - low) * away
        elif high is not None:
            away = np.exp(reach / (high - points))
            limits = high - (high - points) * away, high - (high - points) / away
        else:
            limits = points - reach, points + reach
    inside = (points > (-np.inf if low is None else low)) & (points < (np.inf if high is None else high))
    return np.where(inside, limits[0], np.nan), np.where(inside, limits[1], np.nan)


def _share(odds: Floats) -> Floats:
    share: Floats = 1 / (1 + 1 / odds)
    return share


def effective_clusters(sizes: Floats) -> Floats:
    """How many clusters of one size would tell as much as these (Kish 1965); sizes is clusters x groups.

    >>> effective_clusters(np.array([[1.0, 4.0], [1.0, 1.0], [0.0, 1.0]]))
    array([2., 2.])
    """
    squares = np.sum(sizes**2, axis=0)
    effective: Floats = np.divide(np.sum(sizes, axis=0) ** 2, squares, out=np.zeros(sizes.shape[1]), where=squares > 0)
    return effective


def bca_limits(values: Floats, points: Floats, jackknife: Floats, level: float) -> Limits:
    """Bias-corrected and accelerated limits of every row (Efron 1987).

    ``values`` is rows x replicates, ``points`` one value per row, ``jackknife`` rows x clusters, each cluster left out.
    Without skew the acceleration is 0, which leaves the bias correction; NaN where no replicate is defined.
    """
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


def share_limits(counts: Ints, sizes: Ints, level: float) -> Limits:
    """Limits of the share that ``counts`` are of ``sizes`` (both clusters x groups), by the spread between clusters.

    Where all or none count the limits are exact over clusters (Clopper-Pearson), also with one. Any other share of one
    cluster has none (NaN), nor has a group without units.
    """
    total = sizes.sum(axis=0).astype(np.float64)
    effective = np.concatenate([effective_clusters(group[:, None].astype(np.float64)) for group in sizes.T])
    shares = np.divide(counts.sum(axis=0), total, out=np.full(len(total), np.nan), where=total > 0)
    known = np.nan_to_num(shares)
    spread = np.sqrt(totals_of(lambda part: ((counts[part] - known * sizes[part]) ** 2).T, len(counts)))
    more = effective > 1
    errors = np.full(len(total), np.nan)
    errors[more] = spread[more] / total[more] * np.sqrt(effective[more] / (effective[more] - 1))
    low, high = _carried(shares, errors * t_quantile(effective, level), (0.0, 1.0))
    for group in np.flatnonzero((shares == 0) | (shares == 1)):
        clusters = int(np.count_nonzero(sizes[:, group]))
        low[group], high[group] = clopper_pearson(clusters if shares[group] else 0, clusters, level)
    return Limits(low, high, np.zeros(len(total), np.int64))


def clopper_pearson(successes: int, trials: int, level: float) -> tuple[float, float]:
    """The exact binomial interval.

    >>> round(clopper_pearson(0, 10, 0.95)[1], 6)
    0.308497
    """
    tail = (1 - level) / 2
    if successes in {0, trials}:
        reach = math.log(tail) / max(trials, 1)
        return 0.0 if successes == 0 else math.exp(reach), 1.0 if successes == trials else -math.expm1(reach)
    from scipy.special import betaincinv

    low = float(betaincinv(successes, trials - successes + 1, tail))
    return low, float(betaincinv(successes + 1, trials - successes, 1 - tail))


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
