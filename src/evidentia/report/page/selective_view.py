"""A selective result as its page looks at it: which systems, which confidence signals, and what they are called there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evidentia.evaluation.item_curves import AGAINST, stems
from evidentia.report.page.content import Content
from evidentia.results.names import parse_name

LONGEST = 36  # letters of a name in a figure; the page has it in full


@dataclass(frozen=True)
class DrawnSystem:
    """One of the systems of a page: what it is called, and how the files of its curves begin."""

    name: str
    label: str
    prefix: str
    items: str


@dataclass(frozen=True)
class SelectiveView:
    """A selective result, read."""

    content: Content

    @property
    def dataset(self) -> Mapping[str, Any]:
        """What was evaluated."""
        found: Mapping[str, Any] = self.content.numbers["dataset"]
        return found

    @property
    def measures(self) -> Mapping[str, Mapping[str, Any]]:
        """Every number of the run."""
        found: Mapping[str, Mapping[str, Any]] = self.content.numbers["measures"]
        return found

    @property
    def comparison(self) -> Mapping[str, Any] | None:
        """What the run is compared with, if it is."""
        found: Mapping[str, Any] | None = self.content.numbers.get("comparison")
        return found

    @property
    def people(self) -> bool:
        """Whether the items are those of a PHQ-8 run, so that clusters are participants."""
        return bool(self.dataset["unit"] == "participant")

    @property
    def loss(self) -> str | None:
        """The loss that was asked for, if it is not the usual one."""
        found: str | None = (self.content.manifest.get("options") or {}).get("loss")
        return found

    @property
    def percent(self) -> str:
        """The level of the intervals."""
        return f"{100 * self.content.numbers['interval']['level']:g} %"

    @cached_property
    def stems(self) -> dict[str, str]:
        """The confidence signals, best first, and what their files are called."""
        named = stems(self.dataset["signals"])
        return {signal: named[signal] for signal in (*self.ranked, *(one for one in named if one not in self.ranked))}

    @cached_property
    def excess(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """The excess area (steps) of each signal under its name, best first; those without a rank after them."""
        found = {
            str(entry["details"]["confidence"]): (name, entry)
            for name, entry in self.measures.items()
            if parse_name(name).base == "eAURC" and "plateau" in entry["details"]
        }
        return dict(sorted(found.items(), key=lambda one: _place(one[1][1])))

    @cached_property
    def ranked(self) -> list[str]:
        """The signals that have a rank, best first."""
        return [signal for signal, (_, entry) in self.excess.items() if entry["degenerate"] is None]

    @cached_property
    def labels(self) -> dict[str, str]:
        """Signals as figures call them."""
        return labels(self.dataset["signals"])

    @cached_property
    def systems(self) -> tuple[DrawnSystem, ...]:
        """The run, and the one that it is compared with."""
        if self.comparison is None:
            name = str(self.dataset["mode"] or self.content.name)
            return (DrawnSystem(name, labels([name])[name], "", "items"),)
        names = [str(self.comparison["system"]), str(self.comparison["baseline"])]
        short = labels(names)
        own, other = (
            DrawnSystem(names[0], short[names[0]], "", "items"),
            DrawnSystem(names[1], short[names[1]], AGAINST, "against_items"),
        )
        return own, other


def labels(names: Iterable[str]) -> dict[str, str]:
    """Names short enough for a figure, and still different from each other.

    >>> labels(["llm", "x" * 40, "x" * 50])["x" * 50]
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (2)'
    """
    made: dict[str, str] = {}
    for name in names:
        flat = " ".join(name.split()) or "(no name)"
        short = flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"
        place, label = 1, short
        while label in made.values():
            place += 1
            label = f"{short} ({place})"
        made[name] = label
    return made


def _place(entry: Mapping[str, Any]) -> tuple[bool, float]:
    return entry["degenerate"] is not None, float(entry["value"] or 0.0)
