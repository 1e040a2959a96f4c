"""Selective prediction as tables: areas, matched coverage, ties, signals, and paired differences."""

from __future__ import annotations

from evidentia.report.tables import Table, delta_table, known
from evidentia.results import Estimate, Evaluation, SelectiveComparison


def selective_tables(evaluation: Evaluation) -> tuple[Table, ...]:
    """Every table of a selective result."""
    made = [
        _measures(evaluation),
        _matched_coverage(evaluation),
        _tie_sensitivity(evaluation),
        signals_table(evaluation),
    ]
    if evaluation.comparison is not None:
        made += [*_deltas(evaluation.comparison), _coverages(evaluation.comparison)]
    return tuple(table for table in made if table.rows)


def at_coverages(evaluation: Evaluation) -> list[Estimate]:
    """The mean losses at fixed coverages."""
    return [e for e in evaluation.measures.values() if "@coverage=" in e.measure]


def _measures(evaluation: Evaluation) -> Table:
    columns = (
        *("measure", "confidence", "value", "ci_low", "ci_high", "replicates_left_out", "n", "n_clusters"),
        *("degenerate", "warnings", "definition", "meaning"),
    )
    rows = tuple(
        (
            *(e.measure, e.details.get("confidence"), known(e.value), e.ci and e.ci[0], e.ci and e.ci[1]),
            *(e.replicates_left_out, e.n, e.n_clusters, e.degenerate, "; ".join(e.warnings), e.definition, e.meaning),
        )
        for e in evaluation.measures.values()
    )
    return Table("measures", "All measures", columns, rows)


def _matched_coverage(evaluation: Evaluation) -> Table:
    columns = (
        "coverage",
        "confidence",
        "value",
        "ci_low",
        "ci_high",
        "replicates_left_out",
        "degenerate",
        "definition",
    )
    rows = tuple(
        (
            *(e.details["coverage"], e.details["confidence"], known(e.value), e.ci and e.ci[0], e.ci and e.ci[1]),
            *(e.replicates_left_out, e.degenerate, e.definition),
        )
        for e in at_coverages(evaluation)
    )
    return Table("matched_coverage", "Mean loss at matched coverage", columns, rows)


def _tie_sensitivity(evaluation: Evaluation) -> Table:
    columns = ("measure", "confidence", "best", "expected", "worst", "in the given order", "tied_items")
    rows = tuple(
        (e.measure, e.details["confidence"], t["best"], t["expected"], t["worst"], known(e.value), t["tied_items"])
        for e in evaluation.measures.values()
        if (t := e.details.get("tie_sensitivity")) is not None
    )
    return Table("tie_sensitivity", "How much the order of tied confidences matters", columns, rows)


def signals_table(evaluation: Evaluation) -> Table:
    """Confidences by excess AURC (steps), best first; a degenerate one has no rank."""
    found = [e for e in evaluation.measures.values() if e.measure.startswith("eAURC") and "plateau" in e.details]
    ranked = sorted((e for e in found if e.degenerate is None), key=lambda e: e.value)
    places = {e.name: place for place, e in enumerate(ranked, 1)}
    rows = tuple(
        (
            *(places.get(e.name), e.details["confidence"], e.measure, known(e.value)),
            *(e.ci and e.ci[0], e.ci and e.ci[1], e.degenerate),
        )
        for e in [*ranked, *(e for e in found if e.degenerate)]
    )
    columns = ("rank", "confidence", "measure", "value", "ci_low", "ci_high", "degenerate")
    return Table("signals", "Confidence signals, best first", columns, rows)


def _deltas(comparison: SelectiveComparison) -> list[Table]:
    titles = {
        "measures": "Differences",
        "coverage": "Differences at matched coverage",
        "truncated": "Differences of areas up to a coverage",
    }
    families = {family: [d for d in comparison.deltas if d.family == family] for family in titles}
    return [delta_table(f"deltas_{family}", titles[family], deltas) for family, deltas in families.items()]


def _coverages(comparison: SelectiveComparison) -> Table:
    rows = tuple((row["coverage"], "yes" if row["valid"] else "no", row["reason"]) for row in comparison.coverages)
    return Table("coverages", "Where the two can be compared", ("coverage", "valid", "reason"), rows)
