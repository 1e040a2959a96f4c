"""How a selective result was made, by its manifest and its items: signals, unit, and which numbers there must be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from evidentia.results.catalogue import Definition, resolve
from evidentia.results.names import group_suffix
from evidentia.results.profiles import COVERAGES, SELECTIVE, selective_names
from evidentia.verify.selective_draws import DrawPlan, Want
from evidentia.verify.selective_items import CurveReading, ItemRows

PHQ8 = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")
SECOND_RUN = "needs a second run (--against)"
LARGEST = "needs the largest possible score (--item-max), or another --loss"


@dataclass(frozen=True, eq=False)
class SelectiveSettings:
    """What was asked for, as the manifest has it, of the items that are there."""

    manifest: Mapping[str, Any]
    items: ItemRows

    @property
    def options(self) -> Mapping[str, Any]:
        """The options as they were given."""
        options: Mapping[str, Any] = self.manifest["options"]
        return options

    @property
    def item_max(self) -> float | None:
        """The largest possible error."""
        largest = self.options["item_max"]
        return None if largest is None else float(largest)

    @property
    def resamples(self) -> int:
        """How many draws there are."""
        return int(self.manifest["resamples"])

    @property
    def seed(self) -> int:
        """What the draws come from."""
        return int(self.manifest["seed"])

    @property
    def level(self) -> float:
        """How much an interval holds."""
        return float(self.options["ci"])

    @property
    def grid(self) -> list[str]:
        """The coverages, as plain decimals."""
        asked = COVERAGES if self.options["coverage"] is None else self.options["coverage"]
        return [f"{Decimal(coverage):f}" for coverage in asked]

    @cached_property
    def unit(self) -> str:
        """What a cluster is: items of a PHQ-8 run stand in the order of the questionnaire, those of a table by name."""
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

    @property
    def notes(self) -> list[str]:
        """What reading noticed, and signals that were asked for with all the others but cannot be used."""
        notes = [note for source in self.manifest["inputs"] if source["role"] == "items" for note in source["notes"]]
        left = [name for name in self.items.signals if name not in self.signals]
        every = "all" in (self.options["confidence"] or ())
        return [*notes, *(f"the signal {name} is left out: predicted items lack it" for name in left if every)]

    @cached_property
    def asked(self) -> list[Definition]:
        """Every measure that was asked for, also those that cannot be computed."""
        names = self.options["measures"]
        return definitions_of(selective_names(self.grid, self.options["loss"]) if names is None else names)

    @cached_property
    def wants(self) -> dict[Want, Definition]:
        """What is reported: definitions by confidence."""
        return wants_of((d for d in self.asked if lacking(d, self.item_max) is None), self.signals)

    @property
    def drawn(self) -> list[str]:
        """The confidences that have curves: all of them, where any number depends on the order of the items."""
        return self.signals if any(signal is not None for _, signal in self.wants) else []

    def plan(self, wants: Mapping[Want, Definition], more: Mapping[Want, CurveReading] | None = None) -> DrawPlan:
        """How wants, and what figures need beside them, are read in every draw."""
        readings = {want: CurveReading.of(definition) for want, definition in wants.items()}
        return DrawPlan(readings | dict(more or {}), self.item_max, self.seed, self.resamples)


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


def lacking(definition: Definition, item_max: float | None) -> str | None:
    """What a measure would need; None if it can be computed on one run."""
    reading = CurveReading.of(definition)
    if reading.common:
        return SECOND_RUN
    return LARGEST if definition.args.get("loss") == "abs_norm" and item_max is None else None
