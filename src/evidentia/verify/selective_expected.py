"""What the summary of a selective result must say about one run, from its items alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evidentia.errors import counted
from evidentia.verify.draws import Floats
from evidentia.verify.limits import all_or_none, bca_limits, percentile_limits, spread_out
from evidentia.verify.selective_draws import Want, clusters_of
from evidentia.verify.selective_reference import Item, Measure, Ordered, name_of, ordered, tie_range, value_of
from evidentia.verify.selective_settings import PHQ8, Settings, lacking
from evidentia.verify.selective_words import CONVENTION, SAME, TEXTS, Interval, ends_early, flaw_of

NEVER = "undefined in every resample"
GENERIC = "a generic table says itself which items there are"
NO_AREA = "no area was computed beside its optimum"
TITLES = {
    "SEL001": "Every participant has all eight items",
    "SEL002": "Joint risk is coverage times risk at every point of every curve",
    "SEL003": "No area is smaller than the best that its predictions allow",
}


class Lines:
    """A run's items in every order that is asked for, each sorted once."""

    def __init__(self, items: Sequence[Item], item_max: float | None) -> None:
        self.items, self.item_max, self._made = items, item_max, dict[tuple[str | None, str], Ordered]()

    def of(self, measure: Measure, signal: str | None) -> Ordered:
        """The losses of a measure in the order of a confidence."""
        key = (signal, measure.loss)
        if key not in self._made:
            self._made[key] = ordered(self.items, measure, signal, self.item_max)
        return self._made[key]


