"""From a block of posts to what can be added up: the one kernel, wherever it runs.

A block is read and checked as any run is (`tables.read_run`), and its statistics are added up as those of any run are. What is
left of it is small: exact sums, counts, and a few narrow columns for what needs an order over all queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.array_types import Ints
from evidentia.engine.blocks import Block
from evidentia.engine.datasets import Dataset, Span, read_spans
from evidentia.engine.kept import behind, cuts, kept_columns
from evidentia.engine.specification import Groupings, RunShape, Specification, asked, relabelled
from evidentia.engine.truth import truth_sums
from evidentia.engine.words import plain_run, words_of
from evidentia.errors import InputError, Problem
from evidentia.evaluation.cluster_sums import ClusterSums
from evidentia.evaluation.compute import add_statistics, population_key
from evidentia.evaluation.plan import Grouping, Want
from evidentia.evaluation.sample_counts import (
    group_totals,
    masked_size,
    population_rows,
    post_sizes,
    sweep_classes,
)
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Macro, Sweep
from evidentia.stats.exact import ExactParts
from evidentia.stats.poisson import cluster_keys, poisson_weights
from evidentia.tables import Run, read_run
from evidentia.tables.columns import UID_COLUMNS
from evidentia.tables.files import Loaded
from evidentia.tables.queries import Queries

Key = tuple[object, ...]
ROW = "__row__"  # of a copy: where the row was


@dataclass(frozen=True)
class Job:
    """What is done with every block."""

    queries: Dataset
    candidates: Dataset | None
    columns: tuple[str, ...]
    candidate_columns: tuple[str, ...]
    reading: Mapping[str, Any]
    specification: Specification
    resamples: int = 0
    seed: int = 7
    allow_disjoint: bool = False


@dataclass(frozen=True, eq=False)
class Totals:
    """What adds up over blocks."""

    sums: dict[Key, ExactParts] = field(default_factory=dict)
    counts: dict[Key, Ints] = field(default_factory=dict)

    def plus(self, other: Totals) -> Totals:
        """The totals of both; what only one has is zero in the other."""
        sums, counts = dict(self.sums), dict(self.counts)
        for key, parts in other.sums.items():
            sums[key] = sums[key].plus(parts) if key in sums else parts
        for name, more in other.counts.items():
            counts[name] = counts[name] + more if name in counts else more
        return Totals(sums, counts)


@dataclass(frozen=True, eq=False)
class Reduced:
    """What is left of a block. ``columns`` are arrays that are joined over blocks."""

    number: int
    shape: RunShape
    totals: Totals
    columns: dict[Key, NDArray[Any]]
    left_out: dict[str, int]
    notes: tuple[str, ...]


def reduce_block(job: Job, block: Block) -> Reduced:
    """Read, check and add up a block."""
    run, uids = read_block(job, block)
    queries = relabelled(run.queries, job.specification.labels)
    groupings = Groupings(queries)
    pairs = asked(job.specification, RunShape.of(queries))
    wants = tuple(groupings.wants(pairs.both))
    added = add_statistics(queries, wants, block=len(queries))
    planned = tuple(groupings.wants(pairs.planned))
    columns = kept_columns(queries, wants, planned, added.rows, posts=job.resamples > 0) | uids
    totals = Totals(added.parts, _counts(queries, wants, squares=job.resamples > 0))
    if job.resamples:
        totals = totals.plus(_replicated(queries, planned, job))
        totals.counts["truth",] = truth_sums(run, queries)
    return Reduced(block.number, RunShape.of(queries), totals, columns, dict(run.left_out), run.notes)


def read_block(job: Job, block: Block) -> tuple[Run, dict[Key, NDArray[Any]]]:
    """The posts of a block as a checked run, and the words of their uids."""
    queries = _loaded(job.queries, block.queries, job.columns)
    candidates = None
    if job.candidates is not None and block.candidates:
        candidates = _loaded(job.candidates, block.candidates, job.candidate_columns)
    elif job.candidates is not None:
        raise InputError(
            Problem(
                "NO_CANDIDATES",
                f"{job.candidates.name} has no candidate of any query from {_ends(queries)}. Add them, or leave out those queries.",
            )
        )
    plain = None if candidates is None else plain_run(queries, candidates, job.reading)
    if plain is not None:
        return plain[0], {("uids",): plain[1]}
    run = read_run(queries, candidates=candidates, allow_disjoint=True, **job.reading)
    if run.tune is not None:
        raise InputError(
            Problem(
                "TUNE_ROWS",
                f"{queries.name} has TUNE rows (from {_ends(queries)}), which are read in memory only. Leave out --memory and "
                "--engine.",
            )
        )
    return run, _uids(run)


def _loaded(table: Dataset, spans: Sequence[Span], columns: Sequence[str]) -> Loaded:
    """The rows of some spans, which know their places in the files as they were given."""
    if table.origin is not None:
        frame = read_spans(table, spans, (*columns, ROW))
        rows, origin = frame[ROW].to_numpy(), table.origin
        return Loaded(origin.name, frame.drop(ROW), lambda row: origin.place(int(rows[row])))
    starts = np.cumsum([0, *(span.stop - span.start for span in spans)])

    def place(row: int) -> str:
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return spans[at].file.place(spans[at].start + row - int(starts[at]))

    return Loaded(table.name, read_spans(table, spans, columns), place)


def _ends(table: Loaded) -> str:
    """The first and the last row of a block, for messages."""
    return f"{table.place(0)} to {table.place(table.frame.height - 1)}"


def _uids(run: Run) -> dict[Key, NDArray[Any]]:
    """The different uids of a block as ascending words, to find those of two blocks; nothing where topics share them."""
    if run.queries.criterion_ids == ("",):
        return {}
    if run.candidates is not None:
        uids = run.candidates["sent_uid"].unique()
    else:
        lists = [run.frame[column].explode().drop_nulls() for column in UID_COLUMNS if column in run.frame.columns]
        uids = pl.concat([each.alias("") for each in lists]).unique() if lists else pl.Series([], dtype=pl.String)
    return {("uids",): np.sort(words_of(uids))}


def _replicated(queries: Queries, wants: Sequence[Want], job: Job) -> Totals:
    """The sums of every statistic in every replicate, and the weights of the posts."""
    bases = [base for each in wants for base in behind(queries, each)]
    additive = {(d, g.columns): (d, g) for d, g in [*wants, *bases] if isinstance(d.kind, Additive)}
    sums = ClusterSums(queries, list(additive.values()))
    weights = poisson_weights(cluster_keys(queries.post_ids), job.seed, range(job.resamples)).astype(np.float64)
    parts: dict[Key, ExactParts] = {("replicates", *key): part for key, part in sums.parts(weights).items()}
    counts: dict[Key, Ints] = {("weights",): weights.sum(axis=0).astype(np.int64)}
    for definition, grouping in wants:
        if isinstance(definition.kind, Macro) and definition.kind.weighted:
            ((_, crossed),) = behind(queries, (definition, grouping))
            positives = post_sizes(queries, np.flatnonzero(queries.label), crossed)
            counts["positives", crossed.columns] = (positives.T @ weights).astype(np.int64)
    return Totals(parts, counts)


def _counts(queries: Queries, wants: Sequence[Want], *, squares: bool) -> dict[Key, Ints]:
    """Units, posts and their squares in every group of every population, and what groups hold whatever is asked."""
    counts: dict[Key, Ints] = {("flags",): np.array([not queries.complete, len(queries.post_ids), len(queries)])}
    counts["cuts",] = cuts(queries)
    if queries.gold_ranks is not None and queries.n_gold is not None and queries.n_ranked is not None:
        counts["gold",] = np.array([queries.n_gold.sum(), len(queries.gold_ranks.values), queries.n_ranked.sum()])
    sizes: dict[Key, Ints] = {}  # many populations are the same queries
    for definition, grouping in (want for each in wants for want in (each, *behind(queries, each))):
        unit, columns = definition.population.unit, grouping.columns
        name: Key = ("totals", unit, columns)
        if name not in counts:
            counts[name] = group_totals(queries, unit, grouping)
        if (name := ("evidence", columns)) not in counts:
            codes = np.zeros(len(queries), np.int64) if grouping.codes is None else grouping.codes
            counts[name] = np.bincount(codes[queries.label], minlength=len(grouping))
        if (name := ("size", *population_key(definition, grouping))) not in counts:
            mask = definition.population.mask(queries, definition.args)
            held: Key = (None if mask is None else mask.tobytes(), unit, columns)
            if held not in sizes:
                sizes[held] = np.stack(masked_size(queries, mask, unit, grouping))
            counts[name] = sizes[held]
        name = ("squares", *squares_key(definition, grouping))
        if squares and name not in counts:
            counts[name] = _squares(queries, definition, grouping)
    return counts


def squares_key(definition: Definition, grouping: Grouping) -> Key:
    """Equal for definitions with the same posts behind their numbers."""
    kind = definition.kind
    if isinstance(kind, Sweep):
        return ("sweep", definition.args.get("level") or "query", grouping.columns)
    return population_key(definition, grouping)


def _squares(queries: Queries, definition: Definition, grouping: Grouping) -> Ints:
    """Sizes of the posts, added up as they are and squared, in every group: classes x 2 x groups."""
    kind = definition.kind
    parts = (
        sweep_classes(queries, kind, definition.args)
        if isinstance(kind, Sweep)
        else [population_rows(queries, definition)]
    )
    sizes = [post_sizes(queries, rows, grouping) for rows in parts]
    return np.array([[each.sum(axis=0), (each**2).sum(axis=0)] for each in sizes]).astype(np.int64)
