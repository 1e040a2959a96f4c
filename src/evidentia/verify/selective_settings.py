"""How a selective result was made, by its manifest and its items: signals, unit, and which numbers there must be."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from evidentia.verify.folder import ResultFolder
from evidentia.verify.selective_draws import Want
from evidentia.verify.selective_reference import Item, Measure, name_of, needs_order, parse_definition

COVERAGES = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")
PHQ8 = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")
SECOND_RUN = "needs a second run (--against)"
LARGEST = "needs the largest possible score (--item-max), or another --loss"


@dataclass(frozen=True, eq=False)
class Settings:
    """What was asked for, as the manifest has it, of the items that are there."""

    manifest: Mapping[str, Any]
    items: Sequence[Item]

    @classmethod
    def of(cls, folder: ResultFolder, items: Sequence[Item]) -> Settings:
        """The settings of a folder."""
        return cls(folder.manifest, items)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options as they were given."""
        given: Mapping[str, Any] = self.manifest["options"]
        return given

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
    def grid(self) -> list[str]:
        """The coverages, as plain decimals."""
        asked = COVERAGES if self.options["coverage"] is None else self.options["coverage"]
        return [_plain(coverage) for coverage in asked]

    @cached_property
    def unit(self) -> str:
        """What a cluster is: items of a PHQ-8 run stand in the order of the questionnaire, those of a table by name."""
        clusters = [[i.name for i in own] for _, own in itertools.groupby(self.items, key=lambda item: item.cluster)]
        asked = all(name in PHQ8 for names in clusters for name in names) and all(
            names == sorted(names, key=PHQ8.index) for names in clusters
        )
        return "participant" if asked and any(names != sorted(names) for names in clusters) else "cluster"

    @cached_property
    def signals(self) -> list[str]:
        """The confidences that items are ordered by."""
        asked = self.options["confidence"]
        if not asked:
            there = self.items[0].signals
            return ["confidence"] if "confidence" in there else [n for n in ("llm", "total_evidence") if n in there]
        return usable(self.items) if "all" in asked else list(dict.fromkeys(asked))

    @property
    def notes(self) -> list[str]:
        """What reading noticed, and signals that were asked for with all the others but cannot be used."""
        given = [note for one in self.manifest["inputs"] if one["role"] == "items" for note in one["notes"]]
        left = [name for name in self.items[0].signals if name not in self.signals]
        every = "all" in (self.options["confidence"] or ())
        return [*given, *(f"the signal {name} is left out: predicted items lack it" for name in left if every)]

    @cached_property
    def asked(self) -> list[Measure]:
        """Every measure that was asked for, also those that cannot be computed."""
        names = self.options["measures"]
        texts = usual_definitions(self.grid, self.options["loss"]) if names is None else names
        return list(dict.fromkeys(parse_definition(text) for text in texts))

    @cached_property
    def wants(self) -> dict[Want, Measure]:
        """What is reported: definitions by confidence."""
        return wants_of((m for m in self.asked if lacking(m, self.item_max) is None), self.signals)

    @property
    def drawn(self) -> list[str]:
        """The confidences that have curves: all of them, where any number depends on the order of the items."""
        return self.signals if any(signal is not None for _, signal in self.wants) else []

    def name(self, measure: Measure, signal: str | None) -> str:
        """What a number is called; the confidence is named where there are several."""
        return name_of(measure, signal if len(self.signals) > 1 else None)


def usable(items: Sequence[Item]) -> list[str]:
    """The signals that every predicted item has."""
    held = [item for item in items if item.pred is not None]
    return [name for name in items[0].signals if all(item.signals[name] is not None for item in held)]


def wants_of(measures: Iterable[Measure], signals: Sequence[str]) -> dict[Want, Measure]:
    """Measures by the confidences that matter to them."""
    return {
        (measure.expanded, signal): measure
        for measure in measures
        for signal in (signals if needs_order(measure) else (None,))
    }


def lacking(measure: Measure, item_max: float | None) -> str | None:
    """What a measure would need; None if it can be computed on one run."""
    if measure.cut == "common":
        return SECOND_RUN
    return LARGEST if measure.loss == "abs_norm" and item_max is None else None


def usual_definitions(grid: Sequence[str], loss: str | None) -> list[str]:
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
    return made


def _plain(coverage: str) -> str:
    """A decimal without an exponent.

    >>> _plain("1E-5"), _plain("1")
    ('0.00001', '1')
    """
    text = f"{Decimal(coverage):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