@dataclass(frozen=True, eq=False)
class Expected:
    """Every entry of a summary; ``values`` and ``without`` are those of the draws and of the jackknife, if there are any."""

    settings: Settings
    values: Mapping[Want, Floats] = field(default_factory=dict)
    without: Mapping[Want, Floats] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """The whole content but the comparison."""
        settings = self.settings
        entries = {settings.name(m, want[1]): self.entry(want, m) for want, m in settings.wants.items()}
        return {
            "schema": "evidentia.summary/1",
            "profile": "selective",
            "seed": settings.seed,
            "resamples": settings.resamples,
            "interval": {
                "level": float(settings.options["ci"]),
                "method": settings.options["ci_method"],
                "stratified_by_fold": False,
            },
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
            "participants": len(clusters_of(items)),
            "failed": next(one["failed"] for one in settings.manifest["inputs"] if one["role"] == "items"),
            "items": len(items),
            "predicted": sum(item.pred is not None for item in items),
            "item_max": settings.item_max,
            "signals": settings.signals,
        }

    def _gaps(self) -> list[dict[str, Any]]:
        found = [(m, reason) for m in self.settings.asked if (reason := lacking(m, self.settings.item_max))]
        return [
            {
                "family": "selective",
                "reason": reason,
                "measures": sorted(name_of(m, None) for m, why in found if why == reason),
            }
            for reason in dict.fromkeys(reason for _, reason in found)
        ]

    def entry(self, want: Want, measure: Measure) -> dict[str, Any]:
        """Everything about one number."""
        items, data = self.settings.items, self.lines.of(measure, want[1])
        value, sound = value_of(measure, data)
        alone = measure.base == "MAE" and measure.cut is None
        clusters, abstained = len(clusters_of(items)), data.total - len(data.losses)
        interval = self._interval(want, measure, value, sound) if self.settings.resamples else None
        label, meaning = TEXTS[measure.base, measure.kind]
        said = [] if interval is None else interval.words(clusters, self.settings.unit, self.settings.resamples)
        return {
            "value": value,
            "definition": want[0],
            "ci": None if interval is None or interval.limits is None else list(interval.limits),
            "ci_method": None if interval is None else interval.method,
            "replicates_left_out": None if interval is None else interval.left_out,
            **dict.fromkeys(("distribution", "fold_mean", "fold_std", "folds_used")),
            "n": len(data.losses) if alone else data.total,
            "n_clusters": clusters,
            "population": "predicted items" if alone else "all items, abstained ones too",
            "left_out": {"abstained items": abstained} if alone and abstained else {},
            "degenerate": None if sound else flaw_of(measure),
            "warnings": [*ends_early(measure, data), *said],
            "direction": "higher" if measure.base == "Cmax" else "lower",
            "family": "selective",
            "label": label,
            "meaning": meaning,
            "details": self._details(measure, want[1], data),
        }

    @cached_property
    def lines(self) -> Lines:
        """The items in order."""
        return Lines(self.settings.items, self.settings.item_max)

    def _details(self, measure: Measure, signal: str | None, data: Ordered) -> dict[str, Any]:
        details: dict[str, Any] = {} if signal is None else {"confidence": signal}
        if measure.cut is not None:
            details["coverage"] = float(measure.cut)
        if measure.is_area and measure.ties == "step":
            details["plateau"] = self.settings.name(replace(measure, ties="plateau"), signal)
            if signal is not None and measure.cut is None and measure.base in {"AURC", "AUGRC"}:
                best, expected, worst, tied = tie_range(data, measure)
                details["tie_sensitivity"] = {"best": best, "expected": expected, "worst": worst, "tied_items": tied}
        return details

    def _interval(self, want: Want, measure: Measure, value: float | None, sound: bool) -> Interval:
        drawn, level = self.values[want], float(self.settings.options["ci"])
        method = self.settings.options["ci_method"]
        left_out = int(np.count_nonzero(np.isnan(drawn)))
        if not sound or value is None:
            return Interval(None, None, left_out, CONVENTION)
        bca = method == "bca"
        limits = bca_limits(drawn, value, self.without[want], level) if bca else percentile_limits(drawn, level)
        if limits is None:
            return Interval(None, None, left_out, NEVER)
        if spread_out(*limits):
            return Interval(limits, method, left_out)
        if measure.base != "Cmax" or value not in {0.0, 1.0}:
            return Interval(None, None, left_out, SAME)
        clusters = len(clusters_of(self.settings.items))
        words = f"{SAME}, so the limits are exact binomial over {counted(clusters, self.settings.unit)}"
        return Interval(all_or_none(clusters, level, every=value == 1.0), "clopper-pearson", left_out, words)

    def _checks(self, entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The checks that are made of every selective result."""
        optimum = {e["definition"]: e["value"] for e in entries.values() if "(order=oracle," in e["definition"]}
        pairs = [
            (entry["value"], optimum[twin])
            for entry in entries.values()
            if "(order=confidence," in entry["definition"]
            and (twin := entry["definition"].replace("(order=confidence,", "(order=oracle,")) in optimum
        ]
        below = sum(own < best - 1e-12 for own, best in pairs)
        points = len(self.settings.drawn) * sum(item.pred is not None for item in self.settings.items)
        return [
            self._complete(),
            _finding("SEL002", points, 0, one="point", what="differ", absent="no curve has a point"),
            _finding("SEL003", len(pairs), below, one="area", what="are smaller", absent=NO_AREA),
        ]

    def _complete(self) -> dict[str, Any]:
        clusters: dict[str, int] = {}
        for item in self.settings.items:
            clusters[item.cluster] = clusters.get(item.cluster, 0) + 1
        looked = len(clusters) if self.settings.unit == "participant" else 0
        wrong = sum(size != len(PHQ8) for size in clusters.values())
        return _finding("SEL001", looked, wrong, one="participant", what="have another number of items", absent=GENERIC)


def _finding(code: str, looked: int, wrong: int, *, one: str, what: str, absent: str) -> dict[str, Any]:
    """A finding by how much was looked at, and how much of it is wrong."""
    title = TITLES[code]
    if not looked:
        return {"code": code, "title": title, "status": "not applicable", "message": absent, "looked": 0}
    seen = f"{counted(looked, one)} looked at"
    message = f"{wrong:,} {what}; {seen}" if wrong else seen
    status = "failed" if wrong else "passed"
    return {"code": code, "title": title, "status": status, "message": message, "looked": looked}
