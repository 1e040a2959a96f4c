"""Compute definitions over groupings: statistics add up block by block, sweeps sort once per group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.evaluation.cells import Cells, own_cells, shared_cells
from evidentia.evaluation.plan import Grouping, Key, Thresholds, Want, grouping_by
from evidentia.evaluation.sample_counts import (
    group_totals,
    population_rows,
    population_size,
    post_sizes,
    simulated_kind,
    sweep_classes,
)
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Fit, Macro, Outcome, Statistic, Sweep
from evidentia.protocol import UNTUNABLE
from evidentia.results import Distribution
from evidentia.results.measure import Args
from evidentia.results.sample_size import UNDEFINED_CRITERIA, Sample, interval_warnings
from evidentia.stats.exact import ExactParts, ExactSums, add_up
from evidentia.stats.intervals import effective_clusters
from evidentia.stats.spread import grouped_distributions
from evidentia.stats.sweeps import Counts, sweep_counts
from evidentia.tables.queries import Queries

Columns = tuple[str, ...]

BLOCK = 1 << 15  # queries handled at once


@dataclass(frozen=True, eq=False)
class Cell:
    """A definition's values in every group of a grouping."""

    outcome: Outcome
    n: Ints
    clusters: Ints
    details: tuple[dict[str, object], ...]
    used: Ints | None = None  # for a mean over criteria: how many were defined
    of: int = 0
    gaps: Floats | None = None  # for a sum of absolute gaps: the gaps of every group
    totals: Ints | None = None  # units of every group, also those that the population leaves out


class Computed(Protocol):
    """What estimates are made of: the computation of a run of queries, or of a run of items."""

    def cell(self, definition: Definition, grouping: Grouping) -> Cell:
        """The values of a definition in every group."""

    def effective(self, definition: Definition, grouping: Grouping) -> Floats:
        """The effective number of clusters behind every group."""

    def distributions(self, definition: Definition, grouping: Grouping) -> list[Distribution | None]:
        """The spread of the values behind a mean in every group."""

    def reservations(self, definition: Definition, grouping: Grouping, index: int) -> tuple[str, ...]:
        """What a value does not cover."""

    def sample_warnings(
        self, definition: Definition, grouping: Grouping, index: int, method: str, level: float
    ) -> Iterator[str]:
        """Warn of an interval that rests on little."""


@dataclass(frozen=True, eq=False)
class PerQuery:
    """The values behind a mean: one per query of the run, and which of them count."""

    values: Floats
    counted: Bools

    @cached_property
    def ascending(self) -> Ints:
        """The queries that count, by value."""
        rows = np.flatnonzero(self.counted)
        order: Ints = rows[np.argsort(self.values[rows], kind="stable")]
        return order


