"""Calibration: do the probabilities mean what they say? And what would acting on them be worth?"""

from __future__ import annotations

from functools import partial

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.measures.core import Outcome, Score, Statistic, ratio
from evidentia.measures.family import Family
from evidentia.measures.logistic import (
    EPSILON,
    Rows,
    in_parts,
    inside,
    leftover,
    logit,
    newton,
    root,
    separated,
    span,
    unclipped,
)
from evidentia.measures.populations import ALL
from evidentia.results.measure import Args, Parameter
from evidentia.stats.exact import in_order, totals_of
from evidentia.stats.gaps import debiased_sum
from evidentia.tables.queries import Queries

family = Family("calibration")
BINS = Parameter("bins", ("10",), "10", whole_number=True)
EMPTY = ("no queries",)
VAN_CALSTER = "Van Calster et al., A calibration hierarchy for risk models, J Clin Epidemiol 74 (2016)"


def bin_of(prob: Floats, bins: int) -> Ints:
    """The largest i with i/bins <= prob, at most bins - 1; the edges are the doubles i/bins.

    >>> bin_of(np.array([0.0, 0.3, 0.7, 1.0]), 10)
    array([0, 3, 7, 9])
    """
    edges = np.arange(bins) / bins
    return np.searchsorted(edges, prob, side="right") - 1


def _binned(queries: Queries, args: Args) -> Floats:
    assert queries.prob is not None
    bins = int(args["bins"])
    columns = np.zeros((len(queries), bins, 3))
    columns[np.arange(len(queries)), bin_of(queries.prob, bins)] = np.column_stack(
        [np.ones(len(queries)), queries.prob, queries.label]
    )
    return columns.reshape(len(queries), 3 * bins)


RELIABILITY = Statistic("reliability", _binned, uses=("bins",), bound=1.0)


def reliability_table(sums: Floats, args: Args) -> dict[str, object]:
    """What stands behind the ECE: for every bin its range, size, mean probability and share with evidence.

    >>> reliability_table(np.array([2.0, 0.5, 1.0]), Args({}))["bins"]  # one bin: queries, sum of prob, positives
    [{'low': 0.0, 'high': 1.0, 'n': 2, 'mean_prob': 0.25, 'positive_share': 0.5}]
    """
    bins = sums.reshape(-1, 3)
    rows = [
        {
            "low": i / len(bins),
            "high": (i + 1) / len(bins),
            "n": int(n),
            "mean_prob": float(prob / n) if n else None,
            "positive_share": float(positive / n) if n else None,
        }
        for i, (n, prob, positive) in enumerate(bins)
    ]
    return {"bins": rows}


def _bin_gaps(sums: Floats, args: Args) -> Floats:
    """Stated less observed in every bin, as shares of all queries; NaN without queries."""
    bins = sums.reshape(*sums.shape[:-1], -1, 3)
    total = in_order(bins[..., 0], -1)[..., None]
    gaps: Floats = np.divide(bins[..., 1] - bins[..., 2], total, out=np.full(bins.shape[:-1], np.nan), where=total > 0)
    return gaps


