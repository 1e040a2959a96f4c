"""Every number of a thresholds file is a number: Python takes false for 0, and "0.5" or NaN would surface somewhere else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NUMBERS = frozenset(
    {"tau_neg", "tau_pos", "value", "target", "delta", "bound", "reached", "missed_by", "certify"}
)  # counts are whole, the others need not be
COUNTS = frozenset({"tune_queries", "tune_positives", "misses", "tested", "posts_needed", "seed"})
TABLES = frozenset({"metrics", "log_loss", "parameters", "grid"})  # nothing but numbers below them


def refuse_other_than_numbers(content: Mapping[str, Any]) -> None:
    """A ValueError that names the first place where a number should be and something else is; null is looked at elsewhere."""
    for place, value, whole in _numbers(content, ""):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise ValueError(f"{place} is {_said(value)}, not a {'whole ' if whole else ''}number")
        if not math.isfinite(value):
            raise ValueError(f"{place} is not finite")


def _numbers(content: object, place: str, below: bool = False) -> Iterator[tuple[str, object, bool]]:
    """Every place where a number belongs, what stands there, and whether it must be whole."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            where = f"{place}.{key}" if place else str(key)
            of_targets = key == "targets" and isinstance(value, Mapping)  # those of the choices; a fold's are a list
            if below or key in NUMBERS or key in COUNTS or (key == "posts" and not isinstance(value, Sequence)):
                yield from _leaves(value, where, key in COUNTS or key == "posts")
            else:
                yield from _numbers(value, where, key in TABLES or of_targets)
    elif isinstance(content, Sequence) and not isinstance(content, str):
        for at, value in enumerate(content):
            yield from _numbers(value, f"{place}[{at}]")


def _leaves(value: object, place: str, whole: bool) -> Iterator[tuple[str, object, bool]]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from ((f"{place}[{at}]", element, whole) for at, element in enumerate(value))
    else:
        yield place, value, whole


def _said(value: object) -> str:
    """Short, and never somebody's text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return {str: "text", dict: "an object", float: "a fraction"}.get(type(value), "something else")
