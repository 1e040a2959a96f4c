"""The paired differences of a selective result, from both runs' items and the same draws."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evidentia.verify.draws import Floats
from evidentia.verify.folder import ResultFolder
from evidentia.verify.limits import SAME, percentile_limits, spread_out
from evidentia.verify.selective_draws import Plan, Want, clusters_of, paired_differences
from evidentia.verify.selective_reference import (
    Item,
    Measure,
    Ordered,
    items_within,
    name_of,
    needs_order,
    ordered,
    parse_definition,
    reaches,
    value_of,
)
from evidentia.verify.tally import Tally

Progress = Callable[[int, int], None]


def check_comparison(
    folder: ResultFolder,
    system: Sequence[Item],
    baseline: Sequence[Item],
    tally: Tally,
    progress: Progress | None = None,
) -> None:
    """Recompute every difference, its interval, its p values and its verdict."""
    comparison = folder.summary["comparison"]
    shared = {item.cluster for item in baseline} & {item.cluster for item in system}
    first, second = ([item for item in run if item.cluster in shared] for run in (baseline, system))
    _check_sizes(comparison, first, second, tally)
    signals, item_max = folder.summary["dataset"]["signals"], folder.summary["dataset"]["item_max"]
    keys = [_want(delta, signals) for delta in comparison["deltas"]]
    wants = {want: parse_definition(want[0]) for want in keys}
    plan = Plan(wants, item_max, comparison["seed"], comparison["resamples"])
    differences = paired_differences((first, second), plan, progress)
    level = folder.summary["interval"]["level"]
    _check_settings(folder, tally)
    for delta, want in zip(comparison["deltas"], keys, strict=True):
        _check_words(delta, wants[want], want[1] if len(signals) > 1 else None, comparison, tally)
        sides = [ordered(run, wants[want], want[1], item_max) for run in (first, second)]
        _check_delta(delta, wants[want], sides, tally)
        _check_interval(delta, differences[want], level, tally)
    _check_correction(comparison, tally)


def _want(delta: Mapping[str, Any], signals: Sequence[str]) -> Want:
    """A delta's definition and the confidence that orders it: named in its group, or the only one there is."""
    definition, name = str(delta["definition"]), str(delta["name"])
    if "[confidence=" in name:
        value = name.partition("[confidence=")[2][:-1]
        return definition, str(json.loads(value)) if value.startswith('"') else value
    return definition, signals[0] if needs_order(parse_definition(definition)) else None


def _check_settings(folder: ResultFolder, tally: Tally) -> None:
    """The comparison was made as the manifest says."""
    comparison, manifest = folder.summary["comparison"], folder.manifest
    tally.exact("comparison alpha", comparison["alpha"], manifest["options"]["alpha"])
    for key in ("seed", "resamples"):
        tally.exact(f"comparison {key}", comparison[key], folder.summary[key])


def _check_words(
    delta: Mapping[str, Any], measure: Measure, signal: str | None, comparison: Mapping[str, Any], tally: Tally
) -> None:
    """Name, sides, direction, family and sizes of a difference."""
    name = str(delta["name"])
    family = (
        "measures" if measure.cut in {None, "common"} else "coverage" if measure.kind == "coverage" else "truncated"
    )
    expected = {
        "name": name_of(measure, signal if needs_order(measure) else None),
        "baseline": comparison["baseline"],
        "system": comparison["system"],
        "direction": "higher" if measure.base == "Cmax" else "lower",
        "family": family,
        "n": comparison["items"],
        "system_n": comparison["items"],
        "n_clusters": comparison["participants"],
        "system_n_clusters": comparison["participants"],
    }
    for key, value in expected.items():
        tally.exact(f"{name} {key}", delta[key], value)


