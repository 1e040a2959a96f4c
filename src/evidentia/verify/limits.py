"""Limits from replicate values: on a transformed scale, percentile, bias-corrected, and exact where a proportion collapses."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from evidentia.array_types import Floats

NORMAL = NormalDist()
SAME = 1e-9  # replicates and estimates that are closer than this differ by rounding only
ROUNDED = 2.0**-40  # limits that are; the square of a probability of 1e-6 is no such number
Pair = tuple[float, float]


def quantile(ranked: Floats, share: float) -> float:
    """The quantile of sorted values, linear between ranks (type 7).

    >>> quantile(np.array([1.0, 2.0, 4.0]), 0.75)
    3.0
    """
    at = (len(ranked) - 1) * share
    below = min(int(at), len(ranked) - 1)
    above = min(below + 1, len(ranked) - 1)
    return float(ranked[below] + (at - below) * (ranked[above] - ranked[below]))


def quantile_of(values: Floats, share: float) -> float:
    """The quantile of values in any order."""
    below = min(int((len(values) - 1) * share), len(values) - 1)
    return quantile(np.partition(values, [below, min(below + 1, len(values) - 1)]), share)


def percentile_limits(values: Floats, level: float) -> Pair | None:
    """The interval between two percentiles of the defined replicates; None where there are none."""
    ranked = np.sort(values[~np.isnan(values)])
    if not len(ranked):
        return None
    tail = (1 - level) / 2
    return quantile(ranked, tail), quantile(ranked, 1 - tail)


def effective_posts(sizes: Floats) -> float:
    """How many posts of one size would tell as much: 1 over the sum of the squared shares of the posts."""
    total = float(sizes.sum())
    return 1 / float(np.sum((sizes / total) ** 2)) if total else 0.0


def t_limits(values: Floats, point: float, posts: float, bounds: Pair, level: float) -> Pair | None:
    """Student's t interval where the measure has no bounds: on the log-odds, on a logarithm, or as it is."""
    kept = values[~np.isnan(values)]
    if len(kept) < 2 or posts <= 1 or not bounds[0] < point < bounds[1]:
        return None
    reach = deviate(posts - 1, level) * spread_of(kept, posts)
    low, high = bounds
    if math.isinf(low) and math.isinf(high):
        return point - reach, point + reach
    if math.isinf(high):
        step = reach / (point - low)
        return low + math.exp(math.log(point - low) - step), low + _grown(math.log(point - low) + step)
    if math.isinf(low):
        step = reach / (high - point)
        return high - _grown(math.log(high - point) + step), high - math.exp(math.log(high - point) - step)
    share = (point - low) / (high - low)
    middle, step = math.log(share) - math.log1p(-share), reach / ((high - low) * share * (1 - share))
    return low + (high - low) * from_odds(middle - step), low + (high - low) * from_odds(middle + step)


def spread_of(kept: Floats, posts: float) -> float:
    """The standard error that replicates show, less the shortfall of a bootstrap of few posts."""
    return math.sqrt(float(np.sum((kept - kept.mean()) ** 2)) / (len(kept) - 1) * posts / (posts - 1))


def deviate(free: float, level: float) -> float:
    """How far Student's t reaches with the given probability, through the distribution of 1 / (1 + t^2 / free)."""
    from scipy.special import betaincinv

    x = float(betaincinv(free / 2, 0.5, 1 - level))
    return math.sqrt(free * (1 - x) / x)


def _grown(log: float) -> float:
    return math.exp(log) if log < 700 else math.inf


def from_odds(log_odds: float) -> float:
    """A share from its log-odds."""
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0


def bca_limits(values: Floats, point: float, without: Floats, level: float) -> Pair | None:
    """Efron's (1987) interval: percentiles shifted for bias and skew; ``without`` has the value without each post."""
    ranked = np.sort(values[~np.isnan(values)])
    if not len(ranked):
        return None
    bias = _bias(ranked, point)
    acceleration = _acceleration(without[~np.isnan(without)])
    tail = (1 - level) / 2
    low, high = (_shifted(NORMAL.inv_cdf(share), bias, acceleration) for share in (tail, 1 - tail))
    return quantile(ranked, low), quantile(ranked, high)


