"""What is left to do over all queries when the blocks are done, in tasks that workers share: fits, and spreads of values.

A task needs nothing but the narrow columns on the disk, and has some groups, or some of their values, in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.engine.columns import ColumnStore, Key
from evidentia.engine.kept import behind, kept_statistics, level_of, score_cells, value_cells
from evidentia.engine.specification import Groupings, RunShape, Specification, asked, empty_queries
from evidentia.evaluation.cells import Cells
from evidentia.evaluation.plan import Want
from evidentia.measures import Definition
from evidentia.measures.core import Fit, Sweep
from evidentia.results import Distribution
from evidentia.stats.spread import Stretch, grouped_distributions

CHUNK = 1 << 21  # scores in work at once
LABELS = ("gold", "other")

Columns = tuple[str, ...]


@dataclass(frozen=True)
class Remains:
    """The narrow columns of a run, and what it was asked for."""

    store: ColumnStore
    specification: Specification
    shape: RunShape

    @property
    def wants(self) -> tuple[Want, ...]:
        """What every block was asked for."""
        return _wants(self.specification, self.shape)[0]

    @property
    def planned(self) -> tuple[Want, ...]:
        """The part of it that is reported."""
        return _wants(self.specification, self.shape)[1]

    @property
    def fits(self) -> tuple[Definition, ...]:
        """The definitions that are fits."""
        return tuple(dict.fromkeys(d for d, _ in self._with_bases() if isinstance(d.kind, Fit)))

    def sweeps(self, level: str) -> Iterator[Want]:
        """The sweeps over the scores of a level."""
        return ((d, g) for d, g in self._with_bases() if isinstance(d.kind, Sweep) and level_of(d.args) == level)

    def tasks(self) -> Iterator[FitTask | SpreadTask]:
        """What there is to do, the longest first."""
        fitted = {g.columns: len(g) for d, g in self._with_bases() if isinstance(d.kind, Fit)}
        yield from (FitTask(columns, code) for columns, size in fitted.items() for code in range(size))
        statistics = kept_statistics(self.planned)
        whole = {key: definition.measure.base == "SelectedK" for definition, key in statistics.items()}
        for key, whole_numbers in whole.items():
            wanted = {g.columns: len(g) for d, g in self.planned if statistics.get(d) == key}
            yield SpreadTask(key, tuple(wanted.items()), whole_numbers)

    def scores(self, level: str, columns: Columns) -> tuple[CellScores, Ints]:
        """The scores of a level in cells that tell the groups of some columns apart, and the group of every cell."""
        for scores, cells in self.partitions(level):
            if columns in cells.groups:
                return scores, cells.groups[columns]
        raise AssertionError(columns)

    def partitions(self, level: str) -> Iterator[tuple[CellScores, Cells]]:
        """The scores of a level, once for every partition into cells."""
        empty = empty_queries(self.shape, self.specification.labels)
        for part, cells in enumerate(score_cells(empty, self.wants, level)):
            yield CellScores(self.store, level, part, cells.size), cells

    def _with_bases(self) -> Iterator[Want]:
        empty = empty_queries(self.shape, self.specification.labels)
        return (want for each in self.wants for want in (each, *behind(empty, each)))


@lru_cache(maxsize=4)
def _wants(specification: Specification, shape: RunShape) -> tuple[tuple[Want, ...], tuple[Want, ...]]:
    groupings = Groupings(empty_queries(shape, specification.labels))
    pairs = asked(specification, shape)
    return tuple(groupings.wants(pairs.both)), tuple(groupings.wants(pairs.planned))


@dataclass(frozen=True)
class FitTask:
    """All fits in one group."""

    columns: Columns
    code: int

    def run(self, remains: Remains) -> list[tuple[float, int]]:
        """The value and the flaw of each."""
        scores, groups = remains.scores("query", self.columns)
        prob, label = scores.labelled(np.flatnonzero(groups == self.code))
        kinds = [definition.kind for definition in remains.fits]
        return [kind.solve(prob, label, np.broadcast_to(1.0, len(prob))) for kind in kinds if isinstance(kind, Fit)]


@dataclass(frozen=True)
class SpreadTask:
    """The spread of the values of a statistic in every group of some groupings, of which the sizes are given."""

    key: Key
    groupings: tuple[tuple[Columns, int], ...]
    whole_numbers: bool

    def run(self, remains: Remains) -> dict[Columns, list[Distribution | None]]:
        """The spreads by grouping."""
        partitions = value_cells(remains.planned)
        keys = [("values", *self.key), *(("cells", part, *self.key) for part in range(len(partitions)))]
        spreads = {}
        with remains.store.in_order(keys) as ordered:
            for columns, size in self.groupings:
                part = next(at for at, cells in enumerate(partitions) if columns in cells.groups)
                stretches = _Grouped(ordered, part, partitions[part].groups[columns] if columns else None)
                shapes = grouped_distributions(stretches, size, whole_numbers=self.whole_numbers)
                spreads[columns] = [None if shape is None else Distribution(**shape) for shape in shapes]
        return spreads


@dataclass(frozen=True)
class _Grouped:
    """Values in ascending order with their groups, as often as they are asked for."""

    ordered: Iterable[tuple[NDArray[Any], ...]]
    part: int
    groups: Ints | None

    def __iter__(self) -> Iterator[Stretch]:
        groups = self.groups
        for values, *cells in self.ordered:
            yield values, None if groups is None else groups[cells[self.part]]


class CellScores:
    """The scores of queries or candidates, which every block has written cell by cell of a partition."""

    def __init__(self, store: ColumnStore, level: str, part: int, cells: int) -> None:
        self.store, self.level, self.part, self.cells, self.lengths, self.starts = store, level, part, cells, {}, {}
        for name in LABELS:
            lengths = store.read((level, "counts", name, part)).reshape(-1, cells)
            self.lengths[name] = lengths
            self.starts[name] = (np.cumsum(lengths.ravel()) - lengths.ravel()).reshape(lengths.shape)

    def read(self, name: str, cell: int) -> Floats:
        """The scores of a cell."""
        key = (self.level, name, self.part)
        return self.store.ranges(key, self.starts[name][:, cell], self.lengths[name][:, cell])

    def labelled(self, members: Ints) -> tuple[Floats, Bools]:
        """The scores of some cells, which have been put together, and whether they are of positives."""
        sizes = np.stack([self.lengths[name].sum(axis=0) for name in LABELS], axis=1)
        lengths = sizes.sum(axis=1)
        scores = self.store.ranges(self.together, (np.cumsum(lengths) - lengths)[members], lengths[members])
        return scores, np.repeat(np.tile([True, False], len(members)), sizes[members].ravel())

    @property
    def together(self) -> Key:
        """The column of ``put_together``."""
        return (self.level, "together", self.part)

    def put_together(self) -> None:
        """Write the scores cell after cell instead of block after block: a group is then read in few pieces."""
        for cell in range(self.cells):
            self.store.append(self.together, np.concatenate([self.read(name, cell) for name in LABELS]))

    def by_post(self, block: int, members: Ints) -> tuple[Floats, Bools, Ints]:
        """The scores of some cells in a block, whether they are of positives, and their posts there, post by post."""
        parts = []
        for name in LABELS:
            starts, lengths = self.starts[name][block, members], self.lengths[name][block, members]
            keys: list[Key] = [(self.level, name, self.part), (self.level, "posts", name, self.part)]
            parts.append([self.store.ranges(key, starts, lengths) for key in keys])
        scores, posts = (np.concatenate(both) for both in zip(*parts, strict=True))
        order = np.argsort(posts, kind="stable")
        return scores[order], order < len(parts[0][0]), posts[order]

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


def ended(remains: Remains, task: FitTask | SpreadTask) -> Any:
    """The answer of a task."""
    return task.run(remains)
