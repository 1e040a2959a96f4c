"""Settings of models, checked once: unknown names, wrong types and values out of range are told before anything is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import Field, asdict, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from evidentia.errors import InputError, counted, shown, typed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table"}


def read_settings(made_of: type[S], content: Mapping[str, Any], where: str) -> S:
    """The settings as the dataclass has them; every setting that does not fit is named.

    Numbers may have ``minimum`` and texts ``choices`` in the metadata of their field.
    """
    known = {field.name: field for field in fields(made_of)}
    types = get_type_hints(made_of)
    has = f"It has: {', '.join(known)}." if known else "It has none."
    problems = [f"{where} has no setting {typed(name)}. {has}" for name in content if name not in known]
    for name, value in content.items():
        if name in known and (wrong := _wrong(known[name], types[name], value)):
            problems.append(f"{where}: {name} must be {wrong}, not {shown(value)}.")
    if problems:
        raise InputError(*problems)
    return made_of(**content)


def key_of(*parts: Mapping[str, Any]) -> str:
    """A hash of all that decides what a model says, the same in every process.

    >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    True
    """
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def deciding(settings: DataclassInstance, *left_out: str) -> dict[str, Any]:
    """The settings that change what a model says, without those that only change how fast it says it."""
    return {name: value for name, value in asdict(settings).items() if name not in left_out}


def same_length(queries: int, passages: int) -> None:
    """Refuse pairs that are none."""
    if queries != passages:
        raise InputError(
            f"{counted(queries, 'query', 'queries')} cannot be paired with {counted(passages, 'passage')}."
        )


def _wrong(field: Field[Any], annotation: Any, value: object) -> str | None:
    """What the value should be, or None where it is right."""
    plain = (dict,) if get_origin(annotation) is dict else get_args(annotation) or (annotation,)
    accepted = (*plain, int) if float in plain else plain
    fits = isinstance(value, accepted) and (bool in plain or not isinstance(value, bool))
    if not fits:
        return " or ".join(_WORDS[option] for option in plain if option in _WORDS)
    choices, minimum = field.metadata.get("choices"), field.metadata.get("minimum")
    if choices and value is not None and value not in choices:
        return f"one of {', '.join(choices)}"
    if minimum is not None and value is not None and not value >= minimum:
        return f"at least {minimum}"
    return None
