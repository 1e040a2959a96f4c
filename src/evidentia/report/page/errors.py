"""What went wrong, query by query: for the error browser of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evidentia.evaluation.attribution import FATES, RETRIEVER, fates, let_through, oracle
from evidentia.report.page.pseudonyms import Aliases
from evidentia.tables import Run
from evidentia.tables.queries import POS

DEEPEST = 10  # sentences of a ranking that come with scores, and that count as seen where there are no selections
DEEPER = f"below the first {DEEPEST}"
MOST_SCORES = 1_500  # queries with scores; a page should stay small
SCORE_DIGITS = 4


def errors_of(run: Run, aliases: Aliases, candidates: Path | None = None) -> dict[str, Any]:
    """The queries with a missed sentence, a false alert or another K than the best one; rows count from 0.

    Without selections nothing says what was returned: then ``rules`` say in words what counts as an error. Scores come from
    the file of ``candidates``, first for misses and false alerts; ``without_scores`` counts queries without them.
    """
    rows_by_query: dict[int, dict[str, Any]] = {}
    rules = _missed(run, aliases, rows_by_query)
    _false_alerts(run, rows_by_query)
    _wrong_k(run, rows_by_query)
    rows = [rows_by_query[query] for query in sorted(rows_by_query)]
    first = sorted(rows, key=lambda row: row["kinds"] == ["wrong K"])[:MOST_SCORES]
    if candidates is not None:
        _scores(run, first, candidates)
    return {"rows": rows, "without_scores": len(rows) - len(first), "rules": rules}


def _row(rows_by_query: dict[int, dict[str, Any]], query: int) -> dict[str, Any]:
    return rows_by_query.setdefault(query, {"q": query, "kinds": []})


def _missed(run: Run, aliases: Aliases, rows_by_query: dict[int, dict[str, Any]]) -> list[str]:
    """Add what was missed; returns the rules where there are no selections, which say it by themselves."""
    gold_fates = fates(run)
    if gold_fates is not None:
        _lost(run, gold_fates.filter(pl.col("fate") != FATES[0]), aliases, rows_by_query)
        return []
    rules = []
    if {"gold_sent_uids", "ranked_sent_uids"} <= set(run.frame.columns):
        rules.append(f"an evidence sentence that is not among the first {DEEPEST} of its ranking")
        _lost(run, _deeper(run), aliases, rows_by_query)
    if run.queries.gate is not None:
        below = f"a probability below {'its tau' if 'tau' in run.frame.columns else '0.5'}"
        skipped, alert = "state NEG", "state POS"
        if run.queries.state is None:
            skipped, alert = below, below.replace("below", "of at least")
        rules += [f"a query with evidence and {skipped}", f"one without evidence and {alert}"]
        for query in np.flatnonzero(run.queries.label & ~run.queries.gate).tolist():
            _row(rows_by_query, query).update(kinds=["missed"], skipped=skipped)
    return rules


def _deeper(run: Run) -> pl.DataFrame:
    """Every gold sentence (query, uid) that is ranked deeper than readers look, or nowhere."""
    gold = run.frame.select(uid="gold_sent_uids", ranked="ranked_sent_uids").with_row_index("query")
    gold = gold.filter(pl.col("uid").list.len() > 0).explode("uid")
    first = pl.col("ranked").list.head(DEEPEST).list.contains(pl.col("uid"))
    ranked = pl.col("ranked").list.contains(pl.col("uid"))
    fate = pl.when(ranked).then(pl.lit(DEEPER)).otherwise(pl.lit(FATES[RETRIEVER]))
    return gold.filter(~first.fill_null(value=False)).select("query", "uid", fate=fate)


def _lost(run: Run, lost: pl.DataFrame, aliases: Aliases, rows_by_query: dict[int, dict[str, Any]]) -> None:
    posts = run.frame["post_id"].gather(lost["query"])
    for query, uid, fate, post in zip(lost["query"], lost["uid"], lost["fate"], posts, strict=True):
        row = _row(rows_by_query, query)
        row["kinds"] = ["missed"]
        row.setdefault("lost", {})[aliases.beside(uid, post)] = fate


def _false_alerts(run: Run, rows_by_query: dict[int, dict[str, Any]]) -> None:
    queries = run.queries
    if queries.gate is None:
        return
    alert = queries.state == POS if queries.state is not None else queries.gate
    for query in np.flatnonzero(alert & ~queries.label).tolist():
        _row(rows_by_query, query)["kinds"].append("false alert")


def _wrong_k(run: Run, rows_by_query: dict[int, dict[str, Any]]) -> None:
    queries = run.queries
    if queries.n_selected is None or queries.gold_ranks is None or queries.n_gold is None:
        return
    rows = np.flatnonzero(queries.label & let_through(queries))
    best = oracle(queries, rows)[0]
    for query, k, best_k in zip(rows.tolist(), queries.n_selected[rows].tolist(), best.tolist(), strict=True):
        if k != best_k:
            row = _row(rows_by_query, query)
            row["kinds"].append("wrong K")
            row["best_k"] = best_k


def _scores(run: Run, rows: list[dict[str, Any]], candidates: Path) -> None:
    """The scores of the first sentences of each ranking, rounded: they are looked at, not computed with."""
    if "ranked_sent_uids" not in run.frame.columns or not rows:
        return
    keys = ["post_id", "criterion_id", "uid"]
    ranked = (
        run.frame.select("post_id", "criterion_id", uid=pl.col("ranked_sent_uids").list.head(DEEPEST))[
            [row["q"] for row in rows]
        ]
        .with_row_index("row")
        .explode("uid", empty_as_null=False)
    )
    scores = _scored(candidates, ranked["post_id"].unique()).unique(keys, keep="first", maintain_order=True)
    joined = ranked.join(scores, on=keys, how="left", maintain_order="left").with_columns(
        pl.col("score").round(SCORE_DIGITS)
    )
    for row, values in joined.group_by("row", maintain_order=True).agg("score").iter_rows():
        rows[row]["scores"] = values


def _scored(candidates: Path, posts: pl.Series) -> pl.DataFrame:
    """The EVAL candidates of some posts."""
    held = pl.scan_parquet(candidates)
    if "split" in held.collect_schema().names():
        held = held.filter(pl.col("split").is_null() | (pl.col("split") == "EVAL"))
    return (
        held.filter(pl.col("post_id").is_in(posts.implode()))
        .select("post_id", "criterion_id", "score", uid="sent_uid")
        .collect()
    )
