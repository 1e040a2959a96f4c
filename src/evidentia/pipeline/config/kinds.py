"""Kinds of values that a configuration takes: each says in words what it takes, and refuses everything else."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from evidentia.errors import InputError, shown
from evidentia.pipeline.addresses import address_of, key_in, may_be_shown
from evidentia.protocol.thresholds import parse_rule

TYPE, RANGE, CHOICE = "CONFIG_TYPE", "CONFIG_RANGE", "CONFIG_CHOICE"
LONGEST = 500
HIDDEN = "what is there, which is not shown"
_PRINTABLE_BITS = 64  # of a whole number in a message


class RefusedError(Exception):
    """A value that a setting does not take; ``wanted`` and ``actual`` are told in place of the kind's words and the value."""

    def __init__(self, code: str, hint: str = "", *, wanted: str = "", actual: str = "") -> None:
        super().__init__(code)
        self.code, self.hint, self.wanted, self.actual = code, hint, wanted, actual


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class ValueKind:
    """A kind of value: what is taken in words, the value in its one form or a RefusedError, and the form that is written."""

    words: str
    read: Callable[[object], Any]
    written: Callable[[Any], Any] = _unchanged
    lone: bool = False


def _ensure_type(value: object, types: Any) -> Any:
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        raise RefusedError(TYPE)
    return value


YES_NO = ValueKind("true or false", lambda value: _ensure_type(value, bool))


def whole(low: int, high: int, multiple: int = 1) -> ValueKind:
    """A whole number within limits."""

    def read(value: object) -> Any:
        count = _ensure_type(value, int)
        if not low <= count <= high or count % multiple:
            raise RefusedError(RANGE)
        return count

    unit = "a whole number" if multiple == 1 else f"a multiple of {multiple}"
    return ValueKind(f"{unit} from {low} to {high}", read)


def number(low: float, high: float, *, above: bool = False) -> ValueKind:
    """A number within limits, read as a float so that 5 and 5.0 are the same; ``above`` leaves out the lower limit."""

    def read(value: object) -> float:
        actual = _ensure_type(value, int | float)
        if not low <= actual <= high or (above and actual == low):
            raise RefusedError(RANGE)
        return float(actual) + 0.0  # minus zero is zero

    return ValueKind(f"a number {f'above {low:g} and at most' if above else f'from {low:g} to'} {high:g}", read)


def text(words: str = "a text", *, free: bool = False) -> ValueKind:
    """A text without white space around it; one of ``free`` form may be empty and have several lines."""

    def read(value: object) -> str:
        words: str = _ensure_type(value, str) if free else _ensure_type(value, str).strip()
        sound = len(words) <= 10 * LONGEST if free else 0 < len(words) <= LONGEST and words.isprintable()
        if not sound:
            raise RefusedError(RANGE, "It must be printable, on one line and not too long.")
        return words

    return ValueKind(words, read)


def place(words: str) -> ValueKind:
    """A folder or a file; of an absolute path only the last part is written: the rest says nothing about the run."""
    return ValueKind(words, text(words).read, last_part)


def choice(*options: str) -> ValueKind:
    """One of a few words."""

    def read(value: object) -> Any:
        if _ensure_type(value, str) not in options:
            raise RefusedError(CHOICE, suggestion(str(value), options))
        return value

    return ValueKind(listed(options), read)


def several(
    kind: ValueKind, least: int, most: int, *, lone: bool = False, distinct: bool = True, order: Sequence[str] = ()
) -> ValueKind:
    """A list of values of a kind. ``lone`` takes a single one for a list of one; ``distinct`` takes none twice.

    Where the order does not matter, ``order`` is the one in which they are kept.
    """

    def read_each(value: object) -> Any:
        try:
            return kind.read(value)
        except RefusedError as refusal:
            refusal.actual = refusal.actual or described(value)
            raise

    def read(value: object) -> tuple[Any, ...]:
        values = (
            [value] if lone and not isinstance(value, list | tuple | Mapping) else _ensure_type(value, list | tuple)
        )
        if not least <= len(values) <= most:
            raise RefusedError(RANGE, f"Give {least} to {most}.", actual=f"a list of {len(values)}")
        each = tuple(map(read_each, values))
        if distinct and len(set(each)) < len(each):
            raise RefusedError(RANGE, actual="the same one twice")
        return tuple(sorted(each, key=order.index)) if order else each

    words = f"{kind.words}, or a list of them" if lone else f"a list, each {kind.words}"
    return ValueKind(words, read, lambda values: [kind.written(value) for value in values], lone)


