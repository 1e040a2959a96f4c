"""How the tables of a selective result are laid out: which entries of its summary stand in which cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]
LIMITS = ("ci_low", "ci_high")
MEASURES = (
    *("measure", "confidence", "value", *LIMITS, "replicates_left_out", "n", "n_clusters"),
    *("degenerate", "warnings", "definition", "meaning"),
)
MATCHED = ("coverage", "confidence", "value", *LIMITS, "replicates_left_out", "degenerate", "definition")
TIES = ("measure", "confidence", "best", "expected", "worst", "in the given order", "tied_items")
SIGNALS = ("rank", "confidence", "measure", "value", *LIMITS, "degenerate")


@dataclass(frozen=True)
class Layout:
    """A table: its name, its title, its header, its rows."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def selective_layouts(summary: Mapping[str, Any]) -> list[Layout]:
    """The tables that a summary makes, beside those of its differences."""
    entries = [_cells(name, entry) for name, entry in summary["measures"].items()]
    matched = [e for e in entries if "@coverage=" in e["measure"]]
    tied = [e for e in entries if "tied_items" in e]
    layouts = [
        _layout("measures", "All measures", MEASURES, entries),
        _layout("matched_coverage", "Mean loss at matched coverage", MATCHED, matched),
        _layout("tie_sensitivity", "How much the order of tied confidences matters", TIES, tied),
        _layout("signals", "Confidence signals, best first", SIGNALS, ranked_signals(entries)),
    ]
    if "comparison" in summary:
        coverages = [row | {"valid": "yes" if row["valid"] else "no"} for row in summary["comparison"]["coverages"]]
        columns = ("coverage", "valid", "reason")
        layouts.append(_layout("coverages", "Where the two can be compared", columns, coverages))
    return layouts


def ranked_signals(entries: Sequence[Entry]) -> list[Entry]:
    """Confidences by excess AURC (steps), best first; a degenerate one has no rank."""
    excess = [e for e in entries if e["measure"].startswith("eAURC") and "plateau" in e]
    ranked = sorted((e for e in excess if e["degenerate"] is None), key=lambda e: float(e["value"]))
    return [{**e, "rank": rank} for rank, e in enumerate(ranked, 1)] + [e for e in excess if e["degenerate"]]


def _cells(name: str, entry: Entry) -> dict[str, Any]:
    """Everything that a table may show of a number, by column."""
    low, high = entry["ci"] or (None, None)
    details = entry["details"]
    return {
        **entry,
        **details,
        **details.get("tie_sensitivity", {}),
        "measure": name.partition("[")[0],
        "ci_low": low,
        "ci_high": high,
        "warnings": "; ".join(entry["warnings"]),
        "in the given order": entry["value"],
    }


def _layout(name: str, title: str, columns: tuple[str, ...], entries: Sequence[Entry]) -> Layout:
    return Layout(name, title, columns, tuple(tuple(entry.get(column) for column in columns) for entry in entries))
