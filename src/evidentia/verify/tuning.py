"""Thresholds for a false positive budget, chosen anew on the TUNE queries of every fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from evidentia.verify.evidence import Query
from evidentia.verify.order import as_numbers

CANNOT = "cannot be tuned"


@dataclass(frozen=True)
class Threshold:
    """A threshold with what it gave where it was chosen; no value with ``reject_all``, or where there is nothing to tune on."""

    value: float | None
    reason: str | None
    tpr: float
    fpr: float
    posts: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """Whether its fold can be judged."""
        return self.reason is None or not self.reason.startswith(CANNOT)


class Point(NamedTuple):
    """What accepting every score from ``value`` on gives."""

    value: float
    tp: int
    fp: int


def operating_points(scores: Sequence[float], labels: Sequence[bool]) -> list[Point]:
    """Every observed score as a threshold, the highest first.

    >>> operating_points([0.9, 0.5, 0.5], [True, True, False])
    [Point(value=0.9, tp=1, fp=0), Point(value=0.5, tp=2, fp=1)]
    """
    positives = Counter(score for score, label in zip(scores, labels, strict=True) if label)
    everything = Counter(scores)
    points, tp, passed = [], 0, 0
    for value in sorted(everything, reverse=True):
        tp, passed = tp + positives[value], passed + everything[value]
        points.append(Point(value, tp, passed - tp))
    return points


def best_point(points: Sequence[Point], budget: Decimal) -> Point | None:
    """Most true positives among the points with FPR within budget, and then the largest threshold; None rejects all."""
    negatives = points[-1].fp if points else 0
    allowed = Fraction(budget) * negatives
    best: Point | None = None
    for point in points:
        if point.fp <= allowed and point.tp > (best.tp if best else 0):
            best = point
    return best


def tune_thresholds(
    tune: Sequence[Query], folds: Sequence[str], budget: Decimal, *, by_prob: bool
) -> dict[str, Threshold]:
    """The threshold of every fold."""
    return {fold: _chosen([query for query in tune if query.fold == fold], budget, by_prob) for fold in folds}


def _chosen(tune: Sequence[Query], budget: Decimal, by_prob: bool) -> Threshold:
    posts = as_numbers({query.post for query in tune})
    positives = sum(query.label for query in tune)
    lacking = (
        "no TUNE queries"
        if not tune
        else "no TUNE queries with evidence"
        if not positives
        else "no TUNE queries without evidence"
        if positives == len(tune)
        else None
    )
    if lacking is not None:
        return Threshold(None, f"{CANNOT}: {lacking}", 0.0, 0.0, posts)
    best = best_point(operating_points([score_of(q, by_prob) for q in tune], [q.label for q in tune]), budget)
    if best is None:
        return Threshold(None, "reject_all", 0.0, 0.0, posts)
    return Threshold(best.value, None, best.tp / positives, best.fp / (len(tune) - positives), posts)


def decide(chosen: Mapping[str, Threshold], query: Query, *, by_prob: bool) -> bool | None:
    """The yes or no of a query at its fold's threshold; None where the fold cannot be tuned."""
    threshold = chosen[str(query.fold)]
    if not threshold.usable:
        return None
    return threshold.value is not None and score_of(query, by_prob) >= threshold.value


def score_of(query: Query, by_prob: bool) -> float:
    """The score that TUNE and EVAL have in common."""
    score = query.prob if by_prob else query.detection_score
    if score is None:
        raise ValueError("a query has no score")
    return score
