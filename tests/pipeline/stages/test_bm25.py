"""BM25 against the formula, word by word."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.posts import posts_of
from evidentia.array_types import Floats
from evidentia.corpus import Criterion
from evidentia.errors import InputError
from evidentia.pipeline.stage import Parts, View
from evidentia.pipeline.stages.retrievers import Bm25

ASKED = (
    {"sleeps", "badly", "night"},
    {"sad", "mood", "crying"},
)  # the wordings in builders/posts.py without "at", a stop word
WORDS = ("sleeps", "Badly", "night", "sad", "mood", "crying", "rain", "at", "I", "naïve", "眠れない", "?")


def said(stage: Bm25, train: Sequence[str], texts: Sequence[str]) -> Floats:
    """What the stage says of each text in a post of its own, after seeing the TRAIN texts."""
    space = stage.space(View.of(posts_of(*([text] for text in train))))
    inputs = stage.inputs(space, View.of(posts_of(*([text] for text in texts))))
    return stage.score(space, Parts(), inputs)


def plain(train: Sequence[str], texts: Sequence[str], k1: float, b: float) -> list[list[float]]:
    """The formula of Robertson and Zaragoza (2009) with the idf that cannot be negative, in loops."""
    split = [re.findall(r"\w\w+", text.lower()) for text in train]
    mean = max(sum(len(text.split()) for text in train) / len(train), 1.0)
    rows = []
    for text in texts:
        words, row = re.findall(r"\w\w+", text.lower()), []
        for asked in ASKED:
            total = 0.0
            for word in asked & set(words):
                holding = sum(word in other for other in split)
                rarity = math.log(1 + (len(train) - holding + 0.5) / (holding + 0.5))
                times = words.count(word)
                total += rarity * times * (k1 + 1) / (times + k1 * (1 - b + b * len(text.split()) / mean))
            row.append(total)
        rows.append(row)
    return rows


def test_a_word_twice_in_a_text_half_longer_than_the_mean() -> None:
    """One of two texts holds it: idf ln 2. Lengths 3 and 1, mean 2: 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 1.5)) = 1.2055."""
    scores = said(Bm25(), ["badly badly rain", "rain"], ["badly badly rain", "rain"])
    assert scores[0] == pytest.approx([math.log(2) * 4.4 / 3.65, 0.0])
    assert scores[1].tolist() == [0.0, 0.0]


def test_frequencies_come_from_the_train_texts_alone() -> None:
    train = ["badly", "rain", "rain"]
    assert said(Bm25(), train, ["badly", "badly"])[0].tolist() == said(Bm25(), train, ["badly"])[0].tolist()


def test_prototypes_are_asked_too_and_a_word_asked_twice_counts_once() -> None:
    once, twice = (Criterion("A", "sad", prototypes) for prototypes in (("crying",), ("crying", "sad", "sad crying")))
    posts = posts_of(["sad"], ["crying"], ["rain"], criteria=(once, twice))
    space = Bm25().space(View.of(posts))
    scores = Bm25().score(space, Parts(), Bm25().inputs(space, View.of(posts)))
    assert scores[:, 0].tolist() == scores[:, 1].tolist()
    assert scores[0, 0] == scores[1, 0] > scores[2, 0] == 0


def test_without_saturation_a_word_counts_once_and_length_not_at_all() -> None:
    scores = said(Bm25(k1=0, b=0), ["badly", "rain"], ["badly", "badly badly rain rain rain"])
    assert scores[:, 0] == pytest.approx([math.log(2)] * 2)


def test_criteria_of_stop_words_score_nothing() -> None:
    posts = posts_of(["I am not"], ["you are"], criteria=(Criterion("A", "I am not what you are"),))
    space = Bm25().space(View.of(posts))
    assert Bm25().score(space, Parts(), Bm25().inputs(space, View.of(posts))).tolist() == [[0.0], [0.0]]


def test_what_is_learnt_survives_json() -> None:
    view = View.of(posts_of(["badly sad"], ["rain at night"]))
    space = Bm25().space(view)
    again = Parts(json.loads(json.dumps(dict(space.document))), space.arrays)
    assert Bm25().inputs(again, view).features.tobytes() == Bm25().inputs(space, view).features.tobytes()


def test_labels_have_no_part_in_it() -> None:
    assert not Bm25().learns
    assert Bm25().per == "sentence"


@pytest.mark.parametrize("wrong", [{"k1": -0.1}, {"b": 1.01}, {"b": -0.1}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="k1 from 0 on and b from 0 to 1"):
        Bm25(**wrong)


texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(train=texts, asked=texts, k1=st.sampled_from([0.0, 0.9, 1.2, 2.0]), b=st.sampled_from([0.0, 0.4, 0.75, 1.0]))
def test_against_the_formula(train: list[str], asked: list[str], k1: float, b: float) -> None:
    np.testing.assert_allclose(said(Bm25(k1, b), train, asked), plain(train, asked, k1, b), rtol=1e-12, atol=1e-12)
