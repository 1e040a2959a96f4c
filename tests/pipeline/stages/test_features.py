"""What a reranker knows about a candidate, against loops over posts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from builders.posts import posts_of, scored, spans
from evidentia.array_types import Bools, Floats, Ints
from evidentia.pipeline.stage import View
from evidentia.pipeline.stages.ltr import candidate_features, neighbours, other_criteria

Scored = tuple[Floats, Bools, Bools, Ints]


def test_the_features_of_the_second_of_three_sentences() -> None:
    posts = posts_of(["first", "Why? How?", "no"], ["alone"])
    score = np.array([[1.0, 0.0], [4.0, 3.0], [7.0, 0.0], [2.0, 5.0]])
    names, values = candidate_features(View.of(posts).with_scores("words", score))
    assert dict(zip(names, values[1, 0].tolist(), strict=True)) == {
        "words": 4.0,
        "words before": 1.0,
        "words after": 7.0,
        "words below best": 3.0,
        "words mean": 4.0,
        "words elsewhere": 3.0,
        "place in post": 0.5,
        "sentences in post": 3.0,
        "characters in sentence": 9.0,
        "questions in sentence": 2.0,
        "criterion": 0.0,
    }
    assert values[1, :, -1].tolist() == [0.0, 1.0]  # the criterion comes last
    assert values.dtype == np.float32


def test_a_post_of_one_sentence_is_its_own_surroundings() -> None:
    names, values = candidate_features(View.of(posts_of(["alone"])).with_scores("words", np.array([[2.0, 5.0]])))
    known = dict(zip(names, values[0, 0].tolist(), strict=True))
    assert (known["words before"], known["words after"], known["words mean"], known["place in post"]) == (
        2.0,
        2.0,
        2.0,
        0.0,
    )


def test_before_any_stage_there_is_only_the_text() -> None:
    names, values = candidate_features(View.of(posts_of(["a", "b"])))
    assert names == (
        "place in post",
        "sentences in post",
        "characters in sentence",
        "questions in sentence",
        "criterion",
    )
    assert values.shape == (2, 2, 5)


@pytest.mark.parametrize("name", ["characters", "characters in sentence", "criterion"])
def test_a_stage_may_be_called_like_a_feature(name: str) -> None:
    """The scores of a stage called "characters" were once overwritten by how many characters a sentence has."""
    score = np.array([[0.25, 0.5], [0.75, 1.0]])
    _, values = candidate_features(View.of(posts_of(["a", "bcd"])).with_scores(name, score))
    assert values.shape == (2, 2, 11)
    assert values[:, :, 0].tolist() == score.tolist()
    assert values[:, :, 8].tolist() == [[1, 1], [3, 3]]
    assert values[:, :, 10].tolist() == [[0, 1], [0, 1]]


@settings(deadline=None)
@given(scored())
def test_neighbours_against_a_loop(case: Scored) -> None:
    score, _, _, offsets = case
    before, after = np.zeros_like(score), np.zeros_like(score)
    for span in spans(offsets):
        least = score[span.start : span.stop].min(axis=0)
        for row in span:
            before[row] = score[row - 1] if row - 1 in span else least
            after[row] = score[row + 1] if row + 1 in span else least
    found = neighbours(score, offsets)
    assert found[0].tolist() == before.tolist()
    assert found[1].tolist() == after.tolist()


@settings(deadline=None)
@given(scored(most_criteria=4))
def test_other_criteria_against_a_loop(case: Scored) -> None:
    score = case[0]
    expected = [
        [max((value for other, value in enumerate(row) if other != at), default=row[at]) for at in range(len(row))]
        for row in score.tolist()
    ]
    assert other_criteria(score).tolist() == expected


@settings(deadline=None)
@given(scored())
def test_features_of_a_post_do_not_depend_on_the_others(case: Scored) -> None:
    score, _, _, offsets = case
    posts = posts_of(
        *(["x?"] * len(span) for span in spans(offsets)), criteria=posts_of(["x"]).criteria[:1] * score.shape[1]
    )
    view = View.of(posts).with_scores("words", score)
    _, together = candidate_features(view)
    for post, span in enumerate(spans(offsets)):
        _, alone = candidate_features(view.take(np.array([post])))
        assert alone.tolist() == together[span.start : span.stop].tolist()
