"""The interval of a sum of absolute gaps, made again: which sizes of the gaps are compatible with the sum that was seen."""

from __future__ import annotations

import math

import numpy as np

from evidentia.verify.draws import Floats
from evidentia.verify.limits import NORMAL, Pair, deviate, quantile_of

HALVINGS = 45


def gap_limits(gaps: Floats, replicates: Floats, posts: float, level: float) -> Pair | None:
    """Limits of the sum; ``replicates`` is gaps x resamples. None where noise cannot be told."""
    kept = replicates[:, ~np.isnan(replicates).any(axis=0)]
    if kept.shape[1] < 2 or posts <= 1:
        return None
    wider = deviate(posts - 1, level) / NORMAL.inv_cdf((1 + level) / 2)
    noise = (kept - gaps[:, None]) * (math.sqrt(posts / (posts - 1)) * wider)
    seen, tail = float(np.abs(gaps).sum()), (1 - level) / 2
    hidden = np.copysign(np.sqrt((noise**2).mean(axis=1)), gaps)
    low = _size(gaps, noise, seen, 1 - tail, turning=None)
    tops = [_size(pattern, noise, seen, tail, turning=_turning(pattern, noise)) for pattern in (gaps, hidden)]
    return low, max(*tops, seen)


def _size(pattern: Floats, noise: Floats, seen: float, share: float, *, turning: Floats | None) -> float:
    """The size of gaps in this pattern from which on a share of all noisy sums is larger than the one seen; 0 if at none.

    A sum is convex in the scale. Without turning points it counts as its largest value so far, which is at an end; with them
    as its least value from there on.
    """
    whole, start = float(np.abs(pattern).sum()), _noisy(0.0, pattern, noise)

    def reached(scale: float) -> float:
        at = scale if turning is None else np.maximum(scale, turning)
        sums = _noisy(at, pattern, noise)
        return quantile_of(sums if turning is not None else np.maximum(sums, start), share)

    if not whole or reached(0.0) >= seen:
        return 0.0
    low, high = 0.0, seen + float(start.max())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle / whole) < seen else (low, middle)
    return high


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
