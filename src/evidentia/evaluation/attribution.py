"""Charge every missed gold sentence to the stage that lost it, and compare every K with the best one."""

from __future__ import annotations

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Floats, Ints
from evidentia.results.attribution import Attribution, KRange, KRegret, Losses
from evidentia.tables import Run
from evidentia.tables.queries import POS, Queries

LISTS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")
RETURNED, RETRIEVER, GATE, K, RANKING = range(5)
FATES = ("returned", "retriever cut", "gate", "K", "ranking")


def attribute(run: Run) -> Attribution | None:
    """Where the evidence of a run was lost; None without gold sentences, rankings and selections.

    A missed sentence is charged to the first of these that holds: it was never ranked (retriever cut); the gate stopped its
    query (gate); it is ranked no deeper than the largest selection of the run, or no ranking could have put all gold
    sentences of the query there (K); else the ranking put it too deep (ranking).
    """
    queries = run.queries
    if not set(LISTS) <= set(run.frame.columns) or queries.n_selected is None:
        return None
    sentences = _gold_sentences(run)
    cap = int(queries.n_selected.max(initial=0))
    owner = sentences["query"].to_numpy()
    fate = _fate(sentences, let_through(queries), cap)
    criteria = {name: queries.criterion == code for code, name in enumerate(queries.criterion_ids)}
    everyone = np.ones(len(queries), bool)
    regret = {name: found for name, of in criteria.items() if (found := _regret(queries, of)) is not None}
    return Attribution(
        losses=_losses(queries, owner, fate, everyone),
        losses_by_criterion={name: _losses(queries, owner, fate, of) for name, of in criteria.items()},
        regret=_regret(queries, everyone),
        regret_by_criterion=regret,
        k=_k_range(queries.n_selected),
    )


def fates(run: Run) -> pl.DataFrame | None:
    """Every gold sentence (query, uid, rank) with what became of it; None without gold, rankings and selections."""
    queries = run.queries
    if not set(LISTS) <= set(run.frame.columns) or queries.n_selected is None:
        return None
    sentences = _gold_sentences(run)
    fate = _fate(sentences, let_through(queries), int(queries.n_selected.max(initial=0)))
    return sentences.with_columns(fate=pl.Series([FATES[code] for code in fate], dtype=pl.String))


def let_through(queries: Queries) -> Bools:
    """The queries that the gate does not stop; all of them where there is none."""
    return np.ones(len(queries), bool) if queries.gate is None else queries.gate


def _gold_sentences(run: Run) -> pl.DataFrame:
    """One row per gold sentence: its query, its rank (null where it was never ranked), and whether it was selected."""
    frame = run.frame.select(*LISTS).with_row_index("query").filter(pl.col("gold_sent_uids").list.len() > 0)
    gold = frame.select("query", uid="gold_sent_uids").explode("uid")
    ranked = _members(frame, "ranked_sent_uids").with_columns(rank=pl.int_range(1, pl.len() + 1).over("query"))
    selected = _members(frame, "selected_sent_uids").with_columns(selected=pl.lit(True))
    key = ["query", "uid"]
    placed = gold.join(ranked, on=key, how="left", maintain_order="left")
    return placed.join(selected, on=key, how="left", maintain_order="left").with_columns(
        pl.col("selected").fill_null(False), pl.col("rank").cast(pl.Int64)
    )


def _members(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return frame.filter(pl.col(column).list.len() > 0).select("query", uid=column).explode("uid")


def _fate(sentences: pl.DataFrame, passing: Bools, cap: int) -> Ints:
    """What became of every gold sentence."""
    query, selected = sentences["query"].to_numpy(), sentences["selected"].to_numpy()
    rank = sentences["rank"].fill_null(0).to_numpy()
    ranked = pl.col("rank").is_not_null()
    deeper = (pl.col("rank").rank("ordinal", descending=True).over("query") - 1).alias("deeper")
    found = sentences.select(deeper, ranked.sum().over("query").alias("held"))
    # of more gold sentences than the largest selection holds, the deepest are out of reach of any ranking
    beyond = found["deeper"].fill_null(0).to_numpy() < found["held"].to_numpy().astype(np.int64) - cap
    reachable = (rank <= cap) | beyond
    choices = [selected, rank == 0, ~passing[query], reachable]
    return np.select(choices, [RETURNED, RETRIEVER, GATE, K], RANKING)


def _losses(queries: Queries, owner: Ints, fate: Ints, of: Bools) -> Losses:
    assert queries.n_selected is not None
    counts = np.bincount(fate[of[owner]], minlength=5).tolist()
    alert = queries.state == POS if queries.state is not None else let_through(queries)
    negative = of & ~queries.label
    return Losses(
        gold=sum(counts),
        returned=counts[RETURNED],
        retriever=counts[RETRIEVER],
        gate=counts[GATE],
        k=counts[K],
        ranking=counts[RANKING],
        false_alerts=int(np.count_nonzero(negative & alert)) if queries.gate is not None else 0,
        false_returns=int(np.count_nonzero(negative & (queries.n_selected > 0))),
    )


def _regret(queries: Queries, of: Bools) -> KRegret | None:
    assert queries.n_selected is not None
    assert queries.n_selected_gold is not None
    assert queries.n_gold is not None
    rows = np.flatnonzero(of & queries.label & let_through(queries))
    if not len(rows):
        return None
    k, gold = queries.n_selected[rows], queries.n_gold[rows]
    best_k, best_f1 = oracle(queries, rows)
    return KRegret(
        queries=len(rows),
        mean_k=float(k.mean()),
        mean_oracle_k=float(best_k.mean()),
        too_small=int(np.count_nonzero(k < best_k)),
        too_large=int(np.count_nonzero(k > best_k)),
        f1=float((2 * queries.n_selected_gold[rows] / (k + gold)).mean()),
        oracle_f1=float(best_f1.mean()),
    )


def oracle(queries: Queries, rows: Ints) -> tuple[Ints, Floats]:
    """The K with the largest F1 of each query, the smallest of several, and that F1; 0 where no gold is ranked.

    F1 of the top K is 2 hits / (K + gold), so only ranks of gold sentences can be best.
    """
    assert queries.gold_ranks is not None
    assert queries.n_gold is not None
    ranks = queries.gold_ranks.take(rows)
    hits = np.arange(len(ranks.values)) - ranks.offsets[:-1][ranks.owner] + 1
    f1 = 2 * hits / (ranks.values + queries.n_gold[rows][ranks.owner])
    order = np.lexsort((ranks.values, -f1, ranks.owner))
    first = order[np.flatnonzero(np.diff(ranks.owner[order], prepend=-1))]
    best_k, best_f1 = np.zeros(len(rows), np.int64), np.zeros(len(rows))
    best_k[ranks.owner[first]], best_f1[ranks.owner[first]] = ranks.values[first], f1[first]
    return best_k, best_f1


def _k_range(n_selected: Ints) -> KRange:
    sizes = n_selected[n_selected > 0]
    floor, cap = int(sizes.min(initial=n_selected.max(initial=0))), int(sizes.max(initial=0))
    return KRange(len(sizes), floor, cap, int(np.count_nonzero(sizes == floor)), int(np.count_nonzero(sizes == cap)))
