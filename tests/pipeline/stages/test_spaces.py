"""Latent semantic analysis against a dense decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidentia.pipeline.encoders.interface import unit
from evidentia.pipeline.stages.meaning import DIMENSIONS, learn_lsa, lsa_vectors
from evidentia.pipeline.stages.words import matrix
from evidentia.synth import synthetic_corpus

TEXTS = ("I sleep badly", "I sleep well", "rain and snow", "snow and rain", "badly rain")


def test_unit_vectors() -> None:
    found = unit(np.array([[3.0, 4.0], [0.0, 0.0], [1e-20, 0.0]], np.float32))
    assert found.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, 0.0], [1.0, 0.0]]


def test_axes_are_those_of_a_dense_decomposition() -> None:
    space = learn_lsa(TEXTS, dimensions=3)
    dense = matrix(space, TEXTS).toarray()
    right = np.linalg.svd(dense)[2][:3].T
    axes = space.arrays["axes"]
    assert axes.shape == (dense.shape[1], 3)
    np.testing.assert_allclose(np.abs(axes.T @ right), np.eye(3), atol=1e-5)  # the same, up to sign
    assert (axes[np.abs(axes).argmax(axis=0), range(3)] > 0).all()  # and the sign is fixed by the largest entry


def test_texts_that_share_words_are_alike() -> None:
    vectors = lsa_vectors(learn_lsa(TEXTS, dimensions=3), TEXTS)
    cosine = vectors @ vectors.T
    assert cosine[2, 3] > cosine[0, 1] > 0.8  # the same words in another order; two of three words
    assert abs(cosine[0, 2]) < 0.1


def test_an_unknown_text_is_nowhere() -> None:
    assert lsa_vectors(learn_lsa(TEXTS), ["xyzzy", ""]).tolist() == np.zeros((2, 4)).tolist()


@pytest.mark.parametrize("texts", [["one"], ["one", "two"], ["...", "---"], ["same"] * 4])
def test_too_little_to_decompose_leaves_no_axis(texts: list[str]) -> None:
    space = learn_lsa(texts)
    assert space.arrays["axes"].shape[1] == 0
    assert lsa_vectors(space, texts).shape == (len(texts), 0)


@pytest.mark.parametrize("texts", [["I sleep badly"] * 30, ["a b c d e f", "g h i j k l"] * 20])
def test_identical_texts_are_in_the_same_place(texts: list[str]) -> None:
    vectors = lsa_vectors(learn_lsa(texts), texts)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose((vectors[::2] @ vectors[::2].T), 1.0, atol=1e-5)


def test_a_corpus_has_64_axes_and_the_same_bytes_every_time() -> None:
    texts = synthetic_corpus(posts=12, seed=1).texts
    one, other = learn_lsa(texts), learn_lsa(texts)
    assert one.arrays["axes"].shape[1] == DIMENSIONS == 64
    assert one.arrays["axes"].tobytes() == other.arrays["axes"].tobytes()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["sleep", "badly", "rain", "snow", "?", "I"]), min_size=1, max_size=5).map(" ".join),
        min_size=1,
        max_size=9,
    )
)
def test_vectors_are_finite_and_of_length_one_or_zero(texts: list[str]) -> None:
    vectors = lsa_vectors(learn_lsa(texts), [*texts, "unknown"])
    lengths = np.linalg.norm(vectors.astype(float), axis=1)
    assert np.isfinite(vectors).all()
    assert all(length == pytest.approx(1, abs=1e-6) or length == 0 for length in lengths)
