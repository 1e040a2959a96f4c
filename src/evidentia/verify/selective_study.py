"""How a selective result was made, by its manifest and its items: signals, unit, and which numbers there must be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import isnan
from typing import Any, TypeVar

import numpy as np

from evidentia.array_types import Floats
from evidentia.results.catalogue import Definition, resolve
from evidentia.results.measure import NEEDS
from evidentia.results.names import group_suffix
from evidentia.results.profiles import COVERAGES, SELECTIVE, questionnaire_names, selective_names
from evidentia.results.questionnaire import Questionnaire
from evidentia.results.sample_size import (
    cluster_warnings,
    interval_reason,
    left_out_warning,
    no_interval_of_difference,
)
from evidentia.verify.deltas import judged
from evidentia.verify.draws import Draws, LeftOut, Progress, counter, draws_over
from evidentia.verify.intervals import EXACT, Basis, DrawnNumber, Settings, limits_of
from evidentia.verify.items import CurveReading, ItemRows
from evidentia.verify.limits import SAME, percentile_limits, spread_out
from evidentia.verify.recipes import Recipe, on_all, replicated
from evidentia.verify.risk_coverage import CurveRecipe, Want

PHQ8 = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")
SECOND_RUN = "needs a second run (--against)"
LARGEST = "needs the largest possible score (--item-max), or another --loss"
OWN_RANGES = "needs items of one range; it is reported item by item"
QUESTIONNAIRE = "questionnaire"  # the family
Recipes = Mapping[Want, CurveRecipe]
ItemAsked = tuple[Definition, str | None]  # a number of a questionnaire, and the item that it is about
K = TypeVar("K")


@dataclass(frozen=True, eq=False)
class ItemStudy:
    """What was asked for, as the manifest has it, of the items that are there."""

    manifest: Mapping[str, Any]
    items: ItemRows

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """The options as they were given."""
        options: Mapping[str, Any] = self.manifest["options"]
        return options

    @cached_property
    def interval(self) -> Settings:
        """How the intervals were made."""
        level, method = float(self.options["ci"]), self.options["ci_method"]
        size, seed, bootstrap = (
            int(self.manifest["resamples"]),
            int(self.manifest["seed"]),
            self.options.get("bootstrap", EXACT),
        )
        return Settings(size, seed, level, method, stratified=False, bootstrap=bootstrap)

    @cached_property
    def questionnaire(self) -> Questionnaire | None:
        """The questionnaire that the items are of; None for a table."""
        content = self.options.get("instrument")
        return None if content is None else Questionnaire.of(content)

    @property
    def grid(self) -> list[str]:
        """The coverages, as plain decimals."""
        asked = COVERAGES if self.options["coverage"] is None else self.options["coverage"]
        return [f"{Decimal(coverage):f}" for coverage in asked]

    @cached_property
    def unit(self) -> str:
        """What a cluster is: items of a PHQ-8 run stand in the order of the questionnaire, those of a table by name.

        A result that keeps its instrument says so itself.
        """
        if self.questionnaire is not None:
            return "participant"
        rows: dict[int, list[str]] = {}
        for owner, name in zip(self.items.owner.tolist(), self.items.names, strict=True):
            rows.setdefault(owner, []).append(name)
        known = all(name in PHQ8 for name in self.items.names)
        asked = known and all(names == sorted(names, key=PHQ8.index) for names in rows.values())
        return "participant" if asked and any(names != sorted(names) for names in rows.values()) else "cluster"

    @cached_property
    def signals(self) -> list[str]:
        """The confidences that items are ordered by."""
        asked = self.options["confidence"]
        if not asked:
            there = self.items.signals
            return ["confidence"] if "confidence" in there else [n for n in ("llm", "total_evidence") if n in there]
        return usable(self.items) if "all" in asked else list(dict.fromkeys(asked))

    @cached_property
    def asked(self) -> list[Definition]:
        """Every measure that was asked for, also those that cannot be computed."""
        return definitions_of(name for name in self._names if not resolve(name, SELECTIVE).group)

    @cached_property
    def _names(self) -> Sequence[str]:
        """The measures that were asked for, or else the usual ones."""
        named: Sequence[str] | None = self.options["measures"]
        if named is not None:
            return named
        loss = self.options["loss"]
        further = () if self.questionnaire is None else questionnaire_names(self.questionnaire.cuts, loss)
        return (*selective_names(self.grid, loss), *further)

    @cached_property
    def wants(self) -> dict[Want, Definition]:
        """What is reported of curves: definitions by confidence."""
        own = (d for d in self.asked if self.lacking(d) is None and d.measure.family != QUESTIONNAIRE)
        return wants_of(own, self.signals)

    @cached_property
    def answers_asked(self) -> list[ItemAsked]:
        """What is reported of a questionnaire: over all items, then item by item, then items that were named."""
        whole = [(d, None) for d in self.asked if d.measure.family == QUESTIONNAIRE and self.lacking(d) is None]
        ids = () if self.questionnaire is None else self.questionnaire.item_ids
        plain = [d for d in self.asked if "item" in d.measure.groups and self.lacking(d) in {None, OWN_RANGES}]
        return [*whole, *((d, item) for d in plain for item in ids), *self._named_items(plain)]

    def _named_items(self, known: Sequence[Definition]) -> list[ItemAsked]:
        """Items that were named, of measures that are not reported for all of them, in the order of the questionnaire."""
        items: dict[Definition, set[str]] = {}
        for request in (resolve(name, SELECTIVE) for name in self._names):
            if request.group and request.definition not in known:
                items.setdefault(request.definition, set()).add(dict(request.group)["item"])
        ids = () if self.questionnaire is None else self.questionnaire.item_ids
        return [(d, item) for d, named in items.items() for item in ids if item in named]

    @property
    def usual(self) -> ItemStudy:
        """The same run with the measures that are reported without asking, as a comparison has them."""
        return ItemStudy({**self.manifest, "options": {**self.options, "measures": None}}, self.items)

    @property
    def drawn(self) -> list[str]:
        """The confidences that have curves: all of them, where any number depends on the order of the items."""
        return self.signals if any(signal is not None for _, signal in self.wants) else []

    def lacking(self, definition: Definition) -> str | None:
        """What a measure would need; None if it can be computed on one run."""
        if CurveReading.of(definition).common:
            return SECOND_RUN
        if definition.measure.family == QUESTIONNAIRE and self.questionnaire is None:
            return NEEDS["questionnaire"]
        pooled = definition.measure.base == "WeightedKappa"
        if pooled and self.questionnaire is not None and not self.questionnaire.one_range:
            return OWN_RANGES
        return LARGEST if definition.args.get("loss") == "abs_norm" and self.items.item_max is None else None

    def draws(self, items: ItemRows) -> Draws:
        """The draws of the clusters of a run, without strata."""
        how = self.interval
        return draws_over(items.clusters, how.resamples, how.seed, poisson=how.poisson, width=len(items))

    @property
    def left_out(self) -> LeftOut:
        """The jackknife over the clusters."""
        return LeftOut(len(self.items.clusters), len(self.items))


def about_interval(
    study: ItemStudy, drawn: DrawnNumber | None, clusters: int, *, proportion: bool
) -> tuple[dict[str, Any], list[str]]:
    """What an entry says about its interval, and the warnings about it; without draws nothing."""
    if drawn is None:
        return dict.fromkeys(("ci", "ci_method", "replicates_left_out")), []
    left_out = int(np.count_nonzero(np.isnan(drawn.values)))
    basis = Basis(clusters, clusters, proportion=proportion, unit=study.unit)
    limits, method, reason = limits_of(study.interval, drawn, basis)
    warnings = [
        *cluster_warnings(clusters, study.unit),
        *left_out_warning(left_out, study.interval.resamples),
        *interval_reason(reason, given=limits is not None),
    ]
    ci = None if limits is None else list(limits)
    return {"ci": ci, "ci_method": method, "replicates_left_out": left_out}, warnings


def judged_difference(
    study: ItemStudy,
    entry: dict[str, Any],
    difference: float,
    differences: Floats,
    *,
    undefined: str,
    first: Iterable[str] = (),
    refused: Sequence[str] = (),
    untested: Sequence[str] = (),
) -> dict[str, Any]:
    """A difference (NaN: there is none) with its interval and its p in all draws, and what is to be said about it."""
    left_out, resamples = int(np.count_nonzero(np.isnan(differences))), study.interval.resamples
    limits = percentile_limits(differences, study.interval.level)
    width = limits is not None and spread_out(*limits)
    delta = None if refused or isnan(difference) else difference
    warnings = [
        *first,
        *cluster_warnings(entry["n_clusters"], study.unit),
        *left_out_warning(left_out, resamples),
        *([] if width or isnan(difference) else [no_interval_of_difference(left_out, resamples)]),
        *([undefined] if isnan(difference) else []),
        *refused,
        *untested,
    ]
    p = None if delta is None or untested else _p(differences, delta, width)
    ci = limits if width and delta is not None else None
    return judged(entry | {"delta": delta}, ci, left_out=left_out, p=p, warnings=warnings)


def _p(differences: Floats, delta: float, width: bool) -> float | None:
    """Twice the smaller share of draws beyond zero; where all draws are the same there is nothing to test."""
    held = differences[~np.isnan(differences)]
    if not len(held):
        return None
    if not width:
        return 1.0 if abs(delta) <= SAME else None
    fewer = min(int(np.sum(held <= SAME)), int(np.sum(held >= -SAME)))
    return min(1.0, 2 * (1 + fewer) / (len(held) + 1))


def replicates(
    recipes: Mapping[K, Recipe], draws: Draws | LeftOut, progress: Progress | None = None
) -> dict[K, Floats]:
    """Every number in every draw; nothing without draws."""
    if not draws.resamples:
        return {}
    values = replicated(list(recipes.values()), draws, counter(progress, draws.resamples))
    return dict(zip(recipes, values, strict=True))


def recipes_of(wants: Mapping[Want, Definition], runs: tuple[ItemRows, ...], side: int | None = 0) -> Recipes:
    """How wants are read, those of one list beside each other."""
    readings = {want: CurveReading.of(definition) for want, definition in wants.items()}
    ordered = sorted(wants, key=lambda want: (want[1] or "", readings[want].loss))
    return {want: CurveRecipe(runs, readings[want], want[1], side) for want in ordered}


def values_of(recipes: Recipes) -> dict[Want, float]:
    """Every number on the runs as they are; NaN where it is no measurement."""
    if not recipes:
        return {}
    clusters = len(next(iter(recipes.values())).runs[0].clusters)
    return dict(zip(recipes, on_all(list(recipes.values()), clusters).tolist(), strict=True))


def definitions_of(names: Iterable[str]) -> list[Definition]:
    """What names mean, each definition once."""
    return list(dict.fromkeys(resolve(name, SELECTIVE).definition for name in names))


def usable(items: ItemRows) -> list[str]:
    """The signals that every predicted item has."""
    return [name for name in items.signals if items.has(name)]


def wants_of(definitions: Iterable[Definition], signals: Sequence[str]) -> dict[Want, Definition]:
    """Definitions by the confidences that matter to them."""
    return {
        (d.expanded, signal): d for d in definitions for signal in (signals if CurveReading.of(d).ordered else (None,))
    }


def suffix_of(signal: str | None, signals: Sequence[str]) -> str:
    """The confidence in a name; it is named where there are several."""
    return "" if signal is None or len(signals) < 2 else group_suffix((("confidence", signal),))


def convention(reading: CurveReading) -> float | None:
    """What stands where there is no measurement: nothing for a mean, and no area where nothing is answered."""
    return None if reading.base in {"MAE", "nAURC", "nAUGRC"} else 0.0
