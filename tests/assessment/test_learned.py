"""The learned scorer: what it learns comes from its own participants, and it is saved and loaded as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evidentia.assessment import Interview, Turn, load_instrument
from evidentia.assessment.learned import LearnedScorer, LearnedSettings, cross_validated, fit_learned, folds_of
from evidentia.assessment.model_files import load_model, save_model
from evidentia.assessment.ordinal import expected_loss, fit_ordinal, median_scores
from evidentia.assessment.synth import SyntheticInterviews, synthetic_interviews
from evidentia.errors import InputError

PHQ8 = load_instrument("phq8")


@pytest.fixture(scope="module")
def drawn() -> SyntheticInterviews:
    return synthetic_interviews(80, seed=5)


def test_the_median_has_the_least_expected_loss() -> None:
    probabilities = np.array([[0.1, 0.2, 0.3, 0.4], [0.6, 0.1, 0.1, 0.2]])
    medians = median_scores(probabilities)
    assert medians.tolist() == [2, 0]
    every = np.stack([expected_loss(probabilities, np.full(2, score)) for score in range(4)])
    assert expected_loss(probabilities, medians) == pytest.approx(every.min(axis=0))
    assert expected_loss(probabilities, medians) == pytest.approx([0.1 * 2 + 0.2 + 0.4, 0.1 + 0.2 + 0.6])


def test_ordinal_regression_finds_the_cuts_of_a_known_model() -> None:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(20_000, 2))
    latent = features @ [1.5, -0.5] + rng.logistic(size=20_000)
    scores = np.searchsorted([-1.0, 0.0, 2.0], latent)
    model = fit_ordinal(features, scores, 4, 1e-3)
    assert model.weights == pytest.approx([1.5, -0.5], abs=0.06)
    assert model.cuts == pytest.approx([-1.0, 0.0, 2.0], abs=0.06)
    assert model.probabilities(features[:5]).sum(axis=1) == pytest.approx(1)


@pytest.mark.slow
def test_words_of_somebody_held_out_change_nothing_that_is_learnt(drawn: SyntheticInterviews) -> None:
    """A canary: other words and other labels of held-out people leave their own answers' model as it was."""
    rows, held = next(folds_of(len(drawn.interviews), 5, 7))
    changed = {drawn.interviews[row].participant_id for row in held}
    truth = {own: {k: 3 - v for k, v in s.items()} if own in changed else s for own, s in drawn.truth.items()}
    before = cross_validated(drawn.interviews, drawn.truth, PHQ8, folds=5)
    after = cross_validated(drawn.interviews, truth, PHQ8, folds=5)
    assert all(before[own] == after[own] for own in changed)
    assert any(before[own] != after[own] for own in before.keys() - changed)
    assert len(rows) + len(held) == len(drawn.interviews)


def test_no_term_of_few_people_is_in_the_model(drawn: SyntheticInterviews, tmp_path: Path) -> None:
    secret = Turn("my colleague zebedee quixote again", True)
    people = [replace(i, turns=(*i.turns, secret)) if i.participant_id in ("1", "2") else i for i in drawn.interviews]
    save_model(fit_learned(people, drawn.truth, PHQ8), tmp_path / "model")
    content = b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())
    assert b"zebedee" not in content
    assert b"quixo" not in content
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()} == {0o600}


def test_a_model_that_is_loaded_answers_as_before(drawn: SyntheticInterviews, tmp_path: Path) -> None:
    model = fit_learned(drawn.interviews, drawn.truth, PHQ8, LearnedSettings(coverage=0.5))
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    new = synthetic_interviews(3, seed=9, bank="b").interviews
    for interview in new:
        assert LearnedScorer(loaded).assess(interview) == LearnedScorer(model).assess(interview)
    arrays = tmp_path / "model" / "arrays.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"\0")
    with pytest.raises(InputError, match="not the file that was written"):
        load_model(tmp_path / "model")
    document = json.loads((tmp_path / "model" / "model.json").read_text())
    assert "pickle" not in json.dumps(document)


def test_it_answers_about_the_share_that_was_asked_for_and_ranks_its_errors(drawn: SyntheticInterviews) -> None:
    answers = cross_validated(drawn.interviews, drawn.truth, PHQ8, LearnedSettings(coverage=0.7))
    items = [(own, item, answer) for own, by_item in answers.items() for item, answer in by_item.items()]
    share = np.mean([answer.score is not None for *_, answer in items])
    assert 0.6 < share < 0.8
    errors = {
        kept: np.mean(
            [
                abs(round(float(a.signals["expectation"] or 0)) - drawn.truth[own][item])
                for own, item, a in items
                if (a.score is not None) == kept
            ]
        )
        for kept in (True, False)
    }
    assert errors[True] < errors[False]


def test_few_participants_are_refused() -> None:
    few = [Interview(str(n), (Turn("I am tired.", True),)) for n in range(49)]
    with pytest.raises(InputError, match="needs 50 or more"):
        fit_learned(few, {str(n): dict.fromkeys(PHQ8.item_ids, 0) for n in range(49)}, PHQ8)
