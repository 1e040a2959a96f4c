"""Which words a model has met, wherever in a pipeline it learnt them, and what posts it finds strange."""

from __future__ import annotations

import numpy as np
import pytest

from evidentia.corpus import Posts
from evidentia.pipeline.stage import Parts
from evidentia.pipeline.vocabulary import known_words, unknown_shares, unknown_words, usual_share

WORDS = Parts({"kind": "words", "vocabulary": ["sleep", "i sleep", "i", "!"]})
CHARACTERS = Parts({"kind": "characters", "vocabulary": ["sle", "eep"]})


def posts(*texts: str) -> Posts:
    names = tuple(map(str, range(len(texts))))
    return Posts(names, names, texts, np.arange(len(texts) + 1), ())


def test_single_words_of_every_stage_and_no_runs_of_characters() -> None:
    learnt = {
        "retriever": {"space": Parts({"words": ["tired"]}).joined(WORDS.under("1"))},
        "characters": {"space": CHARACTERS, "model": Parts()},
        "gate": {"space": Parts(), "model": Parts()},
    }
    assert known_words(learnt) == {"sleep", "i", "!"}
    assert known_words({"characters": {"space": CHARACTERS}}) == frozenset()


def test_shares_are_of_words_and_a_post_without_one_has_none() -> None:
    shares = unknown_shares(posts("I sleep", "I rain", "snow, RAIN!", "..."), frozenset({"i", "sleep"}))
    assert shares.tolist() == [0.0, 0.5, 1.0, 0.0]


def test_strange_posts_are_beyond_half_and_beyond_what_is_usual() -> None:
    known = frozenset({"i"})
    strange = posts(*["I snow rain"] * 3, *["i"] * 9)  # two thirds unknown, in a quarter of the posts
    (words,) = unknown_words(strange, known, 0.2)
    assert words.startswith("3 of 12 posts consist mostly of words that the model has never met (median 0 %).")
    assert list(unknown_words(strange, known, 0.6)) == []  # usual for this model
    assert list(unknown_words(strange, frozenset(), None)) == []  # it knows no words at all
    assert usual_share(strange, frozenset()) is None
    assert usual_share(strange, known) == pytest.approx(2 / 3, abs=1e-4)


def test_what_is_derived_of_parts_is_made_once() -> None:
    calls: list[int] = []
    parts = Parts({"a/b": 1})
    for _ in range(2):
        assert parts.derived("twice", lambda own: calls.append(1) or own.document["a/b"] * 2) == 2
    assert calls == [1]
    assert parts.within("a") is parts.within("a")
    assert parts.within("a").document == {"b": 1}
