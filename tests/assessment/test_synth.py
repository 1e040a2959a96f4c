"""Invented interviews: scores with the frequencies of people, two banks that share no phrase, and rules that mostly read them."""

from __future__ import annotations

import numpy as np
import pytest

from evidentia.assessment import load_instrument
from evidentia.assessment.rules import RulesScorer
from evidentia.assessment.synth import CORRELATIONS, FREQUENCIES, SpeechRates, _phrases, synthetic_interviews

PHQ8 = load_instrument("phq8")


def test_scores_have_the_frequencies_and_correlations_of_people() -> None:
    drawn = synthetic_interviews(3000, seed=1)
    scores = np.array([list(own.values()) for own in drawn.truth.values()])
    for item, frequencies in enumerate(FREQUENCIES):
        assert np.bincount(scores[:, item], minlength=4) / 3000 == pytest.approx(frequencies, abs=0.035)
    assert np.corrcoef(scores.T)[0, 1] == pytest.approx(
        CORRELATIONS[0][1] - 0.06, abs=0.08
    )  # of scores, not of what is latent
    assert scores.sum(axis=1).mean() == pytest.approx(7.19, abs=0.4)


def test_the_banks_share_no_phrase_and_the_same_seed_gives_the_same_words() -> None:
    def phrases(content: object) -> set[str]:
        if isinstance(content, str):
            return {content}
        inside = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
        return set().union(*map(phrases, inside)) if inside else set()

    banks = _phrases()
    assert not phrases(banks["a"]) & phrases(banks["b"])
    assert synthetic_interviews(5, seed=3) == synthetic_interviews(5, seed=3)
    assert synthetic_interviews(5, seed=3) != synthetic_interviews(5, seed=4)


@pytest.mark.parametrize("bank", ["a", "b"])
def test_rules_read_speech_that_agrees_with_the_self_report(bank: str) -> None:
    rates = SpeechRates(disagree=0.0, silent=0.0, no_frequency=0.0, joke=0.0)
    drawn = synthetic_interviews(60, seed=4, bank=bank, rates=rates)  # type: ignore[arg-type]
    scorer = RulesScorer(PHQ8)
    pairs = [
        (answer.score, drawn.truth[interview.participant_id][item])
        for interview in drawn.interviews
        for item, answer in scorer.assess(interview).items()
    ]
    answered = [(score, truth) for score, truth in pairs if score is not None]
    assert len(answered) / len(pairs) > 0.95
    assert np.mean([abs(score - truth) for score, truth in answered]) < 0.1