@family.ratio(
    "ECE",
    RELIABILITY,
    gaps=_bin_gaps,
    parts=("sum over bins of n_b x gap", "queries"),
    details=reliability_table,
    label="Expected calibration error",
    params=(BINS,),
    population=ALL,
    requires=("prob",),
    direction="lower",
    bounds=(0.0, 1.0),
    reasons=EMPTY,
    formula="sum over bins of (n_b / N) |mean prob in b - share with evidence in b|; bin b holds b/10 <= prob < (b+1)/10, "
    "the last one also prob = 1",
    meaning="How far the stated probabilities are from the observed frequencies, on average; 0 is perfect.",
    reference="Naeini et al., Obtaining well calibrated probabilities using Bayesian binning, AAAI (2015)",
    conventions={
        "scikit-learn": "has no ECE; calibration_curve gives the bins",
        "torchmetrics": "BinaryCalibrationError: bins open on the left, and prob = 1.0 falls into a bin of its own",
    },
)
def ece(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    """Weighted mean gap between confidence and frequency; 0.0, marked, without queries.

    >>> ece(np.array([[2.0, 0.5, 1.0, 2.0, 1.5, 1.0]]), Args({}))  # two bins: queries, sum of prob, positives
    (array([1.]), array([4.]))
    """
    bins = sums.reshape(*sums.shape[:-1], -1, 3)
    return in_order(np.abs(bins[..., 1] - bins[..., 2]), -1), in_order(bins[..., 0], -1)


DEBIASED = Parameter("estimate", ("debiased",), None, bare=True)
ONE_POST = ("no queries", "one post: its noise cannot be told from its gaps")


ROUNDING = 1e-12


def _post_gaps(queries: Queries, args: Args) -> Floats:
    """For every post: 1, its size and the square of it; for every bin its gap, the square, and gap times size."""
    assert queries.prob is not None
    bins = int(args["bins"])
    posts, at = np.unique(queries.post, return_inverse=True)
    size = np.bincount(at, minlength=len(posts)).astype(np.float64)
    cells = at * bins + bin_of(queries.prob, bins)
    gap = np.bincount(cells, queries.prob - queries.label, minlength=len(posts) * bins).reshape(len(posts), bins)
    whole = np.column_stack([np.ones(len(posts)), size, size**2])
    return np.column_stack([whole, gap, gap**2, gap * size[:, None]])


# larger than the bound for long posts, which costs nothing: sums on its grids are exact up to 2^27
POST_GAPS = Statistic("gaps by post", _post_gaps, uses=("bins",), unit="post", bound=1.0)


def _gaps_of_posts(sums: Floats, args: Args) -> Floats:
    """The gap of every bin, as a share of all queries; NaN without queries."""
    gap, total = sums[..., 3 : 3 + int(args["bins"])], sums[..., 1:2]
    gaps: Floats = np.divide(gap, total, out=np.full(gap.shape, np.nan), where=total > 0)
    return gaps


@family.sums(
    "ECE",
    POST_GAPS,
    gaps=_gaps_of_posts,
    sized=True,
    label="Expected calibration error, less its bias",
    params=(BINS, DEBIASED),
    population=ALL,
    requires=("prob",),
    direction="lower",
    bounds=(0.0, 1.0),
    reasons=ONE_POST,
    formula="c ECE, with c in [0, 1] such that sum over bins of E|c gap_b + noise_b| = ECE; noise_b is normal with the "
    "variance of gap_b over posts; 0 where noise alone would give the ECE",
    meaning="What the ECE would be without the part that chance adds to it; a calibrated system is near 0 with any number of "
    "posts.",
    reference="Roelofs et al., Mitigating bias in calibration error estimation, AISTATS (2022), on the bias; the correction "
    "is ours",
    conventions={"uncertainty-calibration": "subtracts a bias for independent rows: about two fifths of it at ECE 0"},
)
def debiased_ece(sums: Floats, args: Args) -> Outcome:
    """The scaled error; 0.0, marked, without queries or with one post only."""
    bins = int(args["bins"])
    posts, size, squared = (sums[..., i : i + 1] for i in range(3))
    square, product = sums[..., 3 + bins : 3 + 2 * bins], sums[..., 3 + 2 * bins :]
    gaps = np.nan_to_num(_gaps_of_posts(sums, args))
    spread = square - 2 * gaps * product + gaps**2 * squared
    spread = np.where(spread > ROUNDING * square, spread, 0.0)  # what is left of equal gaps is rounding
    some = np.broadcast_to(posts > 1, gaps.shape)
    scale = np.divide(posts, (posts - 1) * size**2, out=np.zeros(posts.shape), where=posts > 1)
    flaws = np.where(size[..., 0] == 0, 1, np.where(posts[..., 0] > 1, 0, 2)).astype(np.int8)
    values = debiased_sum(gaps, np.where(some, np.sqrt(spread * scale), 0.0))
    return Outcome(np.where(flaws > 0, 0.0, values), flaws)


@family.mean(
    "Brier",
    label="Brier score",
    population=ALL,
    requires=("prob",),
    direction="lower",
    bounds=(0.0, 1.0),
    reasons=EMPTY,
    formula="mean of (prob - label)^2",
    meaning="Mean squared distance between the stated probability and what was true; always saying the base rate p "
    "scores p(1 - p).",
    reference="Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78 (1950)",
    conventions={"scikit-learn": "brier_score_loss: the same"},
)
def brier(queries: Queries, args: Args) -> Floats:
    """Squared error of each probability."""
    assert queries.prob is not None
    return (queries.prob - queries.label) ** 2


@family.mean(
    "LogLoss",
    bound=64.0,
    label="Logarithmic loss",
    population=ALL,
    requires=("prob",),
    direction="lower",
    bounds=(0.0, None),
    reasons=EMPTY,
    formula="mean of -log(probability given to what was true), probabilities clipped to [2^-52, 1 - 2^-52]",
    meaning="Punishes confident mistakes most; one certain error costs as much as fifty coin tosses.",
    reference="Good, Rational decisions, J Royal Stat Soc B 14 (1952)",
    conventions={"scikit-learn": "log_loss: the same, with the same clipping"},
)
def log_loss(queries: Queries, args: Args) -> Floats:
    """Surprise at each label under its probability."""
    assert queries.prob is not None
    prob = np.clip(queries.prob, EPSILON, 1 - EPSILON)
    return -np.log(np.where(queries.label, prob, 1 - prob))


def _benefit(queries: Queries, args: Args) -> Floats:
    assert queries.prob is not None
    yes = queries.prob >= args.level
    return np.column_stack([yes & queries.label, yes & ~queries.label, np.ones(len(queries))]).astype(float)


@family.sums(
    "NetBenefit",
    Statistic("net_benefit", _benefit, uses_cut=True),
    label="Net benefit at a threshold probability",
    cut="t",
    population=ALL,
    requires=("prob",),
    direction="higher",
    bounds=(None, 1.0),
    reasons=(*EMPTY, "a threshold of 1 makes a false alarm infinitely bad"),
    formula="TP/N - FP/N x t/(1 - t), yes where prob >= t",
    meaning="True alarms per query, minus false alarms at the exchange rate that acting at probability t implies; "
    "compare with acting on all and acting on none (0).",
    reference="Vickers and Elkin, Decision curve analysis, Med Decis Making 26 (2006)",
    conventions={"dcurves": "the same"},
)
def net_benefit(sums: Floats, args: Args) -> Outcome:
    """Net true positives per query at the threshold's own odds; 0.0, marked, at t = 1.

    >>> from evidentia.results.names import parse_name
    >>> net_benefit(np.array([3.0, 2.0, 10.0]), Args({}, parse_name("NetBenefit@t=0.5").cut)).values  # TP, FP, N
    array(0.1)
    """
    if args.level == 1.0:
        return Outcome(np.zeros(sums.shape[:-1]), np.full(sums.shape[:-1], 2, np.int8))
    odds = args.level / (1 - args.level)
    return ratio(sums[..., 0] - odds * sums[..., 1], sums[..., 2])


NO_SLOPE = (
    "one class only, or no spread of probabilities",
    "the labels are separated perfectly: no finite solution",
    "fewer than two different probabilities strictly between 0 and 1: the clipping would decide",
)
NO_SHIFT = ("one class only", "no shift of the probabilities strictly between 0 and 1 makes the mean right")
FLAT = 1e-4  # curvature below it says nothing, and its sums have too few digits for a step
ROUNDED = 1e-9
FAR = 5.0 * (1 + 1e-9)  # small counts make steps of exactly 5, which rounding must not decide about
STEP = "Intervals take one Newton step from the estimate in every resample."


def _fit_slope(prob: Floats, label: Bools, weight: Floats) -> tuple[Floats | None, int]:
    """Intercept and slope of the logistic recalibration, or why there are none."""
    prob, label, weight = _weighed(prob, label, weight)
    x = in_parts(logit, prob)
    if label.all() or not label.any() or np.ptp(x) == 0:
        return None, 1
    if separated(x, label):
        return None, 2
    least, most = span(x, inside(prob))
    if least >= most:
        return None, 3
    solution = newton(x, label, weight)  # not scaled: the last digit of an x may be the overlap
    return (None, 2) if solution is None else (solution, 0)


def _weighed(prob: Floats, label: Bools, weight: Floats) -> tuple[Floats, Bools, Floats]:
    """The rows that weigh anything; the arrays themselves where all do."""
    held = weight > 0
    return (prob, label, weight) if held.all() else (prob[held], label[held], weight[held])


def _slope_score(prob: Floats, label: Bools) -> Score | None:
    beta, _ = _fit_slope(prob, label, np.broadcast_to(1.0, len(prob)))
    if beta is None:
        return None

    def make(rows: slice) -> Rows:
        x = logit(prob[rows])
        _, curve = leftover(beta[0] + beta[1] * x, label[rows])
        return curve, curve * x

    middle = totals_of(make, len(prob))  # the step is the same from any origin, and from here it keeps its digits
    return Score(beta, partial(_slope_columns, beta, middle[1] / middle[0]))


def _slope_columns(beta: Floats, origin: float, prob: Floats, label: Bools) -> Floats:
    x = logit(prob)
    rest, curve = leftover(beta[0] + beta[1] * x, label)
    x = x - origin
    return np.column_stack([rest, rest * x, curve, curve * x, curve * x * x])


def _slope_step(at: Floats, sums: Floats) -> Floats:
    gradient0, gradient1, curve00, curve01, curve11 = np.moveaxis(sums, -1, 0)
    determinant = curve00 * curve11 - curve01 * curve01
    shift = curve00 * gradient1 - curve01 * gradient0
    return np.asarray(at[1] + _trusted(shift, determinant))


def _trusted(shift: Floats, curvature: Floats) -> Floats:
    """A Newton step; NaN where there is next to no curvature, or where it would go so far that one step means nothing.

    A step of less than ``ROUNDED`` comes from rounding and is none.
    """
    step: Floats = np.divide(shift, curvature, out=np.full(curvature.shape, np.nan), where=curvature > FLAT)
    step[np.abs(step) < ROUNDED] = 0.0
    return np.where(np.abs(step) <= FAR, step, np.nan)


@family.fit(
    "CalibrationSlope",
    score=_slope_score,
    step=_slope_step,
    label="Calibration slope",
    population=ALL,
    requires=("prob",),
    direction="neither",
    bounds=(None, None),
    reasons=NO_SLOPE,
    formula="b in logit P(evidence) = a + b logit(prob), by maximum likelihood, probabilities clipped to [2^-52, 1 - 2^-52]",
    meaning="1 is right; below 1 the probabilities are too extreme (overconfident), above 1 too timid.",
    reference=VAN_CALSTER,
    conventions={"rms (R)": "val.prob's Slope: the same, but without probabilities of 0 and 1", "interval": STEP},
)
def calibration_slope(prob: Floats, label: Bools, weight: Floats) -> tuple[float, int]:
    """Slope of the logistic recalibration; 0.0, marked, where it does not exist.

    >>> prob, label = np.repeat([0.25, 0.75], 4), np.array([1, 0, 0, 0, 1, 1, 1, 0], bool)
    >>> slope, flaw = calibration_slope(prob, label, np.ones(8))
    >>> round(slope, 6), flaw
    (1.0, 0)
    """
    beta, flaw = _fit_slope(prob, label, weight)
    return (0.0, flaw) if beta is None else (float(beta[1]), 0)


def _can_shift(prob: Floats, label: Bools, weight: Floats) -> bool:
    """Whether the probabilities that a shift can move may add up to the positives that the certain ones leave them."""
    free = inside(prob)

    def make(rows: slice) -> Rows:
        some = weight[rows]
        return some * label[rows], some * (prob[rows] > 0.5) * ~free[rows], some * free[rows]

    positives, sure, room = totals_of(make, len(prob))
    return bool(0 < positives - sure < room)


def _intercept_score(prob: Floats, label: Bools) -> Score | None:
    value, flaw = calibration_intercept(prob, label, np.broadcast_to(1.0, len(prob)))
    return None if flaw else Score(np.array([value]), partial(_intercept_columns, value))


def _intercept_columns(value: float, prob: Floats, label: Bools) -> Floats:
    return np.column_stack(leftover(value + unclipped(prob), label))


def _intercept_step(at: Floats, sums: Floats) -> Floats:
    return np.asarray(at[0] + _trusted(sums[..., 0], sums[..., 1]))


@family.fit(
    "CalibrationIntercept",
    score=_intercept_score,
    step=_intercept_step,
    label="Calibration intercept (calibration in the large)",
    population=ALL,
    requires=("prob",),
    direction="neither",
    bounds=(None, None),
    reasons=NO_SHIFT,
    formula="a in logit P(evidence) = a + logit(prob), such that the mean of P is the share with evidence; "
    "0 and 1 (within 2^-52) stay as they are",
    meaning="0 is right; below 0 the probabilities are too high on the whole, above 0 too low.",
    reference=VAN_CALSTER,
    conventions={
        "rms (R)": "val.prob's Intercept is fitted together with the slope; ours holds the slope at 1",
        "interval": STEP,
    },
)
def calibration_intercept(prob: Floats, label: Bools, weight: Floats) -> tuple[float, int]:
    """Shift of the log-odds that makes the mean probability right; 0.0, marked, where there is none.

    >>> prob, label = np.full(4, 0.5), np.array([False, True, True, True])
    >>> value, flaw = calibration_intercept(prob, label, np.ones(4))
    >>> round(value, 6), flaw  # log(3): 3 of 4 are positive
    (1.098612, 0)
    """
    prob, label, weight = _weighed(prob, label, weight)
    if label.all() or not label.any():
        return 0.0, 1
    if not _can_shift(prob, label, weight):
        return 0.0, 2
    return root(in_parts(unclipped, prob), label, weight), 0
