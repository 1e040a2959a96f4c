"""What was tuned as plain JSON, and back: every value must have the type of its field.

Python takes false for 0, and "0.5" or NaN where a number belongs would surface somewhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType, UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints


class Plain:
    """A dataclass that is written by the names of its fields, in their order."""

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], place: str = "") -> Self:
        """Read it back; a value that cannot be is a ValueError that names its place."""
        hints, inside = get_type_hints(cls), f"{place}." if place else ""
        names = [each.name for each in fields(cls)]  # type: ignore[arg-type]
        read = cls(**{name: read_plain(hints[name], content[name], f"{inside}{name}") for name in names})
        read.check()
        return read

    def check(self) -> None:
        """Raise a ValueError where the values cannot stand together."""


def _plain(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return list(map(_plain, value)) if isinstance(value, tuple | list) else value


def read_plain(hint: Any, content: Any, place: str) -> Any:
    """What stands at a place, as its type has it."""
    options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if content is None and type(None) in options:
        return None
    origin, inner = get_origin(options[0]) or options[0], get_args(options[0])
    if issubclass(origin, Plain):
        return origin.from_dict(content, place)
    if origin is Mapping:
        named = ((str(name), value) for name, value in content.items())
        return MappingProxyType({name: read_plain(inner[1], value, f"{place}.{name}") for name, value in named})
    if origin in {tuple, list}:
        if not isinstance(content, Sequence) or isinstance(content, str):
            raise ValueError(f"{place} is {_described(content)}, not a list")
        return origin(read_plain(inner[0], each, f"{place}[{at}]") for at, each in enumerate(content))
    return _read_number(origin, content, place) if origin in {int, float} else content


def _read_number(kind: type, value: Any, place: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        raise ValueError(f"{place} is {_described(value)}, not a {'whole ' if kind is int else ''}number")
    if not math.isfinite(value):
        raise ValueError(f"{place} is not finite")
    return value


def _described(value: object) -> str:
    """Short, and never somebody's text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return {str: "text", dict: "an object", float: "a fraction"}.get(type(value), "something else")
