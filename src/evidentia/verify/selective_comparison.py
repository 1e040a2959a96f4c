"""The paired differences of a selective result, from both runs' items and the same draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import isnan
from typing import Any

from evidentia.array_types import Floats
from evidentia.errors import counted
from evidentia.results.catalogue import Definition
from evidentia.results.profiles import SELECTIVE, selective_names
from evidentia.results.selective import (
    Answered,
    never_significant,
    out_of_reach,
    refused_answers,
    refused_mean,
    untested_area,
)
from evidentia.verify.deltas import SideValue, correct, delta_entry
from evidentia.verify.draws import Progress
from evidentia.verify.folder import ResultFolder
from evidentia.verify.items import CurveReading, ItemRows, steps_within
from evidentia.verify.questionnaire_comparison import AnswerContest
from evidentia.verify.risk_coverage import Want, check_curve_loops
from evidentia.verify.selective_study import (
    ItemStudy,
    convention,
    definitions_of,
    judged_difference,
    recipes_of,
    replicates,
    suffix_of,
    usable,
    values_of,
    wants_of,
)
from evidentia.verify.tally import Tally, compare

FAMILIES = ("measures", "coverage", "truncated", "questionnaire", "items")


def check_selective_comparison(
    folder: ResultFolder, study: ItemStudy, other: ItemRows, tally: Tally, progress: Progress | None = None
) -> None:
    """Recompute every difference, its interval, its p values and its verdict, and everything that is said about them."""
    pair = ItemContest(study, other)
    recipes = recipes_of(pair.wants, pair.sides, side=None)
    draws = study.draws(pair.sides[0])
    differences = replicates(recipes, draws, progress)
    check_curve_loops(recipes, draws, differences, tally)
    pair.answers.check_loops(tally)
    compare("comparison", folder.summary["comparison"], pair.comparison(differences), tally)


@dataclass(frozen=True, eq=False)
class ItemContest:
    """A run and the baseline it is compared with, over the clusters that both have."""

    study: ItemStudy
    other: ItemRows

    @cached_property
    def sides(self) -> tuple[ItemRows, ItemRows]:
        """The baseline's items and the run's, of the same clusters."""
        shared = {*self.other.clusters} & {*self.study.items.clusters}
        return self.other.of(shared), self.study.items.of(shared)

    @cached_property
    def answers(self) -> AnswerContest:
        """What both say of the questionnaire of the run."""
        return AnswerContest(self.study, self.sides)

    @cached_property
    def signals(self) -> list[str]:
        """The confidences that both have."""
        asked = self.study.options["confidence"]
        if not asked:
            return [name for name in self.study.signals if name in self.other.signals]
        if "all" not in asked:
            return self.study.signals
        return [name for name in usable(self.sides[0]) if name in usable(self.sides[1])]

    @cached_property
    def wants(self) -> dict[Want, Definition]:
        """What a run alone reports, and the areas up to the common coverage."""
        loss = self.study.options["loss"]
        norm = loss or ("abs_norm" if self.study.items.item_max is not None else "abs")
        common = [
            f"{base}(ties={ties},loss={of})@C=common"
            for base, of in (("AURC", loss or "abs"), ("AUGRC", norm))
            for ties in ("step", "plateau")
        ]
        usual = definitions_of(selective_names(self.study.grid, loss))
        return wants_of([*definitions_of(common), *(d for d in usual if self.study.lacking(d) is None)], self.signals)

    @cached_property
    def answered(self) -> list[Answered]:
        """How much the baseline and the run answer."""
        names = self.study.options["names"]
        return [Answered(name, side.predicted, len(side)) for name, side in zip(names, self.sides, strict=True)]

    @cached_property
    def _values(self) -> list[dict[Want, float]]:
        """Every number of the baseline, of the run, and their difference; NaN where it is no measurement."""
        return [values_of(recipes_of(self.wants, self.sides, side)) for side in (0, 1, None)]

    def comparison(self, differences: Mapping[Want, Floats]) -> dict[str, Any]:
        """Everything that is reported about the two."""
        first, second = self.answered
        alpha, how = float(self.study.options["alpha"]), self.study.interval
        deltas = [self._delta(want, d, differences[want]) for want, d in self.wants.items()]
        deltas += self.answers.deltas()
        families = {family: [delta for delta in deltas if delta["family"] == family] for family in FAMILIES}
        tests = {family: correct(part, alpha, lambda delta: delta["name"]) for family, part in families.items()}
        bounds = [note for family, n in tests.items() for note in never_significant(family, n, how.resamples, alpha)]
        reach = {coverage: self._short_of(coverage) for coverage in self.study.grid}
        return {
            **{"baseline": first.name, "system": second.name},
            **{"seed": how.seed, "resamples": how.resamples, "alpha": alpha},
            **{"participants": len(self.sides[0].clusters), "items": first.items},
            "predicted": {"baseline": first.predicted, "system": second.predicted},
            "cmax": {"baseline": first.predicted / first.items, "system": second.predicted / first.items},
            "common_coverage": min(first.predicted, second.predicted) / first.items,
            "coverages": [{"coverage": float(c), "valid": why is None, "reason": why} for c, why in reach.items()],
            "deltas": [delta for part in families.values() for delta in part],
            "notes": [*self._left_out(), *bounds],
        }

    def _short_of(self, coverage: str) -> str | None:
        return out_of_reach(steps_within(Decimal(coverage), self.answered[0].items)[2], self.answered)

    def _left_out(self) -> list[str]:
        runs = [{*self.other.clusters}, {*self.study.items.clusters}]
        extra = [len(runs[0] - runs[1]), len(runs[1] - runs[0])]
        return [
            f"{side.name}: {counted(count, self.study.unit)} that the other run lacks are left out"
            for side, count in zip(self.answered, extra, strict=True)
            if count
        ]

    def _delta(self, want: Want, definition: Definition, differences: Floats) -> dict[str, Any]:
        reading, clusters = CurveReading.of(definition), len(self.sides[0].clusters)
        refused, untested = self._unfair(reading)
        before, after, difference = (values[want] for values in self._values)
        sides = (
            SideValue(side.name, convention(reading) if isnan(value) else value, side.items, clusters)
            for side, value in zip(self.answered, (before, after), strict=True)
        )
        name = definition.name(SELECTIVE) + suffix_of(want[1], self.signals)
        return judged_difference(
            self.study,
            delta_entry(name, definition, family_of(reading), *sides, delta=None),
            difference,
            differences,
            undefined=self._undefined(reading),
            refused=refused,
            untested=untested,
        )

    def _undefined(self, reading: CurveReading) -> str:
        short = None if reading.cut is None else self._short_of(str(reading.cut))
        return short or "undefined for at least one of the two"

    def _unfair(self, reading: CurveReading) -> tuple[list[str], list[str]]:
        """Why a difference is refused, or is not tested, where the two answer different shares of the items."""
        same = self.answered[0].predicted == self.answered[1].predicted
        if same and reading.base == "MAE" and reading.kind is None and self.answers.asked:
            differ = bool((self.sides[0].held != self.sides[1].held).any())
            return ([refused_answers(self.answered)] if differ else []), []
        if same or reading.base == "Cmax" or reading.kind is not None:
            return [], []
        return ([refused_mean(self.answered)], []) if reading.base == "MAE" else ([], [untested_area(self.answered)])


def family_of(reading: CurveReading) -> str:
    """What p values are corrected over."""
    if reading.cut is None:
        return "measures"
    return "coverage" if reading.kind == "coverage" else "truncated"
