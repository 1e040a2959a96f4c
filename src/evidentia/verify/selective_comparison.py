"""The paired differences of a selective result, from both runs' items and the same draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from evidentia.array_types import Floats
from evidentia.errors import counted
from evidentia.results.catalogue import Definition
from evidentia.results.profiles import SELECTIVE, selective_names
from evidentia.results.sample_size import cluster_warnings, left_out_warning, no_interval_of_difference
from evidentia.results.selective import Answered, never_significant, out_of_reach, refused_mean, untested_area
from evidentia.verify.folder import ResultFolder
from evidentia.verify.limits import SAME, percentile_limits, spread_out
from evidentia.verify.points import compare
from evidentia.verify.selective_draws import DrawPlan, ItemPoint, Progress, Want, paired_differences, points_of
from evidentia.verify.selective_expected import convention
from evidentia.verify.selective_items import CurveReading, ItemRows, steps_within
from evidentia.verify.selective_settings import (
    SelectiveSettings,
    definitions_of,
    lacking,
    suffix_of,
    usable,
    wants_of,
)
from evidentia.verify.tally import Tally

FAMILIES = ("measures", "coverage", "truncated")
LOOPED = 5  # draws that are also built row by row


def check_comparison(
    folder: ResultFolder, settings: SelectiveSettings, other: ItemRows, tally: Tally, progress: Progress | None = None
) -> None:
    """Recompute every difference, its interval, its p values and its verdict, and everything that is said about them."""
    pair = ItemContest(settings, other)
    plan = settings.plan(pair.wants)
    differences = paired_differences(pair.sides, plan, progress)
    for b in range(min(LOOPED, plan.resamples)):
        _check_by_repeated_rows(pair, plan, differences, b, tally)
    compare("comparison", folder.summary["comparison"], pair.comparison(differences), tally)


@dataclass(frozen=True, eq=False)
class ItemContest:
    """A run and the baseline it is compared with, over the clusters that both have."""

    settings: SelectiveSettings
    other: ItemRows

    @cached_property
    def sides(self) -> tuple[ItemRows, ItemRows]:
        """The baseline's items and the run's, of the same clusters."""
        shared = {*self.other.clusters} & {*self.settings.items.clusters}
        return self.other.of(shared), self.settings.items.of(shared)

    @cached_property
    def signals(self) -> list[str]:
        """The confidences that both have."""
        asked = self.settings.options["confidence"]
        if not asked:
            return [name for name in self.settings.signals if name in self.other.signals]
        if "all" not in asked:
            return self.settings.signals
        return [name for name in usable(self.sides[0]) if name in usable(self.sides[1])]

    @cached_property
    def wants(self) -> dict[Want, Definition]:
        """What a run alone reports, and the areas up to the common coverage."""
        loss, item_max = self.settings.options["loss"], self.settings.item_max
        norm = loss or ("abs_norm" if item_max is not None else "abs")
        common = [
            f"{base}(ties={ties},loss={of})@C=common"
            for base, of in (("AURC", loss or "abs"), ("AUGRC", norm))
            for ties in ("step", "plateau")
        ]
        usual = definitions_of(selective_names(self.settings.grid, loss))
        return wants_of([*definitions_of(common), *(d for d in usual if lacking(d, item_max) is None)], self.signals)

    @cached_property
    def answered(self) -> list[Answered]:
        """How much the baseline and the run answer."""
        names = self.settings.options["names"]
        return [Answered(name, side.predicted, len(side)) for name, side in zip(names, self.sides, strict=True)]

    def comparison(self, differences: Mapping[Want, Floats]) -> dict[str, Any]:
        """Everything that is reported about the two."""
        first, second = self.answered
        alpha, resamples = float(self.settings.options["alpha"]), self.settings.resamples
        points = points_of(self.settings.plan(self.wants), self.sides)
        deltas = [self._delta(want, d, points[want], differences[want]) for want, d in self.wants.items()]
        tests = {family: _corrected(deltas, family, alpha) for family in FAMILIES}
        bounds = [note for family, n in tests.items() for note in never_significant(family, n, resamples, alpha)]
        reach = {coverage: self._short_of(coverage) for coverage in self.settings.grid}
        return {
            **{"baseline": first.name, "system": second.name},
            **{"seed": self.settings.seed, "resamples": resamples, "alpha": alpha},
            **{"participants": len(self.sides[0].clusters), "items": first.items},
            "predicted": {"baseline": first.predicted, "system": second.predicted},
            "cmax": {"baseline": first.predicted / first.items, "system": second.predicted / first.items},
            "common_coverage": min(first.predicted, second.predicted) / first.items,
            "coverages": [{"coverage": float(c), "valid": why is None, "reason": why} for c, why in reach.items()],
            "deltas": sorted(deltas, key=lambda delta: FAMILIES.index(delta["family"])),
            "notes": [*self._left_out(), *bounds],
        }

    def _short_of(self, coverage: str) -> str | None:
        return out_of_reach(steps_within(Decimal(coverage), self.answered[0].items)[2], self.answered)

    def _left_out(self) -> list[str]:
        runs = [{*self.other.clusters}, {*self.settings.items.clusters}]
        extra = [len(runs[0] - runs[1]), len(runs[1] - runs[0])]
        return [
            f"{side.name}: {counted(count, self.settings.unit)} that the other run lacks are left out"
            for side, count in zip(self.answered, extra, strict=True)
            if count
        ]

    def _delta(self, want: Want, definition: Definition, point: ItemPoint, differences: Floats) -> dict[str, Any]:
        reading, (first, second) = CurveReading.of(definition), self.answered
        clusters, left_out = len(self.sides[0].clusters), int(np.count_nonzero(np.isnan(differences)))
        refused, untested = self._unfair(reading)
        limits = percentile_limits(differences, self.settings.level)
        width = limits is not None and spread_out(*limits)
        delta = None if refused else point.difference
        before, after = (convention(reading) if isnan(value) else value for value in point.values)
        warnings = [
            *cluster_warnings(clusters, self.settings.unit),
            *left_out_warning(left_out, self.settings.resamples),
            *self._no_interval(reading, point, left_out, width=width),
        ]
        return {
            "name": definition.name(SELECTIVE) + suffix_of(want[1], self.signals),
            "definition": want[0],
            **{"baseline": first.name, "system": second.name},
            **{"baseline_value": before, "system_value": after, "delta": delta},
            "direction": definition.measure.direction,
            **{"n": first.items, "n_clusters": clusters, "system_n": second.items, "system_n_clusters": clusters},
            "ci": list(limits) if limits is not None and width and delta is not None else None,
            "replicates_left_out": left_out,
            "p": None if delta is None or untested else _p(differences, delta, width),
            **{"p_holm": None, "verdict": "undefined", "family": family_of(reading)},
            "warnings": [*warnings, *refused, *untested],
        }

    def _no_interval(self, reading: CurveReading, point: ItemPoint, left_out: int, *, width: bool) -> list[str]:
        if point.difference is None:
            short = None if reading.cut is None else self._short_of(str(reading.cut))
            return [short or "undefined for at least one of the two"]
        return [] if width else [no_interval_of_difference(left_out, self.settings.resamples)]

    def _unfair(self, reading: CurveReading) -> tuple[list[str], list[str]]:
        """Why a difference is refused, or is not tested, where the two answer different shares of the items."""
        same = self.answered[0].predicted == self.answered[1].predicted
        if same or reading.base == "Cmax" or reading.kind is not None:
            return [], []
        return ([refused_mean(self.answered)], []) if reading.base == "MAE" else ([], [untested_area(self.answered)])


def family_of(reading: CurveReading) -> str:
    """What p values are corrected over."""
    if reading.cut is None:
        return "measures"
    return "coverage" if reading.kind == "coverage" else "truncated"


def _p(differences: Floats, delta: float, width: bool) -> float | None:
    """Twice the smaller share of draws beyond zero; where all draws are the same there is nothing to test."""
    held = differences[~np.isnan(differences)]
    if not len(held):
        return None
    if not width:
        return 1.0 if abs(delta) <= SAME else None
    fewer = min(int(np.sum(held <= SAME)), int(np.sum(held >= -SAME)))
    return min(1.0, 2 * (1 + fewer) / (len(held) + 1))


def _corrected(deltas: Sequence[dict[str, Any]], family: str, alpha: float) -> int:
    """Put Holm's correction and the verdict into every tested delta of a family; returns how many there are."""
    tested = [delta for delta in deltas if delta["family"] == family and delta["p"] is not None]
    highest = 0.0
    for place, delta in enumerate(sorted(tested, key=lambda one: float(one["p"]))):
        highest = max(highest, min(1.0, delta["p"] * (len(tested) - place)))
        delta["p_holm"], delta["verdict"] = highest, _verdict(delta, highest, alpha)
    return len(tested)


def _verdict(delta: Mapping[str, Any], p: float, alpha: float) -> str:
    if p > alpha or not delta["delta"]:
        return "tie"
    better = (delta["delta"] > 0) == (delta["direction"] == "higher")
    return "win" if better else "loss"


def _check_by_repeated_rows(
    pair: ItemContest, plan: DrawPlan, differences: Mapping[Want, Floats], b: int, tally: Tally
) -> None:
    """A draw again, as rows that repeat the items of the drawn participants in both runs."""
    times = plan.times(len(pair.sides[0].clusters), b)
    points = points_of(plan, [side.repeated(times) for side in pair.sides])
    for want, point in points.items():
        drawn = float(differences[want][b])
        where = f"difference of {want[0]} in replicate {b}"
        tally.number(where, None if isnan(drawn) else drawn, point.difference)
