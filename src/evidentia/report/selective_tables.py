"""Selective prediction as tables: areas, matched coverage, ties, signals, and paired differences."""

from __future__ import annotations

from evidentia.report.tables import Table, delta_table
from evidentia.results import Estimate, Evaluation
from evidentia.results.selective_layout import selective_layouts

DIFFERENCES = {
    "measures": "Differences",
    "coverage": "Differences at matched coverage",
    "truncated": "Differences of areas up to a coverage",
}


def selective_tables(evaluation: Evaluation) -> tuple[Table, ...]:
    """Every table of a selective result."""
    tables = [Table(t.name, t.title, t.columns, t.rows) for t in selective_layouts(evaluation.to_dict())]
    if evaluation.comparison is not None:
        deltas = evaluation.comparison.deltas
        tables += [
            delta_table(f"deltas_{family}", title, [d for d in deltas if d.family == family])
            for family, title in DIFFERENCES.items()
        ]
    return tuple(table for table in tables if table.rows)


def at_coverages(evaluation: Evaluation) -> list[Estimate]:
    """The mean losses at fixed coverages."""
    return [e for e in evaluation.measures.values() if "@coverage=" in e.measure]


def signals_table(evaluation: Evaluation) -> Table:
    """Confidences by excess AURC (steps), best first; a degenerate one has no rank."""
    layout = next(t for t in selective_layouts(evaluation.to_dict()) if t.name == "signals")
    return Table(layout.name, layout.title, layout.columns, layout.rows)
