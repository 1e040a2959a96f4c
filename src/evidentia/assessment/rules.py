"""The embedded scorer: rules over what a participant states, with nothing to train and nothing to download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evidentia.assessment.answers import ItemAnswer, Quote, Signal
from evidentia.assessment.frequency import Days
from evidentia.assessment.instrument import Instrument, Item
from evidentia.assessment.interviews import Interview
from evidentia.assessment.similarity import LEAST_COSINE, ItemSimilarity
from evidentia.assessment.statements import Statement, StatementFinder
from evidentia.errors import InputError
from evidentia.pipeline.encoders.interface import Encoder

Frequency = Literal["lenient", "strict"]
VAGUE_DAYS = Days(2, 6, False)  # a problem that is there, without a word about how often
INTENSE_DAYS = Days(6, 9, False)
CONFIDENCE = {"explicit": 1.0, "denied": 0.85, "vague": 0.7, "unsaid": 0.4}
HEDGED = 0.8  # how much a hedge leaves of the confidence


@dataclass(frozen=True)
class DaysJudgement:
    """The days that an item's statements amount to, and on what that rests."""

    days: Days
    basis: str
    confidence: float


class RulesScorer:
    """Scores an item by the days of its statements; it abstains without a statement, on conflict, and, if strict, without days.

    With an ``encoder``, a clause without keywords that is close to an item's wording states it too, where nothing else does.
    """

    def __init__(
        self,
        instrument: Instrument,
        *,
        frequency: Frequency = "lenient",
        context: Literal["qa", "participant"] = "qa",
        encoder: Encoder | None = None,
    ) -> None:
        if not instrument.days:
            raise InputError(
                f"The scores of {instrument.name} do not say how often (it has no days), and rules read frequencies. "
                "Use the learned or the llm scorer."
            )
        self.instrument, self.frequency, self.context = instrument, frequency, context
        self.encoder = encoder
        similarity = None if encoder is None else ItemSimilarity(instrument, encoder)
        self.finder = StatementFinder(instrument, context=context, similarity=similarity)

    def provenance(self) -> Mapping[str, Any]:
        """The settings."""
        settings = {"scorer": "rules/1", "frequency": self.frequency, "context": self.context}
        return settings if self.encoder is None else {**settings, "vectors": self.encoder.key, "cosine": LEAST_COSINE}

    def assess(self, interview: Interview) -> Mapping[str, ItemAnswer]:
        """An answer for every item."""
        statements = self.finder.statements(interview)
        return {item.id: self._answer(item, statements[item.id], interview) for item in self.instrument.items}

    def _answer(self, item: Item, statements: Sequence[Statement], interview: Interview) -> ItemAnswer:
        counted = [statement for statement in statements if statement.counts]
        quotes = tuple(Quote.of(interview, s.turn, s.start, s.end, "keyword") for s in counted)
        if not counted:
            reason = "nothing is said about it" if not statements else "nothing is said about the speaker now"
            return ItemAnswer(None, (), {"rules_confidence": 0.0}, reason)
        judgement = judge(counted, strict=self.frequency == "strict")
        if isinstance(judgement, str):
            return ItemAnswer(None, quotes, {"rules_confidence": 0.0}, judgement)
        days = judgement.days
        signals: dict[str, Signal] = {
            "rules_confidence": round(judgement.confidence, 6),
            "days_low": days.low,
            "days_high": days.high,
            "explicit_frequency": int(days.explicit),
        }
        score = max(item.low, min(item.high, self.instrument.score_of_days(days.middle)))
        return ItemAnswer(score, quotes, signals, judgement.basis)


def judge(statements: Sequence[Statement], *, strict: bool = False) -> DaysJudgement | str:
    """What statements about the speaker now amount to, or why they amount to nothing."""
    present = [statement for statement in statements if statement.polarity == "present"]
    absent = [statement for statement in statements if statement.polarity == "absent"]
    if not present:
        low = [s.days for s in absent if s.days is not None and not s.days.explicit and s.days.high > 0]
        return DaysJudgement(low[0] if low else Days(0, 0, True), "denied", _with_hedge(CONFIDENCE["denied"], absent))
    frequent = [statement for statement in present if statement.days is not None]
    if absent and len(absent) >= len(frequent or present):
        return "statements conflict"
    if not frequent:
        if strict:
            return "it is there, and nothing says how often"
        intense = any(statement.intense and not statement.hedged for statement in present)
        return DaysJudgement(
            INTENSE_DAYS if intense else VAGUE_DAYS, "unsaid", _with_hedge(CONFIDENCE["unsaid"], present)
        )
    return _most_explicit(frequent)


def _most_explicit(statements: Sequence[Statement]) -> DaysJudgement | str:
    """Statements with explicit days before vague ones; those that differ too much conflict."""
    explicit = [s for s in statements if s.days is not None and s.days.explicit]
    chosen = explicit or list(statements)
    days = [statement.days for statement in chosen if statement.days is not None]
    middles = sorted(each.middle for each in days)
    if middles[-1] - middles[0] > 7:
        return "statements conflict"
    best = max(days, key=lambda each: each.middle)
    basis = "explicit" if explicit else "vague"
    spread = 1 - (middles[-1] - middles[0]) / 14
    return DaysJudgement(best, basis, _with_hedge(CONFIDENCE[basis] * spread, chosen))


def _with_hedge(confidence: float, statements: Sequence[Statement]) -> float:
    return confidence * HEDGED if any(statement.hedged for statement in statements) else confidence
