"""Logistic regression without a penalty, by Newton's method, to the last digits.

Scikit-learn stops where the likelihood is flat to the eye, which leaves the coefficients some 1e-6 from the optimum. That is
good enough to use and not good enough to be recomputed by somebody else.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats

STEPS = 60
ARRIVED = 1e-7  # relative; the step is still made, and another one, so that twice as many digits are right


def scikit_learn(part: str) -> Any:
    """A module of scikit-learn, loaded on use: what was fitted is applied without it."""
    return import_module(f"sklearn.{part}")


def separated(scores: Floats, labels: Bools, turns: int) -> bool:
    """Whether a curve that changes its sign at most ``turns`` times along the scores parts the labels, ties on its zeros.

    Then the likelihood has no finite optimum, or not only one (Albert and Anderson 1984). A line changes its sign once;
    a log p - b log(1 - p) + c twice, because its points lie on a curve that is nowhere straight.

    >>> separated(np.array([0.1, 0.2, 0.3]), np.array([False, True, False]), 2)
    True
    """
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    positives = np.bincount(place, labels)
    side = np.where(
        positives == 0, -1, np.where(positives == count, 1, 0)
    )  # 0: both labels, so the curve must be 0 there
    zeros, open_zeros, last = 0, 0, 0
    for sign in side.tolist():
        if sign == 0:
            open_zeros += 1
            continue
        crosses = sign == -last
        zeros += open_zeros + (last != 0 and (open_zeros % 2 == 1) != crosses)
        open_zeros, last = 0, sign
    return zeros + open_zeros <= turns


def logistic(columns: Floats, labels: Bools) -> tuple[float, ...] | None:
    """The coefficients of most likelihood, the intercept last; labels must not be separated. None where digits do not suffice."""
    middle, spread = columns.mean(axis=0), columns.std(axis=0)
    scaled = np.column_stack([(columns - middle) / spread, np.ones(len(labels))])
    share = labels.mean()
    solution = _climbed(scaled, labels, np.append(np.zeros(len(spread)), np.log(share / (1 - share))))
    if solution is None:
        return None
    slopes = solution[:-1] / spread
    return (*map(float, slopes), float(solution[-1] - slopes @ middle))


def _climbed(columns: Floats, labels: Bools, start: Floats) -> Floats | None:
    """Newton steps until they hardly move, and one more; None where they never stop."""
    at = start
    for _ in range(STEPS):
        step = _newton_step(columns, labels, at)
        if step is None:
            return None
        if np.abs(step).max() <= ARRIVED * max(1.0, float(np.abs(at).max())):
            last = _newton_step(columns, labels, at + step)
            return at + step if last is None else at + step + last
        size, before = 1.0, _loss(columns, labels, at)
        while size > 1e-9 and _loss(columns, labels, at + size * step) > before:
            size /= 2  # a full step from afar may overshoot
        at = at + size * step
    return None


def _loss(columns: Floats, labels: Bools, at: Floats) -> float:
    odds = columns @ at
    return float(np.logaddexp(0.0, np.where(labels, -odds, odds)).sum())


def _newton_step(columns: Floats, labels: Bools, at: Floats) -> Floats | None:
    odds = columns @ at
    small = np.exp(-np.minimum(np.abs(odds), 700.0))
    unlikely = small / (1 + small)  # the smaller of p and 1 - p, with all its digits, also where the other one is 1
    expected = np.where(odds > 0, 1 - unlikely, unlikely)
    gap = np.where(labels, np.where(odds > 0, unlikely, 1 - unlikely), -expected)
    weights = unlikely * (1 - unlikely)
    try:
        step: Floats = np.linalg.solve((columns * weights[:, None]).T @ columns, columns.T @ gap)
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None
