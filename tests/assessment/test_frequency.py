"""Words about frequency become days of fourteen, worked out by hand."""

from __future__ import annotations

import pytest

from evidentia.assessment.frequency import read_days

EXPLICIT = {
    "every single day": (14, 14),
    "nearly every night": (12, 13),
    "most days": (8, 12),
    "more than half the days": (8, 11),
    "half the time": (7, 7),
    "every other day": (7, 7),
    "on weekends": (4, 4),
    "three times a week": (6, 6),
    "two or three nights a week": (4, 6),
    "9 days out of 14": (9, 9),
    "five of the last seven days": (10, 10),
    "once a week": (2, 2),
    "once or twice a week": (2, 4),
    "for the past ten days": (10, 10),
    "for two weeks": (12, 14),
    "several days": (2, 6),
    "a couple of nights": (2, 2),
    "once or twice": (1, 2),
    "not even once": (0, 0),
    "for months": (12, 14),
}
VAGUE = {
    "all the time": (12, 14),
    "usually": (8, 13),
    "quite often": (6, 11),
    "now and then": (2, 6),
    "hardly ever": (0, 2),
    "never": (0, 0),
}


@pytest.mark.parametrize(("words", "days"), EXPLICIT.items(), ids=EXPLICIT)
def test_explicit_words_name_days(words: str, days: tuple[float, float]) -> None:
    read = read_days(f"I can't sleep {words}.")
    assert read is not None
    assert (read.low, read.high, read.explicit) == (*days, True)


@pytest.mark.parametrize(("words", "days"), VAGUE.items(), ids=VAGUE)
def test_vague_words_are_kept_apart(words: str, days: tuple[float, float]) -> None:
    read = read_days(f"It happens {words}.")
    assert read is not None
    assert (read.low, read.high, read.explicit) == (*days, False)


def test_explicit_words_win_and_silence_is_none() -> None:
    assert read_days("sometimes, three days a week") == read_days("three days a week")
    assert read_days("I feel down") is None
    assert read_days("half of the day") is read_days("most of the day") is None  # hours, not days
