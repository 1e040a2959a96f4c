"""The tables and curve files of a selective result, against its numbers and its items."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.verify.draws import Floats
from evidentia.verify.folder import ResultFolder, Row
from evidentia.verify.limits import percentile_limits
from evidentia.verify.selective_draws import JOINT, Want
from evidentia.verify.selective_expected import Lines
from evidentia.verify.selective_reference import Measure, Ordered, steps_within
from evidentia.verify.selective_settings import Settings
from evidentia.verify.sheet import Sheet, check_csv, check_latex
from evidentia.verify.tally import Tally

MEASURES = (
    *("measure", "confidence", "value", "ci_low", "ci_high", "replicates_left_out", "n", "n_clusters"),
    *("degenerate", "warnings", "definition", "meaning"),
)
MATCHED = ("coverage", "confidence", "value", "ci_low", "ci_high", "replicates_left_out", "degenerate", "definition")
STEPS = Measure("AURC", "step", "confidence", "abs", None, None)
BAND_GRID = tuple(repr(step / 50) for step in range(1, 51))
TIES = ("measure", "confidence", "best", "expected", "worst", "in the given order", "tied_items")
SIGNALS = ("rank", "confidence", "measure", "value", "ci_low", "ci_high", "degenerate")
DELTAS = (
    *("measure", "baseline", "system", "baseline value", "system value", "delta", "ci_low", "ci_high"),
    *("p", "p_holm", "verdict", "n", "n_clusters", "system_n", "system_n_clusters"),
    *("replicates_left_out", "warnings", "definition"),
)


def check_selective_tables(folder: ResultFolder, tally: Tally) -> list[str]:
    """Every cell of every table, as CSV and LaTeX, against the summary; returns the files that there must be."""
    made: list[str] = []
    for sheet in selective_sheets(folder.summary):
        if sheet.rows:
            made += [f"{sheet.path}.csv", f"{sheet.path}.tex"]
            check_csv(folder, sheet, tally)
            check_latex(folder, sheet, tally)
    return made


def selective_sheets(summary: Mapping[str, Any]) -> list[Sheet]:
    """The tables that a summary makes; the summary itself is recomputed elsewhere."""
    entries = [(name.partition("[")[0], entry) for name, entry in summary["measures"].items()]
    matched = [_matched_row(entry) for name, entry in entries if "@coverage=" in name]
    tied = [_ties_row(name, entry) for name, entry in entries if "tie_sensitivity" in entry["details"]]
    made = [
        _sheet("measures", MEASURES, [_measure_row(name, entry) for name, entry in entries]),
        _sheet("matched_coverage", MATCHED, matched),
        _sheet("tie_sensitivity", TIES, tied),
        _sheet("signals", SIGNALS, _signal_rows(entries)),
    ]
    comparison = summary.get("comparison")
    if comparison is not None:
        for family in ("measures", "coverage", "truncated"):
            rows = [delta_row(delta) for delta in comparison["deltas"] if delta["family"] == family]
            made.append(_sheet(f"deltas_{family}", DELTAS, rows))
        valid = [[row["coverage"], "yes" if row["valid"] else "no", row["reason"]] for row in comparison["coverages"]]
        made.append(_sheet("coverages", ("coverage", "valid", "reason"), valid))
    return made


def _measure_row(name: str, entry: Mapping[str, Any]) -> list[Any]:
    low, high = entry["ci"] or (None, None)
    return [
        *(
            name,
            entry["details"].get("confidence"),
            entry["value"],
            low,
            high,
            entry["replicates_left_out"],
            entry["n"],
        ),
        *(
            entry["n_clusters"],
            entry["degenerate"],
            "; ".join(entry["warnings"]),
            entry["definition"],
            entry["meaning"],
        ),
    ]


def _matched_row(entry: Mapping[str, Any]) -> list[Any]:
    low, high = entry["ci"] or (None, None)
    details = entry["details"]
    return [
        *(details.get("coverage"), details.get("confidence"), entry["value"], low, high),
        *(entry["replicates_left_out"], entry["degenerate"], entry["definition"]),
    ]


def _ties_row(name: str, entry: Mapping[str, Any]) -> list[Any]:
    ties = entry["details"]["tie_sensitivity"]
    spread = (ties["best"], ties["expected"], ties["worst"])
    return [name, entry["details"]["confidence"], *spread, entry["value"], ties["tied_items"]]


def _signal_rows(entries: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[Any]]:
    found = [(name, e) for name, e in entries if name.startswith("eAURC") and "ties=step" in e["definition"]]
    ranked = sorted((pair for pair in found if pair[1]["degenerate"] is None), key=lambda pair: float(pair[1]["value"]))
    rows: list[list[Any]] = []
    for rank, (name, entry) in enumerate([*ranked, *(pair for pair in found if pair[1]["degenerate"])], 1):
        low, high = entry["ci"] or (None, None)
        place = rank if entry["degenerate"] is None else None
        rows.append([place, entry["details"]["confidence"], name, entry["value"], low, high, entry["degenerate"]])
    return rows


def delta_row(delta: Mapping[str, Any]) -> list[Any]:
    """A difference as a row of its table."""
    low, high = delta["ci"] or (None, None)
    return [
        *(delta["name"], delta["baseline"], delta["system"], delta["baseline_value"], delta["system_value"]),
        *(delta["delta"], low, high, delta["p"], delta["p_holm"], delta["verdict"], delta["n"], delta["n_clusters"]),
        *(delta["system_n"], delta["system_n_clusters"], delta["replicates_left_out"]),
        *("; ".join(delta["warnings"]), delta["definition"]),
    ]


def _sheet(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Sheet:
    return Sheet(f"tables/{name}", tuple(columns), tuple(tuple(row) for row in rows))


def _float(cell: str | None) -> float | str | None:
    try:
        return None if not cell else float(cell)
    except ValueError:
        return cell


def check_selective_figures(
    folder: ResultFolder, settings: Settings, lines: Lines, tally: Tally, *, only: Only | None = None
) -> list[str]:
    """Every step of every risk-coverage curve; returns the files that there must be."""
    made, prefix = [], "" if only is None else only.prefix
    for signal, stem in _stems(settings, only):
        steps = lines.of(STEPS, signal)
        name = f"figures/{prefix}risk_coverage_{stem}.csv"
        made.append(name)
        _check_steps(folder.rows(name), name, steps, settings.item_max, tally)
        if settings.resamples and steps.losses:
            made.append(f"figures/{prefix}risk_coverage_band_{stem}.csv")
    return made


@dataclass(frozen=True)
class Only:
    """The curves of the other run: how their files begin, and the confidences that it has too."""

    prefix: str
    signals: Collection[str]


def _stems(settings: Settings, only: Only | None) -> list[tuple[str, str]]:
    return [
        (signal, f"{place}_{re.sub(r'[^A-Za-z0-9]+', '_', signal)[:40]}")
        for place, signal in enumerate(settings.drawn, 1)
        if only is None or signal in only.signals
    ]


def band_wants(signals: Sequence[str]) -> dict[Want, Measure]:
    """Risk and joint risk at every coverage of the grid."""
    return {
        (f"{base}@{coverage}", signal): Measure(base, "step", "confidence", "abs", "coverage", coverage)
        for signal in signals
        for coverage in BAND_GRID
        for base in ("MAE", JOINT)
    }


def check_selective_bands(
    folder: ResultFolder,
    settings: Settings,
    lines: Lines,
    values: Mapping[Want, Floats],
    tally: Tally,
    *,
    only: Only | None = None,
) -> None:
    """The limits of risk and joint risk at every coverage of the grid."""
    prefix = "" if only is None else only.prefix
    level, wants = float(settings.options["ci"]), band_wants(settings.signals)
    for signal, stem in _stems(settings, only):
        name, steps = f"figures/{prefix}risk_coverage_band_{stem}.csv", lines.of(STEPS, signal)
        rows = folder.rows(name) if steps.losses else []
        grid = [*BAND_GRID] if steps.losses else []
        tally.exact(f"{name} grid", [row["coverage"] for row in rows], grid)
        for row, coverage in zip(rows, grid, strict=False):
            for base, column in (("MAE", "risk"), (JOINT, "joint_risk")):
                want = (f"{base}@{coverage}", signal)
                drawn = values[want]
                found = percentile_limits(drawn, level), int(np.count_nonzero(np.isnan(drawn)))
                _check_band(name, row, column, (_at_coverage(wants[want], steps), *found), tally)


def _at_coverage(measure: Measure, steps: Ordered) -> float | None:
    """The risk, or the joint risk, where a coverage is first reached; None where it is not."""
    count = steps_within(str(measure.cut), steps.total)[2]
    if count > len(steps.losses):
        return None
    return sum(steps.losses[:count]) / (steps.total if measure.base == JOINT else count)


def _check_band(
    where: str, row: Row, column: str, found: tuple[float | None, tuple[float, float] | None, int], tally: Tally
) -> None:
    value, limits, left_out = found
    place, (low, high) = f"{where} at {row['coverage']}", limits or (None, None)
    tally.number(f"{place} {column}", _float(row[column]), value)
    tally.number(f"{place} {column}_low", _float(row[f"{column}_low"]), low)
    tally.number(f"{place} {column}_high", _float(row[f"{column}_high"]), high)
    tally.number(f"{place} left_out", _float(row["left_out"]), float(left_out))


def _check_steps(rows: Sequence[Row], where: str, made: Ordered, item_max: float | None, tally: Tally) -> None:
    tally.exact(f"{where} rows", len(rows), len(made.losses))
    lost = 0.0
    for k, (row, loss) in enumerate(zip(rows, made.losses, strict=False), 1):
        lost += loss
        found = {"coverage": k / made.total, "risk": lost / k, "joint_risk": lost / made.total}
        if item_max is not None:
            found |= {"risk_norm": lost / k / item_max, "joint_risk_norm": lost / made.total / item_max}
        for column, value in found.items():
            tally.number(f"{where} row {k} {column}", _float(row.get(column)), value)
