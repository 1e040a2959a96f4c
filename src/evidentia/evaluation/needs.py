"""What a measure needs of a run, and what to say when the run does not have it."""

from __future__ import annotations

from evidentia.measures import Definition
from evidentia.protocol import shared_score
from evidentia.tables.run import Run

WORDS = {
    "prob": "needs a prob column (calibrated probability that evidence exists)",
    "score": "needs a prob or a detection_score column",
    "gate": "needs a yes/no for every query: a state column, or prob",
    "state": "needs a state column, or prob with tau_neg and tau_pos",
    "gold": "needs gold_sent_uids",
    "ranking": "needs gold_sent_uids and ranked_sent_uids",
    "selection": "needs selected_sent_uids",
    "candidates": "needs a candidates table with scores and gold marks (--candidates)",
    "complete": "needs one query for every (post, criterion) pair",
    "items": "needs a run of a predictor that may abstain (see `evidentia selective`)",
    "tune": "needs folds and TUNE rows (a split column) with the same score column as EVAL, to choose thresholds on",
}


def unmet(definition: Definition, run: Run) -> str | None:
    """Why a definition cannot be computed on this run, or None if it can."""
    for need in definition.measure.requires(definition.args):
        if not _met(need, run):
            return WORDS[need]
    return None


def _met(need: str, run: Run) -> bool:
    queries, tune = run.queries, run.tune
    if need == "tune":
        return tune is not None and queries.has("fold") and shared_score(tune, queries) is not None
    if need == "items":
        return False
    if need == "complete":
        return queries.complete
    column = {"score": "scores", "gold": "n_gold", "ranking": "gold_ranks", "selection": "n_selected"}.get(need, need)
    return queries.has(column)
