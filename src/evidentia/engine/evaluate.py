"""Evaluate tables that are larger than memory: blocks are reduced wherever there is room, and their totals are added up here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from evidentia.engine.blocks import Block, lay_out
from evidentia.engine.columns import ColumnStore
from evidentia.engine.computation import SpilledComputation, planned_queries
from evidentia.engine.datasets import Dataset, dataset
from evidentia.engine.endings import Remains
from evidentia.engine.executors import Executor
from evidentia.engine.reduction import Job, Reduced, Totals, reduce_block
from evidentia.engine.regrouping import regrouped
from evidentia.engine.replicates import SpilledReplicates
from evidentia.engine.specification import Labels, RunShape, Specification, plan_of
from evidentia.engine.truth import described
from evidentia.errors import InputError, Problem, counted
from evidentia.evaluation.curves import curves
from evidentia.evaluation.estimates import EstimateBuilder
from evidentia.evaluation.evaluate import defined_otherwise, other_definitions
from evidentia.evaluation.intervals import Intervals, Resampling, intervals
from evidentia.measures import canonical, profile_named
from evidentia.results import Evaluation
from evidentia.results.curve import EVERY_CURVE
from evidentia.stats.resampling import Progress, ResamplingPlan
from evidentia.tables import Run
from evidentia.tables.build import slice_of
from evidentia.tables.cells import TEXT, converted
from evidentia.tables.columns import CANDIDATES, PER_QUERY
from evidentia.tables.order import by_number, natural

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
PROCESS = 230 * 10**6  # what a process needs before it has read anything
PER_ROW = 650  # bytes of a process for each row of a block
PER_QUERY_HERE = 30  # bytes of this process for each query of the run, at the end
PER_QUERY_WEIGHED = 80  # the same with resamples
NO_DRAWS = ResamplingPlan(0, 0, 0)  # figures have no bands here
MOST_RESAMPLES = 2_000  # every block sends its sums in all of them
FEWEST_ROWS = 20_000  # of a block: smaller ones cost more than they save


@dataclass(frozen=True)
class Tables:
    """The tables of a run in files, and how they are read."""

    queries: Path
    candidates: Path | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    candidates_mapping: Mapping[str, str] = field(default_factory=dict)
    list_sep: str | None = None
    uids: str = "run"
    by: tuple[str, ...] = ()
    allow_disjoint: bool = False

    @property
    def files(self) -> dict[str, Path]:
        """Files or folders by what they hold."""
        return {"run": self.queries} | ({} if self.candidates is None else {"candidates": self.candidates})

    def column_of(self, table: Dataset, name: str) -> str:
        """The column of a table that stands for a canonical name."""
        own = (self.candidates_mapping if table.role == "candidates" else {}).get(name, self.mapping.get(name))
        return name if own is None or own not in table.schema else own

    @property
    def reading(self) -> dict[str, Any]:
        """The options of ``read_run``."""
        return {
            "mapping": dict(self.mapping) or None,
            "candidates_mapping": dict(self.candidates_mapping) or None,
            "list_sep": self.list_sep,
            "uids": self.uids,
            "by": self.by,
        }


def memory_of(text: str) -> int:
    """The bytes that a size names.

    >>> memory_of("2GB"), memory_of("500 MB")
    (2000000000, 500000000)
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)I?B?\s*", text.upper())
    if match is None or not float(match[1]):
        raise InputError(f"--memory {text} is no size. Give a number with a unit, for example 2GB.")
    return int(float(match[1]) * UNITS[match[2]])


def evaluate_blocks(
    tables: Tables,
    *,
    profile: str,
    names: Sequence[str],
    named: bool,
    resampling: Resampling,
    executor: Executor,
    memory: int,
    scratch: Path | None = None,
    progress: Progress | None = None,
    tell_truth: Callable[[list[dict[str, Any]]], object] | None = None,
) -> Evaluation:
    """Compute the measures of a run in Parquet files within some memory; ``named`` where somebody asked for these alone.

    With resamples ``tell_truth`` is called with what the queries are judged against, so that another result can be compared.
    """
    if resampling.resamples > MOST_RESAMPLES:
        raise InputError(
            f"Blocks take at most {MOST_RESAMPLES:,} resamples. Give --resamples {MOST_RESAMPLES} or fewer, or 0."
        )
    run = dataset(tables.queries, "run")
    pool = None if tables.candidates is None else dataset(tables.candidates, "candidates")
    specification = Specification(profile, tuple(names), tables.by, labels_of(run, tables))
    columns = _columns_to_read(run, pool, tables)
    rows = rows_of_blocks(memory, executor.workers)
    if tables.column_of(run, "sent_uid") not in run.schema:
        _ensure_room(run.rows, memory, resampling.resamples)  # before anything is read
    with TemporaryDirectory(prefix="evidentia-", dir=scratch) as folder:
        job = Job(
            run,
            pool,
            *columns,
            tables.reading,
            specification,
            resampling.resamples,
            resampling.seed,
            tables.allow_disjoint,
        )
        job, blocks = _blocks(job, tables, rows, Path(folder))
        joined = _Joined(ColumnStore(Path(folder)))
        for done, reduced in enumerate(executor.map(partial(reduce_block, job), blocks)):
            joined.add(reduced)
            if progress is not None:
                progress(done + 1, len(blocks))
        if tell_truth is not None and resampling.resamples:
            tell_truth(described(joined.totals.counts["truth",], specification.labels.criteria))
        return _evaluation(joined, job, resampling, memory, executor, named=named)


