"""The paired differences of a selective result, from both runs' items and the same draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from evidentia.errors import counted
from evidentia.results.sample_size import cluster_warnings, left_out_warning
from evidentia.verify.draws import Floats
from evidentia.verify.folder import ResultFolder
from evidentia.verify.limits import SAME, percentile_limits, spread_out
from evidentia.verify.selective_agree import agree
from evidentia.verify.selective_draws import Plan, Want, clusters_of, draws, paired_differences
from evidentia.verify.selective_expected import Lines
from evidentia.verify.selective_reference import (
    Item,
    Measure,
    Ordered,
    name_of,
    parse_definition,
    reaches,
    value_of,
)
from evidentia.verify.selective_settings import Settings, lacking, usable, usual_definitions, wants_of
from evidentia.verify.selective_words import bound_words, out_of_reach, unfair
from evidentia.verify.tally import Tally

Progress = Callable[[int, int], None]
FAMILIES = ("measures", "coverage", "truncated")
LOOPED = 5  # draws that are also built as plain lists


def check_comparison(
    folder: ResultFolder, settings: Settings, other: Sequence[Item], tally: Tally, progress: Progress | None = None
) -> None:
    """Recompute every difference, its interval, its p values and its verdict, and everything that is said about them."""
    pair = Contest(settings, other)
    plan = Plan(pair.wants, settings.item_max, settings.seed, settings.resamples)
    differences = paired_differences(pair.sides, plan, progress)
    for b in range(min(LOOPED, plan.resamples)):
        _check_by_plain_lists(pair, plan, differences, b, tally)
    said, found = dict(folder.summary["comparison"]), pair.comparison(differences)
    named = ({str(delta["name"]): delta for delta in one["deltas"]} for one in (said, found))
    tally.exact("comparison number of deltas", len(said["deltas"]), len(found["deltas"]))
    reported, expected = ({**one, "deltas": deltas} for one, deltas in zip((said, found), named, strict=True))
    agree(tally, "comparison", reported, expected)


@dataclass(frozen=True, eq=False)
class Contest:
    """A run and the baseline it is compared with, over the clusters that both have."""

    settings: Settings
    other: Sequence[Item]

    @cached_property
    def sides(self) -> tuple[list[Item], list[Item]]:
        """The baseline's items and the run's, of the same clusters."""
        shared = {item.cluster for item in self.other} & {item.cluster for item in self.settings.items}
        first, second = ([i for i in run if i.cluster in shared] for run in (self.other, self.settings.items))
        return first, second

    @cached_property
    def lines(self) -> tuple[Lines, Lines]:
        """Both in every order that is asked for."""
        first, second = (Lines(side, self.settings.item_max) for side in self.sides)
        return first, second

    @cached_property
    def signals(self) -> list[str]:
        """The confidences that both have."""
        asked = self.settings.options["confidence"]
        if not asked:
            return [name for name in self.settings.signals if name in self.other[0].signals]
        if "all" not in asked:
            return self.settings.signals
        return [name for name in usable(self.sides[0]) if name in usable(self.sides[1])]

    @cached_property
    def wants(self) -> dict[Want, Measure]:
        """What a run alone reports, and the areas up to the common coverage."""
        loss, item_max = self.settings.options["loss"], self.settings.item_max
        norm = loss or ("abs_norm" if item_max is not None else "abs")
        common = [
            f"{base}(ties={ties},loss={of})@C=common"
            for base, of in (("AURC", loss or "abs"), ("AUGRC", norm))
            for ties in ("step", "plateau")
        ]
        usual = [parse_definition(text) for text in usual_definitions(self.settings.grid, loss)]
        there = [measure for measure in usual if lacking(measure, item_max) is None]
        return wants_of([*map(parse_definition, common), *there], self.signals)

    @property
    def names(self) -> tuple[str, str]:
        """What the baseline and the run are called."""
        first, second = self.settings.options["names"]
        return first, second

    def comparison(self, differences: Mapping[Want, Floats]) -> dict[str, Any]:
        """Everything that is reported about the two."""
        counts = [sum(item.pred is not None for item in side) for side in self.sides]
        total, alpha = len(self.sides[0]), float(self.settings.options["alpha"])
        deltas = [self._delta(want, measure, differences[want]) for want, measure in self.wants.items()]
        bounds = [words for family in FAMILIES for words in _corrected(deltas, family, alpha, self.settings.resamples)]
        whole = [line.of(parse_definition("MAE"), None) for line in self.lines]
        reach = {coverage: out_of_reach(coverage, self.names, whole) for coverage in self.settings.grid}
        return {
            **{"baseline": self.names[0], "system": self.names[1]},
            **{"seed": self.settings.seed, "resamples": self.settings.resamples, "alpha": alpha},
            **{"participants": len(clusters_of(self.sides[0])), "items": total},
            "predicted": {"baseline": counts[0], "system": counts[1]},
            "cmax": {"baseline": counts[0] / total, "system": counts[1] / total},
            "common_coverage": min(counts) / total,
            "coverages": [{"coverage": float(c), "valid": why is None, "reason": why} for c, why in reach.items()],
            "deltas": deltas,
            "notes": [*self._left_out(), *bounds],
        }

    def _left_out(self) -> list[str]:
        runs = [{item.cluster for item in run} for run in (self.other, self.settings.items)]
        extra = [len(runs[0] - runs[1]), len(runs[1] - runs[0])]
        return [
            f"{name}: {counted(count, self.settings.unit)} that the other run lacks are left out"
            for name, count in zip(self.names, extra, strict=True)
            if count
        ]

    def _delta(self, want: Want, measure: Measure, differences: Floats) -> dict[str, Any]:
        sides = both(self.lines, measure, want[1])
        (before, first_sound), (after, second_sound) = (value_of(measure, side) for side in sides)
        sound = first_sound and second_sound and all(reaches(measure, side) for side in sides)
        refused, reserved = unfair(measure, sides)
        limits = percentile_limits(differences, float(self.settings.options["ci"]))
        width = limits is not None and spread_out(*limits)
        delta = after - before if sound and not refused and before is not None and after is not None else None
        clusters = len(clusters_of(self.sides[0]))
        return {
            "name": name_of(measure, want[1] if len(self.signals) > 1 else None),
            "definition": want[0],
            **{"baseline": self.names[0], "system": self.names[1]},
            **{"baseline_value": before, "system_value": after, "delta": delta},
            "direction": "higher" if measure.base == "Cmax" else "lower",
            **{"n": sides[0].total, "n_clusters": clusters, "system_n": sides[1].total, "system_n_clusters": clusters},
            "ci": list(limits) if limits is not None and width and delta is not None else None,
            "replicates_left_out": int(np.count_nonzero(np.isnan(differences))),
            "p": None if delta is None or reserved else _p(differences, delta, width),
            **{"p_holm": None, "verdict": "undefined", "family": family_of(measure)},
            "warnings": [*self._words(measure, sides, differences, sound=sound, width=width), *refused, *reserved],
        }

    def _words(
        self, measure: Measure, sides: Sequence[Ordered], differences: Floats, *, sound: bool, width: bool
    ) -> list[str]:
        said = [
            *cluster_warnings(len(clusters_of(self.sides[0])), self.settings.unit),
            *left_out_warning(int(np.count_nonzero(np.isnan(differences))), self.settings.resamples),
        ]
        if not sound:
            cut = None if measure.cut == "common" else measure.cut
            short = None if cut is None else out_of_reach(cut, self.names, sides)
            said.append(short or "undefined for at least one of the two")
        elif not width:
            said.append("no interval: every resample gives the same difference")
        return said


def both(lines: Sequence[Lines], measure: Measure, signal: str | None) -> list[Ordered]:
    """Both lists of a measure, each with the number of items that both predict."""
    sides = [line.of(measure, signal) for line in lines]
    return [replace(side, common=min(len(one.losses) for one in sides)) for side in sides]


def family_of(measure: Measure) -> str:
    """What p values are corrected over."""
    if measure.cut in {None, "common"}:
        return "measures"
    return "coverage" if measure.kind == "coverage" else "truncated"


def _p(differences: Floats, delta: float, width: bool) -> float | None:
    """Twice the smaller share of draws beyond zero; where all draws are the same there is nothing to test."""
    held = differences[~np.isnan(differences)]
    if not len(held):
        return None
    if not width:
        return 1.0 if abs(delta) <= SAME else None
    fewer = min(int(np.sum(held <= SAME)), int(np.sum(held >= -SAME)))
    return min(1.0, 2 * (1 + fewer) / (len(held) + 1))


def _corrected(deltas: Sequence[dict[str, Any]], family: str, alpha: float, resamples: int) -> list[str]:
    """Put Holm's correction and the verdict into every tested delta of a family; returns what bounds them all."""
    tested = [delta for delta in deltas if delta["family"] == family and delta["p"] is not None]
    highest = 0.0
    for place, delta in enumerate(sorted(tested, key=lambda one: float(one["p"]))):
        highest = max(highest, min(1.0, delta["p"] * (len(tested) - place)))
        delta["p_holm"], delta["verdict"] = highest, _verdict(delta, highest, alpha)
    return bound_words(resamples, alpha, family, len(tested))


def _verdict(delta: Mapping[str, Any], p: float, alpha: float) -> str:
    if p > alpha or not delta["delta"]:
        return "tie"
    better = (delta["delta"] > 0) == (delta["direction"] == "higher")
    return "win" if better else "loss"


def _check_by_plain_lists(pair: Contest, plan: Plan, found: Mapping[Want, Floats], b: int, tally: Tally) -> None:
    """A draw again, as lists that repeat the items of the drawn participants in both runs."""
    clusters = clusters_of(pair.sides[0])
    times = dict(zip(clusters, draws(len(clusters), plan.seed, b).tolist(), strict=True))
    lines = [Lines([i for i in side for _ in range(times[i.cluster])], plan.item_max) for side in pair.sides]
    for want, measure in plan.wants.items():
        sides = both(lines, measure, want[1])
        (before, sound), (after, also) = (value_of(measure, side) for side in sides)
        fine = sound and also and all(reaches(measure, side) for side in sides)
        value = after - before if fine and before is not None and after is not None else None
        drawn = float(found[want][b])
        tally.number(f"difference of {want[0]} in replicate {b}", None if isnan(drawn) else drawn, value)
