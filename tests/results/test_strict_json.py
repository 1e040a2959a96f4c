"""Strict JSON: what no parser can misread, and the same bytes for the same content."""

from __future__ import annotations

import json
import math

import pytest

from evidentia.results import dumps, dumps_by_line, loads

CONTENT = {"a": 1, "b": {"x": {"y": [1.5, None]}, "z": "ü|\n"}, "c": [{"d": True}], "e": {}, "f": []}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_never_written(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        dumps({"value": value})
    with pytest.raises(ValueError, match="JSON compliant"):
        dumps_by_line({"measures": {"AUROC": {"value": value}}}, ("measures",))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_is_not_a_number_is_never_read(word: str) -> None:
    with pytest.raises(ValueError, match=f"{word} is not JSON"):
        loads(f'{{"value": [{word}]}}')


@pytest.mark.parametrize("keys", [(), ("b",), ("b", "c"), ("a", "b", "c", "e", "f")])
def test_content_split_by_line_reads_back_the_same(keys: tuple[str, ...]) -> None:
    assert loads(dumps_by_line(CONTENT, keys)) == CONTENT == loads(dumps(CONTENT))


def test_members_of_a_named_object_stand_on_a_line_each() -> None:
    lines = dumps_by_line(CONTENT, ("b",)).splitlines()
    assert ' "x": {"y": [1.5, null]},' in lines
    assert ' "z": "ü|\\n"' in lines
    assert '"c": [{"d": true}],' in lines


def test_a_file_ends_with_one_newline_and_keeps_its_letters() -> None:
    for text in (dumps(CONTENT), dumps_by_line(CONTENT, ("b",))):
        assert text.endswith("}\n")
        assert not text.endswith("\n\n")
        assert "ü" in text


@pytest.mark.parametrize("value", [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 0.30000000000000004])
def test_numbers_come_back_to_the_last_bit(value: float) -> None:
    assert loads(dumps({"value": value}))["value"] == value
    assert json.loads(dumps_by_line({"m": {"value": value}}, ("m",)))["m"]["value"] == value
