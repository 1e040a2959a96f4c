"""Kinds of values that a configuration takes: each says in words what it takes, and refuses everything else."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from evidentia.errors import shown

TYPE, RANGE, CHOICE = "CONFIG_TYPE", "CONFIG_RANGE", "CONFIG_CHOICE"
LONGEST = 500
_PRINTABLE_BITS = 64  # of a whole number in a message


class RefusedError(Exception):
    """A value that a setting does not take: ``wanted`` goes behind "must be", ``found`` behind "not"."""

    def __init__(self, code: str, wanted: str, found: str, hint: str = "") -> None:
        super().__init__(wanted)
        self.code, self.wanted, self.found, self.hint = code, wanted, found, hint


class Kind(ABC):
    """A kind of value."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is taken, in words."""

    @abstractmethod
    def read(self, value: object) -> Any:
        """The value in its one form, or a RefusedError."""

    def written(self, value: Any) -> Any:
        """The value in the form that is written: ready for JSON, and without a folder of this machine."""
        return value

    def refused(self, code: str, value: object) -> RefusedError:
        """The refusal of a value."""
        return RefusedError(code, self.words, described(value))


@dataclass(frozen=True)
class Setting:
    """What a field of the configuration takes and means.

    ``decides`` is False where it changes no result; ``example`` is shown where the default is to leave it out.
    """

    kind: Kind
    meaning: str
    decides: bool = True
    example: Any = None


@dataclass(frozen=True)
class YesNo(Kind):
    """True or false."""

    @property
    def words(self) -> str:
        """What is taken, in words."""
        return "true or false"

    def read(self, value: object) -> bool:
        """The value as it is."""
        if not isinstance(value, bool):
            raise self.refused(TYPE, value)
        return value


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number within limits."""

    low: int
    high: int
    multiple: int = 1

    @property
    def words(self) -> str:
        """What is taken, in words."""
        number = "a whole number" if self.multiple == 1 else f"a multiple of {self.multiple}"
        return f"{number} from {self.low} to {self.high}"

    def read(self, value: object) -> int:
        """The value as it is."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refused(TYPE, value)
        if not self.low <= value <= self.high or value % self.multiple:
            raise self.refused(RANGE, value)
        return value


@dataclass(frozen=True)
class Number(Kind):
    """A number within limits; ``above`` leaves out the lower one."""

    low: float
    high: float
    above: bool = False

    @property
    def words(self) -> str:
        """What is taken, in words."""
        reach = f"above {self.low:g} and at most" if self.above else f"from {self.low:g} to"
        return f"a number {reach} {self.high:g}"

    def read(self, value: object) -> float:
        """As a float, so that 5 and 5.0 are the same configuration."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refused(TYPE, value)
        if not self.low <= value <= self.high or (self.above and value == self.low):
            raise self.refused(RANGE, value)
        return float(value) + 0.0  # minus zero is zero


@dataclass(frozen=True)
class Text(Kind):
    """A text; one of ``free`` form may be empty and have several lines."""

    what: str = "a text"
    free: bool = False

    @property
    def words(self) -> str:
        """What is taken, in words."""
        return self.what

    def read(self, value: object) -> str:
        """The value, without white space around it unless it is of free form."""
        if not isinstance(value, str):
            raise self.refused(TYPE, value)
        text = value if self.free else value.strip()
        sound = len(text) <= 10 * LONGEST if self.free else 0 < len(text) <= LONGEST and text.isprintable()
        if not sound:
            raise RefusedError(
                RANGE, self.words, described(value), "It must be printable, on one line and not too long."
            )
        return text


@dataclass(frozen=True)
class Place(Text):
    """A folder or a file."""

    def written(self, value: str) -> str:
        """As it was written, but of an absolute path only the last part: the rest says nothing about the run."""
        return last_part(value)


@dataclass(frozen=True)
class Choice(Kind):
    """One of a few words."""

    options: tuple[str, ...]

    @property
    def words(self) -> str:
        """What is taken, in words."""
        return listed(self.options)

    def read(self, value: object) -> str:
        """The word as it is."""
        if not isinstance(value, str):
            raise self.refused(TYPE, value)
        if value not in self.options:
            raise RefusedError(CHOICE, self.words, described(value), suggestion(value, self.options))
        return value


@dataclass(frozen=True)
class Several(Kind):
    """A list of values of a kind. ``lone`` takes a single one for a list of one; ``distinct`` takes none twice.

    Where the order does not matter, ``order`` is the one in which they are kept.
    """

    kind: Kind
    least: int
    most: int
    lone: bool = False
    distinct: bool = True
    order: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is taken, in words."""
        return f"{self.kind.words}, or a list of them" if self.lone else f"a list, each {self.kind.words}"

    def read(self, value: object) -> tuple[Any, ...]:
        """The values, each in its one form."""
        values = [value] if self.lone and not isinstance(value, list | tuple | Mapping) else value
        if not isinstance(values, list | tuple):
            raise self.refused(TYPE, value)
        if not self.least <= len(values) <= self.most:
            hint = f"Give {self.least} to {self.most}."
            raise RefusedError(RANGE, self.words, f"a list of {len(values)}", hint)
        read = tuple(self._one(each) for each in values)
        if self.distinct and len(set(read)) < len(read):
            raise RefusedError(RANGE, self.words, "the same one twice")
        return tuple(sorted(read, key=self.order.index)) if self.order else read

    def _one(self, value: object) -> Any:
        try:
            return self.kind.read(value)
        except RefusedError as refusal:
            wanted = self.words if refusal.wanted == self.kind.words else refusal.wanted
            raise RefusedError(refusal.code, wanted, refusal.found, refusal.hint) from None

    def written(self, value: Sequence[Any]) -> list[Any]:
        """A list."""
        return [self.kind.written(each) for each in value]


@dataclass(frozen=True)
class Either(Kind):
    """A value of one of two kinds, told apart by their types."""

    first: Kind
    second: Kind

    @property
    def words(self) -> str:
        """What is taken, in words."""
        return f"{self.first.words}, or {self.second.words}"

    def read(self, value: object) -> Any:
        """As the kind that takes it does; a value of the right type but out of range is refused by its own kind."""
        try:
            return self.first.read(value)
        except RefusedError as refusal:
            if refusal.code != TYPE:
                raise RefusedError(refusal.code, self.words, refusal.found, refusal.hint) from None
        try:
            return self.second.read(value)
        except RefusedError as refusal:
            raise RefusedError(refusal.code, self.words, refusal.found, refusal.hint) from None

    def written(self, value: Any) -> Any:
        """As the kind that takes it does."""
        try:
            self.first.read(value)
        except RefusedError:
            return self.second.written(value)
        return self.first.written(value)


def described(value: object) -> str:
    """What was found, for a message: numbers and short words only.

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
    for pure in (PurePosixPath(path), PureWindowsPath(path)):
        if pure.is_absolute():
            return pure.name or path
    return path