def _bias(ranked: Floats, point: float) -> float:
    """The normal deviate of the share of replicates below the estimate, ties counting one half; never infinite."""
    near = SAME * max(1.0, abs(point))
    below, tied = np.sum(ranked < point - near), np.sum(np.abs(ranked - point) <= near)
    share = (float(below) + float(tied) / 2) / len(ranked)
    edge = 0.5 / len(ranked)
    return NORMAL.inv_cdf(min(max(share, edge), 1 - edge))


def _acceleration(without: Floats) -> float:
    """One sixth of the skewness of the jackknife values; none without spread."""
    if not len(without):
        return 0.0
    gaps = without.mean() - without
    if np.abs(gaps).max() <= SAME * max(1.0, abs(float(without[0]))):
        return 0.0
    return float(np.sum(gaps**3)) / (6 * math.pow(float(np.sum(gaps**2)), 1.5))


def _shifted(deviate: float, bias: float, acceleration: float) -> float:
    moved = bias + deviate
    return NORMAL.cdf(bias + moved / max(1 - acceleration * moved, 1e-9))


def all_or_none(clusters: int, level: float, *, every: bool) -> Pair:
    """Clopper-Pearson limits of n of n, or of 0 of n, which have a closed form.

    >>> round(all_or_none(10, 0.95, every=False)[1], 6)
    0.308497
    """
    edge = math.exp(math.log((1 - level) / 2) / clusters)
    return (edge, 1.0) if every else (0.0, 1 - edge)


def spread_out(low: float, high: float) -> bool:
    """Whether two limits differ by more than rounding."""
    return high - low > ROUNDED * max(1.0, abs(low), abs(high))


def gap_limits(gaps: Floats, replicates: Floats, posts: float, level: float) -> Pair | None:
    """Limits of the sum; ``replicates`` is gaps x resamples. None where noise cannot be told."""
    kept = replicates[:, ~np.isnan(replicates).any(axis=0)]
    if kept.shape[1] < 2 or posts <= 1:
        return None
    wider = deviate(posts - 1, level) / NORMAL.inv_cdf((1 + level) / 2)
    noise = (kept - gaps[:, None]) * (math.sqrt(posts / (posts - 1)) * wider)
    seen, tail = float(np.abs(gaps).sum()), (1 - level) / 2
    hidden = np.where(gaps < 0, -1.0, 1.0) * np.sqrt((noise**2).mean(axis=1))
    low = _size(gaps, noise, seen, 1 - tail, turning=None)
    tops = [_size(pattern, noise, seen, tail, turning=_turning(pattern, noise)) for pattern in (gaps, hidden)]
    return low, max(*tops, seen)


def _size(pattern: Floats, noise: Floats, seen: float, share: float, *, turning: Floats | None) -> float:
    """The size of gaps in this pattern from which on a share of all noisy sums is larger than the one seen; 0 if at none.

    A sum is convex in the scale. Without turning points it counts as its largest value so far, which is at an end; with them
    as its least value from there on.
    """
    from scipy.optimize import brentq

    whole, start = float(np.abs(pattern).sum()), _noisy(0.0, pattern, noise)

    def excess(size: float) -> float:
        at = size / whole if turning is None else np.maximum(size / whole, turning)
        sums = _noisy(at, pattern, noise)
        return quantile_of(sums if turning is not None else np.maximum(sums, start), share) - seen

    if not whole or excess(0.0) >= 0:
        return 0.0
    highest = 2 * (seen + float(start.max()))  # more than enough for every single sum
    return float(brentq(excess, 0.0, highest, xtol=1e-14))


def _noisy(scale: float | Floats, pattern: Floats, noise: Floats) -> Floats:
    sums: Floats = np.abs(scale * pattern[:, None] + noise).sum(axis=0)
    return sums


def _turning(pattern: Floats, noise: Floats) -> Floats:
    """The scale, 0 or more, at which each noisy sum is least: all places where a term is zero are tried."""
    best, least = np.zeros(noise.shape[1]), _noisy(0.0, pattern, noise)
    for gap, own in zip(pattern, noise, strict=True):
        scale = np.maximum(-own / gap, 0.0) if gap else best
        sums = _noisy(scale, pattern, noise)
        best, least = np.where(sums < least, scale, best), np.minimum(sums, least)
    return best
