"""Twins: the second opinion on every measure, registered under its name by the module that mirrors its family.

A twin says what is added up per query or post and how the sums become the value, or reads a sweep, or solves a fit. It is
written without the code of measures/: formulas, populations, ties and edge cases stand twice, on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.errors import EvidentiaError
from evidentia.results.catalogue import Definition
from evidentia.results.measure import Args
from evidentia.verify.recipes import over
from evidentia.verify.study import Study
from evidentia.verify.sweeps import Passed

Column = Floats | Bools
Pair = tuple[float, float]
FREE = (-math.inf, math.inf)
COUNT = (0.0, math.inf)
Columns = Callable[[Study, Args], Sequence[Column]]
PostColumns = Callable[[Study, Args, Bools], Sequence[Column]]
Finish = Callable[[Floats, Args], Floats]
Population = Callable[[Study, Args], Bools]
Solution = tuple[float, ...]


class NoTwinError(EvidentiaError):
    """A measure that verification cannot compute."""


def everyone(study: Study, args: Args) -> Bools:
    """All queries."""
    return study.everyone


def by_choice(study: Study, args: Args) -> Bools:
    """The queries that the ``pop`` choice names."""
    return study.everyone if args.get("pop") == "all" else study.label


def first_over_second(sums: Floats, args: Args) -> Floats:
    """A ratio of two sums."""
    return over(sums[0], sums[1])


def first(sums: Floats, args: Args) -> Floats:
    """A sum as it is."""
    total: Floats = sums[0]
    return total


@dataclass(frozen=True, eq=False, kw_only=True)
class Twin:
    """What every twin says: its population, whether it is a proportion, and what stands beside a value.

    ``undefined`` gives the conventional value and the number of the reason where the value is undefined.
    """

    population: Population = everyone
    proportion: bool = False  # it has exact limits where it collapses
    details: Callable[[Study, Args, Bools], dict[str, Any]] | None = None
    undefined: Callable[[Study, Args, Bools], tuple[float, int]] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class SumTwin(Twin):
    """Statistics that add up over queries (``columns``) or posts (``post_columns``), and a finish over their sums."""

    finish: Finish = first_over_second
    columns: Columns | None = None
    post_columns: PostColumns | None = None
    values: Callable[[Study, Args], Floats] | None = None  # of every query, where it is a mean of them
    gaps: Columns | None = None  # parts whose absolute values it adds up
    count: bool = False  # it depends on how many there are, and not on shares alone


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepTwin(Twin):
    """A reading of the counts at every threshold."""

    read: Callable[[Passed, Args], Floats]


@dataclass(frozen=True, eq=False, kw_only=True)
class FitTwin(Twin):
    """A solution over all queries; sums of its columns move it by one Newton step in every replicate."""

    solve: Callable[[Floats, Bools], Solution | int]  # or the number of the reason why there is none
    columns: Callable[[Solution, Floats, Bools], Sequence[Floats]]
    step: Callable[[Solution, Floats], Floats]


@dataclass(eq=False)
class TwinFamily:
    """Collects the twins that a module defines for one family of measures."""

    name: str
    ranges: Mapping[str, Pair] = field(default_factory=dict)  # of measures that are no share of 1
    twins: dict[tuple[str, str], list[tuple[Mapping[str, str], Twin]]] = field(default_factory=dict)

    def add(self, base: str, twin: Twin, *, when: Mapping[str, str] | None = None) -> None:
        """Add the twin of a measure; ``when`` names the choices that it is for, and the others have a twin without it."""
        self.twins.setdefault((self.name, base), []).append((when or {}, twin))

    def mean(
        self, base: str, *, population: Population = everyone, proportion: bool = False
    ) -> Callable[[Callable[[Study, Args], Floats]], Callable[[Study, Args], Floats]]:
        """Define a twin as the mean of per-query values over a population."""

        def define(values: Callable[[Study, Args], Floats]) -> Callable[[Study, Args], Floats]:
            def columns(study: Study, args: Args) -> Sequence[Column]:
                inside = population(study, args)
                return [np.where(inside, values(study, args), 0.0), inside]

            self.add(base, SumTwin(population=population, proportion=proportion, columns=columns, values=values))
            return values

        return define

    def share(
        self, base: str, *, when: Mapping[str, str] | None = None, proportion: bool = True
    ) -> Callable[[Callable[[Study, Args], tuple[Column, Bools]]], None]:
        """Define a twin as a share of the queries of a population: the function gives those counted, and all of them."""

        def define(parts: Callable[[Study, Args], tuple[Column, Bools]]) -> None:
            def population(study: Study, args: Args) -> Bools:
                return parts(study, args)[1]

            self.add(base, SumTwin(population=population, proportion=proportion, columns=parts), when=when)

        return define

    def posts(
        self,
        base: str,
        *,
        when: Mapping[str, str] | None = None,
        population: Population = everyone,
        proportion: bool = False,
        details: Callable[[Study, Args, Bools], dict[str, Any]] | None = None,
    ) -> Callable[[PostColumns], None]:
        """Define a twin as a share over posts: the function gives what every post adds above and below the line."""

        def define(parts: PostColumns) -> None:
            twin = SumTwin(population=population, proportion=proportion, post_columns=parts, details=details)
            self.add(base, twin, when=when)

        return define


TWINS: dict[tuple[str, str], list[tuple[Mapping[str, str], Twin]]] = {}
BOUNDS: dict[tuple[str, str], Pair] = {}


def register(family: TwinFamily) -> None:
    """Add the twins of a family.

    Parameters
    ----------
    family : TwinFamily
        A family with its twins defined.

    Raises
    ------
    ValueError
        If a measure has a twin for the same choices.

    Examples
    --------
    >>> from evidentia.verify import plan, ranking  # plan registers the families that ship
    >>> register(ranking.family)
    Traceback (most recent call last):
    ValueError: Recall of the family ranking has a twin already.
    """
    BOUNDS.update({(family.name, base): pair for base, pair in family.ranges.items()})
    for key, variants in family.twins.items():
        known = TWINS.setdefault(key, [])
        if any(when == other for when, _ in variants for other, _ in known):
            raise ValueError(f"{key[1]} of the family {key[0]} has a twin already.")
        known += variants
        known.sort(
            key=lambda variant: -len(variant[0])
        )  # a twin for certain choices comes before the one for all others


def twin_of(definition: Definition) -> Twin:
    """The twin that computes a definition.

    Parameters
    ----------
    definition : Definition
        A measure with all its choices.

    Returns
    -------
    Twin
        The twin for exactly these choices, else the one for all others.

    Raises
    ------
    NoTwinError
        If the measure has none.
    """
    measure, args = definition.measure, definition.args
    for when, twin in TWINS.get((measure.family, measure.base), ()):
        if all(args.get(name) == value for name, value in when.items()):
            return twin
    raise no_twin(definition)


def bounds_of(definition: Definition) -> Pair:
    """The least and the largest value of a measure, which choose the scale of its interval.

    Parameters
    ----------
    definition : Definition
        A measure with all its choices.

    Returns
    -------
    tuple of (float, float)
        (0, 1) unless its family gives others; infinite where there is no bound.
    """
    return BOUNDS.get((definition.measure.family, definition.measure.base), (0.0, 1.0))


def no_twin(definition: Definition) -> NoTwinError:
    """What to say of a measure that nobody defined a second time."""
    measure = definition.measure
    return NoTwinError(
        f"{measure.base} has no twin in evidentia.verify, so its numbers cannot be verified. "
        f"Define one for the family {measure.family} (CONTRIBUTING.md, A measure)."
    )
