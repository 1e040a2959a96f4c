"""Checks on a result: invariants that must hold whatever the data, and the dataset card's counts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evidentia.results import Estimate, Finding
from evidentia.tables import Run, check_card
from evidentia.tables.queries import NEG, Queries


def result_checks(
    run: Run, measures: Mapping[str, Estimate], bounds: Mapping[str, tuple[float | None, float | None]]
) -> tuple[Finding, ...]:
    """Every check, in the order of their codes."""
    return (
        card_counts(run),
        skipped_queries_return_nothing(run.queries),
        confusion_sums(measures),
        ranges(measures, bounds),
    )


def card_counts(run: Run) -> Finding:
    """CARD001: the counts of the run are those of its dataset card."""
    title = "Counts agree with the dataset card"
    if run.card is None:
        return Finding("CARD001", title, "not applicable", "no dataset card was given")
    wrong = check_card(run.card, run.queries)
    if not wrong:
        return Finding("CARD001", title, "passed", f"all counts of card {run.card.name} agree")
    told = "; ".join(f"{w.what}: the card says {w.expected}, the run has {w.found}" for w in wrong)
    return Finding("CARD001", title, "failed", told)


def skipped_queries_return_nothing(queries: Queries) -> Finding:
    """GATE001: a query in state NEG returns no sentence; a query let through that returns none is legal, and counted."""
    title = "Skipped queries return nothing"
    if queries.n_selected is None or queries.state is None:
        return Finding("GATE001", title, "not applicable", "the run has no states or no selections")
    skipped = queries.state == NEG
    wrong = int(np.count_nonzero(skipped & (queries.n_selected > 0)))
    empty = int(np.count_nonzero(~skipped & (queries.n_selected == 0)))
    aside = f"; {empty:,} queries that the gate lets through return nothing, which is legal"
    if wrong:
        return Finding("GATE001", title, "failed", f"{wrong:,} queries in state NEG return sentences{aside}")
    return Finding("GATE001", title, "passed", f"{int(skipped.sum()):,} queries in state NEG looked at{aside}")


def confusion_sums(measures: Mapping[str, Estimate]) -> Finding:
    """SUM001: the four cells add up to the queries, and sensitivity is TP / (TP + FN) to the last digit."""
    title = "Confusion tables add up"
    looked, wrong = 0, []
    for point in ("0.5", "gate", "returned"):
        cells = [measures.get(f"{cell}(t={point})") for cell in ("TP", "FP", "FN", "TN")]
        sensitivity = measures.get(f"Sensitivity(t={point})")
        known = [cell.value for cell in cells if cell is not None]
        if len(known) != 4 or sensitivity is None:
            continue
        looked += 1
        tp, _, fn, _ = known
        same = sensitivity.degenerate is not None or sensitivity.value == tp / (tp + fn)
        if sum(known) != cells[0].n or not same:  # type: ignore[union-attr]
            wrong.append(point)
    if not looked:
        return Finding("SUM001", title, "not applicable", "no confusion table was computed")
    if wrong:
        return Finding("SUM001", title, "failed", f"wrong at t = {', '.join(wrong)}")
    return Finding("SUM001", title, "passed", f"{looked} tables checked")


def ranges(measures: Mapping[str, Estimate], bounds: Mapping[str, tuple[float | None, float | None]]) -> Finding:
    """RANGE001: every value is finite and within the range of its measure."""
    title = "Values are finite and within their ranges"
    if not measures:
        return Finding("RANGE001", title, "failed", "no value was computed")
    wrong = [name for name, estimate in measures.items() if not _inside(estimate.value, bounds[estimate.definition])]
    if wrong:
        return Finding("RANGE001", title, "failed", f"{len(wrong):,} values out of range, first {wrong[0]}")
    return Finding("RANGE001", title, "passed", f"{len(measures):,} values checked")


def _inside(value: float, bounds: tuple[float | None, float | None]) -> bool:
    low, high = bounds
    return bool(np.isfinite(value)) and (low is None or value >= low) and (high is None or value <= high)