@dataclass
class Computation:
    """Everything that was computed, shared between the definitions that agree on a part of it."""

    queries: Queries
    weights: Floats | None = None  # how often each post counts
    thresholds: Thresholds = field(default_factory=dict)
    sums: dict[tuple[object, ...], Floats] = field(default_factory=dict)
    rows: dict[tuple[object, ...], PerQuery] = field(default_factory=dict)
    _sweeps: dict[tuple[object, ...], tuple[Counts, ...]] = field(default_factory=dict)
    _sizes: dict[tuple[object, ...], tuple[Ints, Ints]] = field(default_factory=dict)
    _group_totals: dict[tuple[str, Columns], Ints] = field(default_factory=dict)
    _cells: dict[Key, Cell] = field(default_factory=dict)
    _effective: dict[tuple[object, ...], Floats] = field(default_factory=dict)
    _evidence: dict[tuple[str, ...], Ints] = field(default_factory=dict)  # queries with evidence

    def cell(self, definition: Definition, grouping: Grouping) -> Cell:
        """The values of one definition; its sums must have been prepared by ``compute``."""
        key = (definition, grouping.columns)
        if key not in self._cells:
            cell = self._cell(definition, grouping)
            details = tuple({**own, **self._threshold_details(definition.args)} for own in cell.details)
            self._cells[key] = replace(cell, details=details, totals=self._totals(definition.population.unit, grouping))
        return self._cells[key]

    def _cell(self, definition: Definition, grouping: Grouping) -> Cell:
        kind = definition.kind
        if isinstance(kind, Macro):
            return self._macro(definition, kind, grouping)
        n, clusters = self._size(definition, grouping)
        if isinstance(kind, Additive):
            sums = self.sums[_key(kind.statistic, definition.args, grouping)]
            outcome = kind.finish(sums, definition.args)
            details = tuple({} if kind.details is None else kind.details(row, definition.args) for row in sums)
            gaps = None if kind.gaps is None else kind.gaps(sums, definition.args)
            return Cell(outcome, n, clusters, details, gaps=gaps)
        if isinstance(kind, Sweep):
            outcome, details = self._swept(kind, definition.args, grouping)
            return Cell(outcome, n, clusters, details)
        assert isinstance(kind, Fit)
        return Cell(self._fitted(definition, grouping), n, clusters, ({},) * len(grouping))

    def per_query(self, definition: Definition) -> PerQuery | None:
        """The values behind a mean, where the definition is one."""
        kind = definition.kind
        if not isinstance(kind, Additive) or kind.per_query is None:
            return None
        return self.rows[kind.statistic.key(definition.args)]

    def fraction(self, definition: Definition, grouping: Grouping, index: int) -> tuple[float, float] | None:
        """Numerator and denominator in one group, where the definition is one over the other."""
        kind, args = definition.kind, definition.args
        if not isinstance(kind, Additive | Sweep) or kind.fraction is None:
            return None
        if isinstance(kind, Additive):
            top, bottom = kind.fraction(self.sums[_key(kind.statistic, args, grouping)][index], args)
        else:
            counts = self._counts(kind, args, grouping)[index]
            top, bottom = kind.fraction(counts, args)
        return float(top), float(bottom)

    def effective(self, definition: Definition, grouping: Grouping) -> Floats:
        """The effective number of posts behind the number of every group; of a sweep, that of its rarer class."""
        kind, args = definition.kind, definition.args
        if definition.population.unit == "post" and not isinstance(kind, Sweep):
            return self._size(definition, grouping)[1].astype(np.float64)
        key = (*kind.key(args), grouping.columns) if isinstance(kind, Sweep) else population_key(definition, grouping)
        if key not in self._effective:
            parts = (
                sweep_classes(self.queries, kind, args)
                if isinstance(kind, Sweep)
                else [population_rows(self.queries, definition)]
            )
            each = [effective_clusters(post_sizes(self.queries, rows, grouping)) for rows in parts]
            self._effective[key] = np.min(each, axis=0)
        return self._effective[key]

    def distributions(self, definition: Definition, grouping: Grouping) -> list[Distribution | None]:
        """The spread of the values behind a mean in every group; None where there is none."""
        behind = self.per_query(definition)
        if behind is None:
            return [None] * len(grouping)
        order = behind.ascending
        codes = None if grouping.codes is None else grouping.codes[order]
        whole = definition.measure.base == "SelectedK"
        shapes = grouped_distributions([(behind.values[order], codes)], len(grouping), whole_numbers=whole)
        return [None if shape is None else Distribution(**shape) for shape in shapes]

    def reservations(self, definition: Definition, grouping: Grouping, index: int) -> tuple[str, ...]:
        """What a value does not cover: criteria where it is undefined, and folds (or its own) that cannot be tuned."""
        cell, notes = self.cell(definition, grouping), []
        if cell.used is not None and cell.used[index] < cell.of:
            notes.append(f"{cell.of - int(cell.used[index])} of {cell.of} {UNDEFINED_CRITERIA}")
        if definition.args.get("threshold") == "tuned":
            fold = dict(grouping.groups[index]).get("fold")
            notes += [
                f"fold {label} {chosen.reason}: its queries are left out"
                for label, chosen in self.thresholds[str(definition.args.cut)].items()
                if chosen.reason is not None and chosen.reason.startswith(UNTUNABLE) and fold in {None, label}
            ]
        return tuple(notes)

    def sample_warnings(
        self, definition: Definition, grouping: Grouping, index: int, method: str, level: float
    ) -> Iterator[str]:
        """Warn of an interval that rests on few posts or few queries with evidence."""
        posts = int(self.cell(definition, grouping).clusters[index])
        effective = float(self.effective(definition, grouping)[index])
        positives = int(self.positive_counts(grouping)[index])
        return interval_warnings(Sample(posts, effective, positives, simulated_kind(definition)), method, level)

    def positive_counts(self, grouping: Grouping) -> Ints:
        """How many queries of every group have evidence."""
        if grouping.columns not in self._evidence:
            label = self.queries.label
            codes = np.zeros(len(label), np.int64) if grouping.codes is None else grouping.codes
            self._evidence[grouping.columns] = np.bincount(codes[label], minlength=len(grouping))
        return self._evidence[grouping.columns]

    def _threshold_details(self, args: Args) -> Mapping[str, object]:
        if args.get("threshold") != "tuned" or str(args.cut) not in self.thresholds:
            return {}
        chosen = self.thresholds[str(args.cut)]
        return {
            "budget_fpr": args.level,
            "thresholds": {
                fold: {"value": t.value, "reason": t.reason, "tune_tpr": t.tpr, "tune_fpr": t.fpr}
                for fold, t in chosen.items()
            },
        }

    def _totals(self, unit: str, grouping: Grouping) -> Ints:
        key = (unit, grouping.columns)
        if key not in self._group_totals:
            self._group_totals[key] = group_totals(self.queries, unit, grouping)
        return self._group_totals[key]

    def _size(self, definition: Definition, grouping: Grouping) -> tuple[Ints, Ints]:
        key = population_key(definition, grouping)
        if key not in self._sizes:
            self._sizes[key] = population_size(self.queries, definition.population, definition.args, grouping)
        return self._sizes[key]

    def _swept(self, kind: Sweep, args: Args, grouping: Grouping) -> tuple[Outcome, tuple[dict[str, object], ...]]:
        counts = self._counts(kind, args, grouping)
        outcomes = [kind.finish(c, args) for c in counts]
        details = tuple({} if kind.details is None else kind.details(c, args) for c in counts)
        values = np.array([float(o.values) for o in outcomes])
        return Outcome(values, np.array([int(o.flaws) for o in outcomes], np.int8)), details

    def _counts(self, kind: Sweep, args: Args, grouping: Grouping) -> tuple[Counts, ...]:
        key = (*kind.key(args), grouping.columns)
        if key not in self._sweeps:
            units = kind.units(self.queries, args)
            weights = None if self.weights is None else self.weights[self.queries.post[units.rows]]
            codes = None if grouping.codes is None else grouping.codes[units.rows]
            self._sweeps[key] = sweep_counts(units.scores, units.labels, weights, codes, len(grouping))
        return self._sweeps[key]

    def _fitted(self, definition: Definition, grouping: Grouping) -> Outcome:
        kind = definition.kind
        assert isinstance(kind, Fit)
        assert self.queries.prob is not None
        weights = np.ones(len(self.queries)) if self.weights is None else self.weights[self.queries.post]
        solved = []
        for code in range(len(grouping)):
            rows = slice(None) if grouping.codes is None else grouping.codes == code
            solved.append(kind.solve(self.queries.prob[rows], self.queries.label[rows], weights[rows]))
        return Outcome(np.array([value for value, _ in solved]), np.array([flaw for _, flaw in solved], np.int8))

    def _macro(self, definition: Definition, kind: Macro, grouping: Grouping) -> Cell:
        base, criteria = macro_parts(self.queries, definition, kind)
        crossed = self.cell(base, grouping.crossed(criteria))
        shape = (len(grouping), len(criteria))
        values, defined = crossed.outcome.values.reshape(shape), crossed.outcome.flaws.reshape(shape) == 0
        shares = defined.astype(float)
        if kind.weighted:
            shares = shares * self._positives(grouping.crossed(criteria)).reshape(shape)
        total = shares.sum(axis=1)
        means = np.divide((values * shares).sum(axis=1), total, out=np.zeros(len(total)), where=total > 0)
        n, clusters = self._size(definition, grouping)
        outcome = Outcome(means, (total == 0).astype(np.int8))
        return Cell(outcome, n, clusters, ({},) * len(grouping), used=defined.sum(axis=1), of=len(criteria))

    def _positives(self, grouping: Grouping) -> Floats:
        weights = self.queries.label.astype(float)
        if self.weights is not None:
            weights = weights * self.weights[self.queries.post]
        assert grouping.codes is not None
        return add_up(grouping.codes, weights, len(grouping))


