"""A classifier per criterion over the words of one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from builders.posts import lesson_on, posts_of, taught
from evidentia.array_types import Bools, Floats
from evidentia.pipeline.stage import View
from evidentia.pipeline.stages.classifiers import UNSEEN, Lexical, linear, per_criterion
from evidentia.synth import synthetic_corpus

TEXTS = (["I cannot sleep", "it rains"], ["no sleep again", "all is well"], ["it rains again", "all is well"])
GOLD = [[1, 0], [0, 0], [1, 0], [0, 0], [0, 0], [0, 0]]


def test_the_word_of_the_gold_sentences_counts() -> None:
    _, _, scores = taught(Lexical(), posts_of(*TEXTS, gold=GOLD))
    assert scores[[0, 2], 0].min() > scores[[1, 3, 4, 5], 0].max()


def test_a_criterion_without_gold_is_far_below_zero() -> None:
    _, _, scores = taught(Lexical(), posts_of(*TEXTS, gold=GOLD))
    assert set(scores[:, 1].tolist()) == {UNSEEN} == {-6.0}


def test_one_gold_sentence_teaches_nothing() -> None:
    _, _, scores = taught(Lexical(), posts_of(*TEXTS, gold=[[1, 0]] + [[0, 0]] * 5))
    assert set(scores.ravel().tolist()) == {-6.0}


def test_a_criterion_that_is_always_gold_is_far_above_zero() -> None:
    _, _, scores = taught(Lexical(), posts_of(*TEXTS, gold=[[1, 0]] * 6))
    assert set(scores[:, 0].tolist()) == {6.0}


def test_words_that_nobody_knows_get_the_bias() -> None:
    stage, posts = Lexical(), posts_of(*TEXTS, gold=GOLD)
    space, model, _ = taught(stage, posts)
    unknown = stage.inputs(space, View.of(posts_of(["眠れない", "xyzzy"])))
    assert stage.score(space, model, unknown)[:, 0].tolist() == [model.arrays["bias"][0]] * 2


def test_only_the_posts_of_the_lesson_are_read() -> None:
    posts = posts_of(*TEXTS, gold=GOLD)
    stage = Lexical()
    space = stage.space(View.of(posts))
    inputs = stage.inputs(space, View.of(posts))
    first = np.array([0, 1])
    turned = posts.relabelled(np.array(GOLD, bool) | (np.arange(6) >= 4)[:, None])
    models = [stage.fit(inputs, lesson_on(which, first), seed=0) for which in (posts, turned)]
    assert models[0].arrays["weights"].tobytes() == models[1].arrays["weights"].tobytes()


def test_a_lesson_gives_the_same_bytes_alone_and_beside_others() -> None:
    posts = synthetic_corpus(posts=40, mean_sentences=6)
    stage = Lexical()
    inputs = stage.inputs(stage.space(View.of(posts)), View.of(posts))
    lessons = [lesson_on(posts, np.flatnonzero(np.arange(40) % 4 != part)) for part in (4, 0, 1, 2, 3)]
    together = stage.fit_each(inputs, lessons, seed=0, threads=2)
    for lesson, model in zip(lessons, together, strict=True):
        alone = stage.fit(inputs, lesson, seed=0)
        assert {name: array.tobytes() for name, array in model.arrays.items()} == {
            name: array.tobytes() for name, array in alone.arrays.items()
        }


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_texts_without_a_shared_word_get_a_constant(kind: str) -> None:
    posts = posts_of(["a1", "b2"], ["c3", "d4"], gold=[[1, 0], [1, 0], [0, 0], [0, 0]])
    _, model, scores = taught(Lexical(kind), posts)  # type: ignore[arg-type]
    assert model.arrays["weights"].shape == (0, 2)
    assert np.isfinite(scores).all()
    assert len(np.unique(scores[:, 0])) == 1


def loss(features: Floats, labels: Bools, weights: Floats, bias: float, strength: float) -> float:
    """What the regression makes small: half the squared weights (liblinear counts the bias too), and the log loss."""
    odds = features @ weights + bias
    return float((weights @ weights + bias**2) / 2 + strength * np.logaddexp(0, np.where(labels, -odds, odds)).sum())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_no_small_step_lowers_the_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, gold = rng.normal(size=(30, 3)), rng.random((30, 2)) < 0.4
    gold[:2], gold[2:4] = True, False
    model = per_criterion(sparse.csr_matrix(features), gold, 2.0)
    for column in range(2):
        weights, bias = model.arrays["weights"][:, column], float(model.arrays["bias"][column])
        here = loss(features, gold[:, column], weights, bias, 2.0)
        for step in 0.05 * np.vstack([np.eye(4), -np.eye(4)]):
            assert loss(features, gold[:, column], weights + step[:3], bias + step[3], 2.0) > here


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_dense_and_sparse_inputs_say_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, gold = rng.normal(size=(12, 4)), np.arange(12)[:, None] % 3 == np.arange(2)
    model = per_criterion(features, gold, 1.0)
    np.testing.assert_allclose(linear(model, sparse.csr_matrix(features)), linear(model, features), atol=1e-12)
