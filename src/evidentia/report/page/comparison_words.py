"""What differences say, in words that need no glossary. A difference that was not shown is never called an equality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

VERDICTS = {
    "win": "better",
    "loss": "worse",
    "differs": "differs",
    "tie": "no difference shown",
    "undefined": "undefined",
}


@dataclass(frozen=True)
class Saying:
    """A measure in words: what a better and a worse system does, and what the measure is about."""

    better: str
    worse: str
    about: str


# in the order in which they are put on the first screen
SAYINGS = {
    "AUROC": Saying("tells evidence from none better", "tells evidence from none worse", "telling evidence from none"),
    "nDCG@10": Saying("ranks better", "ranks worse", "ranking"),
    "EvidenceRecall": Saying("returns more of the evidence", "returns less of the evidence", "evidence returned"),
    "ScreeningSensitivity": Saying(
        "skips fewer queries that have evidence", "skips more queries that have evidence", "evidence skipped"
    ),
    "AlertPrecision": Saying(
        "is right in more of its alerts", "is right in fewer of its alerts", "alerts that are right"
    ),
    "ECE": Saying(
        "states probabilities closer to what is observed",
        "states probabilities further from what is observed",
        "how far stated probabilities are from what is observed",
    ),
    "AUPRC": Saying(
        "finds queries with evidence more precisely",
        "finds queries with evidence less precisely",
        "precision over queries",
    ),
    "Recall@10": Saying(
        "has more of the evidence among the first ten",
        "has less of the evidence among the first ten",
        "evidence among the first ten",
    ),
    "MAP@10": Saying("ranks more precisely", "ranks less precisely", "precision of the ranking"),
    "MRR": Saying("shows evidence earlier", "shows evidence later", "how early evidence comes"),
    "MRR@10": Saying("shows evidence earlier", "shows evidence later", "how early evidence comes"),
    "F1(t=gate)": Saying("decides better at its gate", "decides worse at its gate", "decisions at the gate"),
}
MOST = 6  # sentences on the first screen
LONGEST = 120  # letters of a system's name; it stands beside every number


@dataclass(frozen=True)
class Sentence:
    """One difference of the first screen: who does what, and the numbers that say so."""

    delta: Mapping[str, Any]
    who: str | None
    does: str


def sentences(deltas: Sequence[Mapping[str, Any]], alpha: float) -> list[Sentence]:
    """The first differences of those that matter most; without any, the first ones."""
    by_name = {delta["name"]: delta for delta in deltas if delta["family"] == "measures"}
    names = [name for name in SAYINGS if name in by_name] or list(by_name)
    return [_sentence(by_name[name], alpha) for name in names[:MOST]]


def _sentence(delta: Mapping[str, Any], alpha: float) -> Sentence:
    name, system = delta["name"], delta["system"]
    phrase = SAYINGS.get(name, Saying(f"is better in {name}", f"is worse in {name}", name))
    if delta["verdict"] == "win":
        return Sentence(delta, system, phrase.better)
    if delta["verdict"] == "loss":
        return Sentence(delta, system, phrase.worse)
    if delta["verdict"] == "differs":
        return Sentence(delta, system, f"differs in {phrase.about}")
    if delta["verdict"] == "tie":
        alone = delta["p"] is not None and delta["p"] <= alpha  # would count, had nothing else been measured
        return Sentence(delta, None, f"No difference shown{' after correction' if alone else ''} in {phrase.about}")
    return Sentence(delta, None, f"Not to be compared in {phrase.about}")


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
