"""Figures that count every post once: added up per post, from the queries of the group alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from evidentia.verify.draws import Bools, Floats
from evidentia.verify.interval_arrays import Arrays
from evidentia.verify.interval_names import Defined
from evidentia.verify.replicate_table import over

PostShare = tuple[Floats, Floats]  # per post: what is added up above and below the line


def screening(run: Arrays, what: Defined, rows: Bools) -> PostShare:
    """Posts with evidence of which none is skipped, among posts with evidence."""
    held = run.per_post(run.label, rows) > 0
    missed = run.per_post(run.label & run.in_state("NEG"), rows) > 0
    return _numbers(held & ~missed, held)


def alerts(run: Arrays, what: Defined, rows: Bools) -> PostShare:
    """Posts whose alerts are all right, among posts with an alert."""
    pos = run.in_state("POS")
    alerting = run.per_post(pos, rows) > 0
    wrong = run.per_post(pos & ~run.label, rows) > 0
    return _numbers(alerting & ~wrong, alerting)


def agreement(run: Arrays, what: Defined, rows: Bools) -> PostShare:
    """Posts, or the mean share of their criteria, where the gate is right (or wrong)."""
    size = run.per_post(np.ones(len(run), bool), rows)
    right = run.per_post(run.gate == run.label, rows)
    held = size > 0
    shares = np.where(held, right / np.maximum(size, 1), 0.0)
    tops = {"ExactMatch": held & (right == size), "HammingScore": shares, "HammingLoss": held - shares}
    return _numbers(tops[what.base], held)


def post_f1(run: Arrays, what: Defined, rows: Bools) -> PostShare:
    """F1 of every post, each the same or by its number of gold criteria; 0/0 is what ``empty`` says."""
    held = run.per_post(np.ones(len(run), bool), rows) > 0
    hits, wrong = run.per_post(run.gate & run.label, rows), run.per_post(run.gate != run.label, rows)
    score = over(2 * hits, 2 * hits + wrong)
    score = np.where(np.isnan(score), float(what.get("empty", "0")), score) * held
    if what.get("avg") == "post":
        return _numbers(score, held)
    gold = run.per_post(run.label, rows)
    return _numbers(score * gold, gold)


def _numbers(*columns: Floats | Bools) -> PostShare:
    top, bottom = (column.astype(np.float64) for column in columns)
    return top, bottom


PER_POST: dict[str, Callable[[Arrays, Defined, Bools], PostShare]] = {
    "ScreeningSensitivity": screening,
    "AlertPrecision": alerts,
    **dict.fromkeys(("ExactMatch", "HammingScore", "HammingLoss"), agreement),
    "F1": post_f1,
}
PROPORTIONS: Sequence[str] = ("ScreeningSensitivity", "AlertPrecision", "ExactMatch")


def by_post(what: Defined) -> bool:
    """Whether a definition counts posts rather than queries."""
    whole = what.base in {"ExactMatch", "HammingScore", "HammingLoss"}
    return whole or what.get("unit") == "post" or what.get("avg") in {"post", "post_weighted"}


def population(run: Arrays, what: Defined) -> Bools:
    """The queries that make a post count."""
    if what.base == "ScreeningSensitivity":
        return run.label
    return run.in_state("POS") if what.base == "AlertPrecision" else np.ones(len(run), bool)
