"""A few replicates by a plain loop: the queries of the drawn posts are repeated one by one, and nothing is an array."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from evidentia.verify.draws import Draws
from evidentia.verify.evidence import Query
from evidentia.verify.interval_names import Defined
from evidentia.verify.order import as_numbers
from evidentia.verify.replicate_fits import FLAT, TINY, log_odds, solve_line, solve_shift
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
    line = _solved(what, [row.query for post in whole for row in post])
    if line is None:
        return math.nan
    terms = [_gradient_and_curvature(row.query, *line) for post in posts for row in post]
    g0, g1, h00, h01, h11 = (math.fsum(column) for column in zip(*terms, strict=True))
    if what.base == "CalibrationIntercept":
        return line[0] + g0 / h00 if h00 > FLAT else math.nan
    determinant = h00 * h11 - h01 * h01
    return line[1] + (h00 * g1 - h01 * g0) / determinant if determinant > FLAT else math.nan


def _gradient_and_curvature(query: Query, a: float, b: float) -> tuple[float, float, float, float, float]:
    prob = min(max(query.prob or 0.0, TINY), 1 - TINY)
    x = math.log(prob) - math.log(1 - prob)
    small = math.exp(-abs(a + b * x))
    expected = (1.0 if a + b * x >= 0 else small) / (1 + small)
    rest, curve = query.label - expected, expected * (1 - expected)
    return rest, rest * x, curve, curve * x, curve * x * x


def _solved(what: Defined, queries: Sequence[Query]) -> tuple[float, float] | None:
    """Intercept and slope of the fit on the run as it is; for the intercept alone the slope is 1."""
    x = log_odds(np.array([query.prob for query in queries], np.float64))
    label = np.array([query.label for query in queries], bool)
    if what.base == "CalibrationSlope":
        return solve_line(x, label)
    return None if label.all() or not label.any() else (solve_shift(x, label), 1.0)
