"""What stands behind a number: units, posts, and how many of the same size would tell as much."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.evaluation.plan import Grouping
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Sweep
from evidentia.results.measure import Args, Population, Unit
from evidentia.results.sample_size import Kind
from evidentia.stats.exact import add_up
from evidentia.tables.queries import Queries


def population_size(queries: Queries, population: Population, args: Args, grouping: Grouping) -> tuple[Ints, Ints]:
    """How many units of the population each group holds, and from how many posts they come."""
    return masked_size(queries, population.mask(queries, args), population.unit, grouping)


def masked_size(queries: Queries, mask: Bools | None, unit: Unit, grouping: Grouping) -> tuple[Ints, Ints]:
    """How many units the queries of a mask hold in each group, and from how many posts they come."""
    rows = np.arange(len(queries)) if mask is None else np.flatnonzero(mask)
    codes: NDArray[np.int64] = np.zeros(len(rows), np.int64) if grouping.codes is None else grouping.codes[rows]
    seen = np.zeros((len(queries.post_ids), len(grouping)), bool)
    seen[queries.post[rows], codes] = True
    clusters = seen.sum(axis=0)
    if unit == "post":
        return clusters, clusters
    if unit == "candidate":
        assert queries.candidates is not None
        sizes = np.diff(queries.candidates.offsets)[rows].astype(float)
        return add_up(codes, sizes, len(grouping)).astype(np.int64), clusters
    return np.bincount(codes, minlength=len(grouping)), clusters


def population_rows(queries: Queries, definition: Definition) -> Ints:
    """The queries that a definition speaks about."""
    mask = definition.population.mask(queries, definition.args)
    return np.arange(len(queries)) if mask is None else np.flatnonzero(mask)


def sweep_classes(queries: Queries, kind: Sweep, args: Args) -> list[Ints]:
    """The queries of the positive units of a sweep, and those of the others; a query stands for each of its units."""
    units = kind.units(queries, args)
    return [units.rows[units.labels], units.rows[~units.labels]]


def post_sizes(queries: Queries, rows: Ints, grouping: Grouping) -> Floats:
    """How many of the rows each post has in each group: posts x groups."""
    posts, groups = len(queries.post_ids), len(grouping)
    codes = 0 if grouping.codes is None else grouping.codes[rows]
    return (
        np.bincount(queries.post[rows] * groups + codes, minlength=posts * groups).reshape(posts, groups).astype(float)
    )


def group_totals(queries: Queries, unit: str, grouping: Grouping) -> Ints:
    """How many queries, or posts, every group holds, also those that a population leaves out."""
    codes = np.zeros(len(queries), np.int64) if grouping.codes is None else grouping.codes
    if unit != "post":
        return np.bincount(codes, minlength=len(grouping))
    seen = np.zeros((len(queries.post_ids), len(grouping)), bool)
    seen[queries.post, codes] = True
    posts: Ints = seen.sum(axis=0)
    return posts


def simulated_kind(definition: Definition) -> Kind | None:
    """The kind whose intervals were simulated with few posts, if the definition is of one."""
    kind = definition.kind
    if isinstance(kind, Sweep):
        return "sweep"
    return "sum" if isinstance(kind, Additive) and kind.gaps is None else None
