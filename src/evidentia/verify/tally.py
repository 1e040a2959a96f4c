"""Count comparisons and keep what does not match: a verification proves how much it looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

TOLERANCE = 1e-9
DIGITS = 1e-10  # beyond 10: a slope of hardly overlapping classes has no more, whatever solves it
Plain = str | int | float | bool | None


@dataclass(frozen=True)
class Mismatch:
    """A place in a written file, what it says there, and what was computed anew."""

    where: str
    reported: Plain
    recomputed: Plain


@dataclass
class Tally:
    """Comparisons made so far, and the mismatches among them."""

    comparisons: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    def number(self, where: str, reported: object, recomputed: float | None) -> None:
        """Compare two numbers up to the tolerance; None equals None only, and NaN counts as None.

        >>> tally = Tally()
        >>> tally.number("AUROC", 0.5, 0.5 + 1e-12)
        >>> tally.number("AUPRC", 0.5, 0.6)
        >>> tally.comparisons, len(tally.mismatches)
        (2, 1)
        """
        theirs = float(reported) if isinstance(reported, int | float) and not isinstance(reported, bool) else None
        if theirs is None and reported is not None:
            self.exact(where, reported, recomputed)
            return
        ours = None if recomputed is None or math.isnan(recomputed) else float(recomputed)
        same = theirs is ours if theirs is None or ours is None else _near(theirs, ours)
        self._count(where, same, theirs, ours)

    def exact(self, where: str, reported: object, recomputed: object) -> None:
        """Compare counts, words, labels and lists: nothing is forgiven."""
        self._count(where, type(reported) is type(recomputed) and reported == recomputed, reported, recomputed)

    def _count(self, where: str, same: bool, reported: object, recomputed: object) -> None:
        self.comparisons += 1
        if not same:
            self.mismatches.append(Mismatch(where, _plain(reported), _plain(recomputed)))


def _near(theirs: float, ours: float) -> bool:
    return abs(theirs - ours) <= max(TOLERANCE, DIGITS * abs(ours))


def _plain(value: object) -> Plain:
    return value if isinstance(value, str | int | float | bool) or value is None else repr(value)


def compare(where: str, reported: object, computed: object, tally: Tally) -> None:
    """Compare nested content: keys and counts exactly, other numbers up to the tolerance."""
    if isinstance(reported, Mapping) and isinstance(computed, Mapping):
        tally.exact(f"{where}: keys", list(reported), list(computed))
        for key in reported.keys() & computed.keys():
            compare(f"{where}: {key}", reported[key], computed[key], tally)
    elif isinstance(reported, list) and isinstance(computed, list):
        tally.exact(f"{where}: length", len(reported), len(computed))
        for at, (mine, other) in enumerate(zip(reported, computed, strict=False)):
            compare(f"{where}[{at}]", mine, other, tally)
    elif isinstance(computed, float):
        tally.number(where, reported, computed)
    else:
        tally.exact(where, reported, computed)
