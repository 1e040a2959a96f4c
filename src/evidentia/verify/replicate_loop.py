"""A few replicates by a plain loop: the queries of the drawn posts are repeated one by one, and nothing is an array."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from evidentia.verify.calibration import debiased
from evidentia.verify.draws import Draws
from evidentia.verify.evidence import Query
from evidentia.verify.interval_names import Defined
from evidentia.verify.order import as_numbers
from evidentia.verify.replicate_fits import FAR, FLAT, TINY, recalibrated, solve_shift
from evidentia.verify.replicate_plain import RANKED, Row, average, of_post, of_rows, ratio, scored, swept

LOOPS = 5
Post = Sequence[Row]


class Loop:
    """The first replicates of a plan as lists of posts; a post that is drawn twice is there twice."""

    def __init__(self, queries: Sequence[Query], draws: Draws, decisions: Mapping[str, Sequence[int]]) -> None:
        rows: dict[str, list[Row]] = {}
        for at, query in enumerate(queries):
            said = {cut: decided[at] for cut, decided in decisions.items()}
            rows.setdefault(query.post, []).append(Row(query, said))
        self.whole = [rows[post] for post in as_numbers(rows)]
        picks = (draws.picks(replicate) for replicate in range(min(LOOPS, draws.resamples)))
        self.resampled = [[self.whole[post] for post in drawn] for drawn in picks]

    def values(self, what: Defined) -> list[float]:
        """A definition over the whole run in these replicates, NaN where it is undefined."""
        if what.base.startswith("Calibration"):
            return [_stepped(what, self.whole, drawn) for drawn in self.resampled]
        return [value(what, drawn) for drawn in self.resampled]


def value(what: Defined, posts: Sequence[Post]) -> float:
    """A definition over posts that may occur several times."""
    if what.over_criteria:
        return _over_criteria(what, posts)
    if what.get("unit") == "post" or what.get("avg").startswith("post") or what.base in WHOLE_POSTS:
        return _of_posts(what, posts)
    if what.debiased:
        return debiased([[row.query for row in post] for post in posts], int(what.get("bins", "10")))
    rows = [row for post in posts for row in post]
    if what.base in {"AUROC", "AUPRC"} or (what.base == "TPR" and not what.tuned):
        return swept(what, scored(what, rows))
    if what.base in RANKED and (what.base != "Precision" or "depth" in what.choices):
        held = [row for row in rows if row.query.label or what.get("pop") == "all"]
        return average([RANKED[what.base](row, what) for row in held])
    return of_rows(what, rows)


WHOLE_POSTS = {"ExactMatch", "HammingScore", "HammingLoss"}


def _of_posts(what: Defined, posts: Sequence[Post]) -> float:
    """The weighted mean of what every post scores; a post may have no score."""
    scores = [found for post in posts if (found := of_post(what, post)) is not None]
    return ratio(math.fsum(score * weight for score, weight in scores), sum(weight for _, weight in scores))


def _over_criteria(what: Defined, posts: Sequence[Post]) -> float:
    """The mean over the criteria where the measure is defined, each the same or by its positives."""
    top = bottom = 0.0
    for criterion in {row.query.criterion for post in posts for row in post}:
        mine = [[row for row in post if row.query.criterion == criterion] for post in posts]
        found = value(what.within_criterion(), mine)
        weight = sum(row.query.label for post in mine for row in post) if what.get("avg") == "label_weighted" else 1
        if not math.isnan(found):
            top, bottom = top + weight * found, bottom + weight
    return ratio(top, bottom)


def _stepped(what: Defined, whole: Sequence[Post], posts: Sequence[Post]) -> float:
    """A calibration fit of the whole run, moved by one Newton step under the drawn queries."""
    queries, drawn = ([row.query for post in some for row in post] for some in (whole, posts))
    prob = np.array([query.prob for query in queries], np.float64)
    label = np.array([query.label for query in queries], bool)
    if what.base == "CalibrationIntercept":
        shift = solve_shift(prob, label)
        return math.nan if shift is None else _moved_shift(shift, drawn)
    line = recalibrated(prob, label)
    return math.nan if line is None else _moved_slope(*line, drawn)


def _moved_shift(shift: float, drawn: Sequence[Query]) -> float:
    """A shift after one step; a probability of 0 or 1 is not curved, but what it leaves must be made up."""
    gradient, curvature = [], []
    for query in drawn:
        prob = query.prob or 0.0
        if TINY < prob < 1 - TINY:
            rest, curve = _rest_and_curve(shift + _odds(query), query.label)
            gradient.append(rest)
            curvature.append(curve)
        else:
            gradient.append(query.label - float(prob > 0.5))
    return shift + _step(math.fsum(gradient), math.fsum(curvature))


def _moved_slope(a: float, b: float, drawn: Sequence[Query]) -> float:
    """A slope after one step, seen from the mean of the log-odds by curvature, where level and slope part."""
    odds = [_odds(query) for query in drawn]
    terms = [_rest_and_curve(a + b * x, query.label) for x, query in zip(odds, drawn, strict=True)]
    h00 = math.fsum(curve for _, curve in terms)
    if h00 == 0:
        return math.nan
    middle = math.fsum(curve * x for (_, curve), x in zip(terms, odds, strict=True)) / h00
    g1 = math.fsum(rest * (x - middle) for (rest, _), x in zip(terms, odds, strict=True))
    h11 = math.fsum(curve * (x - middle) ** 2 for (_, curve), x in zip(terms, odds, strict=True))
    return b + _step(h00 * g1, h00 * h11)


def _odds(query: Query) -> float:
    prob = min(max(query.prob or 0.0, TINY), 1 - TINY)
    return math.log(prob) - math.log1p(-prob)


def _rest_and_curve(line: float, label: bool) -> tuple[float, float]:
    """Label less probability at some log-odds, and the curvature there."""
    small = math.exp(-abs(line)) / (1 + math.exp(-abs(line)))
    rest = small if label == (line > 0) else 1 - small
    return (rest if label else -rest), small * (1 - small)


def _step(gradient: float, curvature: float) -> float:
    step = gradient / curvature if curvature > FLAT else math.nan
    return step if abs(step) <= FAR else math.nan
