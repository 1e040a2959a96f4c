"""A sum of absolute gaps, each estimated with noise: its limits by inverting a test, and its value without the bias.

Noise has no sign in such a sum, so the plug-in value is too high, and its bootstrap replicates are higher still. So the
question is turned round: for which true gaps would the observed sum be an ordinary one?
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.stats.exact import in_order
from evidentia.stats.intervals import Limits, t_quantile

HALVINGS = 52  # of the interval [0, 1] that holds the scale of the unbiased gaps
_erf = np.frompyfunc(math.erf, 1, 1)


def gap_limits(gaps: Floats, replicates: Floats, effective: Floats, level: float) -> Limits:
    """Limits of the sum of absolute gaps in every group; they hold the plug-in sum, and 0 where 0 is compatible.

    True gaps are taken to be c times a pattern, and noise to be what the replicates show, with the heavier tails of
    Student's t where clusters are few. The limits are where the observed sum leaves the central part of the sums that c would
    give. The lower limit takes the observed gaps as the pattern; the upper limit is the larger of that and of gaps in
    proportion to their noise, which hides them best.

    Parameters: ``gaps`` is groups x bins, ``replicates`` groups x resamples x bins (NaN where undefined), ``effective`` the
    effective number of clusters of every group.
    """
    left_out = np.isnan(replicates).any(axis=2).sum(axis=1)
    wider = t_quantile(effective, level) / NormalDist().inv_cdf((1 + level) / 2)
    factors = wider * np.sqrt(effective / np.where(effective > 1, effective - 1, np.nan))
    pairs = [_limits(*group, level) for group in zip(gaps, replicates, factors, strict=True)]
    low, high = np.array(pairs).reshape(-1, 2).T
    return Limits(low, high, left_out)


def _limits(gaps: Floats, replicates: Floats, factor: float, level: float) -> tuple[float, float]:
    kept = replicates[~np.isnan(replicates).any(axis=1)]
    if len(kept) < 2 or math.isnan(factor):
        return math.nan, math.nan
    noise = ((kept - gaps) * factor).T
    some = noise.any(axis=1) | (gaps != 0)
    gaps, noise = gaps[some], np.ascontiguousarray(noise[some])
    observed, tail = float(np.abs(gaps).sum()), (1 - level) / 2
    hidden = np.where(gaps < 0, -1.0, 1.0) * np.sqrt(np.mean(noise**2, axis=1))
    low = _Sums(gaps, noise).size_at(observed, 1 - tail, lowest=True)
    highest = max(_Sums(pattern, noise).size_at(observed, tail, lowest=False) for pattern in (gaps, hidden))
    return low, max(highest, observed)


class _Sums:
    """The sums of |c pattern + noise|, one for every column of noise, as functions of c >= 0; each is convex."""

    def __init__(self, pattern: Floats, noise: Floats) -> None:
        self.pattern, self.noise = pattern[:, None], noise
        self.size = float(np.abs(pattern).sum())

    def size_at(self, observed: float, share: float, *, lowest: bool) -> float:
        """The size of the gaps from which on a share of the sums exceeds the observed one; 0 if that holds without gaps.

        A sum may fall before it rises with c. It is read as never falling: for the lowest size that is compatible as its
        largest value up to c, for the highest as its least value from c on.
        """
        if self.size == 0:
            return 0.0
        start, least = self.at(0.0), None if lowest else self.lowest_at()

        def excess(c: float) -> float:
            sums = np.maximum(self.at(c), start) if least is None else self.at(np.maximum(c, least))
            return _quantile(sums, share) - observed

        # beyond the upper end every single sum is above the observed one
        return self.size * rising_root(excess, 0.0, (observed + float(start.max())) / self.size)

    def at(self, c: float | Floats) -> Floats:
        """The sums at one c, or each at its own."""
        sums: Floats = np.abs(c * self.pattern + self.noise).sum(axis=0)
        return sums

    def lowest_at(self) -> Floats:
        """Where each sum is least: a weighted median of the places where its terms are zero."""
        some = self.pattern[:, 0] != 0
        zeros = -self.noise[some] / self.pattern[some]
        order = np.argsort(zeros, axis=0)
        weight = np.cumsum(np.abs(self.pattern[some, 0])[order], axis=0)
        half = np.argmax(weight >= self.size / 2, axis=0)
        least: Floats = np.take_along_axis(np.take_along_axis(zeros, order, axis=0), half[None], axis=0)[0]
        return np.maximum(least, 0.0)


def _quantile(values: Floats, share: float) -> float:
    """Linear (type 7) quantile."""
    at = (len(values) - 1) * share
    low = int(at)
    ends = np.partition(values, [low, min(low + 1, len(values) - 1)])
    return float(ends[low] + (at - low) * (ends[min(low + 1, len(values) - 1)] - ends[low]))


def rising_root(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a continuous function crosses zero upwards, by false position (Illinois); ``low`` where it does not.

    >>> round(rising_root(lambda x: x**3 - 2, 0.0, 2.0), 9)
    1.25992105
    """
    below, above = of(low), of(high)
    if below >= 0:
        return low
    side = 0
    for _ in range(200):
        if high - low <= 1e-14 * high or above <= 0:
            break
        middle = (low * above - high * below) / (above - below)
        here = of(middle)
        if here == 0:
            return middle
        if here > 0:
            high, above, below, side = middle, here, below / 2 if side == 1 else below, 1
        else:
            low, below, above, side = middle, here, above / 2 if side == -1 else above, -1
    return high


def debiased_sum(gaps: Floats, errors: Floats) -> Floats:
    """The sum of absolute gaps (last axis) whose expected plug-in value is the observed one; 0 where noise alone explains it.

    The observed gaps are scaled down by one factor until, with normal noise of the given standard errors, the expected sum
    of their absolute values is the sum that was observed.

    >>> debiased_sum(np.array([[0.3, -0.1], [0.1, -0.1]]), np.array([[0.0, 0.0], [0.2, 0.2]]))
    array([0.4, 0. ])
    """
    observed = in_order(np.abs(gaps), -1)
    low, high = np.zeros(observed.shape), np.ones(observed.shape)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = in_order(folded_mean(middle[..., None] * gaps, errors), -1) < observed
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    noisy: Bools = in_order(folded_mean(np.zeros(gaps.shape), errors), -1) >= observed
    scale = np.where(errors.any(axis=-1), high, 1.0)
    total: Floats = np.where(noisy, 0.0, scale * observed)
    return total


def folded_mean(mean: Floats, error: Floats) -> Floats:
    """The expected absolute value of a normal variable.

    >>> folded_mean(np.array([0.0, 2.0]), np.array([1.0, 0.0])).round(4)
    array([0.7979, 2.    ])
    """
    spread = np.where(error > 0, error, 1.0)
    ratio = np.abs(mean) / spread
    within = np.asarray(_erf(ratio / math.sqrt(2)), np.float64)
    folded: Floats = spread * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) + np.abs(mean) * within
    return np.where(error > 0, folded, np.abs(mean))
