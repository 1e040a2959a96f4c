"""What people say about themselves, now, and how often, is scored; everything else abstains."""

from __future__ import annotations

import pytest

from evidentia.assessment import Interview, ItemAnswer, Turn, load_instrument
from evidentia.assessment.instrument import Instrument, Item
from evidentia.assessment.rules import RulesScorer
from evidentia.errors import InputError

PHQ8 = load_instrument("phq8")


def answer(item: str, *turns: str, frequency: str = "lenient", context: str = "qa") -> ItemAnswer:
    """The answer to one item; questions end in a question mark."""
    spoken = tuple(Turn(text, not text.endswith("?")) for text in turns)
    scorer = RulesScorer(PHQ8, frequency=frequency, context=context)  # type: ignore[arg-type]
    return scorer.assess(Interview("p", spoken))[item]


SCORED = {
    "often": ("Sleep", ["I can't sleep nearly every night."], 3),
    "half": ("Tired", ["I am exhausted four days a week."], 2),
    "some": ("Depressed", ["I feel down some days."], 1),
    "denied": ("Depressed", ["I have not been depressed at all."], 0),
    "well": ("Appetite", ["My appetite is fine."], 0),
    "no trouble": ("Sleep", ["I have had no trouble sleeping."], 0),
    "not a denial": ("Depressed", ["I can't stop crying, every day."], 3),
    "yes to a problem": ("Tired", ["Have you been feeling tired?", "Yes, most days."], 2),
    "no to a problem": ("Tired", ["Have you been feeling tired?", "No, not really."], 0),
    "no to an ability": ("Sleep", ["Are you sleeping well?", "No, hardly at all, every night."], 3),
    "a judgement": ("Sleep", ["How are you sleeping?", "Terribly, almost every night."], 3),
    "another person first": ("Tired", ["My mother says I look exhausted every day."], 3),
}


@pytest.mark.parametrize(("item", "turns", "score"), SCORED.values(), ids=SCORED)
def test_what_is_said_is_scored_with_its_words(item: str, turns: list[str], score: int) -> None:
    given = answer(item, *turns)
    assert given.score == score
    assert given.item_signals()["keyword_evidence_count"] == 1
    assert given.item_signals()["evidence_source"] == "keyword"


ABSTAINED = {
    "silence": ("Sleep", ["We went to the sea."]),
    "somebody else": ("Depressed", ["My sister is depressed, she cries every day."]),
    "the past": ("Sleep", ["Years ago I had insomnia every night."]),
    "a hypothesis": ("Depressed", ["If I lost my job I would be miserable every day."]),
    "a joke": ("Appetite", ["I have no appetite every day, just kidding."]),
    "a question alone": ("Sleep", ["Do you have trouble sleeping?", "We went to the sea."]),
    "a conflict": ("Sleep", ["I can't sleep every night.", "Sleep?", "I sleep fine."]),
    "far apart": ("Tired", ["I am tired every day.", "Tired?", "I am tired once a week."]),
}


@pytest.mark.parametrize(("item", "turns"), ABSTAINED.values(), ids=ABSTAINED)
def test_everything_else_abstains_and_says_why(item: str, turns: list[str]) -> None:
    given = answer(item, *turns)
    assert given.score is None
    assert given.reason


def test_without_a_frequency_strict_abstains_and_lenient_is_unsure() -> None:
    assert answer("Tired", "I am tired.", frequency="strict").score is None
    unsure, sure = answer("Tired", "I am tired."), answer("Tired", "I am tired every day.")
    assert unsure.score == 1
    assert float(unsure.signals["rules_confidence"] or 0) < float(sure.signals["rules_confidence"] or 0)


def test_a_question_is_context_and_never_evidence() -> None:
    given = answer("Tired", "Are you tired every day?", "Yes.")
    interview = Interview("p", (Turn("Are you tired every day?", False), Turn("Yes.", True)))
    assert [quote.text(interview) for quote in given.quotes] == ["Yes."]
    assert answer("Tired", "Are you tired every day?", "Yes.", context="participant").score is None


def test_scores_that_are_no_frequencies_are_refused() -> None:
    with pytest.raises(InputError, match="rules read frequencies"):
        RulesScorer(Instrument("mood", "Mood", (Item("mood", "How is your mood?", 1, 9),)))
