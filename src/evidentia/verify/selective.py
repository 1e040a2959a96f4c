"""Verify a selective result: every number, interval, difference, table cell and curve point from items.csv alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from evidentia.verify.folder import ResultFolder
from evidentia.verify.limits import all_or_none, bca_limits, percentile_limits, spread_out
from evidentia.verify.selective_comparison import check_comparison
from evidentia.verify.selective_draws import (
    Plan,
    Want,
    clusters_of,
    draws,
    leave_one_out_values,
    replicate_values,
)
from evidentia.verify.selective_files import (
    check_selective_bands,
    check_selective_figures,
    check_selective_tables,
)
from evidentia.verify.selective_reference import (
    Item,
    Measure,
    Ordered,
    name_of,
    needs_order,
    ordered,
    parse_definition,
    read_items,
    tie_range,
    value_of,
)
from evidentia.verify.tally import Tally

Progress = Callable[[int, int], None]
COVERAGES = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")
LOOPED = 5  # replicates that are also built as plain lists


@dataclass(frozen=True)
class Reported:
    """One entry of the summary with its definition taken apart."""

    name: str
    entry: Mapping[str, Any]
    measure: Measure
    signal: str | None

    @property
    def want(self) -> Want:
        """What it is computed from."""
        return str(self.entry["definition"]), self.signal


def check_selective(folder: ResultFolder, tally: Tally, progress: Progress | None = None) -> None:
    """Recompute everything that a selective result folder says."""
    summary, items = folder.summary, read_items(folder, "items.csv")
    item_max = summary["dataset"]["item_max"]
    reported = [_reported(name, entry) for name, entry in summary["measures"].items()]
    _check_dataset(folder, items, tally)
    _check_names(folder, reported, item_max, tally)
    for one in reported:
        _check_point(one, items, item_max, tally)
    if summary["resamples"]:
        _check_intervals(folder, items, reported, tally, progress)
    if "comparison" in summary:
        check_comparison(folder, items, read_items(folder, "against_items.csv"), tally, progress)
    made = [*check_selective_tables(folder, tally), *check_selective_figures(folder, items, tally)]
    _check_listing(folder, made, tally)
    if summary["resamples"]:
        check_selective_bands(folder, items, tally, progress)
    else:
        for one in reported:
            tally.exact(
                f"{one.name} without resamples", (one.entry["ci"], one.entry["replicates_left_out"]), (None, None)
            )


def _check_listing(folder: ResultFolder, made: Sequence[str], tally: Tally) -> None:
    """The files are those that such a result has, and no others."""
    compared = "comparison" in folder.summary
    roles = {str(given["role"]) for given in folder.manifest["inputs"]}
    tally.exact("summary.json comparison", compared, "against_items" in roles)
    expected = {"summary.json", "items.csv", *(["against_items.csv"] if compared else []), *made}
    tally.exact("manifest.json files", sorted(folder.manifest["files"]), sorted(expected))


def _reported(name: str, entry: Mapping[str, Any]) -> Reported:
    return Reported(name, entry, parse_definition(str(entry["definition"])), entry["details"].get("confidence"))


def _check_dataset(folder: ResultFolder, items: Sequence[Item], tally: Tally) -> None:
    data = folder.summary["dataset"]
    found = {
        "participants": len(clusters_of(items)),
        "items": len(items),
        "predicted": sum(item.pred is not None for item in items),
    }
    for key, value in found.items():
        tally.exact(f"summary.json dataset {key}", data[key], value)
    for key in ("seed", "resamples", "profile"):
        tally.exact(f"manifest.json {key}", folder.manifest[key], folder.summary[key])


def _check_names(folder: ResultFolder, reported: Sequence[Reported], item_max: float | None, tally: Tally) -> None:
    """Every number that should be there is there, and no other."""
    options, data = folder.manifest["options"], folder.summary["dataset"]
    for one in reported:
        signal = one.signal if len(data["signals"]) > 1 else None
        tally.exact(f"{one.name} name", one.name, name_of(one.measure, signal))
    if options["measures"] is not None:
        asked = len(dict.fromkeys(options["measures"]))
        tally.exact("summary.json measures asked for", len({one.want[0] for one in reported}) <= asked, True)
        return
    grid = options["coverage"] or COVERAGES
    expected = {
        (definition, signal)
        for definition in expected_definitions(grid, options["loss"], item_max)
        for signal in (data["signals"] if needs_order(parse_definition(definition)) else [None])
    }
    tally.exact("summary.json measures", sorted(map(str, {one.want for one in reported})), sorted(map(str, expected)))


def expected_definitions(grid: Sequence[str], loss: str | None, item_max: float | None) -> list[str]:
    """What a run is to report, by the contract: steps beside plateaus, optima and excess, and every coverage."""
    raw, norm = loss or "abs", loss or "abs_norm"
    made = ["Cmax", f"MAE(loss={raw})", *(f"MAE(loss={raw})@coverage={c}" for c in grid)]
    for ties in ("step", "plateau"):
        for base, of in (("AURC", raw), ("AUGRC", norm)):
            made += [f"{base}(order={order},ties={ties},loss={of})" for order in ("confidence", "oracle")]
            made += [f"{prefix}{base}(ties={ties},loss={of})" for prefix in ("n", "e")]
            made += [f"{base}(ties={ties},loss={of})@C={c}" for c in grid]
        if loss is None:
            made.append(f"AUGRC(order=confidence,ties={ties},loss=abs)")
    return [name for name in made if item_max is not None or "abs_norm" not in name]


def _check_point(one: Reported, items: Sequence[Item], item_max: float | None, tally: Tally) -> None:
    data = ordered(items, one.measure, one.signal, item_max)
    value, sound = value_of(one.measure, data)
    tally.number(f"{one.name} value", one.entry["value"], value)
    tally.exact(f"{one.name} is a measurement", one.entry["degenerate"] is None, sound)
    alone = one.measure.base == "MAE" and one.measure.cut is None
    tally.exact(f"{one.name} n", one.entry["n"], len(data.losses) if alone else data.total)
    tally.exact(f"{one.name} n_clusters", one.entry["n_clusters"], len(clusters_of(items)))
    abstained = data.total - len(data.losses)
    tally.exact(
        f"{one.name} left_out", one.entry["left_out"], {"abstained items": abstained} if alone and abstained else {}
    )
    words = "predicted items" if alone else "all items, abstained ones too"
    tally.exact(f"{one.name} population", (one.entry["population"], one.entry["family"]), (words, "selective"))
    tally.exact(f"{one.name} direction", one.entry["direction"], "higher" if one.measure.base == "Cmax" else "lower")
    _check_details(one, data, tally)


def _check_details(one: Reported, data: Ordered, tally: Tally) -> None:
    details = one.entry["details"]
    if one.measure.cut is not None:
        tally.number(f"{one.name} coverage", details["coverage"], float(one.measure.cut))
    ties = details.get("tie_sensitivity")
    if ties is not None:
        best, expected, worst, tied = tie_range(data, one.measure)
        for key, value in (("best", best), ("expected", expected), ("worst", worst)):
            tally.number(f"{one.name} ties {key}", ties[key], value)
        tally.exact(f"{one.name} ties tied_items", ties["tied_items"], tied)


def _check_intervals(
    folder: ResultFolder,
    items: Sequence[Item],
    reported: Sequence[Reported],
    tally: Tally,
    progress: Progress | None,
) -> None:
    summary = folder.summary
    level, method = summary["interval"]["level"], summary["interval"]["method"]
    wants = {one.want: one.measure for one in reported}
    plan = Plan(wants, summary["dataset"]["item_max"], summary["seed"], summary["resamples"])
    values = replicate_values(items, plan, progress)
    without = leave_one_out_values(items, plan) if method == "bca" else {}
    _check_by_plain_lists(items, plan, values, tally)
    for one in reported:
        mine = values[one.want]
        point = one.entry["value"]
        if method == "bca" and point is not None:
            limits = bca_limits(mine, point, without[one.want], level)
        else:
            limits = percentile_limits(mine, level)
        left_out = int(np.count_nonzero(np.isnan(mine)))
        tally.exact(f"{one.name} replicates_left_out", one.entry["replicates_left_out"], left_out)
        _check_limits(one, limits, level, method, tally)


def _check_by_plain_lists(items: Sequence[Item], plan: Plan, values: Mapping[Want, Any], tally: Tally) -> None:
    """A few replicates again, as lists that repeat the items of the drawn participants, sorted and read step by step."""
    clusters = clusters_of(items)
    for b in range(min(LOOPED, plan.resamples)):
        times = dict(zip(clusters, draws(len(clusters), plan.seed, b).tolist(), strict=True))
        repeated = [item for item in items for _ in range(times[item.cluster])]
        for want, measure in plan.wants.items():
            value, sound = value_of(measure, ordered(repeated, measure, want[1], plan.item_max))
            drawn = float(values[want][b])
            tally.number(f"{want[0]} replicate {b}", None if isnan(drawn) else drawn, value if sound else None)


def _check_limits(one: Reported, limits: tuple[float, float] | None, level: float, how: str, tally: Tally) -> None:
    entry = one.entry
    narrow = limits is None or not spread_out(*limits)
    if entry["degenerate"] is not None or (narrow and one.measure.base != "Cmax"):
        tally.exact(f"{one.name} ci", entry["ci"], None)
        return
    if narrow:
        limits = _exact_limits(float(entry["value"]), int(entry["n_clusters"]), level)
    if limits is None:
        tally.exact(f"{one.name} ci", entry["ci"], None)
        return
    method = "clopper-pearson" if narrow else how
    tally.exact(f"{one.name} ci_method", entry["ci_method"], method)
    said = entry["ci"] or [None, None]
    tally.number(f"{one.name} ci low", said[0], limits[0])
    tally.number(f"{one.name} ci high", said[1], limits[1])


def _exact_limits(value: float, n: int, level: float) -> tuple[float, float] | None:
    return all_or_none(n, level, every=value == 1.0) if value in {0.0, 1.0} else None
