"""What headline numbers and differences say, in words that need no glossary.

A difference that was not shown is never called an equality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.report.show import rounded, shown
from evidentia.report.wording import wording

VERDICTS: dict[str, str] = wording("verdicts")
MOST = 6  # differences on the first screen
LONGEST = 120  # letters of a system's name; it stands beside every number


@dataclass(frozen=True)
class Headline:
    """One number of the first screen."""

    name: str
    entry: Mapping[str, Any]
    words: str


def headlines(measures: Mapping[str, Mapping[str, Any]], most: int = 5) -> list[Headline]:
    """The first numbers that a result has of those that matter most; without any, its first ones."""
    known = {name: words["sentence"] for name, words in wording("headlines").items()}
    names = [name for name in known if name in measures]
    names += [name for name in measures if "[" not in name and name not in known]
    return [Headline(name, measures[name], known.get(name, measures[name]["meaning"])) for name in names[:most]]


@dataclass(frozen=True)
class Workload:
    """What becomes of 1,000 queries under the three-state gate."""

    skipped: float
    careful: float
    alerts: float
    right: float | None
    missed: float


def workload(measures: Mapping[str, Mapping[str, Any]]) -> Workload | None:
    """The workload, read off the gate's measures; None without a three-state gate."""
    names = ("NegRate", "UncertainRate", "AlertsPer1000", "AlertPrecision", "ScreeningFNPer1000")
    if not all(name in measures and measures[name]["value"] is not None for name in names):
        return None
    neg, uncertain, alerts, precision, missed = (float(measures[name]["value"]) for name in names)
    right = None if measures["AlertPrecision"]["degenerate"] else alerts * precision
    return Workload(1000 * neg, 1000 * uncertain, alerts, right, missed)


def per_thousand(value: float) -> str:
    """Out of 1,000: whole numbers, with one decimal below ten.

    >>> per_thousand(533.6), per_thousand(2.0988), per_thousand(0)
    ('534', '2.1', '0')
    """
    if 0 < value < 0.05:
        return "fewer than 0.1"
    return shown(int(rounded(value, 0))) if value >= 10 or value == 0 else str(rounded(value, 1))


@dataclass(frozen=True)
class Sentence:
    """One difference of the first screen: who does what, and the numbers that say so."""

    delta: Mapping[str, Any]
    who: str | None
    does: str


def sentences(deltas: Sequence[Mapping[str, Any]], alpha: float) -> list[Sentence]:
    """The first differences of those that matter most; without any, the first ones."""
    by_name = {delta["name"]: delta for delta in deltas if delta["family"] == "measures"}
    names = [name for name, words in wording("headlines").items() if "about" in words and name in by_name] or list(
        by_name
    )
    return [_sentence(by_name[name], alpha) for name in names[:MOST]]


def _sentence(delta: Mapping[str, Any], alpha: float) -> Sentence:
    name, system, verdict = delta["name"], delta["system"], delta["verdict"]
    words = {"better": f"is better in {name}", "worse": f"is worse in {name}", "about": name} | wording(
        "headlines"
    ).get(name, {})
    if verdict in {"win", "loss"}:
        return Sentence(delta, system, words[VERDICTS[verdict]])
    if verdict == "differs":
        return Sentence(delta, system, f"differs in {words['about']}")
    if verdict == "tie":
        alone = delta["p"] is not None and delta["p"] <= alpha  # would count, had nothing else been measured
        return Sentence(delta, None, f"No difference shown{' after correction' if alone else ''} in {words['about']}")
    return Sentence(delta, None, f"Not to be compared in {words['about']}")


def with_short_names(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """A comparison in which the names of systems fit a page; those that are cut are numbered, so that they stay apart."""
    short = {name: _short(name, place) for place, name in enumerate(numbers["systems"], 1)}
    if all(name == label for name, label in short.items()):
        return dict(numbers)

    def words(text: str) -> str:
        owner = next((name for name in short if text.startswith(f"{name}: ")), "")
        return short[owner] + text[len(owner) :] if owner else text

    deltas = [
        {
            **d,
            "baseline": short[d["baseline"]],
            "system": short[d["system"]],
            "warnings": [words(w) for w in d["warnings"]],
        }
        for d in numbers["deltas"]
    ]
    notes = [words(note) for note in numbers["notes"]]
    return {**numbers, "systems": list(short.values()), "deltas": deltas, "notes": notes}


def _short(name: str, place: int) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 10]}... ({place})"
