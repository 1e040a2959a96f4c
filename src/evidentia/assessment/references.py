"""References for few-shot prompts: what labelled participants said about an item, balanced over scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidentia.assessment.features import participant_text
from evidentia.assessment.instrument import Instrument
from evidentia.assessment.interviews import Interview
from evidentia.assessment.statements import StatementFinder

LONGEST = 400  # characters of one reference


@dataclass(frozen=True)
class Reference:
    """What one participant said about an item, and the score."""

    participant_id: str
    text: str
    score: int


class References:
    """Labelled participants to show as examples; never the one who is being assessed."""

    def __init__(
        self, interviews: Sequence[Interview], truth: Mapping[str, Mapping[str, int]], instrument: Instrument
    ) -> None:
        self.participants = frozenset(interview.participant_id for interview in interviews)
        self.instrument = instrument
        finder = StatementFinder(instrument)
        self.by_item: dict[str, list[Reference]] = {item: [] for item in instrument.item_ids}
        for interview in interviews:
            statements = finder.statements(interview)
            for item in instrument.item_ids:
                spans = [interview.turns[s.turn].text[s.start : s.end] for s in statements[item] if s.counts]
                words = " ".join(dict.fromkeys(spans))
                if not words and len(instrument.items) == 1:
                    words = participant_text(interview)
                if words:
                    score = truth[interview.participant_id][item]
                    self.by_item[item].append(Reference(interview.participant_id, words[:LONGEST], score))

    def nearest(self, item: str, text: str, count: int, *, without: str) -> list[Reference]:
        """The references most like a text by shared words, from every part of the scale alike; lowest scores first.

        The scale has as many parts of the same width as there are references to choose, or one for each score.
        """
        words = set(text.lower().split())
        candidates = [reference for reference in self.by_item[item] if reference.participant_id != without]
        ranked = sorted(candidates, key=lambda r: (-_likeness(words, r.text), r.participant_id))
        asked = self.instrument.item(item)
        scores = asked.high - asked.low + 1
        parts: dict[int, list[Reference]] = {}
        for reference in ranked:
            parts.setdefault((reference.score - asked.low) * min(count, scores) // scores, []).append(reference)
        chosen: list[Reference] = []
        depth = 0
        while len(chosen) < count and any(len(own) > depth for own in parts.values()):
            level = [own[depth] for own in parts.values() if len(own) > depth]
            chosen += sorted(level, key=lambda r: -_likeness(words, r.text))[: count - len(chosen)]
            depth += 1
        return sorted(chosen, key=lambda r: r.score)


def _likeness(words: set[str], text: str) -> float:
    """The share of words that two texts have in common."""
    other = set(text.lower().split())
    return len(words & other) / max(len(words | other), 1)
