"""Strict JSON: no NaN, no Infinity, one line ending, the same bytes for the same content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def dumps(content: object, *, indent: int | None = 1) -> str:
    """Write strict JSON with a final newline; NaN or Infinity raise ValueError."""
    return json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def dumps_by_line(content: Mapping[str, object], keys: Iterable[str]) -> str:
    """Write strict JSON, with the members of the named objects and lists on a line each: easy to read, diff and write.

    >>> print(dumps_by_line({"a": 1, "b": {"x": {"y": 2}, "z": 3}}, ["b"]), end="")
    {
    "a": 1,
    "b": {
     "x": {"y": 2},
     "z": 3
    }
    }
    """
    return (
        "{\n" + ",\n".join(f"{_compact(key)}: {_lines(value, key in keys)}" for key, value in content.items()) + "\n}\n"
    )


def _lines(value: object, split: bool) -> str:
    if split and isinstance(value, Mapping) and value:
        return "{\n" + ",\n".join(f" {_compact(key)}: {_compact(member)}" for key, member in value.items()) + "\n}"
    if split and isinstance(value, list) and value:
        return "[\n" + ",\n".join(f" {_compact(member)}" for member in value) + "\n]"
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def loads(text: str | bytes) -> Any:
    """Read strict JSON; NaN, Infinity, a key that an object has twice and hundreds of nested brackets are refused.

    >>> loads('{"value": NaN}')
    Traceback (most recent call last):
    ValueError: NaN is not JSON
    >>> loads('{"value": 1, "value": 2}')
    Traceback (most recent call last):
    ValueError: a key is given twice
    """
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_members)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members
