"""Calibration by its definitions, with solvers of its own for the two fits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evidentia.verify.catalogue import Definition
from evidentia.verify.evidence import Query
from evidentia.verify.names import level_of
from evidentia.verify.outcome import Outcome, share
from evidentia.verify.study import Scope, Study

EMPTY = "no queries"
ONE_CLASS = "one class only"
ONE_CLASS_OR_PROB = "one class only, or no spread of probabilities"
SEPARATED = "the labels are separated perfectly: no finite solution"
CLIPPING = "fewer than two different probabilities strictly between 0 and 1: the clipping would decide"
ONE_POST = "one post: its noise cannot be told from its gaps"
STUCK = "no shift of the probabilities strictly between 0 and 1 makes the mean right"
SMALLEST = 2.0**-52
Pairs = list[tuple[float, bool]]


def pairs_of(study: Study, rows: Sequence[int]) -> Pairs:
    """The probability of every query, and whether it has evidence."""
    return [(float(q.prob), q.label) for q in (study.queries[row] for row in rows) if q.prob is not None]


def said_and_true(study: Study, scope: Scope) -> Pairs:
    """The probability of every query of a group, and whether it has evidence."""
    return scope.once("probabilities", lambda: pairs_of(study, scope.rows))


def binned(pairs: Pairs, count: int) -> list[Pairs]:
    """The pairs of every bin: bin i holds i/count <= prob < (i+1)/count, the last one also prob = 1."""
    held: list[Pairs] = [[] for _ in range(count)]
    for prob, label in pairs:
        at = min(int(prob * count), count - 1)
        while at + 1 < count and (at + 1) / count <= prob:
            at += 1
        while at / count > prob:
            at -= 1
        held[at].append((prob, label))
    return held


def bins_of(pairs: Pairs, count: int) -> list[dict[str, Any]]:
    """The reliability table."""
    return [
        {
            "low": i / count,
            "high": (i + 1) / count,
            "n": len(inside),
            "mean_prob": math.fsum(prob for prob, _ in inside) / len(inside) if inside else None,
            "positive_share": sum(label for _, label in inside) / len(inside) if inside else None,
        }
        for i, inside in enumerate(binned(pairs, count))
    ]


def ece(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """The gap between mean probability and share of positives in every bin, weighted by the bin's size."""
    if definition.get("estimate") == "debiased":
        return _debiased(study, definition, scope)
    pairs = said_and_true(study, scope)
    bins = bins_of(pairs, int(str(definition.get("bins"))))
    if not pairs:
        return Outcome(0.0, EMPTY, {"bins": bins})
    gaps = [b["n"] / len(pairs) * abs(b["mean_prob"] - b["positive_share"]) for b in bins if b["n"]]
    return Outcome(math.fsum(gaps), None, {"bins": bins})


