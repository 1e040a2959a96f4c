"""Coverages as counts of items, in rational arithmetic: 0.55 of 200 is 110, and never 111."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np

from evidentia.array_types import Floats, Ints

Coverage = Decimal | Fraction | float


def items_up_to(coverage: Coverage, total: int) -> Fraction:
    """How many of ``total`` items a coverage stands for, as a fraction.

    A number means its shortest decimal, and one that is the float of some k / total means k.

    >>> items_up_to(0.55, 200), items_up_to(29 / 56, 56), items_up_to(0.6, 4)
    (Fraction(110, 1), Fraction(29, 1), Fraction(12, 5))
    """
    share = Fraction(repr(coverage)) if isinstance(coverage, float) else Fraction(coverage)
    nearest = round(share * total)
    return Fraction(nearest) if total and nearest / total == float(share) else share * total


def counts_to_reach(coverage: Coverage, totals: Ints) -> Ints:
    """The least number of items that reaches a coverage: rounded up.

    >>> counts_to_reach(0.55, np.array([200, 3]))
    array([110,   2])
    """
    return _each(totals, lambda total: -(-items_up_to(coverage, total) // 1)).astype(np.int64)


def counts_within(coverage: Coverage, totals: Ints) -> tuple[Ints, Floats]:
    """Whole items within a coverage, and which part of the next one.

    >>> counts_within(0.6, np.array([4]))
    (array([2]), array([0.4]))
    """
    whole = _each(totals, lambda total: items_up_to(coverage, total) // 1).astype(np.int64)
    return whole, _each(totals, lambda total: items_up_to(coverage, total) % 1)


def _each(totals: Ints, function: Callable[[int], Fraction | int]) -> Floats:
    distinct, place = np.unique(totals, return_inverse=True)
    return np.array([float(function(int(total))) for total in distinct])[place]
