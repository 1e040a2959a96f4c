"""Spread: of the values behind a mean, and of a number over folds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any


def deviation(values: Sequence[float], ddof: int) -> float | None:
    """The standard deviation; None for fewer than two values.

    >>> deviation([1.0, 3.0], 0), deviation([1.0], 0)
    (1.0, None)
    """
    if len(values) < 2:
        return None
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - ddof))


def percentile(ranked: Sequence[float], percent: int) -> float:
    """Linear between the two nearest of the sorted values (type 7).

    >>> percentile([0.0, 1.0, 4.0], 75)
    2.5
    """
    whole, rest = divmod((len(ranked) - 1) * percent, 100)
    above = ranked[min(whole + 1, len(ranked) - 1)]
    return ranked[whole] + (above - ranked[whole]) * rest / 100


def distribution(values: Sequence[float], *, whole_numbers: bool) -> dict[str, Any] | None:
    """Spread and quartiles; of numbers of sentences also the 90th percentile, the range and how often each occurs."""
    if not values:
        return None
    ranked = sorted(values)
    shape: dict[str, Any] = {
        "std": deviation(values, 1),
        "median": percentile(ranked, 50),
        "p25": percentile(ranked, 25),
        "p75": percentile(ranked, 75),
    }
    if not whole_numbers:
        return shape
    often = {str(int(value)): count for value, count in sorted(Counter(values).items())}
    return shape | {"p90": percentile(ranked, 90), "min": ranked[0], "max": ranked[-1], "histogram": often}