def _check_sizes(comparison: Mapping[str, Any], first: Sequence[Item], second: Sequence[Item], tally: Tally) -> None:
    counts = {side: sum(i.pred is not None for i in run) for side, run in (("baseline", first), ("system", second))}
    tally.exact("comparison participants", comparison["participants"], len(clusters_of(first)))
    tally.exact("comparison items", comparison["items"], len(first))
    for side, count in counts.items():
        tally.exact(f"comparison predicted {side}", comparison["predicted"][side], count)
        tally.number(f"comparison cmax {side}", comparison["cmax"][side], count / len(first))
    tally.number("comparison common_coverage", comparison["common_coverage"], min(counts.values()) / len(first))
    for row in comparison["coverages"]:
        need = -(-items_within(repr(row["coverage"]), len(first)) // 1)
        tally.exact(f"comparison coverage {row['coverage']} valid", row["valid"], need <= min(counts.values()))


def _check_delta(delta: Mapping[str, Any], measure: Measure, sides: Sequence[Ordered], tally: Tally) -> None:
    name = str(delta["name"])
    common = min(len(side.losses) for side in sides)
    data = [replace(side, common=common) for side in sides]
    found = [value_of(measure, side) for side in data]
    tally.number(f"{name} baseline_value", delta["baseline_value"], found[0][0])
    tally.number(f"{name} system_value", delta["system_value"], found[1][0])
    equal = len(data[0].losses) == len(data[1].losses)
    sound = all(ok and reaches(measure, side) for (_, ok), side in zip(found, data, strict=True))
    refused = measure.base == "MAE" and measure.cut is None and not equal
    before, after = found[0][0], found[1][0]
    known = sound and not refused and before is not None and after is not None
    tally.number(
        f"{name} delta", delta["delta"], after - before if known and after is not None and before is not None else None
    )
    fair = equal or measure.cut is not None or measure.base == "Cmax"
    tally.exact(
        f"{name} is tested", delta["p"] is not None, (known and fair and delta["ci"] is not None) or delta["p"] == 1.0
    )


def _check_interval(delta: Mapping[str, Any], differences: Floats, level: float, tally: Tally) -> None:
    name = str(delta["name"])
    limits = percentile_limits(differences, level)
    left_out = int(np.count_nonzero(np.isnan(differences)))
    tally.exact(f"{name} replicates_left_out", delta["replicates_left_out"], left_out)
    wide = limits is not None and spread_out(*limits)
    if delta["delta"] is None or limits is None or not wide:
        tally.exact(f"{name} ci", delta["ci"], None)
    else:
        said = delta["ci"] or [None, None]
        tally.number(f"{name} ci low", said[0], limits[0])
        tally.number(f"{name} ci high", said[1], limits[1])
    if delta["p"] is not None:
        held = differences[~np.isnan(differences)]
        fewer = min(int(np.sum(held <= SAME)), int(np.sum(held >= -SAME)))
        tally.number(f"{name} p", delta["p"], min(1.0, 2 * (1 + fewer) / (len(held) + 1)) if wide else 1.0)


def _check_correction(comparison: Mapping[str, Any], tally: Tally) -> None:
    """Holm within each family, and the verdict that follows."""
    for family in dict.fromkeys(str(delta["family"]) for delta in comparison["deltas"]):
        tested = [d for d in comparison["deltas"] if d["family"] == family and d["p"] is not None]
        highest = 0.0
        for place, delta in enumerate(sorted(tested, key=lambda d: float(d["p"]))):
            highest = max(highest, min(1.0, float(delta["p"]) * (len(tested) - place)))
            tally.number(f"{delta['name']} p_holm", delta["p_holm"], highest)
            tally.exact(f"{delta['name']} verdict", delta["verdict"], _verdict(delta, highest, comparison["alpha"]))
        for delta in comparison["deltas"]:
            if delta["family"] == family and delta["p"] is None:
                tally.exact(f"{delta['name']} verdict", delta["verdict"], "undefined")


def _verdict(delta: Mapping[str, Any], p: float, alpha: float) -> str:
    if p > alpha or not delta["delta"]:
        return "tie"
    better = (delta["delta"] > 0) == (delta["direction"] == "higher")
    return "win" if better else "loss"
