"""The faster pysbd cuts as pysbd does: on real texts, and on texts that are full of abbreviations, case and odd characters."""

from __future__ import annotations

import json

import pysbd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysbd.lang.common.standard import Standard

from evidentia.corpus.fast_pysbd import english_segmenter
from evidentia.corpus.splitter import split
from evidentia.synth import synthetic_corpus
from shared_data.data import folder as shared

THEIRS, OURS = pysbd.Segmenter(language="en", clean=False), english_segmenter()
ABBREVIATIONS = [each.strip() for each in Standard.Abbreviation.ABBREVIATIONS]


def same(text: str) -> None:
    try:
        theirs = list(THEIRS.processor(text).process())
    except ValueError:  # it fails over a number behind a separator such as \x1c, which the splitter never hands over
        with pytest.raises(ValueError, match="invalid literal for int"):
            OURS.processor(text).process()
        return
    assert list(OURS.processor(text).process()) == theirs


words = st.one_of(
    st.sampled_from(ABBREVIATIONS),
    st.sampled_from(ABBREVIATIONS).map(str.upper),
    st.sampled_from(ABBREVIATIONS).map(str.title),
    st.sampled_from(
        [
            "I",
            "He",
            "5",
            "(see",
            "a)",
            "p.m",
            "U.S",
            "no",
            "me",
            "e.g",
            "\u017ft",
            "\u212ag",
            "\u0130ng",
            "caf\u00e9",
            '"st',
        ]
    ),
    st.text("abIst.\u017f\u212a\u0131'", max_size=4),
)
between = st.sampled_from([" ", ". ", ".", ".\u00a0", ".\t", "  ", "\u2003", "? ", ".: ", ".-", ",", "\x1c"])


@given(st.lists(st.tuples(words, between), max_size=12))
def test_texts_of_abbreviations_are_cut_alike(parts: list[tuple[str, str]]) -> None:
    same("".join(word + gap for word, gap in parts))


def test_a_number_behind_a_separator_is_cut_where_it_can_be() -> None:
    same("adj\x1c5. ")
    for sign in "\x1c\x1d\x1e\x1f\x0b\x85":
        text = f"I slept.{sign}5. Then I rose."
        spans = split(text)
        assert "".join("".join(text[span.start : span.stop].split()) for span in spans) == "Islept.5.ThenIrose."
        assert len(spans) > 1


@pytest.mark.parametrize("abbreviation", ABBREVIATIONS)
def test_every_abbreviation_is_replaced_where_pysbd_replaces_it(abbreviation: str) -> None:
    for text in ("He met {}. someone at {}. 5 today. It was {}. Then", "{}. one", "of\t{}. (two)", "x{}. y. {}: z"):
        for form in (abbreviation, abbreviation.upper(), abbreviation.title()):
            same(text.format(*[form] * text.count("{}")))


def test_invented_posts_are_cut_alike() -> None:
    posts = synthetic_corpus(posts=40, seed=5)
    for start, stop in zip(posts.offsets, posts.offsets[1:], strict=False):
        same(" ".join(posts.texts[start:stop]))


@pytest.mark.parametrize("name", ["hoc", "contractnli"])
def test_real_texts_are_cut_alike(name: str) -> None:
    with (shared(name) / "documents.jsonl").open(encoding="utf-8") as file:
        for line, _ in zip(file, range(60), strict=False):
            same(" ".join(sentence["text"] for sentence in json.loads(line)["sentences"])[:3000])
