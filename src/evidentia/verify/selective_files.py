"""The tables and curve files of a selective result, against its numbers and its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evidentia.verify.folder import ResultFolder, Row
from evidentia.verify.selective_draws import (
    JOINT,
    Plan,
    Progress,
    limits_of,
    replicate_once,
    replicate_values,
)
from evidentia.verify.selective_reference import Item, Measure, Ordered, ordered
from evidentia.verify.tally import Tally

MEASURES = (
    *("measure", "confidence", "value", "ci_low", "ci_high", "replicates_left_out", "n", "n_clusters"),
    *("degenerate", "warnings", "definition", "meaning"),
)
MATCHED = ("coverage", "confidence", "value", "ci_low", "ci_high", "replicates_left_out", "degenerate", "definition")
STEPS = Measure("AURC", "step", "confidence", "abs", None, None)
TIES = ("measure", "confidence", "best", "expected", "worst", "in the given order", "tied_items")
SIGNALS = ("rank", "confidence", "measure", "value", "ci_low", "ci_high", "degenerate")
DELTAS = (
    *("measure", "baseline", "system", "baseline value", "system value", "delta", "ci_low", "ci_high"),
    *("p", "p_holm", "verdict", "n", "n_clusters", "system_n", "system_n_clusters"),
    *("replicates_left_out", "warnings", "definition"),
)


def check_selective_tables(folder: ResultFolder, tally: Tally) -> None:
    """Every cell of every table; the summary that they are held against is itself recomputed."""
    entries = [(name.partition("[")[0], entry) for name, entry in folder.summary["measures"].items()]
    _check_table(folder, "measures", MEASURES, [_measure_row(name, entry) for name, entry in entries], tally)
    matched = [entry for name, entry in entries if "@coverage=" in name]
    _check_table(folder, "matched_coverage", MATCHED, [_matched_row(entry) for entry in matched], tally)
    tied = [(name, entry) for name, entry in entries if "tie_sensitivity" in entry["details"]]
    _check_table(folder, "tie_sensitivity", TIES, [_ties_row(name, entry) for name, entry in tied], tally)
    _check_table(folder, "signals", SIGNALS, _signal_rows(entries), tally)
    comparison = folder.summary.get("comparison")
    if comparison is None:
        return
    for family in ("measures", "coverage", "truncated"):
        rows = [_delta_row(delta) for delta in comparison["deltas"] if delta["family"] == family]
        _check_table(folder, f"deltas_{family}", DELTAS, rows, tally)
    rows = [[row["coverage"], "yes" if row["valid"] else "no", row["reason"]] for row in comparison["coverages"]]
    _check_table(folder, "coverages", ("coverage", "valid", "reason"), rows, tally)


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


def _delta_row(delta: Mapping[str, Any]) -> list[Any]:
    low, high = delta["ci"] or (None, None)
    return [
        *(delta["name"], delta["baseline"], delta["system"], delta["baseline_value"], delta["system_value"]),
        *(delta["delta"], low, high, delta["p"], delta["p_holm"], delta["verdict"], delta["n"], delta["n_clusters"]),
        *(delta["system_n"], delta["system_n_clusters"], delta["replicates_left_out"]),
        *("; ".join(delta["warnings"]), delta["definition"]),
    ]


def _check_table(
    folder: ResultFolder, name: str, columns: Sequence[str], expected: Sequence[Sequence[Any]], tally: Tally
) -> None:
    if not expected:
        tally.exact(f"tables/{name}.csv is there", folder.has(f"tables/{name}.csv"), False)
        return
    rows = folder.rows(f"tables/{name}.csv") if folder.has(f"tables/{name}.csv") else []
    tally.exact(f"tables/{name}.csv columns", tuple(rows[0]) if rows else (), tuple(columns))
    tally.exact(f"tables/{name}.csv rows", len(rows), len(expected))
    for at, (row, cells) in enumerate(zip(rows, expected, strict=False), 1):
        for column, cell in zip(columns, cells, strict=True):
            _check_cell(f"tables/{name}.csv row {at} {column}", row.get(column), cell, tally)


def _check_cell(where: str, said: str | None, cell: object, tally: Tally) -> None:
    if cell is None or isinstance(cell, str):
        tally.exact(where, said, cell or "")
    elif isinstance(cell, int | float):
        tally.number(where, _float(said), float(cell))


def _float(cell: str | None) -> float | str | None:
    try:
        return None if not cell else float(cell)
    except ValueError:
        return cell


def check_selective_figures(folder: ResultFolder, items: Sequence[Item], tally: Tally) -> None:
    """Every step of every risk-coverage curve."""
    data = folder.summary["dataset"]
    for place, signal in enumerate(data["signals"], 1):
        names = sorted(path.name for path in (folder.path / "figures").glob(f"risk_coverage_{place}_*.csv"))
        tally.exact(f"figures of {signal}", len(names), 1)
        for name in names:
            made = ordered(items, STEPS, signal, data["item_max"])
            _check_steps(folder.rows(f"figures/{name}"), f"figures/{name}", made, data["item_max"], tally)


def check_selective_bands(
    folder: ResultFolder, items: Sequence[Item], tally: Tally, progress: Progress | None = None
) -> None:
    """The limits of risk and joint risk at every coverage of the grid."""
    summary = folder.summary
    data, level = summary["dataset"], summary["interval"]["level"]
    for place, signal in enumerate(data["signals"], 1):
        for path in sorted((folder.path / "figures").glob(f"risk_coverage_band_{place}_*.csv")):
            rows = folder.rows(f"figures/{path.name}")
            tally.exact(
                f"figures/{path.name} grid", [row["coverage"] for row in rows], [repr(k / 50) for k in range(1, 51)]
            )
            wants = {
                (f"{base}@{row['coverage']}", signal): Measure(
                    base, "step", "confidence", "abs", "coverage", row["coverage"]
                )
                for row in rows
                for base in ("MAE", JOINT)
            }
            values = replicate_values(
                items, Plan(wants, data["item_max"], summary["seed"], summary["resamples"]), progress
            )
            point = replicate_once(items, Plan(wants, data["item_max"], summary["seed"], 1))
            limits = {want: limits_of(values[want], level) for want in wants}
            for row in rows:
                for base, column in (("MAE", "risk"), (JOINT, "joint_risk")):
                    want = (f"{base}@{row['coverage']}", signal)
                    _check_band(f"figures/{path.name}", row, column, (point[want], *limits[want]), tally)


def _check_band(
    where: str, row: Row, column: str, found: tuple[float, tuple[float, float] | None, int], tally: Tally
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
