"""Splitting: sentences are places in the text, none overlap, and no splitter loses a character."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.corpora import Make, the_problem
from evidentia.corpus import read_corpus
from evidentia.corpus.splitter import SPLITTERS, Span, _found, split
from evidentia.errors import InputError
from growth import growth

WORDS = (
    *("I", "am", "tired", "e.g.", "Dr.", "U.S.", "J.K.", "p.m.", "etc.", "no.", "1.", "2)", "a.", "$5.00", "Why", "So"),
    *(
        ".",
        "!",
        "?",
        "...",
        "?!",
        "(",
        ")",
        '"',
        "“",
        "”",
        "'",
        "[",
        "\\",
        "*",
        "+",
        "|",
        "{",
        "&",
        "<",
        "•",
        "。",
        "😀",
    ),
    *("\n", "\n\n", "\r", "\t", "  ", "\u2028", "\x85", "\u200b", "http://x.y/z?a=b.", "- "),
    *("∯", "ȸ", "☝", "&ᓰ&", "♨", "☉☉"),  # what pysbd writes in place of a full stop while it works
)
texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=25).map("".join),
)


def sentences(text: str, how: str) -> list[str]:
    return [text[span.start : span.stop] for span in split(text, how)]


def holds(text: str, spans: list[Span]) -> None:
    """Spans are stripped and in order, and what lies between them is white."""
    behind = 0
    for span in spans:
        assert behind <= span.start < span.stop
        assert text[span.start : span.stop] == text[span.start : span.stop].strip()
        assert not text[behind : span.start].strip()
        behind = span.stop
    assert not text[behind:].strip()


@pytest.mark.parametrize("how", SPLITTERS)
def test_no_splitter_loses_repeats_or_changes_a_character(how: str) -> None:
    @given(texts)
    @example("")
    @example("No. No. No. No.")
    @example("I cried. I cried. Then I slept. I cried.")
    @settings(deadline=None, max_examples=300)
    def holds_for(text: str) -> None:
        holds(text, split(text, how))

    holds_for()


@given(texts, st.lists(st.text(max_size=10), max_size=6))
@settings(deadline=None)
def test_pieces_that_are_not_in_the_text_stay_part_of_a_neighbour(text: str, pieces: list[str]) -> None:
    places = [place for place, character in enumerate(text) if not character.isspace()]
    starts = _found(text, places, [ink for piece in pieces if (ink := "".join(piece.split()))])
    assert set(starts) <= set(places)
    assert starts[:1] == places[:1]
    assert starts == sorted(set(starts))


def test_a_changed_piece_is_joined_to_the_one_before() -> None:
    text = "One. Two. Three."
    assert _found(text, [i for i, c in enumerate(text) if c != " "], ["One.", "Twoo!", "Three."]) == [0, 10]


@pytest.mark.parametrize("how", ["pysbd", "sentencex"])
def test_abbreviations_do_not_end_a_sentence(how: str) -> None:
    assert sentences("I saw Dr. Grey at 5 p.m. today. She was kind.", how) == [
        "I saw Dr. Grey at 5 p.m. today.",
        "She was kind.",
    ]


@pytest.mark.parametrize("how", ["pysbd", "sentencex"])
def test_repeated_sentences_are_all_there_in_their_places(how: str) -> None:
    text = "I am tired. I am tired. It rains. I am tired."
    assert [(span.start, span.stop) for span in split(text, how)] == [(0, 11), (12, 23), (24, 33), (34, 45)]


def test_lines_are_the_sentences_where_asked_for() -> None:
    assert sentences("  one. two\n\n three \r\n", "lines") == ["one. two", "three"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["pysbd", "sentencex"])
def test_the_cost_of_a_very_long_line_grows_with_its_length(how: str) -> None:
    short, long = (
        " ".join(f"This is sentence {i} of a post that never ends." for i in range(count)) for count in (400, 1600)
    )
    assert len(split(long, how)) == 1600
    assert growth(lambda text: split(text, how), short, long) < 10  # 4; pysbd at once grows with the square, 16


def test_a_long_line_without_an_end_is_one_sentence() -> None:
    assert len(split("and then " * 2000, "pysbd")) == 1


@pytest.mark.parametrize("how", ["pysbd", "sentencex"])
def test_a_splitter_that_is_not_installed_says_how_to_get_it(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, how, None)
    SPLITTERS[how].cache_clear()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=rf"pip install 'evidentia\[split\]' \(or pip install {how}\)"):
        split("One. Two.", how)


def test_given_sentences_need_no_splitter(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysbd", None)
    SPLITTERS["pysbd"].cache_clear()  # type: ignore[attr-defined]
    assert len(read_corpus(make())) == 2
    the_problem(make(documents=[{"post_id": "p1", "text": "One. Two."}]), "MISSING_SPLITTER")


def test_an_unknown_splitter_lists_the_known() -> None:
    with pytest.raises(InputError, match="pysbd, sentencex, lines"):
        split("One. Two.", "spacy")
