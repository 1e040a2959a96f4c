"""What a measure needs of a run, and what to say when the run does not have it."""

from __future__ import annotations

from evidentia.measures import Definition
from evidentia.protocol import shared_score
from evidentia.results.measure import NEEDS
from evidentia.tables.run import Run


def unmet(definition: Definition, run: Run) -> str | None:
    """Why a definition cannot be computed on this run, or None if it can."""
    for need in definition.measure.requires(definition.args):
        if not _met(need, run):
            return NEEDS[need]
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
