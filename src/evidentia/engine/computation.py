"""The computation of a run of which only totals and narrow columns are left: it answers what that of a run in memory does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.engine.columns import ColumnStore, Key
from evidentia.engine.kept import cut_columns, kept_statistics, score_cells, value_cells
from evidentia.engine.reduction import Totals, squares_key
from evidentia.engine.specification import Labels, RunShape, empty_queries
from evidentia.engine.steps import Steps
from evidentia.evaluation.compute import Computation, population_key
from evidentia.evaluation.plan import Grouping, Want
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Fit, Outcome, Sweep
from evidentia.results import Distribution
from evidentia.results.measure import Args
from evidentia.stats.resampling import in_threads
from evidentia.stats.spread import Stretch, grouped_distributions
from evidentia.stats.sweeps import Counts
from evidentia.tables.queries import Coded, Queries

CHUNK = 1 << 21  # scores in work at once

Columns = tuple[str, ...]
Spreads = dict[Columns, list[Distribution | None]]


@dataclass
class SpilledComputation(Computation):
    """Everything that was computed of a run whose rows are gone."""

    totals: Totals = field(default_factory=Totals)
    store: ColumnStore | None = None
    wants: Sequence[Want] = ()
    planned: Sequence[Want] = ()
    _spreads: dict[Key, Spreads] = field(default_factory=dict)
    _steps: dict[tuple[str, Columns], list[Steps]] = field(default_factory=dict)

    def _size(self, definition: Definition, grouping: Grouping) -> tuple[Ints, Ints]:
        n, clusters = self.totals.counts["size", *population_key(definition, grouping)]
        return n, clusters

    def _totals(self, unit: str, grouping: Grouping) -> Ints:
        return self.totals.counts["totals", unit, grouping.columns]

    def effective(self, definition: Definition, grouping: Grouping) -> Floats:
        """The effective number of posts behind the number of every group; of a sweep, that of its rarer class."""
        if definition.population.unit == "post" and not isinstance(definition.kind, Sweep):
            return self._size(definition, grouping)[1].astype(np.float64)
        classes = self.totals.counts["squares", *squares_key(definition, grouping)].astype(np.float64)
        each = [np.divide(size**2, square, out=np.zeros(len(size)), where=square > 0) for size, square in classes]
        smallest: Floats = np.min(each, axis=0)
        return smallest

    def positive_counts(self, grouping: Grouping) -> Ints:
        """How many queries of every group have evidence."""
        return self.totals.counts["evidence", grouping.columns]

    def _positives(self, grouping: Grouping) -> Floats:
        return self.positive_counts(grouping).astype(np.float64)

    def distributions(self, definition: Definition, grouping: Grouping) -> list[Distribution | None]:
        """The spread of the values behind a mean in every group; None where there is none."""
        kind = definition.kind
        if not isinstance(kind, Additive) or kind.per_query is None:
            return [None] * len(grouping)
        if not self._spreads:
            self._spread_all()
        return self._spreads[kind.statistic.key(definition.args)][grouping.columns]

    def _spread_all(self) -> None:
        """The spreads of all means, some means at a time."""
        statistics = kept_statistics(self.planned)
        whole = {key: definition.measure.base == "SelectedK" for definition, key in statistics.items()}
        wanted: dict[Key, dict[Columns, int]] = {}
        for definition, grouping in self.planned:
            if definition in statistics:
                wanted.setdefault(statistics[definition], {})[grouping.columns] = len(grouping)
        spreads = in_threads(self._spread, [(key, groupings, whole[key]) for key, groupings in wanted.items()])
        self._spreads = dict(zip(wanted, spreads, strict=True))

    def _spread(self, key: Key, groupings: dict[Columns, int], whole: bool) -> Spreads:
        assert self.store is not None
        partitions, spreads = value_cells(self.planned), {}
        keys = [("values", *key), *(("cells", part, *key) for part in range(len(partitions)))]
        ordered = self.store.in_order(keys)
        for part, cells in enumerate(partitions):
            for columns in groupings.keys() & cells.groups.keys():
                of = cells.groups[columns].astype(np.int32) if columns else None

                def stretches(of: NDArray[np.int32] | None = of, part: int = part) -> Iterable[Stretch]:
                    return ((values, None if of is None else of[codes[part]]) for values, *codes in ordered)

                shapes = grouped_distributions(stretches, groupings[columns], whole_numbers=whole)
                spreads[columns] = [None if shape is None else Distribution(**shape) for shape in shapes]
        return spreads

    def _counts(self, kind: Sweep, args: Args, grouping: Grouping) -> tuple[Counts, ...]:
        return self.counts(args.get("level") or "query", grouping.columns)

    def counts(self, level: str, columns: Columns) -> tuple[Counts, ...]:
        """The counts of the sweep over queries, or over candidates, in every group of a grouping."""
        if (level, columns) not in self._steps:
            self._count(level)
        return tuple(steps.counts() for steps in self._steps[level, columns])

    def _count(self, level: str) -> None:
        """The steps of every grouping, cell by cell."""
        assert self.store is not None
        for part, cells in enumerate(score_cells(self.queries, self.wants, level)):
            scores = CellScores(self.store, level, part, cells.size)
            gold = [scores.read("gold", cell) for cell in range(cells.size)]
            steps = {
                columns: [
                    Steps(np.concatenate([gold[c] for c in np.flatnonzero(groups == g)]))
                    for g in range(int(groups.max()) + 1)
                ]
                for columns, groups in cells.groups.items()
            }
            chunks = (
                (chunk, [steps[columns][groups[cell]] for columns, groups in cells.groups.items()])
                for cell in range(cells.size)
                for chunk in scores.chunks("other", cell)
            )
            for _ in in_threads(_add_to_all, chunks):
                pass
            self._steps |= {(level, columns): of_groups for columns, of_groups in steps.items()}

    def _fitted(self, kind: Fit, grouping: Grouping) -> Outcome:
        solved = [kind.solve(*self.probabilities(grouping, code)) for code in range(len(grouping))]
        return Outcome(np.array([value for value, _ in solved]), np.array([flaw for _, flaw in solved], np.int8))

    def probabilities(self, grouping: Grouping, code: int) -> tuple[Floats, Bools, Floats]:
        """The probabilities of a group with their labels and weights of one: what fits are made of."""
        assert self.store is not None
        partitions = enumerate(score_cells(self.queries, self.wants, "query"))
        part, cells = next(each for each in partitions if grouping.columns in each[1].groups)
        key: Key = ("probabilities", part)
        scores = CellScores(self.store, "query", part, cells.size)
        sizes = np.array([[of[:, cell].sum() for of in scores.lengths.values()] for cell in range(cells.size)])
        if key not in self.store:  # cell after cell, not block after block: a group is then read in few pieces
            for cell in range(cells.size):
                self.store.append(key, np.concatenate([scores.read(name, cell) for name in scores.lengths]))
        mine, lengths = np.flatnonzero(cells.groups[grouping.columns] == code), sizes.sum(axis=1)
        prob = self.store.ranges(key, (np.cumsum(lengths) - lengths)[mine], lengths[mine])
        label = np.repeat(np.tile([True, False], len(mine)), sizes[mine].ravel())
        return prob, label, np.broadcast_to(1.0, len(prob))


def _add_to_all(chunk: Floats, steps: Sequence[Steps]) -> None:
    chunk.sort()
    for each in steps:
        each.add(chunk)


class CellScores:
    """The scores of queries or candidates, which every block has written cell by cell of a partition."""

    def __init__(self, store: ColumnStore, level: str, part: int, cells: int) -> None:
        self.store, self.level, self.part, self.lengths, self.starts = store, level, part, {}, {}
        for name in ("gold", "other"):
            lengths = store.read((level, "counts", name, part)).reshape(-1, cells)
            self.lengths[name] = lengths
            self.starts[name] = (np.cumsum(lengths.ravel()) - lengths.ravel()).reshape(lengths.shape)

    def read(self, name: str, cell: int) -> Floats:
        """The scores of a cell."""
        key = (self.level, name, self.part)
        return self.store.ranges(key, self.starts[name][:, cell], self.lengths[name][:, cell])

    def chunks(self, name: str, cell: int) -> Iterator[Floats]:
        """The scores of a cell, some blocks at a time."""
        key = (self.level, name, self.part)
        for some in self._chunks(name, cell):
            yield self.store.ranges(key, self.starts[name][some, cell], self.lengths[name][some, cell])

    def with_posts(self, name: str, cell: int) -> tuple[Floats, Ints]:
        """The scores of a cell, and the posts that they are of."""
        return self._with_posts(name, cell, np.ones(len(self.lengths[name]), np.bool_))

    def chunks_with_posts(self, name: str, cell: int) -> Iterator[tuple[Floats, Ints]]:
        """The same, some blocks at a time."""
        return (self._with_posts(name, cell, some) for some in self._chunks(name, cell))

    def _with_posts(self, name: str, cell: int, some: Bools) -> tuple[Floats, Ints]:
        starts, lengths = self.starts[name][some, cell], self.lengths[name][some, cell]
        posts = self.store.ranges((self.level, "posts", name, self.part), starts, lengths)
        offsets = np.cumsum([0, *self.store.lengths(("posts",))[:-1]])[some]
        posts += np.repeat(offsets, lengths).astype(np.int32)
        return self.store.ranges((self.level, name, self.part), starts, lengths), posts

    def _chunks(self, name: str, cell: int) -> Iterator[Bools]:
        """The blocks that are read together."""
        chunk = np.cumsum(self.lengths[name][:, cell]) // CHUNK
        return (chunk == number for number in np.unique(chunk))


def planned_queries(shape: RunShape, labels: Labels, cuts: Ints, *, complete: bool) -> Queries:
    """A table of one post whose two queries differ in every column that cuts through some post: all that plans ask of rows."""
    empty = empty_queries(shape, labels)
    two = replace(empty, post=np.zeros(2, np.int64), criterion=np.zeros(2, np.int64), label=np.zeros(2, np.bool_))
    two = replace(two, state=None if two.state is None else np.zeros(2, np.int64))
    codes = {
        column: np.array([0, count > 0], np.int64) for (column, _), count in zip(cut_columns(two), cuts, strict=True)
    }
    changes: dict[str, Any] = {"state": codes["state"]} if "state" in codes else {}
    if empty.fold is not None:
        changes["fold"] = Coded(codes["fold"], empty.fold.labels)
    slices = {name: Coded(codes[name], coded.labels) for name, coded in empty.slices.items()}
    return replace(
        two,
        criterion=codes["criterion"],
        label=codes["has_evidence"] > 0,
        slices=MappingProxyType(slices),
        complete=complete,
        **changes,
    )
