"""Thresholds by a false positive budget, chosen on TUNE and applied to EVAL of the same fold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evidentia.stats.sweeps import best_within_budget, sweep_counts
from evidentia.tables.queries import UNDECIDED, Bools, Decisions, Floats, Queries

UNTUNABLE = "cannot be tuned"


@dataclass(frozen=True)
class Threshold:
    """A threshold, what it achieved where it was chosen, and on which posts; None means that everything is rejected."""

    value: float | None
    reason: str | None
    tpr: float
    fpr: float
    posts: tuple[str, ...] = ()

    def says_yes(self, scores: Floats) -> Bools:
        """The decisions: a score equal to the threshold is a yes."""
        return np.zeros(len(scores), bool) if self.value is None else scores >= self.value


def fpr_budget_threshold(scores: Floats, labels: Bools, budget: float) -> Threshold:
    """Among the observed scores with FPR within budget that maximise TPR, the largest; else reject everything.

    >>> fpr_budget_threshold(np.array([0.9, 0.8, 0.3]), np.array([True, False, False]), 0.1)
    Threshold(value=0.9, reason=None, tpr=1.0, fpr=0.0, posts=())
    """
    (counts,) = sweep_counts(scores, labels, None, None, 1)
    negatives, positives = max(counts.fp[-1], 1.0), max(counts.tp[-1], 1.0)
    at = best_within_budget(counts.tp, counts.fp, budget)
    if at == 0 or counts.scores is None:
        return Threshold(None, "reject_all", 0.0, 0.0)
    return Threshold(
        float(counts.scores[at - 1]), None, float(counts.tp[at] / positives), float(counts.fp[at] / negatives)
    )


def tuned_decisions(tune: Queries, evaluation: Queries, budget: float) -> tuple[Decisions, dict[str, Threshold]]:
    """Choose one threshold per fold on its TUNE queries and apply it to its EVAL queries.

    A fold whose TUNE queries are of one class, or missing, cannot be tuned: its queries stay undecided and count nowhere.
    """
    decisions = np.full(len(evaluation), UNDECIDED, np.int8)
    thresholds: dict[str, Threshold] = {}
    shared = shared_scores(tune, evaluation)
    assert shared is not None
    assert tune.fold is not None
    assert evaluation.fold is not None
    for code, label in enumerate(evaluation.fold.labels):
        own, judged = tune.fold.codes == code, evaluation.fold.codes == code
        posts = tuple(tune.post_ids[post] for post in np.unique(tune.post[own]))
        lacking = _lacking(tune.label[own])
        if lacking is not None:
            thresholds[label] = Threshold(None, f"{UNTUNABLE}: {lacking}", 0.0, 0.0, posts)
            continue
        thresholds[label] = replace(fpr_budget_threshold(shared[0][own], tune.label[own], budget), posts=posts)
        decisions[judged] = thresholds[label].says_yes(shared[1][judged])
    return decisions, thresholds


def shared_scores(tune: Queries, evaluation: Queries) -> tuple[Floats, Floats] | None:
    """The scores of both, from one and the same column; None if they have none in common."""
    if tune.prob is not None and evaluation.prob is not None:
        return tune.prob, evaluation.prob
    if tune.detection_score is not None and evaluation.detection_score is not None:
        return tune.detection_score, evaluation.detection_score
    return None


def _lacking(labels: Bools) -> str | None:
    if len(labels) == 0:
        return "no TUNE queries"
    if not labels.any():
        return "no TUNE queries with evidence"
    return "no TUNE queries without evidence" if labels.all() else None
