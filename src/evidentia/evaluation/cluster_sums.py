"""Statistics summed per cluster and group, so that a block of replicates is a few matrix products.

All sums are exact (see stats/exact.py): neither the size of a block nor the number of threads changes a bit. For the same
reason the sums of a grouping may be had by adding up those of a finer one, and where both are wanted that is what happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.evaluation.plan import OVERALL, Grouping, Key
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Fit, Outcome, Statistic
from evidentia.results.measure import Args
from evidentia.stats.exact import ExactParts, add_up, powers_above, split
from evidentia.stats.poisson import scale_to
from evidentia.stats.resampling import heaviest
from evidentia.tables.queries import Queries

Columns = tuple[str, ...]


class ClusterSums:
    """Additive definitions (and fits, by one step); their values in every group for any weighting of the clusters."""

    def __init__(self, queries: Queries, wants: Sequence[tuple[Definition, Grouping]]) -> None:
        self.wants = wants
        groupings = {grouping.columns: grouping for _, grouping in wants}
        wanted: dict[tuple[object, ...], set[Columns]] = {}
        for definition, grouping in wants:
            wanted.setdefault(_key(definition, grouping.columns), set()).add(grouping.columns)
        self.at: dict[Key, list[Floats | None]] = {}
        self.tables: dict[Columns, _SumTable] = {}
        self.home: dict[tuple[object, ...], Columns] = {}  # which table holds a statistic's sums for a grouping
        for definition, grouping in wants:
            key = (_key(definition, grouping.columns), grouping.columns)
            if key in self.home:
                continue
            finest = _finest(definition, grouping, wanted[key[0]], groupings)
            self.home[key] = finest.columns
            if finest.columns not in self.tables:
                self.tables[finest.columns] = _SumTable(queries, finest)
            table = self.tables[finest.columns]
            if _key(definition, grouping.columns) not in table.rows:
                table.add(_key(definition, grouping.columns), *self._columns(queries, definition, finest, table))
        for table in self.tables.values():
            table.seal()

    def values(self, weights: Floats, *, scaled: bool = False) -> dict[Key, Floats]:
        """Every definition's values: groups x replicates (weights is clusters x replicates).

        With ``scaled``, what depends on the number of queries is read off sums that are scaled to as many clusters as there are.
        """
        summed = self.summed(weights)
        factors = scale_to(len(weights), weights.sum(axis=0)) if scaled else None
        return {(d, g.columns): self._finish(d, g, summed[d, g.columns], factors) for d, g in self.wants}

    def gaps(self, weights: Floats) -> dict[Key, Floats]:
        """The gaps of definitions that add up absolute gaps: groups x replicates x gaps."""
        kinds = {(d, g.columns): (d.kind, d.args) for d, g in self.wants}
        gaps: dict[Key, Floats] = {}
        for key, sums in self.summed(weights).items():
            kind, args = kinds[key]
            assert isinstance(kind, Additive)
            assert kind.gaps is not None
            gaps[key] = kind.gaps(sums, args)
        return gaps

    def summed(self, weights: Floats) -> dict[Key, Floats]:
        """Every definition's sums: groups x replicates x columns."""
        parts = self.parts(weights)
        totals = {key: part.total() for key, part in parts.items()}
        return {(d, g.columns): totals[_key(d, g.columns), g.columns] for d, g in self.wants}

    def parts(self, weights: Floats) -> dict[tuple[object, Columns], ExactParts]:
        """The same for every statistic, before anything is rounded: parts of several blocks of clusters may be added up."""
        products = {columns: table.products(weights) for columns, table in self.tables.items()}
        summed: dict[tuple[Columns, Columns], Floats] = {}
        gathered: dict[tuple[object, Columns], ExactParts] = {}
        for definition, grouping in self.wants:
            statistic = (_key(definition, grouping.columns), grouping.columns)
            table = self.tables[home := self.home[statistic]]
            pair = (home, grouping.columns)
            if pair not in summed:
                summed[pair] = table.coarsened(products[home], grouping)
            if statistic not in gathered:
                gathered[statistic] = table.gathered(summed[pair], statistic[0])
        return gathered

    def _finish(self, definition: Definition, grouping: Grouping, sums: Floats, factors: Floats | None) -> Floats:
        kind = definition.kind
        if isinstance(kind, Additive):
            if kind.sized and factors is not None:
                sums = sums * factors[:, None]
            return defined(kind.finish(sums, definition.args))
        assert isinstance(kind, Fit)
        steps = zip(self.at[definition, grouping.columns], sums, strict=True)
        nothing = np.full(sums.shape[1], np.nan)
        return np.stack([nothing if at is None else kind.step(at, part) for at, part in steps])

    def _columns(
        self, queries: Queries, definition: Definition, grouping: Grouping, table: _SumTable
    ) -> tuple[Floats, Ints, Ints | None, float | Floats | None]:
        """A statistic's columns with the cluster and group of each row, and the bound of their values."""
        kind, args = definition.kind, definition.args
        if isinstance(kind, Fit):
            fitted = self._fitted(queries, grouping, definition, kind)
            return fitted, queries.post, grouping.codes, powers_above(np.abs(fitted).max(axis=0, initial=0.0))
        assert isinstance(kind, Additive)
        columns, posts, codes = _statistic_columns(queries, grouping, kind.statistic, args, table)
        return columns, posts, codes, kind.statistic.bound

    def _fitted(self, queries: Queries, grouping: Grouping, definition: Definition, kind: Fit) -> Floats:
        """What each query adds to the gradient and curvature of its own group's fit."""
        assert queries.prob is not None
        parts: list[tuple[Bools | slice, Floats]] = []
        places: list[Floats | None] = []
        for code in range(len(grouping)):
            rows: Bools | slice = slice(None) if grouping.codes is None else grouping.codes == code
            prob, label = queries.prob[rows], queries.label[rows]
            score = kind.score(prob, label)
            places.append(None if score is None else score.at)
            if score is not None:
                parts.append((rows, score.columns(prob, label)))
        self.at[definition, grouping.columns] = places
        columns = np.zeros((len(queries), parts[0][1].shape[1] if parts else 1))
        for rows, part in parts:
            columns[rows] = part
        return columns