def compute(
    queries: Queries,
    wants: Iterable[Want],
    *,
    weights: Floats | None = None,
    thresholds: Thresholds | None = None,
    block: int = BLOCK,
) -> Computation:
    """Add up, block by block, what the wanted definitions need; the result answers ``cell`` for each of them."""
    added = add_statistics(queries, wants, weights=weights, block=block)
    sums = {key: parts.total() for key, parts in added.parts.items()}
    return Computation(queries, weights, thresholds or {}, sums=sums, rows=added.rows)


@dataclass(frozen=True, eq=False)
class AddedUp:
    """The exact sums of every statistic in every grouping, and the values of queries behind means, by statistic."""

    parts: dict[tuple[object, ...], ExactParts]
    rows: dict[tuple[object, ...], PerQuery]


def add_statistics(
    queries: Queries, wants: Iterable[Want], *, weights: Floats | None = None, block: int = BLOCK
) -> AddedUp:
    """Add up, block by block, what the wanted definitions need."""
    jobs = _jobs(queries, wants)
    shared: dict[tuple[Columns, ...], list[Cells]] = {}
    totals = {
        key: [(cells, ExactSums(cells.size, statistic.bound)) for cells in _partitions(statistic, groupings, shared)]
        for key, (statistic, _, groupings, _) in jobs.items()
    }
    kept = {  # filled in place: joined at the end, the parts would be in memory twice
        key: PerQuery(np.zeros(len(queries)), np.zeros(len(queries), bool)) for key, job in jobs.items() if job[3]
    }
    at = 0
    for piece in queries.blocks(block):
        rows = slice(at, at + len(piece))
        parts_of = _Parts(replace(piece, candidates=None), weights)
        for key, (statistic, args, _, _) in jobs.items():
            part, some = parts_of.adding(statistic, args)
            columns = statistic.columns(part, args)
            for cells, sums in totals[key]:
                codes = None if cells.codes is None else cells.codes[rows][some]
                _add(sums, Added(statistic, args, columns, part), parts_of, cells, codes)
            if key in kept:
                kept[key].values[rows][some] = columns[:, 0]
                kept[key].counted[rows][some] = columns[:, 1] > 0
        at = rows.stop
    parts = {
        (*key, grouping.columns): sums.parts_of(cells.groups[grouping.columns], len(grouping))
        for key, (_, _, groupings, _) in jobs.items()
        for cells, sums in totals[key]
        for grouping in groupings
        if grouping.columns in cells.groups
    }
    return AddedUp(parts, kept)


