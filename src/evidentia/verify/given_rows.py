"""The TUNE rows of a fold as given thresholds were tuned on them, and how their posts were dealt into parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.verify.evidence import Query


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


def lacking(rows: Sequence[TuneRow]) -> str | None:
    """Why nothing can be chosen on these rows; None if something can."""
    positives = sum(row.label for row in rows)
    if not rows:
        return "cannot be tuned: no TUNE queries"
    if not positives:
        return "cannot be tuned: no TUNE queries with evidence"
    return "cannot be tuned: no TUNE queries without evidence" if positives == len(rows) else None
