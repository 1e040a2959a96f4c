"""What a scorer says about one item: a score or an abstention, the evidence behind it, and signals that rank it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from evidentia.assessment.interviews import Interview

Finder = Literal["llm", "keyword"]
Signal = float | int | str | None


@dataclass(frozen=True)
class Quote:
    """A passage of a participant's turn, by place and hash; its words stay in the interview."""

    turn: int
    start: int
    end: int
    sha256: str
    finder: Finder

    @classmethod
    def of(cls, interview: Interview, turn: int, start: int, end: int, finder: Finder) -> Quote:
        """The passage between two offsets of a turn."""
        words = interview.turns[turn].text[start:end]
        return cls(turn, start, end, hashlib.sha256(words.encode()).hexdigest(), finder)

    def text(self, interview: Interview) -> str:
        """The words of the passage."""
        return interview.turns[self.turn].text[self.start : self.end]

    def to_dict(self) -> dict[str, Any]:
        """Place and hash, without the words."""
        return {"turn": self.turn, "start": self.start, "end": self.end, "sha256": self.sha256, "finder": self.finder}


@dataclass(frozen=True)
class ItemAnswer:
    """One item of one participant; ``score`` None abstains, and ``reason`` says why."""

    score: int | None
    quotes: tuple[Quote, ...] = ()
    signals: Mapping[str, Signal] = field(default_factory=dict)
    reason: str | None = None

    def item_signals(self) -> dict[str, Signal]:
        """The signals as a run file holds them; evidence is counted by who found it."""
        counts = {finder: sum(quote.finder == finder for quote in self.quotes) for finder in ("llm", "keyword")}
        sources = [finder for finder, count in counts.items() if count]
        source = "both" if len(sources) == 2 else sources[0] if sources else None
        own = {name: value for name, value in self.signals.items() if name not in RESERVED}
        return {
            "llm_evidence_count": counts["llm"],
            "keyword_evidence_count": counts["keyword"],
            "evidence_source": source,
            **own,
        }


RESERVED = frozenset({"llm_evidence_count", "keyword_evidence_count", "evidence_source"})


@runtime_checkable
class Scorer(Protocol):
    """Scores the items of one interview after the other. Twenty lines of your own are enough."""

    def assess(self, interview: Interview) -> Mapping[str, ItemAnswer]:
        """An answer for every item of the instrument, by item id."""

    def provenance(self) -> Mapping[str, Any]:
        """What a reader needs to know to run it again; no secrets, no texts."""


class ScorerError(Exception):
    """One participant could not be assessed; ``category`` says of which kind, and holds no text."""

    def __init__(self, category: str, detail: str = "") -> None:
        super().__init__(f"{category}: {detail}" if detail else category)
        self.category = category


def total_bounds(answers: Mapping[str, int | None], ranges: Sequence[tuple[str, int, int, bool]]) -> tuple[int, int]:
    """The smallest and largest total that answered items leave possible; an abstained item is never 0.

    ``ranges`` are (item, low, high, reversed).

    >>> total_bounds({"a": 2, "b": None}, [("a", 0, 3, False), ("b", 0, 3, False)])
    (2, 5)
    """
    least = most = 0
    for item, low, high, is_reversed in ranges:
        score = answers[item]
        if score is None:
            least, most = least + low, most + high
        else:
            entered = low + high - score if is_reversed else score
            least, most = least + entered, most + entered
    return least, most