class _SumTable:
    """The sums of many statistics over the groups of one grouping, as one matrix."""

    def __init__(self, queries: Queries, grouping: Grouping) -> None:
        self.grouping, self.clusters = grouping, len(queries.post_ids)
        self.rows: dict[object, slice] = {}
        self.height = 0
        self._coarse: list[Floats] = []
        self._fine: list[Floats] = []
        self._with_fine: list[int] = []
        self.outer = _outer_partition(queries, grouping)

    def add(
        self, key: tuple[object, ...], columns: Floats, posts: Ints, codes: Ints | None, bound: float | Floats | None
    ) -> None:
        """Append a statistic: its columns summed per cluster and inner group, coarse and fine apart."""
        inner = self.inner
        at = posts if codes is None or inner == 1 else (codes % inner) * self.clusters + posts
        high, low = (columns, None) if bound is None else split(columns, bound)
        coarse = _scatter(high, at, inner * self.clusters).reshape(-1, inner, self.clusters)
        self._coarse.append(coarse)
        if low is not None:
            some = np.flatnonzero(low.any(axis=0))  # whole numbers have no fine part
            self._fine.append(_scatter(low[:, some], at, inner * self.clusters).reshape(-1, inner, self.clusters))
            self._with_fine += [self.height + int(i) for i in some]
        self.rows[key] = slice(self.height, self.height + len(coarse))
        self.height += len(coarse)

    @property
    def inner(self) -> int:
        """How many groups cut through a cluster."""
        return len(self.grouping) // len(self.outer)

    def seal(self) -> None:
        """Lay the sums out for products: one matrix per outer group, with only the clusters of that group."""
        matrix = np.concatenate([*self._coarse, *self._fine])
        seen: dict[bytes, int] = {}
        copy_of = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in matrix], np.int64)
        distinct = matrix[np.unique(copy_of, return_index=True)[1]]  # many statistics count the same population
        whole = self._whole(distinct)
        place = np.empty(len(distinct), np.int64)
        place[np.concatenate([np.flatnonzero(whole), np.flatnonzero(~whole)])] = np.arange(len(distinct))
        self._place = place[copy_of]
        self._fine_of = dict(zip(self._with_fine, self._place[self.height :], strict=True))
        self._parts = [
            (_flat(distinct[whole], of, np.float32), _flat(distinct[~whole], of, np.float64)) for of in self.outer
        ]
        self._coarse, self._fine = [], []

    def _whole(self, rows: Floats) -> Bools:
        """Which rows are whole numbers so small that float32 adds them up without rounding, in the heaviest replicate."""
        largest = np.abs(rows).max(axis=(1, 2), initial=0.0)
        fits: Bools = (largest * heaviest(self.clusters) < 2**24) & (rows == np.rint(rows)).all(axis=(1, 2))
        return fits

    def products(self, weights: Floats) -> Floats:
        """The sums of every distinct column, coarse and fine apart: outer groups x columns x inner groups x replicates."""
        heights = [len(part) for part in self._parts[0]]
        products = np.empty((len(self.outer), sum(heights), weights.shape[1]))
        for members, (whole, rest), out in zip(self.outer, self._parts, products, strict=True):
            mine = weights if len(members) == len(weights) else weights[members]
            out[: heights[0]] = whole @ mine.astype(np.float32)
            np.matmul(rest, mine, out=out[heights[0] :])
        return products.reshape(len(self.outer), products.shape[1] // self.inner, self.inner, weights.shape[1])

    def coarsened(self, products: Floats, wanted: Grouping) -> Floats:
        """The sums of a grouping that is as fine or coarser (columns x groups x replicates): the rest is added up.

        Coarse and fine parts stay apart: adding them rounds, and is done when no more groups are to be added up.
        """
        columns, replicates = products.shape[1], products.shape[-1]
        sizes = [
            len(dict.fromkeys(group[i] for group in self.grouping.groups)) for i in range(len(self.grouping.columns))
        ]
        shaped = np.moveaxis(products, 1, 0)
        if len(self.outer) == 1:
            shaped = shaped[:, 0]
        dropped = tuple(1 + i for i, column in enumerate(self.grouping.columns) if column not in wanted.columns)
        if dropped:
            shaped = shaped.reshape(columns, *sizes, replicates).sum(axis=dropped)
        return shaped.reshape(columns, len(wanted), replicates)

    def gathered(self, summed: Floats, statistic: object) -> ExactParts:
        """A statistic's sums: groups x replicates x columns."""
        rows = self.rows[statistic]
        coarse = summed[self._place[rows]]
        finer = [column for column in range(rows.start, rows.stop) if column in self._fine_of]
        fine = np.zeros_like(coarse) if finer else None
        for column in finer:
            assert fine is not None
            fine[column - rows.start] = summed[self._fine_of[column]]
        return ExactParts(coarse.transpose(1, 2, 0), None if fine is None else fine.transpose(1, 2, 0))


def _flat(rows: Floats, members: Ints, kind: type) -> NDArray[Any]:
    """Rows of columns x inner groups, over some of the clusters."""
    return np.ascontiguousarray(rows[:, :, members].reshape(rows.shape[0] * rows.shape[1], len(members)), kind)


def _finest(
    definition: Definition,
    grouping: Grouping,
    wanted: set[Columns],
    groupings: dict[Columns, Grouping],
) -> Grouping:
    """The grouping to sum over: fold x criterion serves fold, criterion and the whole at the price of one of them."""
    kind = definition.kind
    if isinstance(kind, Fit):
        return grouping
    by_fold, by_criterion = groupings.get(("fold",)), groupings.get(("criterion",))
    if isinstance(kind, Additive) and kind.statistic.unit == "post":
        return by_fold if by_fold is not None and ("fold",) in wanted and grouping is OVERALL else grouping
    if grouping.columns not in {(), ("fold",), ("criterion",), ("fold", "criterion")}:
        return grouping
    if by_fold is not None and by_criterion is not None and wanted >= {("fold",), ("criterion",)}:
        return by_fold.crossed(by_criterion)
    return by_fold if by_fold is not None and ("fold",) in wanted and grouping is OVERALL else grouping


def _key(definition: Definition, columns: Columns) -> tuple[object, ...]:
    kind = definition.kind
    return kind.statistic.key(definition.args) if isinstance(kind, Additive) else (definition, columns)


def _outer_partition(queries: Queries, grouping: Grouping) -> list[Ints]:
    """The clusters of each value of the first column where every cluster has only one; else all clusters in one part."""
    everyone = np.arange(len(queries.post_ids))
    if grouping.codes is None:
        return [everyone]
    outer = len(dict.fromkeys(group[0] for group in grouping.groups))
    code = grouping.codes // (len(grouping) // outer)
    low, high = np.full(len(everyone), outer), np.full(len(everyone), -1)
    np.minimum.at(low, queries.post, code)
    np.maximum.at(high, queries.post, code)
    if np.any((low != high) & (high >= 0)):
        return [everyone]
    return [np.flatnonzero(low == value) for value in range(outer)]


def _statistic_columns(
    queries: Queries, grouping: Grouping, statistic: Statistic, args: Args, table: _SumTable
) -> tuple[Floats, Ints, Ints | None]:
    """A statistic's columns, with the cluster and the group of each row."""
    if statistic.unit == "query":
        return statistic.columns(queries, args), queries.post, grouping.codes
    if grouping.codes is None or table.inner == 1:
        return statistic.columns(queries, args), np.unique(queries.post), None
    columns, posts, codes = [], [], []
    for code in range(len(grouping)):  # each group sees only its own queries of a post
        part = queries.take(np.flatnonzero(grouping.codes == code))
        columns.append(statistic.columns(part, args))
        posts.append(np.unique(part.post))
        codes.append(np.full(len(posts[-1]), code))
    return np.concatenate(columns), np.concatenate(posts), np.concatenate(codes)


def _scatter(columns: Floats, codes: Ints, size: int) -> Floats:
    return np.stack([add_up(codes, column, size) for column in columns.T]) if columns.shape[1] else np.zeros((0, size))


def defined(outcome: Outcome) -> Floats:
    """Values, with NaN where they are conventions rather than measurements."""
    values: Floats = np.where(outcome.flaws > 0, np.nan, outcome.values)
    return values


def per_cluster(queries: Queries, statistic: Statistic, args: Args) -> Floats:
    """A statistic's sums in every cluster: clusters x columns."""
    columns = statistic.columns(queries, args)
    posts = queries.post if statistic.unit == "query" else np.unique(queries.post)
    return _scatter(columns, posts, len(queries.post_ids)).T
