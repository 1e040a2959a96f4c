"""A selective result as its page looks at it: systems, confidence signals, differences, and what they are called there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evidentia.evaluation.item_curves import AGAINST, stems
from evidentia.report.page.content import Content
from evidentia.report.page.words import VERDICTS
from evidentia.results.names import parse_name
from evidentia.results.selective import REFUSED, UNTESTED

Delta = Mapping[str, Any]
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
        dataset: Mapping[str, Any] = self.content.numbers["dataset"]
        return dataset

    @property
    def measures(self) -> Mapping[str, Mapping[str, Any]]:
        """Every number of the run."""
        measures: Mapping[str, Mapping[str, Any]] = self.content.numbers["measures"]
        return measures

    @property
    def comparison(self) -> Mapping[str, Any] | None:
        """What the run is compared with, if it is."""
        comparison: Mapping[str, Any] | None = self.content.numbers.get("comparison")
        return comparison

    @property
    def people(self) -> bool:
        """Whether the items are those of a PHQ-8 run, so that clusters are participants."""
        return bool(self.dataset["unit"] == "participant")

    @property
    def scale(self) -> str:
        """The scores of an item in words; empty where items differ, or are of no questionnaire."""
        instrument, top = self.dataset.get("instrument"), self.dataset["item_max"]
        if not self.people or top is None:
            return ""
        ranges = {(item["low"], item["high"]) for item in (instrument or {"items": ()})["items"]} or {(0, top)}
        low, high = min(ranges)
        return f"from {low:g} to {high:g}" if len(ranges) == 1 else ""

    @property
    def loss(self) -> str | None:
        """The loss that was asked for, if it is not the usual one."""
        loss: str | None = (self.content.manifest.get("options") or {}).get("loss")
        return loss

    @property
    def percent(self) -> str:
        """The level of the intervals."""
        return f"{100 * self.content.numbers['interval']['level']:g} %"

    @cached_property
    def stems(self) -> dict[str, str]:
        """The confidence signals, best first, and what their files are called."""
        named = stems(self.dataset["signals"])
        return {
            signal: named[signal] for signal in (*self.ranked, *(name for name in named if name not in self.ranked))
        }

    @cached_property
    def excess(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """The excess area (steps) of each signal under its name, best first; those without a rank after them."""
        areas = {
            str(entry["details"]["confidence"]): (name, entry)
            for name, entry in self.measures.items()
            if parse_name(name).base == "eAURC" and "plateau" in entry["details"]
        }
        return dict(sorted(areas.items(), key=lambda area: _place(area[1][1])))

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
        own, other = str(self.comparison["system"]), str(self.comparison["baseline"])
        short = labels((own, other))
        return DrawnSystem(own, short[own], "", "items"), DrawnSystem(other, short[other], AGAINST, "against_items")


def labels(names: Iterable[str]) -> dict[str, str]:
    """Names short enough for a figure, and still different from each other.

    >>> labels(["llm", "x" * 40, "x" * 50])["x" * 50]
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (2)'
    """
    short_names: dict[str, str] = {}
    for name in names:
        flat = " ".join(name.split()) or "(no name)"
        short = flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"
        place, label = 1, short
        while label in short_names.values():
            place += 1
            label = f"{short} ({place})"
        short_names[name] = label
    return short_names


def _place(entry: Mapping[str, Any]) -> tuple[bool, float]:
    return entry["degenerate"] is not None, float(entry["value"] or 0.0)


@dataclass(frozen=True)
class Aside:
    """Differences that are not tested, all for one reason."""

    kind: str
    reason: str
    names: tuple[str, ...]


def asides(deltas: Sequence[Delta]) -> list[Aside]:
    """What was not tested and why, by reason."""
    names: dict[tuple[str, str], dict[str, None]] = {}
    for delta in deltas:
        if delta["p"] is None:
            reason = _reason(delta).removeprefix(REFUSED).removeprefix(UNTESTED)
            names.setdefault((verdict_of(delta), reason), {})[measure_of(delta)] = None
    return [Aside(kind, reason, tuple(measures)) for (kind, reason), measures in names.items()]


def verdict_of(delta: Delta) -> str:
    """The verdict in words; what was not tested is never a tie, but refused, not tested, or not there."""
    if delta["p"] is not None:
        return VERDICTS[delta["verdict"]]
    reason = _reason(delta)
    return "refused" if reason.startswith(REFUSED) else "not tested" if reason.startswith(UNTESTED) else "out of reach"


def _reason(delta: Delta) -> str:
    return str(delta["warnings"][-1]) if delta["warnings"] else "undefined for at least one of the two"


def coverage_of(name: str) -> float | None:
    """The coverage that a measure is taken at, if it is at one."""
    cut = parse_name(name).cut
    return float(cut.value) if cut is not None and cut.kind == "coverage" and cut.value is not None else None


def measure_of(delta: Delta) -> str:
    """The measure of a difference, with its item but without its confidence."""
    return str(delta["name"]).partition("[confidence=")[0]


def signal_of(delta: Delta) -> str:
    """The confidence of a difference; empty where it has none."""
    return dict(parse_name(str(delta["name"])).group).get("confidence", "")
