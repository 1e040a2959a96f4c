"""Questionnaires are TOML files; everything wrong with one is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidentia.assessment import load_instrument
from evidentia.assessment.answers import total_bounds
from evidentia.errors import InputError

OWN = """
name = "mood"
[[item]]
id = "calm"
question = "How calm are you?"
min = 1
max = 9
direction = "reversed"
[[item]]
id = "sad"
question = "How sad are you?"
min = 1
max = 9
[total]
cuts = [10]
"""


def test_the_instruments_that_ship_are_whole() -> None:
    phq8, gad7 = load_instrument("phq8"), load_instrument("gad7")
    assert phq8.item_ids == (
        "NoInterest",
        "Depressed",
        "Sleep",
        "Tired",
        "Appetite",
        "Failure",
        "Concentrating",
        "Moving",
    )
    assert (len(gad7.items), gad7.cuts) == (7, (5, 10, 15))
    assert [phq8.score_of_days(days) for days in (0, 1, 2, 6, 7, 11, 12, 14)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_an_instrument_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mood.toml"
    path.write_text(OWN)
    mood = load_instrument(path)
    assert [(item.id, item.low, item.high, item.reversed) for item in mood.items] == [
        ("calm", 1, 9, True),
        ("sad", 1, 9, False),
    ]
    ranges = [(item.id, item.low, item.high, item.reversed) for item in mood.items]
    assert total_bounds({"calm": 2, "sad": 3}, ranges) == (11, 11)  # 1 + 9 - 2, and 3
    assert total_bounds({"calm": None, "sad": 3}, ranges) == (4, 12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("min = 1\nmax = 9\ndirection", "min = 9\nmax = 1\ndirection"), "min below max"),
        (('id = "sad"', 'id = "calm"'), "2 items have the id 'calm'"),
        (("cuts = [10]", "cuts = [1]"), "must lie above 2"),
        (('question = "How sad are you?"', ""), "question is missing"),
        (('name = "mood"', 'name = "mood"\ncolour = 3'), "unknown key 'colour'"),
        (('direction = "reversed"', 'direction = "backwards"'), "direction is one of"),
    ],
)
def test_mistakes_are_named(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "mood.toml"
    path.write_text(OWN.replace(*change))
    with pytest.raises(InputError, match=words):
        load_instrument(path)


def test_no_toml_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("name = ")
    with pytest.raises(InputError, match="not TOML"):
        load_instrument(tmp_path / "x.toml")
    with pytest.raises(InputError, match="phq8, gad7"):
        load_instrument("nothing")