def _debiased(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """The error without what noise between posts adds to it."""
    if not said_and_true(study, scope):
        return Outcome(0.0, EMPTY)
    posts = [[study.queries[row] for row in rows] for rows in study.by_post(scope)]
    if len(posts) < 2:
        return Outcome(0.0, ONE_POST)
    return Outcome(debiased(posts, int(str(definition.get("bins")))))


def debiased(posts: Sequence[Sequence[Query]], count: int) -> float:
    """The error that, with noise added to its gaps, would be expected to come out as large as it did; NaN of one post."""
    if len(posts) < 2:
        return math.nan
    whole = sum(map(len, posts))
    pairs = [[(float(query.prob or 0.0), query.label) for query in post] for post in posts]
    each = [[math.fsum(prob - label for prob, label in inside) for inside in binned(post, count)] for post in pairs]
    gaps = [math.fsum(column) / whole for column in zip(*each, strict=True)]
    squares = [
        math.fsum((mine[b] - gaps[b] * len(post)) ** 2 for mine, post in zip(each, posts, strict=True))
        for b in range(count)
    ]
    errors = [math.sqrt(square * len(posts) / (len(posts) - 1)) / whole for square in squares]
    return _scaled_down(gaps, errors)


def _scaled_down(gaps: Sequence[float], errors: Sequence[float]) -> float:
    """The sum of the gaps times the factor at which the expected noisy sum is the sum that was seen."""
    seen, low, high = math.fsum(map(abs, gaps)), 0.0, 1.0
    if not any(errors):
        return seen
    if _expected(0.0, gaps, errors) >= seen:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _expected(middle, gaps, errors) < seen else (low, middle)
    return high * seen


def _expected(scale: float, gaps: Sequence[float], errors: Sequence[float]) -> float:
    """The expected sum of |scale gap + noise|, noise being normal."""
    terms = []
    for gap, error in zip(gaps, errors, strict=True):
        away = abs(scale * gap)
        if error:
            terms.append(error * math.sqrt(2 / math.pi) * math.exp(-((away / error) ** 2) / 2))
            away *= math.erf(away / (error * math.sqrt(2)))
        terms.append(away)
    return math.fsum(terms)


def net_benefit(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """True alarms per query less false alarms at the odds of the threshold."""
    threshold = float(level_of(str(definition.cut)))
    if threshold == 1:
        return Outcome(0.0, "a threshold of 1 makes a false alarm infinitely bad")
    said_yes = [label for prob, label in said_and_true(study, scope) if prob >= threshold]
    right, wrong = said_yes.count(True), said_yes.count(False)
    return share(right - wrong * (threshold / (1 - threshold)), len(scope.rows), EMPTY)


def log_loss(prob: float, label: bool) -> float:
    """The surprise at what was true, with probabilities kept off 0 and 1."""
    kept = min(max(prob, SMALLEST), 1 - SMALLEST)
    return -math.log(kept if label else 1 - kept)


def log_odds(prob: float) -> float:
    """The logarithm of the odds, with probabilities kept off 0 and 1."""
    kept = min(max(prob, SMALLEST), 1 - SMALLEST)
    return math.log(kept) - math.log1p(-kept)


def certain(prob: float) -> bool:
    """Whether a probability is 0 or 1, as far as its log-odds can tell."""
    return prob <= SMALLEST or prob >= 1 - SMALLEST


def intercept(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """The shift of the log-odds at which as many positives are expected as there are; certainties do not move."""
    pairs = said_and_true(study, scope)
    if len({label for _, label in pairs}) < 2:
        return Outcome(0.0, ONE_CLASS)
    odds = [log_odds(prob) for prob, _ in pairs if not certain(prob)]
    missing = sum(label for _, label in pairs) - sum(certain(prob) and prob > 0.5 for prob, _ in pairs)
    if missing <= 0 or missing >= len(odds):
        return Outcome(0.0, STUCK)
    return Outcome(_shift(odds, missing))


def _shift(odds: list[float], positives: int) -> float:
    """Where so many positives are expected: Newton steps within a bracket."""
    low, high, at = -80.0, 80.0, 0.0
    for _ in range(200):
        rest, curve = _slack(odds, positives, at)
        low, high = (at, high) if rest > 0 else (low, at)
        moved = at + rest / curve if curve > 0 else low
        moved = moved if low < moved < high else (low + high) / 2
        if moved == at or high - low < 1e-15 or abs(moved - at) < 1e-14 * max(1.0, abs(at)):
            return moved
        at = moved
    return at


def _slack(odds: list[float], positives: int, shift: float) -> tuple[float, float]:
    """Observed less expected positives at a shift, every term with all its digits, and how fast it falls."""
    terms = [float(positives)]
    curves = []
    for odd in odds:
        rest, curve = _residual(odd + shift, False)
        terms += rest
        curves.append(curve)
    return math.fsum(terms), math.fsum(curves)


def _residual(odd: float, label: bool) -> tuple[tuple[float, float], float]:
    """Label less probability as a whole number and a small rest, which keeps its digits, and the curvature."""
    small = 1 / (1 + math.exp(min(abs(odd), 700.0)))  # the smaller of the probability and its opposite
    expected = 1 if odd > 0 else 0
    return (float(label - expected), small if expected else -small), small * (1 - small)


def slope(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """The slope of the logistic recalibration with a free intercept."""
    pairs = said_and_true(study, scope)
    with_evidence = [log_odds(prob) for prob, label in pairs if label]
    without = [log_odds(prob) for prob, label in pairs if not label]
    if not with_evidence or not without or len({*with_evidence, *without}) == 1:
        return Outcome(0.0, ONE_CLASS_OR_PROB)
    if min(with_evidence) >= max(without) or max(with_evidence) <= min(without):
        return Outcome(0.0, SEPARATED)
    if len({log_odds(prob) for prob, _ in pairs if not certain(prob)}) < 2:
        return Outcome(0.0, CLIPPING)
    return Outcome(_slope([(odd, True) for odd in with_evidence] + [(odd, False) for odd in without]))


def _slope(odds: list[tuple[float, bool]]) -> float:
    """Maximum likelihood by Newton steps that are halved until the likelihood rises.

    Before every step the points are moved so that their mean by curvature is 0: there the two unknowns can be solved for
    one by one, also where the classes hardly overlap.
    """
    zero = a = b = 0.0
    for _ in range(500):
        now = _centre(odds, zero, a, b)
        a, zero = a + b * (now - zero), now
        moved = [(x - zero, label) for x, label in odds]
        step, size = _newton_step(moved, a, b), 1.0
        reached = _likelihood(moved, a, b)
        size_of = (abs(step[0]) / max(1.0, abs(a)), abs(step[1]) / max(1.0, abs(b)))
        long = max(size_of) > 1e-6  # near the top the likelihood is flat
        while long and size > 1e-9 and _likelihood(moved, a + size * step[0], b + size * step[1]) < reached:
            size /= 2
        a, b = a + size * step[0], b + size * step[1]
        if max(size_of) <= 1e-12:
            break
    return b


def _centre(points: Sequence[tuple[float, bool]], zero: float, a: float, b: float) -> float:
    """The mean of the points, each weighing what its curvature is."""
    curves = [_residual(a + b * (x - zero), label)[1] for x, label in points]
    return math.fsum(curve * x for curve, (x, _) in zip(curves, points, strict=True)) / math.fsum(curves)


def _newton_step(points: Sequence[tuple[float, bool]], a: float, b: float) -> tuple[float, float]:
    """A step in level and slope, around the centre of curvature."""
    g0, g1, h00, h11 = [], [], [], []
    for x, label in points:
        (whole, rest), curve = _residual(a + b * x, label)
        g0 += [whole, rest]
        g1 += [whole * x, rest * x]
        h00.append(curve)
        h11.append(curve * x * x)
    return math.fsum(g0) / math.fsum(h00), math.fsum(g1) / math.fsum(h11)


def _likelihood(points: Sequence[tuple[float, bool]], a: float, b: float) -> float:
    return -math.fsum(_softplus(-(a + b * x) if label else a + b * x) for x, label in points)


def _softplus(z: float) -> float:
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))