Job = tuple[Statistic, Args, list[Grouping], bool]


def _partitions(
    statistic: Statistic, groupings: Sequence[Grouping], shared: dict[tuple[Columns, ...], list[Cells]]
) -> list[Cells]:
    """Where a statistic is added up: once for all groupings, but for posts, which several groups may divide."""
    if statistic.unit == "post":
        return [own_cells(grouping) for grouping in groupings]
    key = tuple(grouping.columns for grouping in groupings)
    if key not in shared:
        shared[key] = shared_cells(groupings)
    return shared[key]


def _jobs(queries: Queries, wants: Iterable[Want]) -> dict[tuple[object, ...], Job]:
    """The distinct statistics, the groupings that each is needed for, and whether its rows are kept."""
    jobs: dict[tuple[object, ...], Job] = {}
    for wanted, wanted_grouping in wants:
        definition, grouping, kind = wanted, wanted_grouping, wanted.kind
        if isinstance(kind, Macro):
            definition, criteria = macro_parts(queries, wanted, kind)
            grouping, kind = grouping.crossed(criteria), definition.kind
        if not isinstance(kind, Additive):
            continue
        key = kind.statistic.key(definition.args)
        job = jobs.setdefault(key, (kind.statistic, definition.args, [], kind.per_query is not None))
        if all(known.columns != grouping.columns for known in job[2]):
            job[2].append(grouping)
    return jobs


