"""The two calibration fits: solved once on the run, then moved by one Newton step in every replicate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.verify.draws import Bools, Floats
from evidentia.verify.replicate_table import Finish

TINY = 2.0**-52
FLAT = 1e-4  # curvature below this has no step
NONE = 1e-9  # a shorter step is rounding
FAR = 5.0 + 5e-9  # a longer step, in log-odds or in units of the slope, is not trusted; 5 itself is, however rounded


@dataclass(frozen=True, eq=False)
class Fitted:
    """The solution, what each query adds to gradient and curvature there, and the step that their sums make."""

    start: float
    columns: tuple[Floats, ...]
    finish: Finish


def log_odds(prob: Floats) -> Floats:
    """Log-odds of probabilities that are clipped away from 0 and 1."""
    prob = np.minimum(np.maximum(prob, TINY), 1 - TINY)
    return np.log(prob) - np.log1p(-prob)


def certain(prob: Floats) -> Bools:
    """Which probabilities are 0 or 1, as far as their log-odds can tell."""
    return (prob <= TINY) | (prob >= 1 - TINY)


def sigmoid(x: Floats) -> Floats:
    """The inverse of the log-odds, without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def slope(prob: Floats, label: Bools) -> Fitted | None:
    """The slope of logit P = a + b logit(prob); None where no finite one exists."""
    found = recalibrated(prob, label)
    if found is None:
        return None
    x = log_odds(prob)
    line = found[0] + found[1] * x
    rest, curve = _rest(line, label), _curve(line)
    x = x - np.sum(curve * x) / curve.sum()  # the step is the same from any origin, and from here it keeps its digits

    def finish(sums: Floats) -> Floats:
        g0, g1, h00, h01, h11 = sums
        return found[1] + _step(h00 * g1 - h01 * g0, h00 * h11 - h01**2)

    return Fitted(found[1], (rest, rest * x, curve, curve * x, curve * x**2), finish)


def intercept(prob: Floats, label: Bools) -> Fitted | None:
    """The shift a of logit P = a + logit(prob), where 0 and 1 stay as they are; None where no finite one exists."""
    shift = solve_shift(prob, label)
    if shift is None:
        return None
    line, stuck = shift + log_odds(prob), certain(prob)
    rest = np.where(stuck, label - (prob > 0.5).astype(np.float64), _rest(line, label))

    def finish(sums: Floats) -> Floats:
        return shift + _step(sums[0], sums[1])

    return Fitted(shift, (rest, np.where(stuck, 0.0, _curve(line))), finish)


def _rest(line: Floats, label: Bools) -> Floats:
    """Label less probability at some log-odds, with its digits where they nearly agree."""
    return np.where(label, sigmoid(-line), -sigmoid(line))


def _step(gradient: Floats, curvature: Floats) -> Floats:
    """One Newton step; none where the curvature is flat, or where it would go further than one step can be trusted."""
    step = gradient / np.where(curvature > FLAT, curvature, 1.0)
    step = np.where(np.abs(step) < NONE, 0.0, step)
    return np.where((curvature > FLAT) & (np.abs(step) <= FAR), step, np.nan)


def recalibrated(prob: Floats, label: Bools) -> tuple[float, float] | None:
    """Intercept and slope; None also where fewer than two probabilities are neither 0 nor 1 and the clipping would decide."""
    x = log_odds(prob)
    return solve_line(x, label) if len(np.unique(x[~certain(prob)])) > 1 else None


def solve_line(x: Floats, label: Bools) -> tuple[float, float] | None:
    """Intercept and slope of most likelihood, by Newton steps that are halved until they climb."""
    if label.all() or not label.any() or x.min() == x.max():
        return None
    with_evidence, without = x[label], x[~label]
    if with_evidence.min() >= without.max() or with_evidence.max() <= without.min():
        return None  # the classes are separated: the slope runs off to infinity
    zero, a, b = 0.0, 0.0, 0.0
    for _ in range(500):
        curve = _curve(a + b * (x - zero))
        now = float((curve * x).sum() / curve.sum())  # around it level and slope are solved one by one
        a, zero = a + b * (now - zero), now
        moved = x - zero
        da, db = _newton_step(moved, label, a, b)
        while _log_likelihood(moved, label, a + da, b + db) < _log_likelihood(moved, label, a, b) - 1e-9:
            da, db = da / 2, db / 2
        a, b = a + da, b + db
        if abs(da) <= 1e-12 * max(1.0, abs(a)) and abs(db) <= 1e-12 * max(1.0, abs(b)):
            break
    return a - b * zero, b


def _curve(line: Floats) -> Floats:
    return sigmoid(line) * sigmoid(-line)


def _newton_step(x: Floats, label: Bools, a: float, b: float) -> tuple[float, float]:
    line = a + b * x
    above = line > 0
    whole, small = label.astype(np.float64) - above, np.where(above, 1.0, -1.0) * sigmoid(-np.abs(line))
    curve = _curve(line)
    level, turn = whole.sum() + small.sum(), (whole * x).sum() + (small * x).sum()
    return float(level / curve.sum()), float(turn / (curve * x * x).sum())


def _log_likelihood(x: Floats, label: Bools, a: float, b: float) -> float:
    line = a + b * x
    return -float(np.logaddexp(0.0, np.where(label, -line, line)).sum())


def solve_shift(prob: Floats, label: Bools) -> float | None:
    """Where expected and observed positives agree: bisection, then Newton steps for the last digits; None if nowhere."""
    stuck = certain(prob)
    x = log_odds(prob[~stuck])
    wanted = int(np.count_nonzero(label)) - int(np.count_nonzero(stuck & (prob > 0.5)))
    if not 0 < wanted < len(x):
        return None
    low, high = -80.0, 80.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _missing(middle + x, wanted) > 0 else (low, middle)
    shift = (low + high) / 2
    for _ in range(3):
        curve = float(_curve(shift + x).sum())
        shift += _missing(shift + x, wanted) / curve if curve > 0 else 0.0
    return shift


def _missing(x: Floats, wanted: int) -> float:
    """Wanted less expected positives; whole numbers and small rests are added apart, so that neither swallows the other."""
    rest = np.where(x > 0, 1.0, -1.0) * sigmoid(-np.abs(x))
    return float(wanted - np.count_nonzero(x > 0)) + float(np.sum(rest))
