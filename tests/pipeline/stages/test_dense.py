"""Retrieval by meaning, with numbers that can be checked by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from evidentia.corpus.posts import Criterion
from evidentia.errors import InputError
from evidentia.pipeline.stage import Parts, View
from evidentia.pipeline.stages.classifiers import Lexical
from evidentia.pipeline.stages.retrievers import Bm25, Dense, Fused

from .bench import WordCounter, claims_of_a_stage, corpus, division, posts_of, saved


def _scores(stage: Dense | Fused, view: View) -> np.ndarray:
    space = stage.space(view)
    return stage.score(space, Parts(), stage.inputs(space, view))


def test_the_score_is_the_cosine_with_the_criterion(words: WordCounter) -> None:
    posts = posts_of([["cannot sleep", "my dog"]], [Criterion("a", "sleep"), Criterion("b", "my dog")])
    found = _scores(Dense("words"), View.of(posts))
    np.testing.assert_allclose(found, [[1 / np.sqrt(2), 0], [0, 1]], atol=1e-6)
    assert ("query", 2) in words.asked
    assert ("passage", 2) in words.asked


def test_of_several_prototypes_the_nearest_counts(words: WordCounter) -> None:
    criteria = [Criterion("a", "sleep", ("awake nights", "tired")), Criterion("b", "tired")]
    found = _scores(Dense("words"), View.of(posts_of([["tired"], ["awake nights", "hello"]], criteria)))
    np.testing.assert_allclose(found, [[1, 1], [1, 0], [0, 0]], atol=1e-6)


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize(
    "stage", [Dense("words"), Fused((Bm25(), Dense("words"))), Fused((Dense("words"),), "weights")]
)
def test_a_retriever_keeps_its_promises(stage: Dense | Fused) -> None:
    claims_of_a_stage(stage, View.of(corpus()), corpus(), division())
    assert pickle.loads(pickle.dumps(stage)) == stage


def test_another_encoder_is_refused(words: WordCounter) -> None:
    view = View.of(corpus())
    space = saved(Dense("words").space(view))
    words.width = 12
    with pytest.raises(InputError, match="is not the one this stage was fitted with"):
        Dense("words").inputs(space, view)
    with pytest.raises(InputError, match="gives 12 numbers per text; this stage was fitted to 48"):
        Dense("words").inputs(Parts({**space.document, "encoder": words.key}), view)


@pytest.mark.usefixtures("words")
def test_ranks_are_fused_within_each_post_and_criterion() -> None:
    posts = posts_of([["sleep sleep sleep x", "sleep", "dog"], ["dog", "sleep"]], [Criterion("a", "sleep")])
    first, second = (_scores(stage, View.of(posts))[:, 0] for stage in (Bm25(), Dense("words")))
    assert first[0] > first[1] > first[2]
    assert second[1] > second[0] > second[2]
    found = _scores(Fused((Bm25(), Dense("words")), rrf_k=1), View.of(posts))[:, 0]
    np.testing.assert_allclose(found, [1 / 2 + 1 / 3, 1 / 3 + 1 / 2, 1 / 4 + 1 / 4, 1 / 3 + 1 / 3, 1 / 2 + 1 / 2])


@pytest.mark.usefixtures("words")
def test_what_a_retriever_knows_nothing_about_keeps_no_advantage_from_its_place() -> None:
    posts = posts_of([["cat", "dog", "sleep"]], [Criterion("a", "sleep")])
    found = _scores(Fused((Bm25(),), rrf_k=0), View.of(posts))[:, 0]
    np.testing.assert_allclose(found, [1 / 2.5, 1 / 2.5, 1])


@pytest.mark.usefixtures("words")
def test_scores_are_standardised_before_they_are_weighed() -> None:
    posts = posts_of([["sleep", "dog"], ["cat"]], [Criterion("a", "sleep")])
    found = _scores(Fused((Bm25(), Dense("words")), "weights", (1.0, 2.0)), View.of(posts))[:, 0]
    np.testing.assert_allclose(found, [3, -3, 0], atol=1e-9)


@pytest.mark.parametrize(
    ("parts", "weights", "message"),
    [
        ((), None, "there must be one"),
        ((Lexical(),), None, "learn nothing from labels"),
        ((Bm25(), Bm25()), (1.0,), "1 weight cannot belong to 2 retrievers"),
    ],
)
def test_what_cannot_be_fused_is_refused(parts: tuple[Bm25, ...], weights: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Fused(parts, "weights", weights)
