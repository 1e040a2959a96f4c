"""The learned scorer before the canaries: it passes as it is, and every planted leak is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from typer.testing import CliRunner

from evidentia.assessment import learned, load_instrument
from evidentia.assessment.features import participant_text
from evidentia.assessment.learned import LearnedScorer, fold_scorer
from evidentia.assessment.ordinal import expected_loss, median_scores
from evidentia.assessment.synth import SyntheticInterviews, synthetic_interviews, write_interviews
from evidentia.cli.main import application
from evidentia.errors import InputError
from evidentia.leakage import Post
from evidentia.leakcheck.learned import interview_of, leakcheck_learned, participants_of, scores_of

PHQ8 = load_instrument("phq8")
THREE = replace(PHQ8, items=PHQ8.items[:3])  # NoInterest, Depressed, Sleep: as good as eight, and faster


@pytest.fixture(scope="module")
def drawn() -> SyntheticInterviews:
    return synthetic_interviews(75, seed=5)


def failed(drawn: SyntheticInterviews, fold: Callable[..., LearnedScorer] = fold_scorer) -> dict[str, str]:
    """The canaries that failed, with what they say."""
    result = leakcheck_learned(drawn.interviews, drawn.truth, THREE, fold=fold)
    assert result.passed == (not any(finding.status == "failed" for finding in result.findings))
    assert [finding.code for finding in result.findings] == [f"CANARY00{number}" for number in range(1, 6)]
    return {finding.code: finding.message for finding in result.findings if finding.status == "failed"}


@pytest.mark.slow
def test_the_scorer_passes_as_it_is(drawn: SyntheticInterviews) -> None:
    assert failed(drawn) == {}


def test_a_vocabulary_of_everybody_is_found(drawn: SyntheticInterviews) -> None:
    terms = learned._terms

    def leaky(interviews: Any, *rest: Any, **options: Any) -> LearnedScorer:
        everybody = [participant_text(interview) for interview in interviews]
        with patch.object(learned, "_terms", lambda name, texts, settings: terms(name, everybody, settings)):
            return fold_scorer(interviews, *rest, **options)

    messages = failed(drawn, leaky)
    assert messages.keys() == {"CANARY005"}
    assert messages["CANARY005"].startswith("these move: words vocabulary, characters vocabulary")


def held_out(interviews: Any, rows: Any) -> list[Any]:
    return [interview for row, interview in enumerate(interviews) if row not in set(rows.tolist())]


@pytest.mark.slow
def test_a_threshold_that_is_tuned_on_labels_of_the_test_is_found(drawn: SyntheticInterviews) -> None:
    def leaky(interviews: Any, rows: Any, truth: Any, *rest: Any, **options: Any) -> LearnedScorer:
        model = fold_scorer(interviews, rows, truth, *rest, **options).model
        held = held_out(interviews, rows)
        medians = median_scores(model.probabilities(held)[0])
        errors = np.abs(medians - [truth[interview.participant_id]["NoInterest"] for interview in held])
        return LearnedScorer(replace(model, most_loss=float(errors.mean())))

    messages = failed(drawn, leaky)
    assert messages.keys() == {"CANARY001"}
    assert "loss to abstain from" in messages["CANARY001"]


@pytest.mark.slow
def test_a_threshold_that_is_tuned_on_words_of_the_test_is_found(drawn: SyntheticInterviews) -> None:
    def leaky(interviews: Any, rows: Any, *rest: Any, **options: Any) -> LearnedScorer:
        model = fold_scorer(interviews, rows, *rest, **options).model
        probabilities = model.probabilities(held_out(interviews, rows))[0]
        losses = expected_loss(probabilities, median_scores(probabilities))
        return LearnedScorer(replace(model, most_loss=float(np.quantile(losses, 0.8))))

    assert failed(drawn, leaky) == {"CANARY005": "these move: loss to abstain from"}


@pytest.mark.slow
def test_a_fold_that_learns_from_everybody_is_found_twice(drawn: SyntheticInterviews) -> None:
    def leaky(interviews: Any, rows: Any, *rest: Any, **options: Any) -> LearnedScorer:
        return fold_scorer(interviews, np.arange(len(interviews)), *rest, **options)

    assert failed(drawn, leaky).keys() == {"CANARY001", "CANARY005"}  # its ridge learns next to nothing by heart


@pytest.mark.slow
def test_a_feature_that_is_the_label_is_found_three_times(drawn: SyntheticInterviews) -> None:
    def leaky(interviews: Any, rows: Any, truth: Any, *rest: Any, **options: Any) -> LearnedScorer:
        labels = {own: list(scores.values()) for own, scores in truth.items()}
        return fold_scorer(interviews, rows, truth, *rest, llm=labels, **options)

    messages = failed(drawn, leaky)
    assert messages.keys() == {"CANARY001", "CANARY003", "CANARY004"}
    assert messages["CANARY001"] == "these move: LLM's expectation, answer, P(above), the scores"
    assert "it knows labels that nobody could know" in messages["CANARY003"]


@pytest.mark.slow
def test_a_vocabulary_that_is_chosen_by_labels_is_found(drawn: SyntheticInterviews) -> None:
    terms = learned._terms

    def leaky(interviews: Any, rows: Any, truth: Any, *rest: Any, **options: Any) -> LearnedScorer:
        chosen = [interviews[row] for row in rows if truth[interviews[row].participant_id]["Sleep"] > 0]
        texts = [participant_text(interview) for interview in chosen]
        with patch.object(learned, "_terms", lambda name, _, settings: terms(name, texts, settings)):
            return fold_scorer(interviews, rows, truth, *rest, **options)

    assert failed(drawn, leaky).keys() == {"CANARY002"}


def test_scores_and_labels_are_two_forms_of_the_same(drawn: SyntheticInterviews) -> None:
    posts = participants_of(drawn.interviews, drawn.truth, PHQ8)
    assert {post.post_id: scores_of(post, PHQ8) for post in posts} == drawn.truth
    turned = scores_of(replace(posts[0], labels=tuple(not label for label in posts[0].labels)), PHQ8)
    assert turned == {item: 3 - score for item, score in drawn.truth[posts[0].post_id].items()}


def test_too_few_and_other_posts_are_refused(drawn: SyntheticInterviews) -> None:
    with pytest.raises(InputError, match="need 75 or more"):
        leakcheck_learned(drawn.interviews, drawn.truth, PHQ8, participants=74)
    posts = [Post("1", "a text", (True,) * 24)]
    with pytest.raises(InputError, match="holds an interview"):
        interview_of(posts[0])


def test_the_command_says_what_it_compared_and_ends_with_0(drawn: SyntheticInterviews, tmp_path: Path) -> None:
    write_interviews(drawn, tmp_path)
    shipped = files("evidentia.assessment") / "instruments" / "phq8.toml"
    head, *items = shipped.read_text(encoding="utf-8").replace("cuts = [5, 10, 15, 20]", "cuts = [2]").split("[[item]]")
    sleep = next(item for item in items if 'id = "Sleep"' in item)  # one item is as good as eight, and faster
    (tmp_path / "sleep.toml").write_text(f"{head}[[item]]{sleep}", encoding="utf-8")
    words = ["assess", "leakcheck", tmp_path / "transcripts", "--truth", tmp_path / "truth.csv", "--json"]
    words += ["--instrument", tmp_path / "sleep.toml"]
    outcome = CliRunner().invoke(application("assess"), [str(word) for word in words])
    document = json.loads(outcome.output)
    assert (outcome.exit_code, document["passed"], document["eval_posts"]) == (0, True, 25)
    assert all(finding["looked"] > 0 for finding in document["findings"])
