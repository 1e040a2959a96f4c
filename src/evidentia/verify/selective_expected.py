"""What the summary of a selective result must say about one run, from its items alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from evidentia.array_types import Floats
from evidentia.errors import counted
from evidentia.results.catalogue import Definition
from evidentia.results.profiles import SELECTIVE
from evidentia.results.sample_size import (
    CONVENTION,
    NEVER,
    SAME,
    cluster_warnings,
    exact_limits,
    interval_reason,
    left_out_warning,
)
from evidentia.results.selective import area_ends_early
from evidentia.verify.limits import Pair, all_or_none, bca_limits, percentile_limits, spread_out
from evidentia.verify.selective_draws import DrawnItems, ItemPoint, Want, points_of
from evidentia.verify.selective_items import CurveReading
from evidentia.verify.selective_lists import tie_range
from evidentia.verify.selective_settings import PHQ8, SelectiveSettings, lacking, suffix_of

GENERIC = "a generic table says itself which items there are"
NO_AREA = "no area was computed beside its optimum"
TITLES = {
    "SEL001": "Every participant has all eight items",
    "SEL002": "Joint risk is coverage times risk at every point of every curve",
    "SEL003": "No area is smaller than the best that its predictions allow",
}


@dataclass(frozen=True, eq=False)
class ExpectedItems:
    """Every entry of a summary; ``values`` and ``without`` are those of the draws and of the jackknife, if there are any."""

    settings: SelectiveSettings
    values: Mapping[Want, Floats] = field(default_factory=dict)
    without: Mapping[Want, Floats] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """The whole content but the comparison."""
        settings = self.settings
        entries = {
            d.name(SELECTIVE) + suffix_of(want[1], settings.signals): self.entry(want, d)
            for want, d in settings.wants.items()
        }
        method = settings.options["ci_method"]
        return {
            "schema": "evidentia.summary/1",
            "profile": "selective",
            "seed": settings.seed,
            "resamples": settings.resamples,
            "interval": {"level": settings.level, "method": method, "stratified_by_fold": False},
            "dataset": self._dataset(),
            "measures": entries,
            "not_computed": self._gaps(),
            "other_definitions": [],
            "checks": self._checks(entries),
            "notes": settings.notes,
        }

    def _dataset(self) -> dict[str, Any]:
        items, settings = self.settings.items, self.settings
        return {
            "mode": settings.options["mode"],
            "unit": settings.unit,
            "participants": len(items.clusters),
            "failed": next(source["failed"] for source in settings.manifest["inputs"] if source["role"] == "items"),
            "items": len(items),
            "predicted": items.predicted,
            "item_max": settings.item_max,
            "signals": settings.signals,
        }

    def _gaps(self) -> list[dict[str, Any]]:
        gaps: dict[str, list[str]] = {}
        for definition in self.settings.asked:
            reason = lacking(definition, self.settings.item_max)
            if reason is not None:
                gaps.setdefault(reason, []).append(definition.name(SELECTIVE))
        return [{"family": "selective", "reason": why, "measures": names} for why, names in gaps.items()]

    @cached_property
    def _points(self) -> dict[Want, ItemPoint]:
        return points_of(self.settings.plan(self.settings.wants), [self.settings.items])

    @cached_property
    def _whole(self) -> DrawnItems:
        """The run as it is: every cluster once."""
        items = self.settings.items
        return DrawnItems(items, np.ones((1, len(items.clusters)), np.int64), self.settings.item_max)

    def entry(self, want: Want, definition: Definition) -> dict[str, Any]:
        """Everything about one number."""
        items, reading, measure = self.settings.items, CurveReading.of(definition), definition.measure
        value = self._points[want].values[0]
        alone = reading.base == "MAE" and reading.kind is None
        abstained = len(items) - items.predicted
        limits, method, left_out, reason = (
            self._interval(want, reading, value) if self.settings.resamples else (None, None, None, None)
        )
        early = area_ends_early(float(reading.cut), items.predicted / len(items)) if reading.cut else ()
        return {
            "value": convention(reading) if isnan(value) else value,
            "definition": want[0],
            "ci": None if limits is None else list(limits),
            "ci_method": method,
            "replicates_left_out": left_out,
            **dict.fromkeys(("distribution", "fold_mean", "fold_std", "folds_used")),
            "n": items.predicted if alone else len(items),
            "n_clusters": len(items.clusters),
            "population": definition.population.words,
            "left_out": {definition.population.left_out: abstained} if alone and abstained else {},
            "degenerate": measure.reasons[0] if isnan(value) else None,
            "warnings": [*(early if reading.kind == "C" else ()), *self._warnings(limits, left_out, reason)],
            "direction": measure.direction,
            "family": "selective",
            "label": measure.label,
            "meaning": measure.meaning,
            "details": self._details(definition, reading, want[1]),
        }

    def _warnings(self, limits: Pair | None, left_out: int | None, reason: str | None) -> list[str]:
        if left_out is None:
            return []
        return [
            *cluster_warnings(len(self.settings.items.clusters), self.settings.unit),
            *left_out_warning(left_out, self.settings.resamples),
            *interval_reason(reason, given=limits is not None),
        ]

    def _details(self, definition: Definition, reading: CurveReading, signal: str | None) -> dict[str, Any]:
        details: dict[str, Any] = {} if signal is None else {"confidence": signal}
        if reading.cut is not None:
            details["coverage"] = float(reading.cut)
        if reading.ties == "step":
            twin = definition.with_params(ties="plateau").name(SELECTIVE)
            details["plateau"] = twin + suffix_of(signal, self.settings.signals)
            if signal is not None and reading.kind is None and reading.base in {"AURC", "AUGRC"}:
                lists = self._whole.lists(signal, reading.loss).own
                best, expected, worst, tied = tie_range(lists, "AUGRC" in reading.base)
                details["tie_sensitivity"] = {"best": best, "expected": expected, "worst": worst, "tied_items": tied}
        return details

    def _interval(
        self, want: Want, reading: CurveReading, value: float
    ) -> tuple[Pair | None, str | None, int, str | None]:
        """Limits, their method, left-out draws, and what is to be said about them."""
        drawn, level, method = self.values[want], self.settings.level, self.settings.options["ci_method"]
        left_out, clusters = int(np.count_nonzero(np.isnan(drawn))), len(self.settings.items.clusters)
        if isnan(value):
            return None, None, left_out, CONVENTION
        bca = method == "bca"
        limits = bca_limits(drawn, value, self.without[want], level) if bca else percentile_limits(drawn, level)
        if limits is None:
            return None, None, left_out, NEVER
        if spread_out(*limits):
            return limits, method, left_out, None
        if reading.base != "Cmax" or value not in {0.0, 1.0}:
            return None, None, left_out, SAME
        exact = all_or_none(clusters, level, every=value == 1.0)
        return exact, "clopper-pearson", left_out, exact_limits(clusters, self.settings.unit)

    def _checks(self, entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The checks that are made of every selective result."""
        items = self.settings.items
        optimum = {e["definition"]: e["value"] for e in entries.values() if "(order=oracle," in e["definition"]}
        pairs = [
            (entry["value"], optimum[twin])
            for entry in entries.values()
            if "(order=confidence," in entry["definition"]
            and (twin := entry["definition"].replace("(order=confidence,", "(order=oracle,")) in optimum
        ]
        below = sum(own < best - 1e-12 for own, best in pairs)
        sizes = np.bincount(items.owner, minlength=len(items.clusters))
        looked, wrong = len(sizes) if self.settings.unit == "participant" else 0, int(np.sum(sizes != len(PHQ8)))
        points = len(self.settings.drawn) * items.predicted
        return [
            _finding("SEL001", looked, wrong, one="participant", what="have another number of items", absent=GENERIC),
            _finding("SEL002", points, 0, one="point", what="differ", absent="no curve has a point"),
            _finding("SEL003", len(pairs), below, one="area", what="are smaller", absent=NO_AREA),
        ]


def convention(reading: CurveReading) -> float | None:
    """What stands where there is no measurement: nothing for a mean, and no area where nothing is answered."""
    return None if reading.base in {"MAE", "nAURC", "nAUGRC"} else 0.0


def _finding(code: str, looked: int, wrong: int, *, one: str, what: str, absent: str) -> dict[str, Any]:
    """A finding by how much was looked at, and how much of it is wrong."""
    title = TITLES[code]
    if not looked:
        return {"code": code, "title": title, "status": "not applicable", "message": absent, "looked": 0}
    seen = f"{counted(looked, one)} looked at"
    message = f"{wrong:,} {what}; {seen}" if wrong else seen
    status = "failed" if wrong else "passed"
    return {"code": code, "title": title, "status": status, "message": message, "looked": looked}
