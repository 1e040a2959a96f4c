"""The candidates table: aligned with the queries, checked against them, and a source of gold and rankings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Ints
from evidentia.errors import Problem, shown
from evidentia.tables.checks import missing_ids, not_finite, rows_of, uid_at
from evidentia.tables.queries import Candidates
from evidentia.tables.table import Table
from evidentia.tables.uids import among, keys, repeated

_QUERY = "__query__"


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
    lists = frame.group_by(_QUERY, maintain_order=True).agg(pl.col("sent_uid").alias(column))
    rows = pl.DataFrame({_QUERY: np.arange(run.frame.height)})
    aligned = rows.join(lists, on=_QUERY, how="left", maintain_order="left")[column]
    return replace(run, frame=run.frame.with_columns(aligned.fill_null([])))


def pool_problems(pool: Pool, uid: Ints, run: Table) -> list[Problem]:
    """Everything that can be wrong with the candidates, by themselves and against the run."""
    table = pool.table
    problems = [*missing_ids(table), *not_finite(table, "score", "SCORE_NOT_FINITE"), *_values(table)]
    strays = np.flatnonzero(pool.query < 0)
    remedy = f"Add its row to {run.name}, or remove the candidates."
    problems += table.problem("STRAY_CANDIDATE", strays, f"of a query that {run.name} does not have", remedy)
    key = keys(np.where(pool.query < 0, run.frame.height, pool.query), uid, run.n_uids)
    own = np.flatnonzero(pool.query >= 0)
    twice = own[repeated(key[own])]
    remedy = "List every candidate of a query once."
    fault = "repeating a sent_uid of the same query"
    problems += table.problem("DUPLICATE_CANDIDATE", twice, fault, remedy, "sent_uid")
    problems += _other_fold(pool, run) + _more_than_n_candidates(pool, run)
    return problems + _against_gold(pool, key, run) + _leaves_post(pool, uid, run)


def _values(table: Table) -> list[Problem]:
    problems = []
    if table.has("node_prob"):
        bad = table.rows(pl.col("node_prob").is_between(0, 1).fill_null(False).not_())
        remedy = "Node probabilities lie in [0, 1]; leave the column out if only some are known."
        fault = "whose node_prob is missing or outside [0, 1]"
        problems += table.problem("NODE_PROB_RANGE", bad, fault, remedy, "node_prob")
    if table.has("is_gold"):
        bad = table.rows(pl.col("is_gold").is_null())
        problems += table.problem("IS_GOLD_MISSING", bad, "without is_gold", "Write 0 or 1 in every row.")
    return problems


def _other_fold(pool: Pool, run: Table) -> list[Problem]:
    if not pool.table.has("fold") or not run.has("fold"):
        return []
    own = np.flatnonzero(pool.query >= 0)
    differs = pool.table.frame["fold"].gather(own) != run.frame["fold"].gather(pool.query[own])
    fault = f"whose fold is not the one of its post in {run.name}"
    remedy = "A post is judged in one fold: correct one of them, or leave fold out of the candidates."
    bad = own[differs.fill_null(False).to_numpy()]
    return pool.table.problem("CANDIDATE_FOLD_CONTRADICTION", bad, fault, remedy, "fold")


def _more_than_n_candidates(pool: Pool, run: Table) -> list[Problem]:
    if not run.has("n_candidates"):
        return []
    listed = np.bincount(pool.query[pool.query >= 0], minlength=run.frame.height)
    bad = np.flatnonzero((run.frame["n_candidates"] < pl.Series(listed)).fill_null(False).to_numpy())
    fault = f"whose n_candidates is smaller than the number of candidates in {pool.table.name}"
    remedy = "It counts the candidates of the query before any cut: correct it, or leave the column out."
    return run.problem(
        "N_CANDIDATES_TOO_SMALL",
        bad,
        fault,
        remedy,
        lambda row: f"n_candidates {shown(run.frame['n_candidates'][row])}, listed {listed[row]}",
    )


def _against_gold(pool: Pool, key: Ints, run: Table) -> list[Problem]:
    gold = run.uids.get("gold_sent_uids")
    if gold is None:
        return []
    gold_key = keys(gold.owner, gold.values, run.n_uids)
    lost = np.flatnonzero(~among(gold_key, key))
    remedy = f"Gold is chosen among the candidates: add it to {pool.table.name}, or correct the gold."
    fault = f"with a gold sentence that is not among the candidates of {pool.table.name}"
    detail = uid_at(run, "gold_sent_uids", lost)
    problems = run.problem("GOLD_NOT_CANDIDATE", rows_of(gold, lost), fault, remedy, detail)
    if pool.table.has("is_gold"):
        marked = pool.table.frame["is_gold"].fill_null(False).to_numpy()
        bad = np.flatnonzero((marked != among(key, gold_key)) & (pool.query >= 0))
        fault = f"whose is_gold contradicts gold_sent_uids of {run.name}"
        remedy = "Both name the same sentences: correct one of them."
        problems += pool.table.problem("IS_GOLD_CONTRADICTION", bad, fault, remedy, "sent_uid")
    return problems


def _leaves_post(pool: Pool, uid: Ints, run: Table) -> list[Problem]:
    ranked = run.uids.get("ranked_sent_uids")
    if ranked is None:
        return []
    posts = run.frame["post_id"].fill_null("").cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    known = pool.query >= 0
    candidates = keys(posts[pool.query[known]], uid[known], run.n_uids)
    bad = np.flatnonzero(~among(keys(posts[ranked.owner], ranked.values, run.n_uids), candidates))
    remedy = "Rank sentences of the same post only, and list all of them as candidates."
    fault = f"whose ranking leaves the post: a sentence that is no candidate of it in {pool.table.name}"
    detail = uid_at(run, "ranked_sent_uids", bad)
    return run.problem("RANKING_LEAVES_POST", rows_of(ranked, bad), fault, remedy, detail)


def uid_in_two_posts(tables: list[Table], pool: Table | None, uid: Ints) -> list[Problem]:
    """Find uids that stand for sentences of two posts, anywhere in the run or its candidates."""
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
    for (table, column, owner, values), post in zip(pieces, posts, strict=True):
        if len(bad := np.flatnonzero(home[values] != post)):
            return _two_posts(table, column, owner, bad)
    return []


def _two_posts(table: Table, column: str, owner: Ints, bad: Ints) -> list[Problem]:
    def detail(row: int) -> str:
        uid = table.frame[column][row]
        if column != "sent_uid":
            uid = uid[int(bad[0] - table.uids[column].offsets[row])]
        return f"uid {shown(uid)}"

    return table.problem(
        "UID_IN_TWO_POSTS",
        np.unique(owner[bad]),
        f"with a uid in {column} that also appears under another post",
        "A ranking stays within its post, and a uid names one sentence of one post: correct the uids, "
        "or make them unique by putting the post id in front.",
        detail,
    )


def gather(pool: Pool, order: Ints) -> tuple[Candidates, pl.DataFrame]:
    """The candidates in the order of the queries; ``order`` is the final order of the run's rows."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    query = place[pool.query]
    rows = np.argsort(query, kind="stable")
    frame = pool.table.frame[rows]
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
