"""Paired bootstrap tests and the correction for many of them."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats

NONE = 1e-12


def bootstrap_p(differences: Floats) -> Floats:
    """Two-sided p of every row of replicate differences: twice the smaller share beyond zero; NaN is left out.

    Both counts have one added, so that p is never 0 and the smallest is 2 / (replicates + 1). A difference of no more than
    1e-12 is none: rounding must not decide.

    >>> bootstrap_p(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))
    array([0.5, 1. ])
    """
    used = np.sum(~np.isnan(differences), axis=1)
    below, above = np.sum(differences <= NONE, axis=1), np.sum(differences >= -NONE, axis=1)
    p: Floats = np.minimum(1.0, 2 * (1 + np.minimum(below, above)) / (used + 1))
    return np.where(used > 0, p, np.nan)


def t_test(deltas: Floats, errors: Floats, effective: Floats) -> Floats:
    """Two-sided p of every difference by Student's t; NaN where the standard error is NaN, or 0 beside a difference.

    >>> t_test(np.array([0.0, 2.0]), np.array([1.0, 1.0]), np.array([31.0, 31.0])).round(4)
    array([1.    , 0.0546])
    """
    from scipy.special import stdtr

    free = np.where(effective > 1, effective - 1, np.nan)
    ratio = np.divide(np.abs(deltas), errors, out=np.full(len(deltas), np.nan), where=errors > 0)
    p: Floats = 2 * stdtr(free, -ratio)
    p[(errors <= NONE) & (np.abs(deltas) <= NONE)] = 1.0  # nothing differs in any replicate
    return p


def holm(p: Floats) -> Floats:
    """Holm's step-down correction over one family of tests.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p)
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted
