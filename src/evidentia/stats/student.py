"""Quantiles of Student's t without scipy.special, whose import takes longer than a whole evaluation of a small run."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from evidentia.array_types import Floats

MANY = 1e3  # degrees of freedom from which four terms of the series are as good as exact
TINY = 1e-300
ROUNDED = 2.0**-52


def t_quantile(freedom: Floats, level: float) -> Floats:
    """How far Student's t reaches to either side with the probability ``level``; NaN without a degree of freedom.

    >>> t_quantile(np.array([1.0, 10.0, 1e9, np.nan]), 0.95).round(6)
    array([12.706205,  2.228139,  1.959964,       nan])
    """
    each = (_quantile(free, level) if free > 0 else math.nan for free in freedom.ravel().tolist())
    return np.fromiter(each, np.float64, freedom.size).reshape(freedom.shape)


@lru_cache(maxsize=1 << 16)
def _quantile(freedom: float, level: float) -> float:
    """A series around the normal quantile (Abramowitz and Stegun 26.7.5), or Newton's method for the logarithms of tail and t."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    if freedom > MANY:
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
        )
        return z + sum(term / freedom ** (power + 1) for power, term in enumerate(terms))
    wanted, log_t = math.log((1 - level) / 2), math.log(z)
    for _ in range(100):
        tail, density = _tail(math.exp(log_t), freedom)
        step = (math.log(tail) - wanted) * tail / (math.exp(log_t) * density)
        log_t += step
        if abs(step) <= 16 * ROUNDED:
            break
    return math.exp(log_t)


def _tail(t: float, freedom: float) -> tuple[float, float]:
    """The probability beyond t, and the density at t."""
    square = t * t / freedom
    log_density = (
        _log_gamma_ratio(freedom / 2) - math.log(freedom * math.pi) / 2 - (freedom + 1) / 2 * math.log1p(square)
    )
    density = math.exp(log_density)
    a, x = freedom / 2, 1 / (1 + square)
    if x < (a + 1) / (a + 2.5):
        return t * density / (freedom * _fraction(a, 0.5, x)), density
    return 0.5 - t * density / _fraction(0.5, a, square * x), density


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method; x is below its mean."""
    value = front = 1.0
    back = 0.0
    for m in range(100_000):
        for term in (
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
            (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2)),
        ):
            back = 1 / ((1 + term * back) or TINY)
            front = (1 + term / front) or TINY
            value *= front * back
        if abs(front * back - 1) <= ROUNDED:
            break
    return value


def _log_gamma_ratio(a: float) -> float:
    """log of gamma(a + 1/2) over gamma(a); for large a by a series (DLMF 5.11.13), since the difference of both has no digits."""
    if a < 20:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    square = 1 / (a * a)
    return math.log(a) / 2 - (1 / 8 - (1 / 192 - (1 / 640 - 17 / 14336 * square) * square) * square) / a
