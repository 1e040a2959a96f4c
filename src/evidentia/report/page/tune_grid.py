"""The grids that the thresholds of a three-state gate were chosen from, as the table of a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evidentia.report.tables import Table, Value
from evidentia.results import loads

COLUMNS = {
    "tau": "tau",
    "sensitivity": "ScreeningSensitivity",
    "workload": "Workload",
    "alert_precision": "AlertPrecision",
}


def tune_grid(folder: Path, manifest: Mapping[str, Any]) -> tuple[Table, ...]:
    """What every candidate did on TUNE, fold by fold; nothing where one threshold was tuned, or none.

    A file that cannot be read gives no figure: saying what is wrong with it is up to `evidentia verify`.
    """
    if "applied_thresholds" not in manifest:
        return ()
    try:
        folds = loads((folder / "thresholds.json").read_text(encoding="utf-8"))["folds"]
        rows = [row for fold in folds for row in _rows(fold)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ()
    return (Table("tune_grid", "Thresholds on TUNE", ("fold", *COLUMNS, "chosen"), tuple(rows)),) if rows else ()


def _rows(fold: Mapping[str, Any]) -> list[tuple[Value, ...]]:
    """A row for every candidate of a fold, and for what was chosen beside them (a certificate can do that)."""
    tuned = fold["three_state"]
    if not tuned or not tuned["grid"]:
        return []
    name = "all" if fold["fold"] is None else str(fold["fold"])
    taken = {which: tuned[which] for which in ("tau_neg", "tau_pos") if tuned[which] is not None}
    columns = [[_finite(cell) for cell in tuned["grid"][column]] for column in COLUMNS.values()]
    rows: list[tuple[Value, ...]] = [(name, *cells, _named(cells[0], taken)) for cells in zip(*columns, strict=True)]
    beside = sorted({_finite(tau) for tau in taken.values()} - set(columns[0]))
    return rows + [(name, tau, None, None, None, _named(tau, taken)) for tau in beside]


def _finite(cell: object) -> float:
    """A number that a page can carry; strict JSON reads 1e999 as infinity."""
    if not isinstance(cell, int | float) or not math.isfinite(cell):
        raise ValueError("a number of the grid is none")
    return float(cell)


def _named(tau: float, taken: Mapping[str, float]) -> str:
    """Which of the chosen thresholds this is.

    >>> _named(0.5, {"tau_neg": 0.5, "tau_pos": 0.5}), _named(0.1, {"tau_neg": 0.5})
    ('tau_neg and tau_pos', '')
    """
    return " and ".join(which for which, chosen in taken.items() if chosen == tau)
