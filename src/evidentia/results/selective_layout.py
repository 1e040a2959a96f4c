"""How the tables of a selective result are laid out: which entries of its summary stand in which cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.results.names import parse_name

Entry = Mapping[str, Any]
LIMITS = ("ci_low", "ci_high")
MEASURES = (
    *("measure", "confidence", "value", *LIMITS, "replicates_left_out", "n", "n_clusters"),
    *("degenerate", "warnings", "definition", "meaning"),
)
MATCHED = ("coverage", "confidence", "value", *LIMITS, "replicates_left_out", "degenerate", "definition")
TIES = ("measure", "confidence", "best", "expected", "worst", "in the given order", "tied_items")
SIGNALS = ("rank", "confidence", "measure", "value", *LIMITS, "degenerate")
BY_ITEM = (
    *("item", "measure", "value", *LIMITS, "replicates_left_out", "n", "n_clusters"),
    *("degenerate", "warnings", "definition", "meaning"),
)
CUT_OFFS = ("cut", "measure", "value", *LIMITS, "above", "below", "undecided", "n", "degenerate")


def confusion_columns(instrument: Mapping[str, Any]) -> tuple[str, ...]:
    """The header of the confusion matrices: every score that an item can have, and abstained."""
    low, high = min(item["low"] for item in instrument["items"]), max(item["high"] for item in instrument["items"])
    return ("item", "truth", *(f"predicted {score}" for score in range(low, high + 1)), "abstained")


@dataclass(frozen=True)
class Layout:
    """A table: its name, its title, its header, its rows."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def selective_layouts(summary: Mapping[str, Any]) -> list[Layout]:
    """The tables that a summary makes, beside those of its differences."""
    every = [_cells(name, entry) for name, entry in summary["measures"].items()]
    entries = [e for e in every if e["item"] is None]
    matched = [e for e in entries if "@coverage=" in e["measure"]]
    tied = [e for e in entries if "tied_items" in e]
    layouts = [
        _layout("measures", "All measures", MEASURES, entries),
        _layout("matched_coverage", "Mean loss at matched coverage", MATCHED, matched),
        _layout("tie_sensitivity", "How much the order of tied confidences matters", TIES, tied),
        _layout("signals", "Confidence signals, best first", SIGNALS, ranked_signals(entries)),
        *_questionnaire_layouts(summary["dataset"].get("instrument"), every),
    ]
    if "comparison" in summary:
        coverages = [row | {"valid": "yes" if row["valid"] else "no"} for row in summary["comparison"]["coverages"]]
        columns = ("coverage", "valid", "reason")
        layouts.append(_layout("coverages", "Where the two can be compared", columns, coverages))
    return layouts


def _questionnaire_layouts(instrument: Mapping[str, Any] | None, entries: Sequence[Entry]) -> list[Layout]:
    """Numbers item by item, confusion matrices, and what is decided at every cut-off."""
    if instrument is None:
        return []
    places = {item["id"]: place for place, item in enumerate(instrument["items"])}
    by_item = sorted((e for e in entries if e["item"] is not None), key=lambda e: places[e["item"]])
    columns = confusion_columns(instrument)
    rows = [row for e in by_item for row in _confusion_rows(e, instrument["items"][places[e["item"]]])]
    return [
        _layout("by_item", "Item by item", BY_ITEM, by_item),
        _layout("confusion", "True scores against answers", columns, rows),
        _layout("cut_offs", "Totals at every cut-off", CUT_OFFS, [e for e in entries if "cut" in e]),
    ]


def _confusion_rows(entry: Entry, item: Mapping[str, Any]) -> list[Entry]:
    scores = range(item["low"], item["high"] + 1)
    heads = (*(f"predicted {score}" for score in scores), "abstained")
    return [
        {"item": entry["item"], "truth": truth, **dict(zip(heads, counts, strict=True))}
        for truth, counts in zip(scores, entry.get("confusion", ()), strict=False)
    ]


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
        "item": dict(parse_name(name).group).get("item"),
        "ci_low": low,
        "ci_high": high,
        "warnings": "; ".join(entry["warnings"]),
        "in the given order": entry["value"],
    }


def _layout(name: str, title: str, columns: tuple[str, ...], entries: Sequence[Entry]) -> Layout:
    return Layout(name, title, columns, tuple(tuple(entry.get(column) for column in columns) for entry in entries))
