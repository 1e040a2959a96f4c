"""What the page of a comparison puts where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.report.page.comparison_figures import comparison_figures
from evidentia.report.page.content import Content
from evidentia.report.page.figure import Figure
from evidentia.report.page.system_figures import system_figures
from evidentia.report.page.words import VERDICTS, Sentence, sentences, with_short_names
from evidentia.results import pairs

PARTS = {"measures": "over all queries", "criteria": "per criterion"}


@dataclass(frozen=True)
class VerdictCount:
    """How often a verdict was given, over all queries and per criterion."""

    verdict: str
    words: str
    measures: int
    criteria: int


@dataclass(frozen=True)
class Versus:
    """One system against its baseline: what is said about the two on the first screen."""

    place: int
    baseline: str
    system: str
    deltas: Sequence[Mapping[str, Any]]
    sentences: Sequence[Sentence]
    tallies: Sequence[VerdictCount]
    forest: Figure | None

    @property
    def parts(self) -> list[tuple[str, str, list[Mapping[str, Any]]]]:
        """The rows of the table: over all queries, then per criterion."""
        parts = [(part, words, [d for d in self.deltas if d["family"] == part]) for part, words in PARTS.items()]
        return [entry for entry in parts if entry[2]]


def comparison_page(content: Content) -> dict[str, Any]:
    """Everything that the template asks for."""
    numbers = with_short_names(content.numbers)
    figures = (*comparison_figures(numbers), *system_figures(content))
    compared = _compared(numbers, {figure.name: figure for figure in figures})
    return {
        "title": f"Evidentia: {content.title or _title(compared, numbers)}",
        "numbers": numbers,
        "successive": numbers.get("design") == "successive",
        "compared": compared,
        "verdicts": {v: words for v, words in VERDICTS.items() if any(d["verdict"] == v for d in numbers["deltas"])},
        "level": f"{100 * numbers['interval']['level']:g} %",
        "figures": figures,
        "scripts": ("comparison.js",),
    }


def _compared(numbers: Mapping[str, Any], figures: Mapping[str, Figure]) -> list[Versus]:
    versus = []
    for place, (baseline, system) in enumerate(pairs(numbers["systems"], numbers.get("design", "against first")), 1):
        deltas = [_keyed(d) for d in numbers["deltas"] if (d["baseline"], d["system"]) == (baseline, system)]
        first, forest = sentences(deltas, numbers["alpha"]), figures.get(f"forest_{place}")
        versus.append(Versus(place, baseline, system, deltas, first, tallied(deltas), forest))
    return versus


def _keyed(delta: Mapping[str, Any]) -> dict[str, Any]:
    """A delta with the name under which its numbers stand in the page."""
    return {**delta, "key": f"{delta['name']}|{delta['system']}|{delta['baseline']}"}


def tallied(deltas: Sequence[Mapping[str, Any]]) -> list[VerdictCount]:
    """How often each verdict was given; wins, losses, no difference and undefined are told even where there is none."""
    counts = Counter((d["verdict"], d["family"]) for d in deltas)
    tallies = [VerdictCount(v, words, counts[v, "measures"], counts[v, "criteria"]) for v, words in VERDICTS.items()]
    return [tally for tally in tallies if tally.verdict != "differs" or tally.measures or tally.criteria]


def _title(compared: Sequence[Versus], numbers: Mapping[str, Any]) -> str:
    if len(compared) == 1:
        return f"{compared[0].system} against {compared[0].baseline}"
    kind = "steps from" if numbers.get("design") == "successive" else "systems against"
    return f"{len(compared)} {kind} {compared[0].baseline}"