def rows_of_blocks(memory: int, workers: int) -> int:
    """How many rows a block may have, so that all processes together stay within the memory."""
    room = (memory - (workers + 1) * PROCESS) // workers
    if room < FEWEST_ROWS * PER_ROW:
        least = (workers + 1) * PROCESS + workers * FEWEST_ROWS * PER_ROW
        raise InputError(
            f"--memory {memory / 1e6:,.0f} MB is too little for {counted(workers, 'worker')}: give {least / 1e6:,.0f} MB or "
            "more, or fewer --workers."
        )
    return min(room // PER_ROW, 2_000_000)


def _columns_to_read(run: Dataset, pool: Dataset | None, tables: Tables) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of both tables that say something; further ones may hold texts, and cost time."""
    stages = {"retriever_score", "reranker_score", "graph_score"}
    known = {*PER_QUERY, *CANDIDATES, *tables.by} - stages
    own = {tables.mapping.get(name, name) for name in known} | set(tables.mapping.values())
    of_run = tuple(column for column in run.schema if column in own)
    if pool is None:
        return of_run, ()
    of_pool = {tables.column_of(pool, name) for name in CANDIDATES if name not in stages}
    return of_run, tuple(column for column in pool.schema if column in of_pool)


def labels_of(run: Dataset, tables: Tables) -> Labels:
    """The criteria, folds and slices of the whole run."""
    criteria = _unique(run, tables, "criterion_id")
    folds = _unique(run, tables, "fold")
    slices = []
    for column in tables.by:
        values = _unique(run, tables, column)
        if values is not None:
            slices.append((column, slice_of(values).labels))
    if criteria is None:
        raise InputError(
            Problem("MISSING_COLUMN", "The run has no column criterion_id. Name it with --map criterion_id=COLUMN.")
        )
    named = converted(criteria, TEXT)
    if named.null_count() == len(named):
        named = named.fill_null("")
    folded = None if folds is None else by_number(converted(folds, TEXT).drop_nulls())
    return Labels(natural(named.drop_nulls()), folded or None, tuple(slices))


def _unique(run: Dataset, tables: Tables, name: str) -> pl.Series | None:
    """The different values of a column, or None where there is none."""
    column = tables.mapping.get(name, name)
    if column not in run.schema:
        return None
    parts = [run.scan(span, [column]).unique().collect(engine="streaming")[column] for span in run.whole()]
    return pl.concat([part.cast(parts[0].dtype) for part in parts]).unique().alias(name)


def _blocks(job: Job, tables: Tables, rows: int, scratch: Path) -> tuple[Job, tuple[Block, ...]]:
    """The blocks of a run; where posts are scattered, of a copy in which they are not."""
    posts = tables.column_of(job.queries, "post_id"), tables.column_of(job.candidates or job.queries, "post_id")
    blocks = lay_out(job.queries, job.candidates, posts, rows)
    return regrouped(job, posts, rows, scratch) if blocks is None else (job, blocks)


class _Joined:
    """What is left of all blocks so far."""

    def __init__(self, store: ColumnStore) -> None:
        self.store, self.totals = store, Totals()
        self.shape: RunShape | None = None
        self.left_out: dict[str, int] = {}
        self.notes: dict[str, None] = {}

    def add(self, reduced: Reduced) -> None:
        """Take a block in."""
        if self.shape is not None and reduced.shape != self.shape:
            differ = ", ".join(sorted(reduced.shape.columns ^ self.shape.columns)) or "node_prob"
            raise InputError(
                Problem(
                    "UNEVEN_BLOCKS",
                    f"In some posts there is {differ}, and in others, from block {reduced.number + 1} on, there is not. Fill the "
                    "column everywhere or leave it out.",
                )
            )
        self.shape = reduced.shape
        self.totals = self.totals.plus(reduced.totals)
        for key, part in reduced.columns.items():
            self.store.append(key, part)
        for reason, count in reduced.left_out.items():
            self.left_out[reason] = self.left_out.get(reason, 0) + count
        self.notes.update(dict.fromkeys(reduced.notes))


def _evaluation(
    joined: _Joined, job: Job, resampling: Resampling, memory: int, executor: Executor, *, named: bool
) -> Evaluation:
    """The result of all blocks together."""
    specification = job.specification
    chosen = profile_named(specification.profile)
    assert joined.shape is not None
    _ensure_room(int(joined.totals.counts["flags",][2]), memory, resampling.resamples)
    _refuse_shared_uids(joined.store, job)
    _refuse_disjoint(joined.totals, job)
    complete = not joined.totals.counts["flags",][0]
    cuts = joined.totals.counts["cuts",]
    queries = planned_queries(joined.shape, specification.labels, cuts, complete=complete)
    plan = plan_of(queries, specification)
    plan.ensure_possible(chosen)
    remains = Remains(joined.store, specification, joined.shape)
    computation = SpilledComputation(
        queries,
        sums={key: parts.total() for key, parts in joined.totals.sums.items()},
        totals=joined.totals,
        remains=remains,
        executor=executor,
    )
    computation.prepare()
    limits: Intervals = {}
    if resampling.resamples:
        replicates = SpilledReplicates(computation, remains, job, joined.store.read(("posts",)))
        limits = intervals(computation, replicates.each(plan.wants), resampling)
    estimates = EstimateBuilder(chosen, computation, limits, resampling).estimates(plan)
    run = Run(queries=queries, frame=pl.DataFrame())
    drawn = EVERY_CURVE if not named else plan.curves
    return Evaluation(
        profile=chosen.name,
        seed=resampling.seed,
        resamples=resampling.resamples,
        interval=resampling.to_dict(),
        measures=MappingProxyType(estimates),
        not_computed=plan.not_computed(chosen),
        other_definitions=other_definitions(defined_otherwise(run, chosen, plan), computation, estimates),
        notes=tuple(joined.notes),
        dataset=_dataset(joined, specification.labels),
        curves=curves(
            queries,
            drawn,
            estimates.get("ECE"),
            resampling.level,
            NO_DRAWS,
            counted=lambda _, fold: computation.turns(() if fold is None else ("fold",)),
            shared=lambda _, bins: joined.store.read(("shares", bins)).reshape(-1, 2, bins),
        ),
        resolve=partial(canonical, profile=chosen),
    )


def _refuse_shared_uids(store: ColumnStore, job: Job) -> None:
    """Refuse a uid that stands for sentences of posts in different blocks; within a block the reader has looked."""
    if ("uids",) not in store:
        return
    stretches = store.ascending([("uids",)])
    shared = sum(int(np.count_nonzero(words[1:] == words[:-1])) for (words,) in stretches)
    if shared:
        raise InputError(
            Problem(
                "UID_IN_TWO_POSTS",
                f"{job.queries.name}: {counted(shared, 'uid')} also appear under a post of another block. A uid names one sentence "
                "of one post: correct the uids, or, if they are unique within their post only, say so with --uids post.",
            )
        )


def _refuse_disjoint(totals: Totals, job: Job) -> None:
    """Refuse rankings in which no gold uid occurs: all measures of rankings would be 0."""
    gold, ranked_gold, ranked = totals.counts.get(("gold",), np.ones(3)).tolist()
    if gold and ranked and not ranked_gold and not job.allow_disjoint:
        raise InputError(
            Problem(
                "GOLD_NEVER_RANKED",
                f"{job.queries.name}: none of {gold:,} gold uids occurs in the ranking of its query. If another sign than | "
                "joins the uids, name it with --list-sep; if it is so indeed, add --allow-disjoint.",
            )
        )


def _ensure_room(queries: int, memory: int, resamples: int) -> None:
    needed = PROCESS + (PER_QUERY_WEIGHED if resamples else PER_QUERY_HERE) * queries
    if needed > memory:
        raise InputError(
            f"{queries:,} queries need {needed / 1e9:.1f} GB for the orders over all of them, and --memory is "
            f"{memory / 1e9:.1f} GB. Give more."
        )


def _dataset(joined: _Joined, labels: Labels) -> dict[str, object]:
    _, posts, queries = joined.totals.counts["flags",].tolist()
    return {
        "card": None,
        "queries": queries,
        "positives": int(joined.totals.counts["evidence", ()][0]),
        "posts": posts,
        "criteria": len(labels.criteria),
        "folds": None if labels.folds is None else len(labels.folds),
        "left_out": dict(joined.left_out),
    }
