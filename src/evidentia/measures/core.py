"""What a measure is: statistics that add up over queries, and a finish; or a sweep over a global order; or a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats
from evidentia.results.measure import Args
from evidentia.stats.risk_coverage import Curves
from evidentia.stats.sweeps import Counts
from evidentia.tables.answers import Answers
from evidentia.tables.queries import Queries


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values, and for each of them 0 (sound) or i (undefined for the measure's i-th reason; the value is the convention)."""

    values: Floats
    flaws: NDArray[np.int8]


@dataclass(frozen=True)
class Statistic:
    """What is added up: a matrix with a row per query (or per post that occurs) and a few columns.

    Integer-valued statistics add up exactly in float64 as they are; others declare a power of two that bounds their
    absolute value, so that they can be split onto fixed grids whose sums are exact.
    ``uses`` names the parameters that the columns depend on: measures that agree on those share one computation.
    ``mask`` says which queries add anything; without it all may.
    """

    name: str
    columns: Callable[[Queries, Args], Floats]
    uses: tuple[str, ...] = ()
    uses_cut: bool = False
    unit: Literal["query", "post"] = "query"
    bound: float | None = None
    mask: Callable[[Queries, Args], Bools | None] | None = None

    def key(self, args: Args) -> tuple[object, ...]:
        """Equal for definitions that share this statistic's columns."""
        return (self.name, *(args.get(use) for use in self.uses), args.cut if self.uses_cut else None)


Fraction = Callable[[Floats, Args], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Additive:
    """A function of sums: ``finish`` takes sums with the columns on the last axis, any other axes before it."""

    statistic: Statistic
    finish: Callable[[Floats, Args], Outcome]
    per_query: Callable[[Queries, Args], Floats] | None = None  # set for means of per-query values
    fraction: Fraction | None = None  # numerator and denominator of the sums, where it is one over the other
    parts: tuple[str, str] = ("", "")  # words for the two
    proportion: bool = False  # a share of units, so that an exact binomial interval makes sense
    details: Callable[[Floats, Args], dict[str, object]] | None = None
    gaps: Callable[[Floats, Args], Floats] | None = None  # the parts (last axis) whose absolute values it adds up
    sized: bool = False  # twice the sums are another value, as of a count; of a share they are the same


@dataclass(frozen=True, eq=False)
class Ranked:
    """Scores and labels of the units of a sweep, with the row of the query that each belongs to."""

    scores: Floats
    labels: Bools
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Sweep:
    """A function of the counts at every distinct score, highest first (see Counts)."""

    units: Callable[[Queries, Args], Ranked]
    finish: Callable[[Counts, Args], Outcome]
    details: Callable[[Counts, Args], dict[str, object]] | None = None
    fraction: Callable[[Counts, Args], tuple[Floats, Floats]] | None = None
    parts: tuple[str, str] = ("", "")

    def key(self, args: Args) -> tuple[object, ...]:
        """Sweeps that agree on this run over the same units, and so share their counts."""
        return (self.units, args.get("level") or "query")


@dataclass(frozen=True, eq=False)
class Score:
    """Where a fit stands, and what queries add to its gradient and its curvature there, by (prob, label)."""

    at: Floats
    columns: Callable[[Floats, Bools], Floats]


@dataclass(frozen=True)
class Fit:
    """The solution of an equation over all (prob, label, weight) triples: neither a sum nor a sweep.

    ``score`` and ``step`` give one Newton step from the unweighted solution under other weights, which needs only sums.
    """

    solve: Callable[[Floats, Bools, Floats], tuple[float, int]]
    score: Callable[[Floats, Bools], Score | None]
    step: Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Macro:
    """The mean over criteria of another definition; criteria where that one is undefined are left out and counted.

    The other definition has the same base name, and these parameters in place of the given ones (None: without it).
    """

    of: Mapping[str, str | None]
    weighted: bool = False  # by the criterion's number of queries with evidence


@dataclass(frozen=True)
class Selective:
    """A reading of the risk-coverage curves of a predictor that may abstain, for any number of weightings at once."""

    read: Callable[[Curves, Args], Outcome]
    proportion: bool = False


@dataclass(frozen=True)
class Tallied:
    """A function of whole numbers that add up over the participants of a questionnaire.

    ``finish`` and ``size`` take sums with the columns on the last axis; the size is that of the population.
    """

    columns: Callable[[Answers, Args], Floats]  # participants x columns
    finish: Callable[[Floats, Answers, Args], Outcome]
    size: Callable[[Floats, Args], Floats]
    details: Callable[[Floats, Answers, Args], dict[str, object]] | None = None
    proportion: bool = False


Kind = Additive | Sweep | Fit | Macro | Selective | Tallied


def ratio_of_sums(
    statistic: Statistic,
    fraction: Fraction,
    *,
    parts: tuple[str, str],
    proportion: bool = False,
    details: Callable[[Floats, Args], dict[str, object]] | None = None,
    per_query: Callable[[Queries, Args], Floats] | None = None,
    gaps: Callable[[Floats, Args], Floats] | None = None,
) -> Additive:
    """A ratio of two sums; a zero denominator gives 0.0, marked as the first reason."""
    return Additive(
        statistic,
        lambda sums, args: ratio(*fraction(sums, args)),
        per_query=per_query,
        fraction=fraction,
        parts=parts,
        proportion=proportion,
        details=details,
        gaps=gaps,
    )


def sound(values: Floats) -> Outcome:
    """An outcome that is always defined.

    >>> sound(np.array([0.5, 1.0])).flaws
    array([0, 0], dtype=int8)
    """
    return Outcome(values, np.zeros(np.shape(values), np.int8))


def ratio(numerator: Floats, denominator: Floats) -> Outcome:
    """Divide; a zero denominator gives 0.0, marked as the first reason.

    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    Outcome(values=array([0.5, 0. ]), flaws=array([0, 1], dtype=int8))
    """
    empty = denominator == 0
    values = np.divide(numerator, denominator, out=np.zeros(np.shape(denominator)), where=~empty)
    return Outcome(values, empty.astype(np.int8))
