"""The candidates table: aligned with the queries, checked against them, and a source of gold and rankings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Ints
from evidentia.errors import Problem, shown
from evidentia.tables.checks import infinite, missing_ids, uid_problem
from evidentia.tables.queries import Candidates
from evidentia.tables.table import Table, is_every_row
from evidentia.tables.uids import among, keys, nested, repeated

_QUERY = "__query__"
WITHIN_POST = "UIDS_WITHIN_POST"  # where most uids are those of several posts


@dataclass(frozen=True, eq=False)
class Pool:
    """The candidates of the EVAL queries. ``query`` is the row of the run that each belongs to, or -1."""

    table: Table
    query: Ints


def align(table: Table, run: Table) -> Pool:
    """Find the query of every candidate."""
    key = ["post_id", "criterion_id"]
    rows = run.frame.select(key).with_row_index(_QUERY).unique(key, keep="first")
    query = table.frame.select(key).join(rows, on=key, how="left", maintain_order="left")[_QUERY]
    return Pool(table, query.cast(pl.Int64).fill_null(-1).to_numpy())


def derive(run: Table, pool: Pool) -> Table:
    """Take gold and ranking from the candidates where the run has none; equal scores keep their order."""
    frame = pool.table.frame.with_columns(pl.Series(_QUERY, pool.query)).filter(pl.col(_QUERY) >= 0)
    if not run.has("gold_sent_uids") and pool.table.has("is_gold"):
        run = _with_lists(run, frame.filter(pl.col("is_gold")), "gold_sent_uids")
    if not run.has("ranked_sent_uids") and pool.table.has("score"):
        best_first = frame.sort("score", descending=True, maintain_order=True)
        run = _with_lists(run, best_first, "ranked_sent_uids")
    return run


def _with_lists(run: Table, frame: pl.DataFrame, column: str) -> Table:
    lists = nested(frame[_QUERY].to_numpy(), frame["sent_uid"], run.frame.height)
    return replace(run, frame=run.frame.with_columns(lists.alias(column)))


def pool_problems(pool: Pool, uid: Ints, run: Table) -> list[Problem]:
    """Everything that can be wrong with the candidates, by themselves and against the run."""
    table = pool.table
    key = keys(np.where(pool.query < 0, run.frame.height, pool.query), uid, run.n_uids)
    own = np.flatnonzero(pool.query >= 0)
    return [
        *missing_ids(table),
        *table.problem("SCORE_NOT_FINITE", infinite("score"), "score"),
        *table.problem("NODE_PROB_RANGE", pl.col("node_prob").is_between(0, 1).fill_null(False).not_(), "node_prob"),
        *table.problem("IS_GOLD_MISSING", pl.col("is_gold").is_null()),
        *table.problem("STRAY_CANDIDATE", np.flatnonzero(pool.query < 0), run=run.name),
        *table.problem("DUPLICATE_CANDIDATE", own[repeated(key[own])], "sent_uid"),
        *_other_fold(pool, own, run),
        *_more_than_n_candidates(pool, run),
        *_against_gold(pool, key, run),
        *_leaves_post(pool, uid, run),
    ]


def _other_fold(pool: Pool, own: Ints, run: Table) -> list[Problem]:
    if not pool.table.has("fold") or not run.has("fold"):
        return []
    differs = pool.table.frame["fold"].gather(own) != run.frame["fold"].gather(pool.query[own])
    bad = own[differs.fill_null(False).to_numpy()]
    return pool.table.problem("CANDIDATE_FOLD_CONTRADICTION", bad, "fold", run=run.name)


def _more_than_n_candidates(pool: Pool, run: Table) -> list[Problem]:
    if not run.has("n_candidates"):
        return []
    listed = np.bincount(pool.query[pool.query >= 0], minlength=run.frame.height)
    bad = np.flatnonzero((run.frame["n_candidates"] < pl.Series(listed)).fill_null(False).to_numpy())
    return run.problem(
        *("N_CANDIDATES_TOO_SMALL", bad, "n_candidates"),
        detail=lambda row: f"listed {listed[row]}",
        candidates=pool.table.name,
    )


def _against_gold(pool: Pool, key: Ints, run: Table) -> list[Problem]:
    gold = run.uids.get("gold_sent_uids")
    if gold is None:
        return []
    gold_key = keys(gold.owner, gold.values, run.n_uids)
    lost = np.flatnonzero(~among(gold_key, key))
    problems = uid_problem(run, "GOLD_NOT_CANDIDATE", "gold_sent_uids", lost, candidates=pool.table.name)
    if pool.table.has("is_gold"):
        is_gold = pool.table.frame["is_gold"].fill_null(False).to_numpy()
        bad = np.flatnonzero((is_gold != among(key, gold_key)) & (pool.query >= 0))
        problems += pool.table.problem("IS_GOLD_CONTRADICTION", bad, "sent_uid", run=run.name)
    return problems


def _leaves_post(pool: Pool, uid: Ints, run: Table) -> list[Problem]:
    ranked = run.uids.get("ranked_sent_uids")
    if ranked is None:
        return []
    posts = run.frame["post_id"].fill_null("").cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    known = pool.query >= 0
    candidates = keys(posts[pool.query[known]], uid[known], run.n_uids)
    bad = np.flatnonzero(~among(keys(posts[ranked.owner], ranked.values, run.n_uids), candidates))
    return uid_problem(run, "RANKING_LEAVES_POST", "ranked_sent_uids", bad, candidates=pool.table.name)


def uid_in_two_posts(tables: list[Table], pool: Table | None, uid: Ints, *, within_post: bool) -> list[Problem]:
    """Find uids that stand for sentences of two posts, anywhere in the run or its candidates.

    ``within_post`` says that uids have their post in front already.
    """
    pieces = [(t, c, lists.owner, lists.values) for t in tables for c, lists in t.uids.items()]
    if pool is not None:
        pieces.append((pool, "sent_uid", np.arange(len(uid)), uid))
    if not pieces:
        return []
    ids = pl.concat([t.frame["post_id"].fill_null("") for t, *_ in pieces]).cast(pl.Categorical)
    codes = ids.to_physical().to_numpy().astype(np.int64)
    ends = np.cumsum([t.frame.height for t, *_ in pieces])
    home = np.full(max(int(values.max(initial=-1)) for *_, values in pieces) + 1, -1)
    posts = [codes[end - t.frame.height : end][owner] for (t, _, owner, _), end in zip(pieces, ends, strict=True)]
    for (*_, values), post in zip(reversed(pieces), reversed(posts), strict=True):
        home[values[::-1]] = post[::-1]  # backwards, so that the first mention of a uid is its home
    away = [np.flatnonzero(home[values] != post) for (*_, values), post in zip(pieces, posts, strict=True)]
    shared = np.unique(np.concatenate([values[bad] for (*_, values), bad in zip(pieces, away, strict=True)]))
    key = WITHIN_POST if 2 * len(shared) >= (home >= 0).sum() else "UID_IN_TWO_POSTS"
    key = "UID_AFTER_POST" if within_post else key
    for (table, column, *_), bad in zip(pieces, away, strict=True):
        if len(bad):
            if column != "sent_uid":
                return uid_problem(table, key, column, bad)
            return table.problem(key, bad, detail=partial(_uid_of, table), column=column)
    return []


def _uid_of(table: Table, row: int) -> str:
    return f"uid {shown(table.frame['sent_uid'][row])}"


def gather(pool: Pool, order: Ints) -> tuple[Candidates, pl.DataFrame]:
    """The candidates in the order of the queries; ``order`` is the final order of the run's rows."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    query = place[pool.query]
    rows = np.argsort(query, kind="stable")
    frame = pool.table.frame
    if not is_every_row(rows, frame.height):
        frame = frame[rows]
    node_prob = frame["node_prob"].to_numpy() if pool.table.has("node_prob") else None
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=len(order)))])
    is_gold: Bools = frame["is_gold"].to_numpy().astype(np.bool_)
    return Candidates(offsets, frame["score"].to_numpy(), is_gold, node_prob), frame


def marked(pool: Pool, uid: Ints, run: Table) -> Pool:
    """The candidates with is_gold, taken from the gold of the run where their file does not say."""
    if pool.table.has("is_gold"):
        return pool
    gold = run.uids["gold_sent_uids"]
    key = keys(pool.query, uid, run.n_uids)
    is_gold = pl.Series("is_gold", among(key, keys(gold.owner, gold.values, run.n_uids)))
    return replace(pool, table=replace(pool.table, frame=pool.table.frame.with_columns(is_gold)))
