"""What a reference computation gives back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """A value, why it is only a convention (None: it is a measurement), and what stands beside it."""

    value: float
    flaw: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


def share(top: float, bottom: float, flaw: str) -> Outcome:
    """One number over another; nothing over nothing is 0 by convention.

    >>> share(1, 4, "empty"), share(0, 0, "empty").flaw
    (Outcome(value=0.25, flaw=None, details={}), 'empty')
    """
    return Outcome(0.0, flaw) if bottom == 0 else Outcome(top / bottom)


def mean(values: Sequence[float], flaw: str) -> Outcome:
    """The mean of values, added up without rounding."""
    return share(math.fsum(values), len(values), flaw)
