"""The display order of ids: numeric where they are numbers, natural where they hold numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

_INTEGER = re.compile(r"[+-]?[0-9]{1,640}")  # the fewest digits that Python may be told to stop at
_PADDED = re.compile(r"^([^0-9.]*)0+(?=[0-9]+$)")
_DIGITS = re.compile(r"([0-9]+)")


def by_number(ids: Iterable[str]) -> tuple[str, ...]:
    """Sort different ids numerically where all of them are integers, else as strings.

    >>> by_number({"10", "9"}), by_number({"10", "9", "x"})
    (('9', '10'), ('10', '9', 'x'))
    """
    listed = list(ids)
    if all(_INTEGER.fullmatch(text) for text in listed):
        return tuple(sorted(listed, key=lambda text: (int(text), text)))
    return tuple(sorted(listed))


def without_zeros(text: str) -> str:
    """An id without zeros before its number, to tell ids that only a spreadsheet or a script has made different.

    >>> without_zeros("007"), without_zeros("P07"), without_zeros("0"), without_zeros("1.05")
    ('7', 'P7', '0', '1.05')
    """
    return _PADDED.sub(r"\1", text)


def natural(ids: Iterable[str]) -> tuple[str, ...]:
    """Sort different ids so that the numbers inside them count as numbers.

    >>> natural({"A.10", "A.2", "A.1"})
    ('A.1', 'A.2', 'A.10')
    """
    return tuple(sorted(ids, key=_natural_key))


def _natural_key(text: str) -> tuple[list[str | tuple[int, str]], str]:
    # split() alternates text and digits, so position by position the same types are compared
    return [_size(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(text))], text


def _size(digits: str) -> tuple[int, str]:
    """Sorts digits of any length as the number they are."""
    plain = digits.lstrip("0")
    return len(plain), plain