def macro_parts(queries: Queries, definition: Definition, kind: Macro) -> tuple[Definition, Grouping]:
    """The definition that a mean over criteria averages, and the grouping by criterion."""
    criteria = grouping_by(queries, "criterion")
    assert criteria is not None
    return definition.with_params(**kind.of), criteria


@dataclass(frozen=True, eq=False)
class Added:
    """A statistic's columns on a part of a block."""

    statistic: Statistic
    args: Args
    columns: Floats
    part: Queries


class _Parts:
    """A block without its candidates, and tables that are made of it: each once, for all statistics that need it."""

    def __init__(self, piece: Queries, weights: Floats | None) -> None:
        self.piece, self.weights = piece, weights
        self._adding: dict[bytes, tuple[Queries, Ints]] = {}
        self._known: dict[tuple[Columns, ...], tuple[Queries, Ints, Ints]] = {}

    def adding(self, statistic: Statistic, args: Args) -> tuple[Queries, Ints | slice]:
        """The queries that add to a statistic, and their rows."""
        mask: Bools | None = None if statistic.mask is None else statistic.mask(self.piece, args)
        if mask is None:
            return self.piece, slice(None)
        key = mask.tobytes()
        if key not in self._adding:
            rows = np.flatnonzero(mask)
            self._adding[key] = self.piece.take(rows), rows
        return self._adding[key]

    def by_group(self, cells: Cells, codes: Ints) -> tuple[Queries, Ints, Ints]:
        """The queries with a post for each group that occurs in a post, and the group and the post of each of these."""
        key = tuple(cells.groups)
        if key not in self._known:
            order = np.lexsort((self.piece.post, codes))
            group, post = codes[order], self.piece.post[order]
            new = np.append(True, (group[1:] != group[:-1]) | (post[1:] != post[:-1]))
            part = replace(self.piece.take(order), post=np.cumsum(new) - 1)
            self._known[key] = part, group[new], post[new]
        return self._known[key]


def _add(sums: ExactSums, added: Added, parts_of: _Parts, cells: Cells, codes: Ints | None) -> None:
    part, weights = added.part, parts_of.weights
    if added.statistic.unit == "query":
        sums.add(added.columns, codes, None if weights is None else weights[part.post])
        return
    posts, first, at = np.unique(part.post, return_index=True, return_inverse=True)
    columns = added.columns
    if codes is not None and not np.array_equal(
        codes[first][at], codes
    ):  # each group sees only its own queries of a post
        parts, codes, posts = parts_of.by_group(cells, codes)
        columns = added.statistic.columns(parts, added.args)
    elif codes is not None:
        codes = codes[first]
    sums.add(columns, codes, None if weights is None else weights[posts])


def population_key(definition: Definition, grouping: Grouping) -> tuple[object, ...]:
    """Equal for definitions that speak about the same queries."""
    args = definition.args
    cut = args.cut if args.get("t") is None else None
    return (definition.population.words, args.get("t"), args.get("threshold"), cut, grouping.columns)


def _key(statistic: Statistic, args: Args, grouping: Grouping) -> tuple[object, ...]:
    return (*statistic.key(args), grouping.columns)
