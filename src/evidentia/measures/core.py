"""What a measure is: statistics that add up over queries, and a finish; or a sweep over a global order; or a fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats
from evidentia.measures.names import Cut
from evidentia.stats.risk_coverage import Curves
from evidentia.stats.sweeps import Counts
from evidentia.tables.queries import Queries

_SHARE = re.compile(r"0|1|0\.\d*[1-9]")  # shortest decimals in [0, 1], so that one threshold has one name
_DECIMAL = re.compile(r"\d*\.?\d+")
_COUNT = re.compile(r"[1-9]\d{0,2}|1000")  # enough for any histogram, and small enough for memory
Unit = Literal["query", "post", "candidate", "item"]
Direction = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Args:
    """The resolved parameters of a definition, all of them, and its cut."""

    params: Mapping[str, str]
    cut: Cut | None = None

    def __getitem__(self, name: str) -> str:
        return self.params[name]

    def get(self, name: str) -> str | None:
        """The value of a parameter, or None where the measure has no such parameter."""
        return self.params.get(name)

    @property
    def k(self) -> int | None:
        """The rank at which the measure is cut; None means the whole ranking."""
        assert self.cut is not None
        return None if self.cut.value is None else int(self.cut.value)

    @property
    def level(self) -> float:
        """The budget or threshold at which the measure is cut."""
        assert self.cut is not None
        assert isinstance(self.cut.value, Decimal)
        return float(self.cut.value)


@dataclass(frozen=True)
class Parameter:
    """A choice that is part of a definition: its values, and the one meant when a name leaves it out.

    ``default`` None means that it must be written. A ``bare`` parameter is written as its value alone (``tuned``).
    """

    name: str
    values: tuple[str, ...]
    default: str | None
    bare: bool = False
    whole_number: bool = False
    share: bool = False

    def accepts(self, value: str) -> bool:
        """Whether this is a legal value."""
        if value in self.values or (self.whole_number and _COUNT.fullmatch(value) is not None):
            return True
        return self.share and _SHARE.fullmatch(value) is not None

    def plain(self, value: str) -> str:
        """The one way to write a number: 0.50 and .5 become 0.5, 010 becomes 10."""
        if self.share and _DECIMAL.fullmatch(value):
            text = f"{Decimal(value):f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        return str(int(value)) if self.whole_number and value.isdecimal() and len(value) < 10 else value


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values, and for each of them 0 (sound) or i (undefined for the measure's i-th reason; the value is the convention)."""

    values: Floats
    flaws: NDArray[np.int8]


@dataclass(frozen=True)
class Population:
    """Which units a number speaks about, in words and as a mask over the queries; None stands for all of them."""

    words: str
    left_out: str
    mask: Callable[[Queries, Args], Bools | None]
    unit: Unit = "query"


@dataclass(frozen=True)
class Statistic:
    """What is added up: a matrix with a row per query (or per post that occurs) and a few columns.

    Integer-valued statistics add up exactly in float64 as they are; others declare a power of two that bounds their
    absolute value, so that they can be split onto fixed grids whose sums are exact.
    ``uses`` names the parameters that the columns depend on: measures that agree on those share one computation.
    """

    name: str
    columns: Callable[[Queries, Args], Floats]
    uses: tuple[str, ...] = ()
    uses_cut: bool = False
    unit: Literal["query", "post"] = "query"
    bound: float | None = None

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
    """Where a fit stands, and what each query adds to its gradient and its curvature there."""

    at: Floats
    columns: Floats


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


Kind = Additive | Sweep | Fit | Macro | Selective


@dataclass(frozen=True)
class Measure:
    """One registered measure: everything that a person, a report or another program wants to know about it."""

    base: str
    family: str
    label: str
    kind: Kind
    population: Callable[[Args], Population]
    requires: Callable[[Args], tuple[str, ...]]
    direction: Direction
    bounds: tuple[float | None, float | None]
    formula: str
    meaning: str
    reference: str
    params: tuple[Parameter, ...] = ()
    cut: str | None = None
    reasons: tuple[str, ...] = ()  # why the value can be undefined; the convention is in ``convention``
    convention: str = "0.0"
    groups: frozenset[str] = frozenset({"fold", "criterion", "state", "slice"})
    conventions: Mapping[str, str] = field(default_factory=dict)  # what other tools do under this name
    choices: Mapping[str, str] = field(default_factory=dict)  # what each parameter value means
    moot: Mapping[tuple[str, str], tuple[str, ...]] = field(
        default_factory=dict
    )  # choices that make others meaningless
    variants: Mapping[tuple[str, str], Kind] = field(default_factory=dict)  # parameter values that change the kind

    @property
    def key(self) -> tuple[str, str | None, frozenset[str]]:
        """Identifies the measure: base name, kind of cut, and the parameters that must be written."""
        return (self.base, self.cut, frozenset(p.name for p in self.params if p.default is None))

    def kind_of(self, args: Args) -> Kind:
        """What computes a definition of this measure."""
        for (name, value), kind in self.variants.items():
            if args.get(name) == value:
                return kind
        return self.kind

    def without_effect(self, params: Mapping[str, str]) -> frozenset[str]:
        """The parameters that other choices make meaningless."""
        return frozenset(
            name for (chosen, value), names in self.moot.items() if params[chosen] == value for name in names
        )

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if the measure has it."""
        return next((p for p in self.params if p.name == name), None)


def one_over_the_other(
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
    """An outcome that is always defined."""
    return Outcome(values, np.zeros(np.shape(values), np.int8))


def ratio(numerator: Floats, denominator: Floats) -> Outcome:
    """Divide; a zero denominator gives 0.0, marked as the first reason.

    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    Outcome(values=array([0.5, 0. ]), flaws=array([0, 1], dtype=int8))
    """
    empty = denominator == 0
    values = np.divide(numerator, denominator, out=np.zeros(np.shape(denominator)), where=~empty)
    return Outcome(values, empty.astype(np.int8))
