"""Numbers of all groups at once: what the twins add up is added up in every group of a column in one pass."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats
from evidentia.results.catalogue import Definition
from evidentia.results.measure import Args
from evidentia.results.sample_size import Sample
from evidentia.verify.limits import effective_posts
from evidentia.verify.plan import (
    NO_CRITERION,
    Planner,
    RecomputedNumber,
    averaged,
    has_values,
    kind_of,
    within_criterion,
)
from evidentia.verify.points import Entry, Points, percentile
from evidentia.verify.recipes import over
from evidentia.verify.streamed.study import Cells, Columns, StreamedStudy
from evidentia.verify.study import Group
from evidentia.verify.sweeps import Passed
from evidentia.verify.twins import FitTwin, Solution, SumTwin, SweepTwin, twin_of

Sizes = tuple[list[int], list[int]]


def columns_of(group: Group) -> Columns:
    """The columns that a group is of."""
    return tuple(column for column, _ in group)


@dataclass(eq=False)
class GroupedPlanner(Planner):
    """Computes a number in all groups of a grouping when the first of them is asked for."""

    study: StreamedStudy
    _numbers: dict[tuple[str, Columns], dict[Group, RecomputedNumber]] = field(default_factory=dict)
    _sizes: dict[tuple[str, bytes, Columns], Sizes] = field(default_factory=dict)
    _gap_sums: dict[tuple[str, Columns], dict[Group, Floats]] = field(default_factory=dict)

    def number(self, definition: Definition, group: Group) -> RecomputedNumber:
        """The number of a group with its size and what stands beside it."""
        key = definition.expanded, columns_of(group)
        if key not in self._numbers:
            self._numbers[key] = dict(self._all(definition, self.study.cells(key[1])))
        return self._numbers[key][group]

    def sizes_in(self, unit: str, inside: Bools, cells: Cells) -> Sizes:
        """How many units are among the given queries of every group, and from how many posts."""
        key = unit, hashlib.sha256(np.packbits(inside).data).digest(), columns_of(cells.groups[0])
        if key not in self._sizes:
            clusters = self.study.posts_in(inside, cells)
            weights = inside
            if unit == "candidate":
                assert self.study.pool is not None
                weights = np.where(inside, self.study.pool.listed, 0)
            sizes = clusters if unit == "post" else [int(size) for size in cells.sums(weights)]
            self._sizes[key] = sizes, clusters
        return self._sizes[key]

    def sample(self, definition: Definition, group: Group) -> tuple[Sample, bool]:
        """What an interval rests on, and whether the number is a proportion."""
        study, rows, twin = self.study, self.study.members(group), self._twin(definition)
        clusters = self.number(definition, group).clusters
        positives = int(np.count_nonzero(rows & study.label))
        inside = rows & twin.population(study, definition.args)
        effective = float(clusters) if definition.population.unit == "post" else self._effective(definition, inside)
        proportion = twin.proportion and not averaged(definition)
        return Sample(clusters, effective, positives, kind_of(definition, twin)), proportion

    def gaps(self, definition: Definition, group: Group) -> Floats | None:
        """The parts of a sum of absolute gaps as shares of all queries; None where it is no such sum."""
        twin = None if averaged(definition) else twin_of(definition)
        if not isinstance(twin, SumTwin) or twin.gaps is None:
            return None
        key = definition.expanded, columns_of(group)
        if key not in self._gap_sums:
            cells = self.study.cells(key[1])
            whole = cells.sums(self.study.everyone)
            sums = np.array([over(cells.sums(gap), whole) for gap in twin.gaps(self.study, definition.args)])
            self._gap_sums[key] = dict(zip(cells.groups, sums.T, strict=True))
        return self._gap_sums[key][group]

    def _effective(self, definition: Definition, rows: Bools) -> float:
        """How many even posts tell as much; of a sweep, those of its rarer class."""
        key = hashlib.sha256(np.packbits(rows).data).digest()
        if averaged(definition) or not isinstance(twin_of(definition), SweepTwin):
            return self.study.once(("effective", key), lambda: self._posts(rows.astype(np.float64)))
        level = definition.args.get("level")
        return self.study.once(("effective", level, key), lambda: min(map(self._posts, self._classes(level, rows))))

    def _posts(self, sizes: Floats) -> float:
        """How many even posts tell as much as these units of every query."""
        whole = np.bincount(self.study.post, sizes, minlength=len(self.study.columns.posts))
        return effective_posts(whole.astype(np.float64, copy=False))

    def _classes(self, level: str | None, rows: Bools) -> tuple[Floats, Floats]:
        """How many positive and other units of a sweep every query has."""
        if level != "candidate":
            return (rows & self.study.label).astype(np.float64), (rows & ~self.study.label).astype(np.float64)
        assert self.study.pool is not None
        owner, _ = self.study.gold_candidates
        gold = np.bincount(owner, minlength=len(self.study)).astype(np.float64)
        return gold * rows, (self.study.pool.listed - gold) * rows

    def solution(self, twin: FitTwin, rows: Bools | None = None) -> Solution | int:
        """The solution of a fit, or the number of the reason why there is none."""
        everyone = self.study.everyone if rows is None else rows
        key = hashlib.sha256(np.packbits(everyone).data).digest()
        return self.study.once(("fit", id(twin), key), lambda: super(GroupedPlanner, self).solution(twin, everyone))

    def _all(self, definition: Definition, cells: Cells) -> Iterator[tuple[Group, RecomputedNumber]]:
        inside = self._twin(definition).population(self.study, definition.args)
        sizes, clusters = self.sizes_in(definition.population.unit, inside, cells)
        numbers = self._means(definition, cells) if averaged(definition) else self._plain(definition, cells)
        for group, n, posts, (value, flaw, beside) in zip(cells.groups, sizes, clusters, numbers, strict=True):
            yield group, RecomputedNumber(value, flaw, n, posts, **beside)

    def _plain(self, definition: Definition, cells: Cells) -> Iterator[tuple[float, str | None, Mapping[str, Any]]]:
        twin, args = twin_of(definition), definition.args
        for group, value in zip(cells.groups, self._values(definition, cells).tolist(), strict=True):
            outcome: tuple[float, str | None] = (value, None)
            if math.isnan(value):
                usual, reason = self._undefined(twin, args, self.study.members(group))
                outcome = usual, definition.measure.reasons[reason - 1]
            details: dict[str, Any] = {}
            if twin.details is not None:
                details = twin.details(self.study, args, self.study.members(group))
            yield *outcome, {"details": details}

    def _means(self, definition: Definition, cells: Cells) -> Iterator[tuple[float, str | None, Mapping[str, Any]]]:
        """Means over criteria of every group: each counts the same, or by its positives."""
        crossed = self.study.cells((*columns_of(cells.groups[0]), "criterion"))
        values = self._values(within_criterion(definition), crossed).reshape(len(cells.groups), -1)
        defined = ~np.isnan(values)
        shares = defined.astype(np.float64)
        if definition.args["avg"] == "label_weighted":
            shares *= crossed.sums(self.study.label).reshape(values.shape)
        for value, held, share in zip(values, defined, shares, strict=True):
            total = share.sum()
            mean = float((np.where(held, value, 0.0) * share).sum() / total) if total else 0.0
            flaw = None if total else NO_CRITERION
            yield mean, flaw, {"undefined": (int((~held).sum()), len(held))}

    def _values(self, definition: Definition, cells: Cells) -> Floats:
        """The value of every group, NaN where it is undefined."""
        twin, args = twin_of(definition), definition.args
        if isinstance(twin, SweepTwin):
            return np.array([float(twin.read(passed, args)[0]) for passed in self._passed(args, cells)])
        if isinstance(twin, FitTwin):
            solutions = [self.solution(twin, self.study.members(group)) for group in cells.groups]
            return np.array([np.nan if isinstance(each, int) else each[0] for each in solutions])
        assert isinstance(twin, SumTwin)
        return np.asarray(twin.finish(self._sums(twin, args, cells), args), np.float64)

    def _sums(self, twin: SumTwin, args: Args, cells: Cells) -> Floats:
        """What a twin adds up, in every group: statistics x groups."""
        if twin.post_columns is None:
            return np.array([cells.sums(np.asarray(column)) for column in self._columns(twin, args)])
        whole = Cells(((),), None)
        members = (self.study.members(group) for group in cells.groups)
        columns = (twin.post_columns(self.study, args, rows) for rows in members)
        return np.array([[whole.sums(np.asarray(column))[0] for column in group] for group in columns]).T

    def _passed(self, args: Args, cells: Cells) -> Iterator[Passed]:
        if args.get("level") == "candidate":
            return (steps.passed() for steps in self.study.candidate_steps(cells))
        return (self.study.steps(self.study.members(group)).passed() for group in cells.groups)


@dataclass(frozen=True, eq=False)
class StreamedPoints(Points):
    """The numbers of a run of narrow columns."""

    study: StreamedStudy
    spreads: dict[tuple[str, Columns], dict[Group, dict[str, Any] | None]] = field(default_factory=dict)
    ordered: dict[str, tuple[Floats, NDArray[np.int64]]] = field(default_factory=dict)  # of the last mean

    @property
    def planner(self) -> GroupedPlanner:
        """What computes the numbers."""
        return self.study.once("planner", lambda: GroupedPlanner(self.study))

    def units_of(self, group: Group, unit: str) -> int:
        """How many posts, or else queries, a group has."""
        cells = self.study.cells(columns_of(group)) if group else Cells(((),), None)
        sizes, _ = self.planner.sizes_in("post" if unit == "post" else "query", self.study.everyone, cells)
        return sizes[cells.groups.index(group)]

    def distribution(self, entry: Entry) -> dict[str, Any] | None:
        """The spread of the values behind a mean; None where it is no mean of values."""
        definition, columns = entry.definition, columns_of(entry.group)
        if not has_values(definition):
            return None
        key = definition.expanded, columns
        if key not in self.spreads:
            self.spreads[key] = dict(self._spreads(definition, self.study.cells(columns)))
        return self.spreads[key][entry.group]

    def _spreads(self, definition: Definition, cells: Cells) -> Iterator[tuple[Group, dict[str, Any] | None]]:
        values, rows = self._in_order(definition)
        places, whole = cells.of(rows), definition.measure.base == "SelectedK"
        for place, group in enumerate(cells.groups):
            yield group, spread(values if cells.codes is None else values[places == place], whole_numbers=whole)

    def _in_order(self, definition: Definition) -> tuple[Floats, NDArray[np.int64]]:
        """The values that count, ascending, and the query of each."""
        if definition.expanded not in self.ordered:
            values, inside = self.planner.values(definition)
            rows = np.flatnonzero(inside)
            order = np.argsort(values[rows])
            self.ordered.clear()
            self.ordered[definition.expanded] = values[rows[order]], rows[order]
        return self.ordered[definition.expanded]


def spread(ranked: Floats, *, whole_numbers: bool) -> dict[str, Any] | None:
    """Spread and quartiles of ascending values, as those of a list are.

    >>> spread(np.array([1.0, 3.0]), whole_numbers=False)["median"]
    2.0
    """
    if not len(ranked):
        return None
    far = ranked - ranked.sum() / len(ranked)
    std = float(np.sqrt(np.square(far, out=far).sum() / (len(ranked) - 1))) if len(ranked) > 1 else None
    shape: dict[str, Any] = {"std": std}
    shape |= {name: percentile(ranked, at) for name, at in (("median", 50), ("p25", 25), ("p75", 75))}
    if not whole_numbers:
        return shape
    often = {str(int(value)): int(n) for value, n in zip(*np.unique(ranked, return_counts=True), strict=True)}
    ends = {"min": float(ranked[0]), "max": float(ranked[-1]), "histogram": often}
    return shape | {"p90": percentile(ranked, 90)} | ends
