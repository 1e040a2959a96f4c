"""A family of measures and the decorators that define its members: mean, sums, ratio, sweep and fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.measures.core import (
    Additive,
    Fit,
    Fraction,
    Kind,
    Macro,
    Outcome,
    Ranked,
    Score,
    Statistic,
    Sweep,
    ratio_of_sums,
)
from evidentia.results.measure import Args, Direction, Measure, Parameter, Population
from evidentia.stats.sweeps import Counts
from evidentia.tables.queries import Queries

T = TypeVar("T")
Solve = Callable[[Floats, Bools, Floats], tuple[float, int]]
AVERAGE = Parameter("avg", ("pooled", "criterion"), "pooled")


class About(TypedDict, total=False):
    """What every definition says about its measure; see Measure."""

    label: str
    population: Population | Callable[[Args], Population]
    requires: tuple[str, ...] | Callable[[Args], tuple[str, ...]]
    direction: Direction
    bounds: tuple[float | None, float | None]
    formula: str
    meaning: str
    reference: str
    params: tuple[Parameter, ...]
    cut: str | None
    reasons: tuple[str, ...]
    convention: str
    groups: frozenset[str]
    conventions: Mapping[str, str]
    choices: Mapping[str, str]
    moot: Mapping[tuple[str, str], tuple[str, ...]]
    variants: Mapping[tuple[str, str], Kind]


class Family:
    """A named group of measures, with decorators that define its members.

    Parameters
    ----------
    name : str
        Name of the family, as in ``Estimate.family``.
    **common : About
        Fields of ``Measure`` that hold for every member unless its decorator gives others.

    Attributes
    ----------
    measures : list of Measure
        The members, in the order of their definition.

    Examples
    --------
    >>> from evidentia.measures.populations import ALL
    >>> family = Family("mine", population=ALL, requires=(), direction="higher", bounds=(0.0, 1.0), reference="")
    >>> @family.mean("Share", label="Share", formula="mean of label", meaning="The share of queries with evidence.")
    ... def share(queries, args):
    ...     return queries.label.astype(float)
    >>> [measure.base for measure in family.measures]
    ['Share']
    """

    def __init__(self, name: str, **common: Unpack[About]) -> None:
        self.name = name
        self.common = common
        self.measures: list[Measure] = []

    def with_common(self, **common: Unpack[About]) -> Family:
        """The same family with other common fields; members defined through it join the same list."""
        other = Family(self.name)
        other.common = {**self.common, **common}
        other.measures = self.measures
        return other

    def add(self, base: str, kind: Kind, **about: Unpack[About]) -> Measure:
        """Define a measure from its kind.

        Parameters
        ----------
        base : str
            Name without parameters and cut.
        kind : Kind
            How it is computed.
        **about : About
            Fields of ``Measure``, in place of the common ones.

        Returns
        -------
        Measure
            The new member.
        """
        settings: dict[str, Any] = {**self.common, **about}
        for key in ("population", "requires"):
            if not callable(settings[key]):
                settings[key] = _always(settings[key])
        variants = dict(settings.pop("variants", {}))
        if AVERAGE in settings.get("params", ()):
            variants["avg", "criterion"] = Macro({"avg": "pooled"})
        measure = Measure(base=base, family=self.name, kind=kind, variants=variants, **settings)
        self.measures.append(measure)
        return measure

    def mean(
        self, base: str, *, bound: float | None = 1.0, proportion: bool = False, **about: Unpack[About]
    ) -> Callable[[Callable[[Queries, Args], Floats]], Callable[[Queries, Args], Floats]]:
        """Define a measure as the mean of per-query values over its population.

        Parameters
        ----------
        base : str
            Name without parameters and cut.
        bound : float or None, default=1.0
            Power of two that no absolute value exceeds; None for whole numbers.
        proportion : bool, default=False
            Whether the measure is a share of units, so that an exact binomial interval makes sense.
        **about : About
            Fields of ``Measure``, in place of the common ones.

        Returns
        -------
        callable
            Decorator of a function ``(queries, args)`` that returns floats of shape (n_queries,). A value must follow from its own
            query: the function is given queries of the population alone, or others too.
        """

        def define(per_query: Callable[[Queries, Args], Floats]) -> Callable[[Queries, Args], Floats]:
            whole: About = {**self.common, **about}
            population = whole["population"]
            masks = population if callable(population) else _always(population)

            def columns(queries: Queries, args: Args) -> Floats:
                values = per_query(queries, args)
                mask = masks(args).mask(queries, args)
                if mask is None:
                    return np.column_stack([values, np.ones(len(values))])
                return np.column_stack([np.where(mask, values, 0.0), mask])

            statistic = Statistic(
                name=f"{self.name}.{base}@{whole.get('cut')}",
                columns=columns,
                uses=tuple(p.name for p in whole.get("params", ()) if p is not AVERAGE),
                uses_cut=whole.get("cut") is not None,
                bound=bound,
                mask=lambda queries, args: masks(args).mask(queries, args),
            )
            parts = ("sum of the per-query values", "queries")
            kind = ratio_of_sums(statistic, _first_over_second, parts=parts, per_query=per_query, proportion=proportion)
            self.add(base, kind, **about)
            return per_query

        return define

    def sums(
        self,
        base: str,
        statistic: Statistic,
        *,
        gaps: Callable[[Floats, Args], Floats] | None = None,
        sized: bool = False,
        **about: Unpack[About],
    ) -> Callable[[Callable[[Floats, Args], Outcome]], Callable[[Floats, Args], Outcome]]:
        """Define a measure as a function of column sums.

        Parameters
        ----------
        base : str
            Name without parameters and cut.
        statistic : Statistic
            The columns that are added up.
        gaps : callable, default=None
            The terms whose absolute values the measure adds up, on the last axis.
        sized : bool, default=False
            Whether twice the sums are another value: true of a count, false of a share.
        **about : About
            Fields of ``Measure``, in place of the common ones.

        Returns
        -------
        callable
            Decorator of a function ``(sums, args)``: sums of shape (..., n_columns) become an Outcome of shape (...).
        """

        def define(finish: Callable[[Floats, Args], Outcome]) -> Callable[[Floats, Args], Outcome]:
            self.add(base, Additive(statistic, finish, gaps=gaps, sized=sized), **about)
            return finish

        return define

    def ratio(
        self,
        base: str,
        statistic: Statistic,
        *,
        parts: tuple[str, str],
        proportion: bool = False,
        details: Callable[[Floats, Args], dict[str, object]] | None = None,
        gaps: Callable[[Floats, Args], Floats] | None = None,
        **about: Unpack[About],
    ) -> Callable[[Fraction], Fraction]:
        """Define a measure as one sum over another; a zero denominator gives 0.0, marked.

        Parameters
        ----------
        base : str
            Name without parameters and cut.
        statistic : Statistic
            The columns that are added up.
        parts : tuple of (str, str)
            Words for numerator and denominator.
        proportion : bool, default=False
            Whether the measure is a share of units, so that an exact binomial interval makes sense.
        details : callable, default=None
            Function ``(sums, args)`` that gives further numbers.
        gaps : callable, default=None
            The terms whose absolute values the measure adds up, on the last axis.
        **about : About
            Fields of ``Measure``, in place of the common ones.

        Returns
        -------
        callable
            Decorator of a function ``(sums, args)``: sums of shape (..., n_columns) become numerator and
            denominator of shape (...).
        """

        def define(fraction: Fraction) -> Fraction:
            kind = ratio_of_sums(statistic, fraction, parts=parts, proportion=proportion, details=details, gaps=gaps)
            self.add(base, kind, **about)
            return fraction

        return define

    def sweep(
        self,
        base: str,
        units: Callable[[Queries, Args], Ranked],
        *,
        fraction: Callable[[Counts, Args], tuple[Floats, Floats]],
        parts: tuple[str, str],
        details: Callable[[Counts, Args], dict[str, object]] | None = None,
        **about: Unpack[About],
    ) -> Callable[[Callable[[Counts, Args], Outcome]], Callable[[Counts, Args], Outcome]]:
        """Define a measure as a function of the counts at every distinct score.

        Parameters
        ----------
        base : str
            Name without parameters and cut.
        units : callable
            Function ``(queries, args)`` that returns scores and labels.
        fraction : callable
            Function ``(counts, args)`` that returns numerator and denominator.
        parts : tuple of (str, str)
            Words for the two.
        details : callable, default=None
            Function ``(counts, args)`` that gives further numbers.
        **about : About
            Fields of ``Measure``, in place of the common ones.

        Returns
        -------
        callable
            Decorator of a function ``(counts, args)`` that returns an Outcome with one value per weighting.
        """

        def define(
            finish: Callable[[Counts, Args], Outcome],
        ) -> Callable[[Counts, Args], Outcome]:
            kind = Sweep(units, finish, details=details, fraction=fraction, parts=parts)
            self.add(base, kind, **about)
            return finish

        return define

    def fit(
        self,
        base: str,
        *,
        score: Callable[[Floats, Bools], Score | None],
        step: Callable[[Floats, Floats], Floats],
        **about: Unpack[About],
    ) -> Callable[[Solve], Solve]:
        """Define a measure as the solution of an equation over all queries.

        Parameters
        ----------
        base : str
            Name without parameters and cut.
        score : callable
            Function ``(prob, label)`` that returns the solution and each query's share of gradient and curvature.
        step : callable
            Function ``(solution, sums)`` that takes one Newton step.
        **about : About
            Fields of ``Measure``, in place of the common ones.

        Returns
        -------
        callable
            Decorator of a function ``(prob, label, weight)``, each of shape (n_queries,), that returns the value
            and the number of the reason why it is undefined, or 0.
        """

        def define(solve: Solve) -> Solve:
            self.add(base, Fit(solve, score, step), **about)
            return solve

        return define


def _first_over_second(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., 0], sums[..., 1]


def _always(value: T) -> Callable[[Args], T]:
    return lambda args: value
