"""Detection by its definitions: pairs in the right order, precision at every score, all operating points, cells."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from evidentia.verify.catalogue import Definition
from evidentia.verify.evidence import Query
from evidentia.verify.names import level_of
from evidentia.verify.outcome import Outcome, share
from evidentia.verify.study import Scope, Study
from evidentia.verify.tuning import Point, best_point, operating_points

NO_POSITIVES, NO_NEGATIVES = "no queries with evidence", "no queries without evidence"
Scored = tuple[list[float], list[bool]]


def scored(study: Study, scope: Scope, level: str) -> Scored:
    """The scores of a group's queries, or of all their candidates, with what is true of each."""
    return scope.once(("scored", level), lambda: _scored([study.queries[row] for row in scope.rows], level))


def _scored(queries: list[Query], level: str) -> Scored:
    if level == "query":
        return [float(q.score) for q in queries if q.score is not None], [q.label for q in queries]
    pairs = [candidate for query in queries for candidate in query.candidates or ()]
    scores = [pair.score if pair.node_prob is None else pair.node_prob for pair in pairs]
    return scores, [pair.gold for pair in pairs]


def points_of(study: Study, scope: Scope, level: str) -> list[Point]:
    """Every operating point of a group."""
    return scope.once(("points", level), lambda: operating_points(*scored(study, scope, level)))


def _one_class(scores: Scored) -> str | None:
    positives = sum(scores[1])
    return NO_POSITIVES if not positives else NO_NEGATIVES if positives == len(scores[1]) else None


def auroc(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """The share of (positive, negative) pairs in the right order; a tied pair counts one half."""
    found = scored(study, scope, str(definition.get("level")))
    flaw = _one_class(found)
    if flaw is not None:
        return Outcome(0.5, flaw)
    halves, pairs = count_pairs(*found)
    return Outcome(halves / (2 * pairs))


def count_pairs(scores: list[float], labels: list[bool]) -> tuple[int, int]:
    """Twice the pairs in the right order plus the tied pairs, and all pairs, as whole numbers.

    >>> count_pairs([0.9, 0.5, 0.5], [True, True, False])
    (3, 2)
    """
    negatives = sorted(score for score, label in zip(scores, labels, strict=True) if not label)
    positives = [score for score, label in zip(scores, labels, strict=True) if label]
    halves = sum(bisect_left(negatives, score) + bisect_right(negatives, score) for score in positives)
    return halves, len(positives) * len(negatives)


def auprc(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """The precision at the score of every positive, averaged over the positives; tied scores share one precision."""
    level = str(definition.get("level"))
    found = scored(study, scope, level)
    positives, total = sum(found[1]), len(found[1])
    details = {"prevalence": positives / max(total, 1)}
    flaw = _one_class(found)
    if flaw is not None:
        return Outcome(positives / max(total, 1), flaw, details)
    gains, before = [], 0
    for point in points_of(study, scope, level):
        gains.append((point.tp - before) * (point.tp / (point.tp + point.fp)))
        before = point.tp
    return Outcome(math.fsum(gains) / positives, None, details)


def tpr_within_budget(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """The best true positive rate among all operating points within the budget, chosen on the queries it is judged on."""
    points = points_of(study, scope, "query")
    best = best_point(points, level_of(str(definition.cut)))
    negatives = points[-1].fp if points else 0
    details = {
        "threshold": None if best is None else best.value,
        "threshold_reason": "reject_all" if best is None else None,
        "achieved_fpr": best.fp / negatives if best is not None and negatives else 0.0,
    }
    flaw = _one_class(scored(study, scope, "query"))
    if flaw is not None:
        return Outcome(0.0, flaw, details)
    return Outcome((0 if best is None else best.tp) / points[-1].tp, None, details)


@dataclass(frozen=True)
class Cells:
    """A confusion table."""

    tp: int
    fp: int
    fn: int
    tn: int


def cells(study: Study, definition: Definition, scope: Scope) -> Cells:
    """Count the answers of a group; queries without one are in no cell."""
    said = study.decisions(definition)

    def count() -> Cells:
        kinds = [(said[row], study.queries[row].label) for row in scope.rows]
        answers = ((True, True), (True, False), (False, True), (False, False))
        return Cells(*(kinds.count(answer) for answer in answers))

    return scope.once(("cells", id(said)), count)


def confusion(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """Any figure that is read off a confusion table."""
    return from_cells(definition.base, cells(study, definition, scope))


def from_cells(base: str, c: Cells) -> Outcome:
    """The figure of that name."""
    said_yes, said_no = c.tp + c.fp, c.fn + c.tn
    positives, negatives = c.tp + c.fn, c.fp + c.tn
    if base in {"TP", "FP", "FN", "TN"}:
        return Outcome(float(getattr(c, base.lower())))
    if base == "MCC":
        return _mcc(c)
    if base == "BalancedAccuracy":
        rates = (share(c.tp, positives, NO_POSITIVES), share(c.tn, negatives, NO_NEGATIVES))
        return Outcome((rates[0].value + rates[1].value) / 2, rates[0].flaw or rates[1].flaw)
    parts = {
        "Sensitivity": (c.tp, positives, NO_POSITIVES),
        "TPR": (c.tp, positives, NO_POSITIVES),
        "Specificity": (c.tn, negatives, NO_NEGATIVES),
        "FPR": (c.fp, negatives, NO_NEGATIVES),
        "FNR": (c.fn, positives, NO_POSITIVES),
        "Precision": (c.tp, said_yes, "no query was answered yes"),
        "NPV": (c.tn, said_no, "no query was answered no"),
        "F1": (2 * c.tp, 2 * c.tp + c.fp + c.fn, "no evidence anywhere and no query answered yes"),
    }
    return share(*parts[base])


def _mcc(c: Cells) -> Outcome:
    product = (c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn)
    if product == 0:
        return Outcome(0.0, "a row or a column of the confusion table is empty")
    return Outcome((c.tp * c.tn - c.fp * c.fn) / math.sqrt(product))
