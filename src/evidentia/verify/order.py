"""The order in which ids are shown: as numbers where they are numbers, naturally where they hold numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable


def as_numbers(ids: Iterable[str]) -> tuple[str, ...]:
    """By value where all are whole numbers, else as text.

    >>> as_numbers(["10", "9"]), as_numbers(["10", "9", "x"])
    (('9', '10'), ('10', '9', 'x'))
    """
    ordered = sorted(ids)
    if all(re.fullmatch(r"[+-]?[0-9]{1,640}", text) for text in ordered):
        return tuple(sorted(ordered, key=lambda text: (int(text), text)))
    return tuple(ordered)


def naturally(ids: Iterable[str]) -> tuple[str, ...]:
    """Digits inside a text count as the number that they are.

    >>> naturally(["A.10", "A.2"])
    ('A.2', 'A.10')
    """
    return tuple(sorted(ids, key=lambda text: ([_weight(part) for part in re.findall(r"[0-9]+|[^0-9]+", text)], text)))


def _weight(part: str) -> tuple[int, int, str]:
    if not part.isascii() or not part.isdigit():
        return (1, 0, part)
    digits = part.lstrip("0")
    return (0, len(digits), digits)
