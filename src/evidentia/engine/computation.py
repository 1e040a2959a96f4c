"""The computation of a run of which only totals and narrow columns are left: it answers what that of a run in memory does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.engine.columns import ColumnStore, Key
from evidentia.engine.reduction import Totals, candidate_cells, squares_key
from evidentia.engine.specification import Labels, RunShape, empty_queries
from evidentia.engine.steps import Steps
from evidentia.evaluation.cells import Cells
from evidentia.evaluation.compute import Computation, population_key
from evidentia.evaluation.plan import Grouping, Want
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Sweep
from evidentia.results import Distribution
from evidentia.results.measure import Args
from evidentia.stats.resampling import in_threads
from evidentia.stats.spread import grouped_distributions
from evidentia.stats.sweeps import Counts
from evidentia.tables.queries import Coded, Queries

CHUNK = 1 << 22  # scores of candidates in work at once
SEVERAL = 3_000_000  # queries up to which the spreads of several means are in work at once


@dataclass
class SpilledComputation(Computation):
    """Everything that was computed of a run whose rows are gone."""

    totals: Totals = field(default_factory=Totals)
    store: ColumnStore | None = None
    wants: Sequence[Want] = ()
    _spreads: dict[Definition, dict[tuple[str, ...], list[Distribution | None]]] = field(default_factory=dict)
    _candidate_steps: dict[tuple[str, ...], list[Steps]] = field(default_factory=dict)

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
        return self._spreads[definition][grouping.columns]

    def _spread_all(self) -> None:
        """The spreads of all means, one mean after the other: its values are in memory no longer than that."""
        by_definition: dict[Definition, list[Grouping]] = {}
        for definition, grouping in self.wants:
            if isinstance(definition.kind, Additive) and definition.kind.per_query is not None:
                by_definition.setdefault(definition, []).append(grouping)
        workers = 1 if len(self.queries) > SEVERAL else None
        spreads = in_threads(self._spread, by_definition.items(), workers)
        self._spreads = dict(zip(by_definition, spreads, strict=True))

    def _spread(
        self, definition: Definition, groupings: Sequence[Grouping]
    ) -> dict[tuple[str, ...], list[Distribution | None]]:
        assert self.store is not None
        assert isinstance(definition.kind, Additive)
        key = definition.kind.statistic.key(definition.args)
        values = self.store.read(("values", *key))
        order = np.argsort(values)
        values = values[order]
        rows = self._counted_rows(key)[order]
        del order
        whole = definition.measure.base == "SelectedK"
        spreads = {}
        for grouping in groupings:
            codes = None if grouping.codes is None else grouping.codes[rows]
            shapes = grouped_distributions(values, codes, len(grouping), whole_numbers=whole)
            spreads[grouping.columns] = [None if shape is None else Distribution(**shape) for shape in shapes]
        return spreads

    def _counted_rows(self, key: Key) -> Ints:
        """The queries whose values count, in the order of the rows."""
        assert self.store is not None
        parts = zip(self.store.parts(("counted", *key)), self.store.lengths(("label",)), strict=True)
        counted: Bools = np.concatenate([np.unpackbits(bits, count=rows) for bits, rows in parts]).view(np.bool_)
        rows = np.flatnonzero(counted)
        return rows.astype(np.int32) if len(counted) < 2**31 else rows

    def _counts(self, kind: Sweep, args: Args, grouping: Grouping) -> tuple[Counts, ...]:
        if args.get("level") == "candidate":
            if grouping.columns not in self._candidate_steps:
                self._count_candidates()
            return tuple(steps.counts() for steps in self._candidate_steps[grouping.columns])
        return tuple(query_counts(self.queries, grouping.codes, len(grouping)))

    def _count_candidates(self) -> None:
        """The counts of every grouping of the candidates, cell by cell."""
        assert self.store is not None
        for part, cells in enumerate(candidate_cells(self.queries, self.wants)):
            self._candidate_steps |= self._count_cells(CellScores(self.store, part, cells.size), cells)

    def _count_cells(self, scores: CellScores, cells: Cells) -> dict[tuple[str, ...], list[Steps]]:
        gold = [scores.read("gold", cell) for cell in range(cells.size)]
        steps = {
            columns: [
                Steps(np.concatenate([gold[c] for c in np.flatnonzero(groups == g)]))
                for g in range(int(groups.max()) + 1)
            ]
            for columns, groups in cells.groups.items()
        }
        for cell in range(cells.size):
            for part in scores.chunks("other", cell):
                part.sort()
                list(
                    in_threads(
                        lambda each, part=part: each.add(part),
                        [(steps[c][int(g[cell])],) for c, g in cells.groups.items()],
                    )
                )
        return steps


class CellScores:
    """The scores of candidates, which every block has written cell by cell of a partition."""

    def __init__(self, store: ColumnStore, part: int, cells: int) -> None:
        self.store, self.part, self.lengths, self.starts = store, part, {}, {}
        for name in ("gold", "other"):
            lengths = store.read(("counts", name, part)).reshape(-1, cells)
            self.lengths[name] = lengths
            self.starts[name] = (np.cumsum(lengths.ravel()) - lengths.ravel()).reshape(lengths.shape)

    def read(self, name: str, cell: int) -> Floats:
        """The scores of a cell."""
        return self.store.ranges((name, self.part), self.starts[name][:, cell], self.lengths[name][:, cell])

    def chunks(self, name: str, cell: int) -> Iterator[Floats]:
        """The scores of a cell, some blocks at a time."""
        for some in self._chunks(name, cell):
            yield self.store.ranges((name, self.part), self.starts[name][some, cell], self.lengths[name][some, cell])

    def with_posts(self, name: str, cell: int) -> tuple[Floats, Ints]:
        """The scores of a cell, and the posts that they are of."""
        return self._with_posts(name, cell, np.ones(len(self.lengths[name]), np.bool_))

    def chunks_with_posts(self, name: str, cell: int) -> Iterator[tuple[Floats, Ints]]:
        """The same, some blocks at a time."""
        return (self._with_posts(name, cell, some) for some in self._chunks(name, cell))

    def _with_posts(self, name: str, cell: int, some: Bools) -> tuple[Floats, Ints]:
        starts, lengths = self.starts[name][some, cell], self.lengths[name][some, cell]
        posts = self.store.ranges(("posts", name, self.part), starts, lengths)
        offsets = np.cumsum([0, *self.store.lengths(("posts",))[:-1]])[some]
        posts += np.repeat(offsets, lengths).astype(np.int32)
        return self.store.ranges((name, self.part), starts, lengths), posts

    def _chunks(self, name: str, cell: int) -> Iterator[Bools]:
        """The blocks that are read together."""
        chunk = np.cumsum(self.lengths[name][:, cell]) // CHUNK
        return (chunk == number for number in np.unique(chunk))


def query_counts(queries: Queries, codes: Ints | None, groups: int) -> Iterator[Counts]:
    """The counts of a sweep over queries in every group, one after the other."""
    assert queries.scores is not None
    label = queries.label
    for code in range(groups):
        mine: Any = slice(None) if codes is None else codes == code
        scores, positive = queries.scores[mine], label[mine]
        yield _swept(scores[positive], scores[~positive])


def curve_counts(queries: Queries, groups: Coded | None) -> Iterator[Counts]:
    """The same for a figure: of all queries, or of every group of a column."""
    codes, number = (None, 1) if groups is None else (groups.codes, len(groups.labels))
    return query_counts(queries, codes, number)


def _swept(gold: Floats, other: Floats) -> Counts:
    steps = Steps(gold)
    other.sort()  # a copy of its own
    steps.add(other)
    return steps.counts()


def joined_queries(
    store: ColumnStore, shape: RunShape, labels: Labels, posts: Sequence[int], *, complete: bool
) -> Queries:
    """All queries with the columns that have an order or a group; those that were only added up are empty."""
    empty = empty_queries(shape, labels)
    offsets = np.repeat(np.cumsum([0, *posts[:-1]]), store.lengths(("post",))).astype(np.int32)
    changes: dict[str, Any] = {name: store.read((name,)) for name in ("criterion", "label")}
    changes |= {n: store.read((n,)) for n in ("prob", "detection_score", "gate", "state") if (n,) in store}
    post = store.read(("post",))
    post += offsets
    slices = {name: Coded(store.read((f"slice {name}",)), values) for name, values in labels.slices}
    if labels.folds is not None and ("fold",) in store:
        changes["fold"] = Coded(store.read(("fold",)), labels.folds)
    return replace(
        empty,
        post=post,
        post_ids=cast(tuple[str, ...], range(sum(posts))),  # only their number is read: millions of names would not fit
        complete=complete,
        slices=MappingProxyType(slices),
        **changes,
    )