def either(first: ValueKind, second: ValueKind) -> ValueKind:
    """A value of one of two kinds, told apart by their types."""

    def kind_of(value: object) -> ValueKind:
        try:
            first.read(value)
        except RefusedError as refusal:
            if refusal.code == TYPE:
                return second
        return first

    return ValueKind(
        f"{first.words}, or {second.words}",
        lambda value: kind_of(value).read(value),
        lambda value: kind_of(value).written(value),
    )


def model_spec(*options: str) -> ValueKind:
    """A word, or a model in the form NAME:WHICH, read without white space around it."""
    forms = {option.partition(":")[0]: option for option in options if ":" in option}
    plain = [option for option in options if ":" not in option]

    def read(value: object) -> str:
        spec: str = _ensure_type(value, str).strip()
        name, _, which = spec.partition(":")
        if spec not in plain and (name not in forms or not which or not spec.isprintable() or len(spec) > LONGEST):
            raise RefusedError(CHOICE, suggestion(name, (*plain, *forms)), actual="" if may_be_shown(spec) else HIDDEN)
        if name in {"openai", "http"}:
            _check_server(forms[name], which)
        return spec

    return ValueKind(listed(options), read)


def _check_server(form: str, which: str) -> None:
    url, _, name = which.partition(",")
    hint, actual, parts = "", described(which) if may_be_shown(which) else HIDDEN, address_of(url)
    if not name and (form.endswith(",MODEL") or which.endswith(",")):
        hint = "It names no model."
    elif parts is None:
        hint = "Its address must be one like http://127.0.0.1:8000/v1."
    elif (secret := key_in(parts)) is not None:
        hint, actual = f"The address must not hold {secret}: set api_key_env.", HIDDEN
    if hint:
        raise RefusedError(RANGE, hint, wanted=listed((form,)), actual=actual)


def _read_rule(value: object) -> str:
    """A rule that chooses a threshold, its number written in one way."""
    if len(_ensure_type(value, str)) > LONGEST:
        raise RefusedError(CHOICE)
    try:
        rule = parse_rule(str(value))
    except InputError:
        raise RefusedError(CHOICE) from None
    return rule.name if rule.target is None else f"{rule.name}={np.format_float_positional(rule.target, trim='-')}"


def _read_variable(value: object) -> str:
    """The name of an environment variable. What is there instead is never shown: it may be the key itself."""
    if not isinstance(value, str):
        raise RefusedError(TYPE, actual=HIDDEN)
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,99}", value):
        raise RefusedError(RANGE, "The key itself must not be in this file.", actual=HIDDEN)
    return value


RULE = ValueKind('"max-f1", "max-mcc", "youden", "fpr=0.05" (or another number) or "fixed=0.5"', _read_rule)
VARIABLE = ValueKind("the name of an environment variable (capital letters, digits and _)", _read_variable)


def described(value: object) -> str:
    """What was read, for a message: numbers and short words only.

    >>> described(5), described([1, 2]), described({}), described("I have not slept in days")
    ('5', 'a list', 'a table', '<24 characters, not shown>')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > _PRINTABLE_BITS:
        return "a number of that size"
    if isinstance(value, str | int | float):
        return shown(value)
    named = (("a table", Mapping), ("a list", list | tuple), ("a date or a time", date | time))
    return next((name for name, kinds in named if isinstance(value, kinds)), "something else")


def suggestion(word: str, known: Sequence[str], form: str = "{}") -> str:
    """A guess at what was meant; empty where nothing is close.

    >>> suggestion("gama", ["gamma", "k"])
    'Did you mean gamma?'
    """
    close = difflib.get_close_matches(word.lower(), known, n=1) if len(word) <= 64 else []
    return f"Did you mean {form.format(close[0])}?" if close else ""


def listed(words: Sequence[str]) -> str:
    """Words as they are written in TOML, the last behind "or".

    >>> listed(["a", "b", "c"])
    '"a", "b" or "c"'
    """
    *others, last = (f'"{word}"' for word in words)
    return f"{', '.join(others)} or {last}" if others else last


def last_part(path: str) -> str:
    """The name at the end of an absolute path; any other text as it is.

    >>> last_part("/data/corpora/mine"), last_part("corpora/mine")
    ('mine', 'corpora/mine')
    """
    absolute = (pure.name for pure in (PurePosixPath(path), PureWindowsPath(path)) if pure.is_absolute())
    return next(absolute, "") or path
