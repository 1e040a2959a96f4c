"""Words and phrases that the rules look for, compiled from a data file."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "`": "'"})
_OPENING = r"^(?:(?:uh|um|well|oh|erm|mm|hm),? )*"


@cache
def _lists() -> dict[str, list[str]]:
    return tomllib.loads((files("evidentia.assessment") / "language.toml").read_text(encoding="utf-8"))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The pattern of a list: any of its entries, as whole words."""
    return re.compile(rf"\b(?:{'|'.join(_lists()[name])})\b")


@cache
def opening(name: str) -> re.Pattern[str]:
    """The pattern of a list at the beginning of an answer, behind fillers."""
    return re.compile(rf"{_OPENING}(?:{'|'.join(_lists()[name])})\b")


@cache
def words(name: str) -> frozenset[str]:
    """The entries of a list, as words."""
    return frozenset(_lists()[name])


def plain(text: str) -> str:
    """Lower case, with straight apostrophes; as long as before, so that places stay.

    >>> plain("I CAN\u2019T")
    "i can't"
    """
    lowered = text.lower()
    return (lowered if len(lowered) == len(text) else text).translate(APOSTROPHES)
