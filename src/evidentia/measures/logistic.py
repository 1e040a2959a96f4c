"""The two fits behind calibration: a logistic line by its likelihood, and the shift that makes the mean right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.stats.exact import PART, totals_of

EPSILON = 2.0**-52
Rows = tuple[Floats, ...]


def logit(prob: Floats) -> Floats:
    """Log-odds, with probabilities clipped to [2^-52, 1 - 2^-52] so that 0 and 1 stay finite.

    >>> logit(np.array([0.5, 0.0, 1.0])).round(3)
    array([  0.   , -36.044,  36.044])
    """
    prob = np.clip(prob, EPSILON, 1 - EPSILON)
    return np.log(prob) - np.log1p(-prob)


def inside(prob: Floats) -> Bools:
    """Which probabilities the clipping leaves alone: log-odds of 0 and 1 are a choice of ours, not what a system said.

    >>> inside(np.array([0.0, 0.5, 1.0]))
    array([False,  True, False])
    """
    return (prob > EPSILON) & (prob < 1 - EPSILON)


def unclipped(prob: Floats) -> Floats:
    """Log-odds in which a probability of 0 or 1, up to 2^-52, is infinite: no shift moves it.

    >>> unclipped(np.array([0.0, 0.5, 1.0]))
    array([-inf,   0.,  inf])
    """
    return np.where(inside(prob), logit(prob), np.copysign(np.inf, prob - 0.5))


def leftover(line: Floats, label: Bools) -> tuple[Floats, Floats]:
    """Label less probability at some log-odds, and the curvature there; both keep their digits next to certainty.

    >>> leftover(np.array([0.0]), np.array([True]))
    (array([0.5]), array([0.25]))
    """
    small = _smaller(line)
    rest = np.where(label == (line > 0), small, 1 - small)
    return np.where(label, rest, -rest), small * (1 - small)


def newton(x: Floats, label: Bools, weight: Floats) -> Floats | None:
    """Weighted logistic regression on x by damped Newton steps; None where the numbers cannot hold the maximum.

    The origin follows the mean of x by curvature, where intercept and slope do not disturb each other: nearly separated
    classes leave a determinant around any other origin that has no digits. The sums are exact, so that no library can
    change a digit.

    >>> newton(np.array([-1.0, -1.0, 1.0, 1.0]), np.array([False, True, False, True]), np.ones(4))
    array([0., 0.])
    """
    origin = level = slope = 0.0
    cost: float | None = None
    for _ in range(500):
        h0, moment = _curvature(x, weight, (level, slope, origin))
        if h0 <= 0:
            return None
        level, origin = level + slope * (moment / h0 - origin), moment / h0
        g0, g1, h1 = _equations(x, label, weight, (level, slope, origin))
        if h1 <= 0:
            return None
        rise, turn = g0 / h0, g1 / h1
        size, cost = _climbing(x, label, weight, (level, slope, origin), (rise, turn), before=cost)
        level, slope = level + size * rise, slope + size * turn
        if abs(rise) < 1e-12 * max(1.0, abs(level)) and abs(turn) < 1e-12 * max(1.0, abs(slope)):
            return np.array([level - slope * origin, slope])
    return None


def _smaller(line: Floats) -> Floats:
    """The smaller of a probability and its opposite, from its log-odds; the larger one would lose its digits."""
    return 1 / (1 + np.exp(np.minimum(np.abs(line), 700)))


def _curvature(x: Floats, weight: Floats, at: tuple[float, float, float]) -> Floats:
    """The curvature of all rows, and its moment."""
    level, slope, origin = at

    def make(rows: slice) -> Rows:
        small = _smaller(level + slope * (x[rows] - origin))
        curve = weight[rows] * small * (1 - small)
        return (curve, curve * x[rows])

    return totals_of(make, len(x))


def _equations(x: Floats, label: Bools, weight: Floats, at: tuple[float, float, float]) -> tuple[float, float, float]:
    """The gradient in level and slope, and the curvature in slope; whole numbers and small rests are added apart."""
    level, slope, origin = at

    def make(rows: slice) -> Rows:
        some, heavy = x[rows] - origin, weight[rows]
        line = level + slope * some
        above, small = line > 0, _smaller(line)
        whole, rest = heavy * (label[rows].astype(float) - above), heavy * np.where(above, small, -small)
        return (whole, rest, whole * some, rest * some, heavy * small * (1 - small) * some * some)

    sums = totals_of(make, len(x))
    return float(sums[0] + sums[1]), float(sums[2] + sums[3]), float(sums[4])


def _climbing(
    x: Floats,
    label: Bools,
    weight: Floats,
    at: tuple[float, float, float],
    step: tuple[float, float],
    *,
    before: float | None,
) -> tuple[float, float | None]:
    """The largest of 1, 1/2, 1/4 ... of a step that does not lead downhill, and the cost after it (``before``: now, if known).

    Near the top the likelihood is too flat to ask.
    """
    level, slope, origin = at
    if all(abs(by) <= 1e-6 * max(1.0, abs(now)) for now, by in zip((level, slope), step, strict=True)):
        return 1.0, None

    def cost(size: float) -> float:
        def make(rows: slice) -> Rows:
            line = (level + size * step[0]) + (slope + size * step[1]) * (x[rows] - origin)
            against = np.where(label[rows], -line, line)
            return (weight[rows] * (np.maximum(against, 0.0) + np.log1p(np.exp(-np.abs(line)))),)

        return float(totals_of(make, len(x))[0])

    before = cost(0.0) if before is None else before
    size, after = 1.0, cost(1.0)
    while after > before and size > 1e-9:
        size /= 2
        after = cost(size)
    return size, after


def root(offset: Floats, label: Bools, weight: Floats) -> float:
    """The shift at which expected and observed positives agree: Newton steps, kept inside a bracket that always shrinks.

    >>> round(root(np.zeros(4), np.array([False, True, True, True]), np.ones(4)), 6)
    1.098612
    """
    low, high, shift = -80.0, 80.0, 0.0
    for _ in range(200):
        rest, curve = _rest_and_curve(offset, label, weight, shift)
        low, high = (shift, high) if rest > 0 else (low, shift)
        step = rest / curve if curve > 0 else np.inf
        moved = shift + step if low <= shift + step <= high else (low + high) / 2
        if abs(moved - shift) <= 2.0**-52 * max(1.0, abs(shift)):
            break
        shift = float(moved)
    return shift


def _rest_and_curve(offset: Floats, label: Bools, weight: Floats, shift: float) -> tuple[float, float]:
    """Labels less probabilities at a shift, and the curvature there."""

    def make(rows: slice) -> Rows:
        line, heavy = offset[rows] + shift, weight[rows]
        above, small = line > 0, _smaller(line)
        whole = heavy * (label[rows].astype(float) - above)
        return (whole, heavy * np.where(above, small, -small), heavy * small * (1 - small))

    parts = totals_of(make, len(offset))
    return float(parts[0] + parts[1]), float(parts[2])


def separated(x: Floats, label: Bools) -> bool:
    """Whether a threshold on x splits the classes, so that the slope would run off to infinity.

    >>> separated(np.array([0.1, 0.2, 0.9]), np.array([False, False, True]))
    True
    """
    (least, most), (low, high) = span(x, label), span(x, ~label)
    return least >= high or most <= low


def span(x: Floats, rows: Bools) -> tuple[float, float]:
    """The least and the largest of some rows, without a copy of them.

    >>> span(np.array([0.1, 0.2, 0.9]), np.array([True, True, False]))
    (0.1, 0.2)
    """
    return float(np.min(x, where=rows, initial=np.inf)), float(np.max(x, where=rows, initial=-np.inf))


def in_parts(change: Callable[[Floats], Floats], values: Floats) -> Floats:
    """The same as ``change(values)``, without more memory than for its result.

    >>> in_parts(np.negative, np.array([1.0, 2.0]))
    array([-1., -2.])
    """
    changed = np.empty(len(values))
    for at in range(0, len(values), PART):
        changed[at : at + PART] = change(values[at : at + PART])
    return changed
