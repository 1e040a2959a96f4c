"""Quotes are found again in what the participant said, or they are dropped."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidentia.assessment import Interview, Turn
from evidentia.assessment.grounding import ground
from sampling import examples

SAID = "Well, um, I haven't been sleeping at all, and I feel really tired most days; it's been hard."
INTERVIEW = Interview("p", (Turn("Are you sleeping at night, and why not?", False), Turn(SAID, True)))


@pytest.mark.parametrize(
    "quote",
    [
        "I haven't been sleeping at all",
        "i HAVEN'T been sleeping at all",
        "  I haven't   been\nsleeping at all ",
        "\u201cI haven\u2019t been sleeping at all\u201d",
        "Well, I haven't been sleeping at all",
        "I haven't been uh sleeping at all",
        "I feel really tired most days, it has been hard",
    ],
)
def test_the_same_words_are_found_however_they_are_written(quote: str) -> None:
    found = ground(quote, INTERVIEW)
    assert found is not None
    assert found.turn == 1
    assert {"sleeping", "tired"} & set(found.text(INTERVIEW).split())


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "...",
        "Are you sleeping at night",
        "I sleep very well every night",
        "tir",
        "I have been eating at home and feel fine most weeks",
    ],
)
def test_what_was_not_said_is_dropped(quote: str) -> None:
    assert ground(quote, INTERVIEW) is None


@examples(200)
@given(st.integers(0, 10**6))
def test_random_words_are_dropped(seed: int) -> None:
    draw = random.Random(seed)
    words = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(4, 9))) for _ in range(draw.randint(1, 12))]
    assert ground(" ".join(words), INTERVIEW) is None


@examples(200)
@given(st.data())
def test_every_run_of_words_is_found_where_it_stands(data: st.DataObject) -> None:
    words = SAID.split()
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    quote = " ".join(words[first:last])
    found = ground(
        data.draw(st.sampled_from([quote, quote.upper(), f'"{quote}"', quote.replace(" ", "\t")])), INTERVIEW
    )
    if any(letter.isalpha() for letter in quote.replace("um,", "")):
        assert found is not None
        assert found.text(INTERVIEW).lower().strip(",;.") in SAID.lower()
