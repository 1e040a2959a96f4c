"""Twins of the calibration measures: binned gaps, losses, net benefit, and two fits with solvers of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.results.measure import Args
from evidentia.verify.calibrators import TINY, clipped, curve_at, log_likelihood, log_odds, rest_at, sigmoid
from evidentia.verify.recipes import over
from evidentia.verify.study import Study
from evidentia.verify.twins import COUNT, FREE, Column, FitTwin, Solution, SumTwin, TwinFamily

family = TwinFamily(
    "calibration",
    {"LogLoss": COUNT, "NetBenefit": (-math.inf, 1.0), "CalibrationSlope": FREE, "CalibrationIntercept": FREE},
)
FLAT = 1e-4  # curvature below this has no step
NONE = 1e-9  # a shorter step is rounding
STEPS, SETTLED = 60, 1e-13  # of Newton's method for a factor, and the step that is none
FAR = 5.0 + 5e-9  # a longer step, in log-odds or in units of the slope, is not trusted; 5 itself is, however rounded


def bins_of(prob: Floats, count: int) -> Ints:
    """The bin of every probability: bin b holds b/count <= prob < (b+1)/count, the last one also 1."""
    at: Ints = sum((prob >= b / count).astype(np.int64) for b in range(1, count)) + np.zeros(len(prob), np.int64)
    return at


def _gaps(study: Study, args: Args) -> Sequence[Floats]:
    """Stated less true of every query, bin by bin."""
    count = int(args["bins"])
    at = bins_of(study.prob, count)
    return [np.where(at == b, study.prob - study.label, 0.0) for b in range(count)]


def reliability(study: Study, args: Args, rows: Bools) -> dict[str, Any]:
    """The reliability table: what every bin holds."""
    count, prob, label = int(args["bins"]), study.prob[rows], study.label[rows]
    at = bins_of(prob, count)
    table = []
    for b in range(count):
        size = int(np.count_nonzero(at == b))
        shares = (math.fsum(prob[at == b]) / size, int(label[at == b].sum()) / size) if size else (None, None)
        edges = {"low": b / count, "high": (b + 1) / count, "n": size}
        table.append({**edges, "mean_prob": shares[0], "positive_share": shares[1]})
    return {"bins": table}


family.add(
    "ECE",
    SumTwin(
        columns=lambda study, args: [*_gaps(study, args), study.everyone],
        finish=lambda sums, args: over(np.abs(sums[:-1]).sum(axis=0), sums[-1]),
        gaps=_gaps,
        details=reliability,
    ),
)


def _post_gaps(study: Study, args: Args, rows: Bools) -> Sequence[Floats]:
    """Of every post: one, its size and its square; of every bin its gap, the square, and gap times size."""
    size = study.per_post(study.everyone, rows)
    gaps = [study.per_post(gap, rows) for gap in _gaps(study, args)]
    return [
        *((size > 0).astype(np.float64), size, size**2),
        *(column for gap in gaps for column in (gap, gap**2, gap * size)),
    ]


def _debiased(sums: Floats, args: Args) -> Floats:
    """The error without what noise between posts adds to it; undefined with one post."""
    posts, whole, squares = sums[:3]
    gap, square, product = (sums[3 + i :: 3] for i in range(3))
    enough = posts > 1
    mean = gap / np.where(enough, whole, 1.0)
    spread = square - 2 * mean * product + mean**2 * squares
    spread = np.where(spread > 1e-12 * square, spread, 0.0)  # equal gaps leave nothing but rounding
    errors = np.sqrt(spread * posts / np.where(enough, posts - 1, 1.0)) / np.where(enough, whole, 1.0)
    return np.where(enough, _scaled_down(mean, errors), np.nan)


def _scaled_down(gaps: Floats, errors: Floats) -> Floats:
    """The sum of the gaps times the factor at which the expected noisy sum is the one seen: bins x replicates.

    The expected sum is convex in the factor, so that Newton's method comes down to it from 1.
    """
    seen, noise = np.abs(gaps).sum(axis=0), _expected(0 * gaps, errors)
    factor = np.ones(len(seen))
    left = np.flatnonzero((noise < seen) & errors.any(axis=0))
    for _ in range(STEPS):
        own, error = gaps[:, left], errors[:, left]
        step = (_expected(factor[left] * own, error) - seen[left]) / _growth(factor[left], own, error)
        factor[left] = np.maximum(factor[left] - step, 0.0)
        left = left[step > SETTLED]
        if not len(left):
            break
    return np.where(errors.any(axis=0) & (noise >= seen), 0.0, factor * seen)


def _expected(gaps: Floats, errors: Floats) -> Floats:
    """The expected sum of |gap + noise|, noise being normal."""
    from scipy.special import erf

    away, some = np.abs(gaps), np.where(errors > 0, errors, 1.0)
    folded = some * math.sqrt(2 / math.pi) * np.exp(-((away / some) ** 2) / 2) + away * erf(away / some / math.sqrt(2))
    total: Floats = np.where(errors > 0, folded, away).sum(axis=0)
    return total


def _growth(factor: Floats, gaps: Floats, errors: Floats) -> Floats:
    """How fast the expected sum grows with a factor of the gaps."""
    from scipy.special import erf

    away, some = np.abs(gaps), np.where(errors > 0, errors, 1.0)
    total: Floats = (away * np.where(errors > 0, erf(factor * away / some / math.sqrt(2)), 1.0)).sum(axis=0)
    return total


family.add(
    "ECE",
    SumTwin(
        post_columns=_post_gaps,
        finish=_debiased,
        count=True,
        gaps=_gaps,
        undefined=lambda study, args, rows: (0.0, 2 if rows.any() else 1),
    ),
    when={"estimate": "debiased"},
)


@family.mean("Brier")
def brier(study: Study, args: Args) -> Floats:
    """Squared distance between the probability and what was true."""
    return (study.prob - study.label) ** 2


@family.mean("LogLoss")
def log_loss(study: Study, args: Args) -> Floats:
    """Surprise at what was true."""
    prob = clipped(study.prob)
    return np.where(study.label, -np.log(prob), -np.log(1 - prob))


def _benefit(study: Study, args: Args) -> Sequence[Column]:
    yes = study.prob >= args.level
    return [yes & study.label, yes & ~study.label, study.everyone]


def _net_benefit(sums: Floats, args: Args) -> Floats:
    """True alarms per query, less false ones at the odds of the threshold; at 1 these odds are infinite."""
    odds = args.level / (1 - args.level) if args.level < 1 else np.nan
    return over(sums[0] - odds * sums[1], sums[2])


family.add(
    "NetBenefit",
    SumTwin(
        columns=_benefit, finish=_net_benefit, undefined=lambda study, args, rows: (0.0, 2 if args.level == 1 else 1)
    ),
)


def _certain(prob: Floats) -> Bools:
    """Which probabilities are 0 or 1, as far as their log-odds can tell."""
    return (prob <= TINY) | (prob >= 1 - TINY)


def _step(gradient: Floats, curvature: Floats) -> Floats:
    """One Newton step; none where the curvature is flat, or where it would go further than one step can be trusted."""
    step = gradient / np.where(curvature > FLAT, curvature, 1.0)
    step = np.where(np.abs(step) < NONE, 0.0, step)
    return np.where((curvature > FLAT) & (np.abs(step) <= FAR), step, np.nan)


def _solve_slope(prob: Floats, label: Bools) -> Solution | int:
    """Slope and intercept of logit P = a + b logit(prob), or why no finite ones exist."""
    x = log_odds(prob)
    if label.all() or not label.any() or x.min() == x.max():
        return 1
    if x[label].min() >= x[~label].max() or x[label].max() <= x[~label].min():
        return 2  # the classes are separated: the slope runs off to infinity
    return solve_line(x, label) if len(np.unique(x[~_certain(prob)])) > 1 else 3


def solve_line(x: Floats, label: Bools) -> Solution:
    """Slope and intercept of most likelihood, by Newton steps that are halved until they climb."""
    zero, a, b = 0.0, 0.0, 0.0
    for _ in range(500):
        curve = curve_at(a + b * (x - zero))
        now = float((curve * x).sum() / curve.sum())  # around it level and slope are solved one by one
        a, zero = a + b * (now - zero), now
        moved = x - zero
        da, db = _newton_step(moved, label, a, b)
        before = log_likelihood(a + b * moved, label) - 1e-9
        while log_likelihood(a + da + (b + db) * moved, label) < before:
            da, db = da / 2, db / 2
        a, b = a + da, b + db
        if abs(da) <= 1e-12 * max(1.0, abs(a)) and abs(db) <= 1e-12 * max(1.0, abs(b)):
            break
    return b, a - b * zero


def _newton_step(x: Floats, label: Bools, a: float, b: float) -> tuple[float, float]:
    line = a + b * x
    above = line > 0
    whole, small = label.astype(np.float64) - above, np.where(above, 1.0, -1.0) * sigmoid(-np.abs(line))
    curve = curve_at(line)
    level, turn = whole.sum() + small.sum(), (whole * x).sum() + (small * x).sum()
    return float(level / curve.sum()), float(turn / (curve * x * x).sum())


def _slope_columns(solution: Solution, prob: Floats, label: Bools) -> Sequence[Floats]:
    x = log_odds(prob)
    line = solution[1] + solution[0] * x
    rest, curve = rest_at(line, label), curve_at(line)
    x = x - np.sum(curve * x) / max(
        curve.sum(), TINY
    )  # the step is the same from any origin, and from here it keeps its digits
    return rest, rest * x, curve, curve * x, curve * x**2


def _slope_step(solution: Solution, sums: Floats) -> Floats:
    g0, g1, h00, h01, h11 = sums
    return solution[0] + _step(h00 * g1 - h01 * g0, h00 * h11 - h01**2)


family.add("CalibrationSlope", FitTwin(solve=_solve_slope, columns=_slope_columns, step=_slope_step))


def _solve_shift(prob: Floats, label: Bools) -> Solution | int:
    """Where expected and observed positives agree, or why nowhere."""
    from scipy.optimize import brentq

    if label.all() or not label.any():
        return 1
    stuck = _certain(prob)
    x = log_odds(prob[~stuck])
    wanted = int(np.count_nonzero(label)) - int(np.count_nonzero(stuck & (prob > 0.5)))
    if not 0 < wanted < len(x):
        return 2
    return (float(brentq(lambda shift: _missing(shift + x, wanted), -80.0, 80.0, xtol=1e-15)),)


def _missing(x: Floats, wanted: int) -> float:
    """Wanted less expected positives; whole numbers and small rests are added apart, so that neither swallows the other."""
    rest = np.where(x > 0, 1.0, -1.0) * sigmoid(-np.abs(x))
    return float(wanted - np.count_nonzero(x > 0)) + float(np.sum(rest))


def _shift_columns(solution: Solution, prob: Floats, label: Bools) -> Sequence[Floats]:
    """A probability of 0 or 1 is not curved, but what it leaves must be made up."""
    line, stuck = solution[0] + log_odds(prob), _certain(prob)
    rest = np.where(stuck, label - (prob > 0.5).astype(np.float64), rest_at(line, label))
    return rest, np.where(stuck, 0.0, curve_at(line))


def _shift_step(solution: Solution, sums: Floats) -> Floats:
    return solution[0] + _step(sums[0], sums[1])


family.add("CalibrationIntercept", FitTwin(solve=_solve_shift, columns=_shift_columns, step=_shift_step))
