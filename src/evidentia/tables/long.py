"""A run with one row per sentence of a query: its queries, their rankings and gold, and the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import InputError, Problem
from evidentia.tables.columns import CANDIDATES, PER_QUERY, UID_COLUMNS, Typed
from evidentia.tables.table import ROW, Table
from evidentia.tables.uids import nested

LONG = {name: kind for name, kind in PER_QUERY.items() if name not in UID_COLUMNS} | dict(CANDIDATES)
_QUERY = "__query__"


def is_long(frame: pl.DataFrame) -> bool:
    """Whether rows are sentences: they have a sent_uid and no lists, and are marked and scored or repeat their queries."""
    key = ["post_id", "criterion_id"]
    if not {*key, "sent_uid"} <= {*frame.columns} or {*UID_COLUMNS} & {*frame.columns}:
        return False
    marked = {"score", "is_gold"} <= {*frame.columns}
    return marked or bool(frame.select(pl.struct(key).is_duplicated().any()).item())


def queries_and_candidates(long: Typed) -> tuple[Typed, Typed]:
    """The queries with gold and rankings as lists, and the candidates; equal scores keep their order."""
    table = long.table
    if long.problems:  # columns may have been dropped for them
        raise InputError(*long.problems)
    key = ["post_id", "criterion_id", *(["fold", "split"] if table.has("split") else [])]
    key = [column for column in key if table.has(column)]
    first = table.frame.select(pl.struct(key).is_first_distinct()).to_series()
    starts = np.flatnonzero(first.to_numpy())
    query = _query_of(table.frame, key, first)
    if problems := _varying(table, query, starts):
        raise InputError(*problems)
    candidates = [column for column in table.frame.columns if column in {ROW, *CANDIDATES}]
    frame = table.frame.select(c for c in table.frame.columns if c not in CANDIDATES or c in {*key, "fold", "split"})
    frame = frame[starts].with_columns(
        _lists(table.frame, query, len(starts), pl.col("is_gold"), "gold_sent_uids"),
        _lists(table.frame, query, len(starts), pl.lit(True), "ranked_sent_uids"),
    )
    pool = replace(table, frame=table.frame.select(candidates))
    return replace(long, table=replace(table, frame=frame)), Typed(pool, (), (), long.columns)


def _query_of(frame: pl.DataFrame, key: Sequence[str], first: pl.Series) -> Ints:
    """The number of the query of every row, in the order of their first rows."""
    numbered = frame.filter(first).select(key).with_row_index(_QUERY)
    rows = frame.select(key).join(numbered, on=key, how="left", maintain_order="left", nulls_equal=True)
    return rows[_QUERY].cast(pl.Int64).to_numpy()


def _varying(table: Table, query: Ints, starts: Ints) -> list[Problem]:
    """Columns of queries that are not the same in all rows of a query."""
    problems = []
    for column in table.frame.iter_columns():
        if column.name == ROW or (column.name in CANDIDATES and column.name != "fold"):
            continue
        differs = column.ne_missing(column.gather(starts[query]))
        problems += table.problem("VARIES_WITHIN_QUERY", np.flatnonzero(differs.to_numpy()), column=column.name)
    return problems


def _lists(frame: pl.DataFrame, query: Ints, height: int, chosen: pl.Expr, name: str) -> pl.Series:
    """The chosen sentences of every query, by descending score."""
    rows = frame.with_columns(pl.Series(_QUERY, query)).filter(chosen)
    rows = rows.sort("score", descending=True, nulls_last=True, maintain_order=True)
    return nested(rows[_QUERY].to_numpy(), rows["sent_uid"].fill_null(""), height).alias(name)
