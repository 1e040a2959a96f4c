"""The frames of the synthetic corpus: enough of them, and each can change its person and its tense."""

from __future__ import annotations

import re

import numpy as np
import pytest

from evidentia.synth.corpus_words import IF, NOW, THEN, Writer, of_another, sentence, words

CRITERIA = words().criteria
CHOICE = re.compile(r"\([^()]*\|[^()]*\)")


@pytest.fixture
def writer() -> Writer:
    return Writer(words(), rng=np.random.default_rng(1))


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda criterion: criterion.criterion_id)
class TestEveryCriterion:
    def test_has_many_frames_of_every_kind(self, criterion):
        assert len(criterion.direct) >= 15
        assert len(criterion.indirect) >= 20
        assert len(criterion.direct + criterion.indirect) == len(set(criterion.direct + criterion.indirect))
        assert len(criterion.pairs) >= 6
        assert min(map(len, (criterion.idiom, criterion.keyword, criterion.general, criterion.fine))) >= 5

    def test_every_clause_names_its_subject_by_a_slot(self, criterion):
        for frame in (*criterion.direct, *criterion.indirect):
            fixed = CHOICE.sub("", frame)
            assert re.search(r"\{(I|my|me|I'm|I've)\}", fixed), frame
            assert not re.search(r"(?<![{\w])(I|my|me|myself)(?![\w'])", re.sub(r"\{[^}]*\}", "", frame)), frame

    def test_a_clause_about_another_does_not_speak_of_the_writer(self, criterion, writer):
        for frame in (*criterion.direct, *criterion.indirect):
            text = writer.write(frame, of_another("Kim|she"))
            assert "Kim" in text
            assert not re.search(r"\b(I|I'm|my|me|myself)\b", text), text

    def test_every_frame_can_be_filled_in_every_voice(self, criterion, writer):
        for frame in (*criterion.direct, *criterion.indirect):
            for voice in (NOW, THEN, IF, of_another("my dad|he"), of_another("people|they")):
                assert not set(writer.write(frame, voice)) & set("{}<>|/()")


def test_person_and_tense_follow_the_voice(writer):
    frame = "{I'm} awake, {I} <lie/lies/lay> there, {I} {can't} calm {myself} and {my} mind <races/raced>"
    assert writer.write(frame) == "I'm awake, I lie there, I can't calm myself and my mind races"
    assert writer.write(frame, THEN) == "I was awake, I lay there, I couldn't calm myself and my mind raced"
    assert writer.write(frame, of_another("my sister|she")) == (
        "my sister is awake, she lies there, she can't calm herself and her mind races"
    )
    assert writer.write(frame, of_another("people|they")) == (
        "people are awake, they lie there, they can't calm themselves and their mind races"
    )


def test_names_stay_the_same_within_a_post_and_slots_do_not(writer):
    assert len({writer.write("{person}") for _ in range(20)}) == 1
    assert len({writer.write("{day}") for _ in range(40)}) > 4


def test_frames_are_not_repeated_while_others_are_left(writer):
    frames = tuple(map(str, range(12)))
    assert sorted(writer.frame_of(frames) for _ in range(12)) == sorted(frames)


def test_the_first_frames_of_a_list_are_more_common_than_the_last():
    frames = tuple(range(30))
    rng = np.random.default_rng(2)
    first = [Writer(words(), rng=rng).frame_of(frames) for _ in range(2000)]
    assert np.mean(np.array(first) < 10) > 2.5 * np.mean(np.array(first) >= 20)


def test_a_sentence_begins_with_a_capital_and_ends_once():
    assert sentence("so , is it  over?") == "So, is it over?"
    assert sentence("it is", "...") == "It is..."


def test_suicidal_thoughts_are_told_without_means():
    (criterion,) = (criterion for criterion in CRITERIA if criterion.criterion_id == "A.9")
    evidence = " ".join(
        (*criterion.direct, *criterion.indirect, *sum(criterion.pairs, ()), *sum(criterion.context, ()))
    )
    means = "pill|tablet|rope|knife|gun|bridge|jump|overdose|blade|cut|hang|poison|train|method|note"
    assert not re.search(rf"\b({means})", evidence)
