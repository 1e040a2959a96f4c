"""Thresholds by a false positive budget, chosen on TUNE of each fold and applied to its EVAL queries, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from evidentia.verify.evidence import Query

UNDECIDED = -1


def tuned_decisions(tune: Sequence[Query], queries: Sequence[Query], budget: float) -> list[int]:
    """1 for yes, 0 for no, -1 for the queries of a fold whose TUNE rows are missing or of one class."""
    column = _shared_column(tune, queries)
    rows: dict[str | None, list[tuple[float, bool]]] = {}
    for query in tune:
        rows.setdefault(query.fold, []).append((getattr(query, column), query.label))
    thresholds = {fold: best_threshold(mine, budget) for fold, mine in rows.items() if len({y for _, y in mine}) == 2}
    return [
        int(getattr(query, column) >= thresholds[query.fold]) if query.fold in thresholds else UNDECIDED
        for query in queries
    ]


def best_threshold(rows: Sequence[tuple[float, bool]], budget: float) -> float:
    """Of the observed scores with FPR within budget, the largest that finds most; infinity rejects everything.

    >>> best_threshold([(0.9, True), (0.8, False), (0.3, False)], 0.1)
    0.9
    """
    negatives = sum(not label for _, label in rows)
    best, most, found, alarms = float("inf"), 0, 0, 0
    ranked = sorted(rows, reverse=True)
    for at, (score, label) in enumerate(ranked):
        found, alarms = found + label, alarms + (not label)
        ends = at + 1 == len(ranked) or ranked[at + 1][0] != score
        if ends and found > most and alarms / negatives <= budget:
            best, most = score, found
    return best


def _shared_column(tune: Sequence[Query], queries: Sequence[Query]) -> str:
    both = [*tune[:1], *queries[:1]]
    return "prob" if all(query.prob is not None for query in both) else "detection_score"
