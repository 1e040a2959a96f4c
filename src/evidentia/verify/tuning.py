"""TUNE rows and the thresholds that they give for a false positive budget, chosen anew in every fold."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from evidentia.verify.evidence import Query
from evidentia.verify.folder import as_numbers

CANNOT = "cannot be tuned"


@dataclass(frozen=True)
class TunedThreshold:
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
    allowed = math.floor(Fraction(budget) * negatives)
    best: Point | None = None
    for point in points:
        if point.fp <= allowed and point.tp > (best.tp if best else 0):
            best = point
    return best


def tune_thresholds(
    tune: Sequence[Query], folds: Sequence[str], budget: Decimal, *, by_prob: bool
) -> dict[str, TunedThreshold]:
    """The threshold of every fold."""
    return {fold: _chosen([query for query in tune if query.fold == fold], budget, by_prob) for fold in folds}


def _chosen(tune: Sequence[Query], budget: Decimal, by_prob: bool) -> TunedThreshold:
    posts = as_numbers({query.post for query in tune})
    reason = lacking(tune)
    if reason is not None:
        return TunedThreshold(None, reason, 0.0, 0.0, posts)
    positives = sum(query.label for query in tune)
    best = best_point(operating_points([score_of(q, by_prob) for q in tune], [q.label for q in tune]), budget)
    if best is None:
        return TunedThreshold(None, "reject_all", 0.0, 0.0, posts)
    return TunedThreshold(best.value, None, best.tp / positives, best.fp / (len(tune) - positives), posts)


def score_of(query: Query, by_prob: bool) -> float:
    """The score that TUNE and EVAL have in common."""
    score = query.prob if by_prob else query.detection_score
    if score is None:
        raise ValueError("a query has no score")
    return score


@dataclass(frozen=True)
class TuneRow:
    """A TUNE query: the score that a calibrator reads, and the probability that thresholds are compared with."""

    post: str
    criterion: str
    label: bool
    raw: float
    prob: float


def rows_of(document: Mapping[str, Any], fold: str | None, tune: Iterable[Query]) -> list[TuneRow]:
    """The TUNE rows of a fold; those of a run without folds are all rows."""
    calibrated = any(entry["calibrator"] is not None for entry in document["folds"])
    name = "detection_score" if document["score"] == "detection_score" else "raw_prob" if calibrated else "prob"
    mine = [query for query in tune if fold is None or query.fold == fold]
    return [TuneRow(q.post, q.criterion, q.label, _there(getattr(q, name)), _there(q.prob)) for q in mine]


def _there(score: float | None) -> float:
    if score is None:
        raise ValueError("a TUNE row has no score")
    return score


def rows_sha256(rows: Iterable[TuneRow]) -> str:
    """The hash that tells these rows from others: a line of JSON for each, sorted."""
    lines = sorted(json.dumps([row.post, row.criterion, row.label, row.raw], ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def posts_sha256(posts: Iterable[str]) -> str:
    """The hash of post ids: sorted as text, a line each."""
    return hashlib.sha256("\n".join(sorted(posts)).encode()).hexdigest()


def dealt(posts: Collection[str], parts: int, seed: int) -> dict[str, int]:
    """The part of every post: sorted as text, shuffled, floor(n / parts) in each and the rest in the last (erratum 11).

    >>> sorted(dealt(["a", "b", "c", "d", "e"], 2, 7).values())
    [0, 0, 1, 1, 1]
    """
    from numpy.random import default_rng

    ordered = sorted(posts)
    shuffled = default_rng(seed).permutation(len(ordered)).tolist()
    size = len(ordered) // parts
    return {ordered[at]: min(place // size, parts - 1) for place, at in enumerate(shuffled)}


def lacking(rows: Sequence[TuneRow | Query]) -> str | None:
    """Why nothing can be chosen on these rows; None if something can."""
    positives = sum(row.label for row in rows)
    if not rows:
        return f"{CANNOT}: no TUNE queries"
    if not positives:
        return f"{CANNOT}: no TUNE queries with evidence"
    return f"{CANNOT}: no TUNE queries without evidence" if positives == len(rows) else None
