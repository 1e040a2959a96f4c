"""Weighted words as plain arrays."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidentia.pipeline.stage import Parts
from evidentia.pipeline.stages.words import learn_matrix, learn_vocabulary, matrix

TEXTS = ("I sleep badly", "I sleep badly again", "rain!", "rain?", "why?")


def grams(text: str) -> list[str]:
    """Words and marks of one text, and the pairs of them."""
    words = re.findall(r"\b\w+\b|[!?]", text.lower())
    return words + [" ".join(pair) for pair in pairwise(words)]


def plain(train: list[str], texts: list[str]) -> list[dict[str, float]]:
    """Sublinear counts times smoothed rarity, at unit length; terms in fewer than two texts are not counted."""
    holding = Counter(term for text in train for term in set(grams(text)))
    known = {term: math.log((1 + len(train)) / (1 + times)) + 1 for term, times in holding.items() if times >= 2}
    rows = []
    for text in texts:
        counts = Counter(term for term in grams(text) if term in known)
        raw = {term: (1 + math.log(times)) * known[term] for term, times in counts.items()}
        length = math.sqrt(sum(value**2 for value in raw.values()))
        rows.append({term: value / length for term, value in raw.items()})
    return rows


def test_words_pairs_and_marks_that_two_texts_share() -> None:
    space = learn_vocabulary(TEXTS, "words")
    assert space.document["vocabulary"] == ["?", "badly", "i", "i sleep", "rain", "sleep", "sleep badly"]
    assert space.arrays["idf"] == pytest.approx([math.log(6 / 3) + 1] * 7)  # each in two of five texts


def test_runs_of_characters_that_three_texts_share() -> None:
    space = learn_vocabulary(["sleep", "asleep", "sleepy", "rain"], "characters")
    assert space.document["vocabulary"] == ["eep", "lee", "leep", "sle", "slee", "sleep"]


def test_rows_have_unit_length_and_unknown_texts_are_zero() -> None:
    rows = matrix(learn_vocabulary(TEXTS, "words"), ["sleep badly", "snow", "", "RAIN rain"]).toarray()
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 0, 1])


@pytest.mark.parametrize("texts", [("one", "two", "three"), ("...", "---"), ("alone",)])
@pytest.mark.parametrize("kind", ["words", "characters"])
def test_texts_that_share_nothing_have_no_columns(texts: tuple[str, ...], kind: str) -> None:
    space = learn_vocabulary(texts, kind)  # type: ignore[arg-type]
    assert space.document["vocabulary"] == []
    assert matrix(space, ["one", "two"]).shape == (2, 0)


def test_what_is_learnt_survives_json() -> None:
    texts = ["schläfrig naïve 眠れない", "naïve 眠れない schläfrig", "İ ß naïve", "I sleep 😴", "😴 sleep"]
    for kind in ("words", "characters"):
        space = learn_vocabulary(texts, kind)  # type: ignore[arg-type]
        again = Parts(json.loads(json.dumps(dict(space.document))), {"idf": space.arrays["idf"].copy()})
        assert np.array_equal(matrix(again, texts).toarray(), matrix(space, texts).toarray())


lists = st.lists(
    st.lists(st.sampled_from(["I", "sleep", "Sleep", "badly", "rain", "?", "!", "é", "x"]), max_size=6).map(" ".join),
    min_size=2,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(train=lists, texts=lists)
def test_against_loops(train: list[str], texts: list[str]) -> None:
    space = learn_vocabulary(train, "words")
    found = matrix(space, texts).toarray()
    expected = plain(train, texts)
    table = [[row.get(term, 0.0) for term in space.document["vocabulary"]] for row in expected]
    np.testing.assert_allclose(found, np.array(table).reshape(found.shape), atol=1e-12)
    assert {term for row in expected for term in row} <= set(space.document["vocabulary"])


@settings(max_examples=40, deadline=None)
@given(train=lists, kind=st.sampled_from(["words", "characters"]))
def test_the_matrix_of_the_texts_that_taught_it_has_the_same_bytes(train: list[str], kind: str) -> None:
    space, found = learn_matrix(train, kind)  # type: ignore[arg-type]
    again = matrix(space, train)
    assert found.toarray().tobytes() == again.toarray().tobytes()
    assert found.shape == (len(train), len(space.document["vocabulary"]))


@settings(deadline=None)
@given(lists)
def test_the_order_of_the_texts_does_not_matter(train: list[str]) -> None:
    one, other = learn_vocabulary(train, "words"), learn_vocabulary(train[::-1], "words")
    assert one.document == other.document
    assert one.arrays["idf"].tobytes() == other.arrays["idf"].tobytes()


@given(texts=st.lists(st.text("abIß .!\t\n'\u03a3\u00a0", max_size=30), min_size=1, max_size=6))
def test_runs_of_characters_are_counted_as_scikit_learn_counts_them(texts: list[str]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    train = ["ab ab. abba", "aba bab! \u03a3ab", "ab I ßa abß", "ab.ab 'ab'"] * 3
    space = learn_vocabulary(train, "characters")
    theirs = TfidfVectorizer(
        ngram_range=(3, 5), analyzer="char_wb", sublinear_tf=True, vocabulary=space.document["vocabulary"]
    )
    theirs.idf_ = space.arrays["idf"]
    assert matrix(space, texts).toarray().tobytes() == theirs.transform(texts).toarray().tobytes()
