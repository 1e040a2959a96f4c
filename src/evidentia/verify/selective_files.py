"""The tables and curve files of a selective result, against its numbers and its items."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isnan
from typing import Any

import numpy as np

from evidentia.array_types import Floats
from evidentia.results.selective_layout import MATCHED, MEASURES, SIGNALS, TIES
from evidentia.verify.folder import ResultFolder
from evidentia.verify.limits import percentile_limits
from evidentia.verify.selective_draws import JOINT, DrawPlan, Progress, Want, points_of, replicate_values
from evidentia.verify.selective_items import CurveReading, ItemRows
from evidentia.verify.selective_settings import SelectiveSettings
from evidentia.verify.sheet import Cell, Sheet, check_csv, check_latex
from evidentia.verify.tally import Tally

Entry = Mapping[str, Any]
FAMILIES = ("measures", "coverage", "truncated")
BAND_GRID = tuple(repr(step / 50) for step in range(1, 51))
BAND_COLUMNS = (
    *("coverage", "risk", "risk_low", "risk_high", "joint_risk", "joint_risk_low", "joint_risk_high"),
    "left_out",
)
DELTAS = (
    *("measure", "baseline", "system", "baseline value", "system value", "delta", "ci_low", "ci_high"),
    *("p", "p_holm", "verdict", "n", "n_clusters", "system_n", "system_n_clusters"),
    *("replicates_left_out", "warnings", "definition"),
)


def check_selective_tables(folder: ResultFolder, tally: Tally) -> list[str]:
    """Every cell of every table, as CSV and LaTeX, against the summary; returns the files that there must be."""
    files: list[str] = []
    for sheet in (*_measure_sheets(folder.summary["measures"]), *_comparison_sheets(folder.summary)):
        if sheet.rows:
            files += [f"{sheet.path}.csv", f"{sheet.path}.tex"]
            check_csv(folder, sheet, tally)
            check_latex(folder, sheet, tally)
    return files


def _measure_sheets(measures: Mapping[str, Entry]) -> list[Sheet]:
    """The tables of numbers. Headings are shared with the writer; rows, cells and ranks are not."""
    named = list(measures.items())
    matched = [pair for pair in named if "coverage" in pair[1]["details"] and pair[0].startswith("MAE")]
    tied = [pair for pair in named if "tie_sensitivity" in pair[1]["details"]]
    steps = [pair for pair in named if pair[0].startswith("eAURC") and "ties=step" in pair[1]["definition"]]
    ranked = sorted((pair for pair in steps if not pair[1]["degenerate"]), key=lambda pair: float(pair[1]["value"]))
    unranked = [pair for pair in steps if pair[1]["degenerate"]]
    signals = [*enumerate(ranked, 1), *((None, pair) for pair in unranked)]
    return [
        Sheet("tables/measures", MEASURES, tuple(_row(MEASURES, *pair) for pair in named)),
        Sheet("tables/matched_coverage", MATCHED, tuple(_row(MATCHED, *pair) for pair in matched)),
        Sheet("tables/tie_sensitivity", TIES, tuple(_row(TIES, *pair) for pair in tied)),
        Sheet("tables/signals", SIGNALS, tuple((rank, *_row(SIGNALS[1:], *pair)) for rank, pair in signals)),
    ]


def _row(columns: Sequence[str], name: str, entry: Entry) -> tuple[Any, ...]:
    """What a table says of a number."""
    low, high = entry["ci"] or (None, None)
    details = entry["details"]
    ties = details.get("tie_sensitivity", {})
    special = {
        **{
            "measure": name.split("[", maxsplit=1)[0],
            "ci_low": low,
            "ci_high": high,
            "warnings": "; ".join(entry["warnings"]),
        },
        **{"confidence": details.get("confidence"), "coverage": details.get("coverage")},
        **{key: ties.get(key) for key in ("best", "expected", "worst", "tied_items")},
        "in the given order": entry["value"],
    }
    return tuple(special[column] if column in special else entry[column] for column in columns)


def _comparison_sheets(summary: Mapping[str, Any]) -> list[Sheet]:
    comparison = summary.get("comparison")
    if comparison is None:
        return []
    coverages = tuple((c["coverage"], "yes" if c["valid"] else "no", c["reason"]) for c in comparison["coverages"])
    families = {f: tuple(tuple(delta_row(d)) for d in comparison["deltas"] if d["family"] == f) for f in FAMILIES}
    return [
        Sheet("tables/coverages", ("coverage", "valid", "reason"), coverages),
        *(Sheet(f"tables/deltas_{family}", DELTAS, rows) for family, rows in families.items()),
    ]


def delta_row(delta: Mapping[str, Any]) -> list[Any]:
    """A difference as a row of its table."""
    low, high = delta["ci"] or (None, None)
    return [
        *(delta["name"], delta["baseline"], delta["system"], delta["baseline_value"], delta["system_value"]),
        *(delta["delta"], low, high, delta["p"], delta["p_holm"], delta["verdict"], delta["n"], delta["n_clusters"]),
        *(delta["system_n"], delta["system_n_clusters"], delta["replicates_left_out"]),
        *("; ".join(delta["warnings"]), delta["definition"]),
    ]


def check_selective_figures(
    folder: ResultFolder, settings: SelectiveSettings, curves: DrawnCurves, tally: Tally
) -> list[str]:
    """Every step of every risk-coverage curve, and its bands; returns the files that there must be."""
    files: list[str] = []
    for signal, stem in _stems(settings, curves):
        steps = curves.steps(signal, settings.item_max)
        files.append(f"figures/{curves.prefix}risk_coverage_{stem}")
        check_csv(folder, Sheet(files[-1], tuple(steps), tuple(zip(*steps.values(), strict=True))), tally)
        if settings.resamples and curves.items.predicted:
            files.append(f"figures/{curves.prefix}risk_coverage_band_{stem}")
            check_csv(folder, Sheet(files[-1], BAND_COLUMNS, curves.bands(signal, settings.level)), tally)
    return [f"{name}.csv" for name in files]


@dataclass(frozen=True, eq=False)
class DrawnCurves:
    """What the risk-coverage curves of a run must show; ``values`` are its band readings in every draw."""

    items: ItemRows
    signals: Sequence[str]
    values: Mapping[Want, Floats]
    prefix: str = ""  # how the files of the other run begin

    def steps(self, signal: str, item_max: float | None) -> dict[str, tuple[float, ...]]:
        """Coverage, risk and joint risk after every item, surest first."""
        held = self.items.held
        order = np.argsort(-self.items.signals[signal][held], kind="stable")
        lost = np.cumsum(self.items.losses("abs", None)[order])
        taken, total = np.arange(1, len(lost) + 1), len(self.items)
        columns = {"coverage": taken / total, "risk": lost / taken, "joint_risk": lost / total}
        if item_max is not None:
            columns |= {"risk_norm": lost / taken / item_max, "joint_risk_norm": lost / total / item_max}
        return {name: tuple(column.tolist()) for name, column in columns.items()}

    def bands(self, signal: str, level: float) -> tuple[tuple[Cell, ...], ...]:
        """Risk and joint risk with their limits at every coverage of the grid, and how many draws do not reach it."""
        points = points_of(DrawPlan(band_wants([signal]), None), [self.items])
        rows: list[tuple[Cell, ...]] = []
        for coverage in BAND_GRID:
            cells: list[Cell] = [float(coverage)]
            for base in ("MAE", JOINT):
                want = (f"{base}@{coverage}", signal)
                point, drawn = points[want].values[0], self.values[want]
                cells += [None if isnan(point) else point, *(percentile_limits(drawn, level) or (None, None))]
            rows.append((*cells, float(np.count_nonzero(np.isnan(drawn)))))
        return tuple(rows)


def other_curves(settings: SelectiveSettings, other: ItemRows, progress: Progress | None = None) -> DrawnCurves:
    """The curves of the run that a result is compared with, over the participants that both have."""
    shared = other.of(settings.items.clusters)
    signals = [signal for signal in settings.drawn if shared.has(signal)]
    plan = settings.plan({}, band_wants(signals))
    values = replicate_values(shared, plan, progress) if settings.resamples else {}
    return DrawnCurves(shared, signals, values, "against_")


def _stems(settings: SelectiveSettings, curves: DrawnCurves) -> list[tuple[str, str]]:
    return [
        (signal, f"{place}_{re.sub(r'[^A-Za-z0-9]+', '_', signal)[:40]}")
        for place, signal in enumerate(settings.drawn, 1)
        if signal in curves.signals
    ]


def band_wants(signals: Sequence[str]) -> dict[Want, CurveReading]:
    """Risk and joint risk at every coverage of the grid."""
    return {
        (f"{base}@{coverage}", signal): CurveReading(base, None, None, "abs", "coverage", Decimal(coverage))
        for signal in signals
        for coverage in BAND_GRID
        for base in ("MAE", JOINT)
    }
