"""The tables and figures of a result, made anew from recomputed numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evidentia.results.profiles import CONFUSION
from evidentia.verify.points import Points, expected_entry, other_definitions
from evidentia.verify.sheet import Cell, Sheet

BY_CRITERION = (
    *("Queries", "Positives", "PositiveRate", "AUROC", "AUPRC", "Sensitivity(t=gate)", "Precision(t=gate)"),
    *("Recall@10", "nDCG@10", "MRR", "MRR@10", "EvidenceRecall"),
)
BY_STATE = ("Queries", "Positives", "PositiveRate", "SelectedK", "EvidenceRecall", "EvidencePrecision")
BY_EVIDENCE = ("SelectedK", "NegRate", "PosRate")
STANDARD = {
    "criterion": ("criteria", BY_CRITERION),
    "state": ("states", BY_STATE),
    "has_evidence": ("evidence", BY_EVIDENCE),
}
ABOUT = ("population", "meaning")
CELLS = ("TP", "FP", "FN", "TN")
RATES = tuple(name for name in CONFUSION if name not in CELLS)
MEASURES = (
    *("measure", "value", "ci_low", "ci_high", "fold_mean", "fold_std", "folds_used", "population", "n"),
    *("n_clusters", "degenerate", "warnings", "definition", "meaning"),
)
BINS = ("low", "high", "n", "mean_prob", "positive_share")


def all_tables(summary: Mapping[str, Any], points: Points, *, asked_by_name: bool = False) -> list[Sheet]:
    """Every table that has a row; measures that were asked for by their names are all in the tables of groups."""
    columns = dict.fromkeys(entry.group[0][0] for entry in points.expected.entries.values() if len(entry.group) == 1)
    slices = [column for column in columns if column not in {"fold", *STANDARD}]
    groups = {**STANDARD, **{column: (f"slice_{i}", BY_CRITERION) for i, column in enumerate(slices, 1)}}
    sheets = [
        _measures(summary, points),
        _folds(points),
        *(_by_group(points, column, name, None if asked_by_name else few) for column, (name, few) in groups.items()),
        _confusion(points),
        _reliability(points),
        _others(summary, points),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def _measures(summary: Mapping[str, Any], points: Points) -> Sheet:
    """Every number over the whole run; its interval and the words about it are verified in the summary."""
    rows = []
    for name, entry in points.expected.entries.items():
        if not entry.group:
            reported = summary["measures"].get(name, {})
            low, high = reported.get("ci") or (None, None)
            about = {
                "measure": name,
                "ci_low": low,
                "ci_high": high,
                "warnings": "; ".join(reported.get("warnings", ())),
            }
            cells = expected_entry(entry, points) | about
            rows.append(tuple(cells[column] for column in MEASURES))
    return Sheet("tables/measures", MEASURES, tuple(rows))


def _labels(points: Points, column: str) -> tuple[str, ...]:
    """The groups of a column that some number is reported for, in the order of the summary."""
    single = (entry.group[0] for entry in points.expected.entries.values() if len(entry.group) == 1)
    return tuple(dict.fromkeys(value for name, value in single if name == column))


def _cell(points: Points, measure: str, column: str, label: str) -> float | None:
    """The value of a measure in a group, None where it is only a convention or not reported."""
    name = points.in_group.get((measure, column, label))
    return None if name is None else points.sound(name)


def _folds(points: Points) -> Sheet:
    folds = _labels(points, "fold")
    rows: list[tuple[Cell, ...]] = []
    for name, entry in points.expected.entries.items():
        over = points.folds(entry)
        if over is not None and folds:
            values = [_cell(points, name, "fold", fold) for fold in folds]
            words = (entry.definition.population.words, entry.definition.measure.meaning)
            rows.append((name, *values, over.mean, over.std, over.used, *words))
    columns = ("measure", *(f"fold {fold}" for fold in folds), "mean", "std", "folds_used", *ABOUT)
    return Sheet("tables/folds", columns, tuple(rows))


def _by_group(points: Points, column: str, name: str, measures: Sequence[str] | None) -> Sheet:
    """The rows of a grouping; without a list of measures all that are reported for it."""
    labels = _labels(points, column)
    reported = list(dict.fromkeys(m for m, by, _ in points.in_group if by == column))
    there = [m for m in (reported if measures is None else measures) if m in reported]
    first = {m: next(name for (of, by, _), name in points.in_group.items() if (of, by) == (m, column)) for m in there}
    about = _about(first, points)
    rows: list[tuple[Cell, ...]] = [
        (label, *(_cell(points, m, column, label) for m in there), *about) for label in labels
    ]
    if rows:
        rows.append(("all", *(points.sound(measure) for measure in there), *about))
    return Sheet(f"tables/{name}", (column, *there, *ABOUT), tuple(rows))


def _about(names: Mapping[str, str], points: Points) -> tuple[str, str]:
    """The queries that columns are about, those about the same ones together, and what they mean."""
    definitions = {
        column: points.expected.entries[name].definition
        for column, name in names.items()
        if name in points.expected.entries
    }
    words = {column: definition.population.words for column, definition in definitions.items()}
    subsets = [
        f"{', '.join(column for column in words if words[column] == subset)}: {subset}"
        for subset in dict.fromkeys(words.values())
    ]
    meanings = [f"{column}: {definition.measure.meaning}" for column, definition in definitions.items()]
    return "; ".join(subsets), " ".join(meanings)


def _confusion(points: Points) -> Sheet:
    names = (*CELLS, *RATES)
    rows: list[tuple[Cell, ...]] = [
        (
            f"t={point}",
            *(points.sound(f"{name}(t={point})") for name in names),
            *_about({name: f"{name}(t={point})" for name in names}, points),
        )
        for point in ("0.5", "gate", "returned")
        if f"TP(t={point})" in points.expected.entries
    ]
    return Sheet("tables/confusion", ("operating point", *names, *ABOUT), tuple(rows))


def _reliability(points: Points) -> Sheet:
    entry = points.expected.entries.get("ECE")
    bins = [] if entry is None else points.number(entry).details["bins"]
    return Sheet("tables/reliability", BINS, tuple(tuple(entry[key] for key in BINS) for entry in bins))


def _others(summary: Mapping[str, Any], points: Points) -> Sheet:
    """The rows that the summary lists, with recomputed values."""
    known = {(other.name, other.definition.expanded): other for other in other_definitions(points)}
    listed = [known.get((entry["name"], entry["definition"])) for entry in summary["other_definitions"]]
    rows = tuple(
        (o.name, points.value(o.name), o.outcome.value, ", ".join(o.profiles), o.definition.expanded)
        for o in listed
        if o is not None
    )
    return Sheet(
        "tables/other_definitions", ("name", "value here", "other value", "profiles", "other definition"), rows
    )
