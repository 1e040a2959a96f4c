"""Several uids in one cell: joined by a character, or a list as JSON or Python prints it."""

from __future__ import annotations

import json
import re

import polars as pl

from evidentia.errors import shown
from evidentia.tables.kinds import refuse

BAR, SPACE, PRINTED = "|", "space", "json"
JOINING = {";": ";", ",": ",", SPACE: r"\s"}  # what uids are joined by where it is not |, as patterns
WORD = rf"[^|{''.join(JOINING.values())}]+"  # what none of them cuts

_ITEM = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\['"\\])*'|-?\d+)"""
_LIST = re.compile(rf"\[\s*(?:{_ITEM}(?:\s*,\s*{_ITEM})*\s*,?\s*)?\]")
_ITEMS = re.compile(_ITEM)


def checked_separator(list_sep: str | None) -> str | None:
    """The separator that somebody named; None where it is to be recognised."""
    if list_sep == " ":
        return SPACE
    if list_sep is None or list_sep in {SPACE, PRINTED}:
        return list_sep
    if len(list_sep) != 1 or list_sep.isalnum() or list_sep in "\"'[]":
        message = f"The separator of lists is {shown(list_sep)}. Use |, ; or another sign, space, or {PRINTED} for printed lists."
        raise refuse("LIST_SEP", message)
    return list_sep


def separated(text: pl.Series, list_sep: str) -> pl.Series:
    """The uids of every cell. White space around a | belongs to them, around any other character it does not.

    >>> separated(pl.Series(["s1; s2", "s3", None]), ";").to_list()
    [['s1', 's2'], ['s3'], None]
    """
    if list_sep == BAR:
        return text.str.split(BAR)
    if list_sep == SPACE:
        return text.str.strip_chars().str.replace_all(r"\s+", " ").str.split(" ")
    return text.str.split(list_sep).list.eval(pl.element().str.strip_chars())


def is_printed(text: pl.Series) -> pl.Series:
    """Where a cell is a list as JSON or Python prints it."""
    return (text.str.starts_with("[") & text.str.ends_with("]")).fill_null(False)


def unprinted(text: pl.Series) -> pl.Series:
    """The uids of printed lists; null where a cell is none.

    Lists without commas, as numpy prints them, are none: Python would read their texts as one.

    >>> unprinted(pl.Series(['["a", "b"]', "['a', 'b']", "[1]", "[]", "['a' 'b']", "a"])).to_list()
    [['a', 'b'], ['a', 'b'], ['1'], [], None, None]
    """
    return pl.Series(text.name, [_unprinted(cell) for cell in text], pl.List(pl.String))


def _unprinted(cell: str | None) -> list[str] | None:
    if cell is None or not _LIST.fullmatch(cell):
        return None
    try:
        return [_unquoted(item) for item in _ITEMS.findall(cell)]
    except ValueError:  # an escape that JSON does not have
        return None


def _unquoted(item: str) -> str:
    if item[0] == "'":
        return re.sub(r"\\(.)", r"\1", item[1:-1])
    return str(json.loads(item))
