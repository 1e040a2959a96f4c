"""What went wrong, query by query: for the error browser of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evidentia.evaluation.attribution import FATES, fates, let_through, oracle
from evidentia.report.page.pseudonyms import Aliases
from evidentia.tables import Run
from evidentia.tables.queries import POS

DEEPEST = 10  # sentences of a ranking that come with scores
MOST_SCORES = 1_500  # queries with scores; a page should stay small
SCORE_DIGITS = 4


def errors_of(run: Run, aliases: Aliases, candidates: Path | None = None) -> dict[str, Any]:
    """The queries with a missed sentence, a false alert or another K than the best one; rows count from 0.

    Scores come from the file of ``candidates``, first for misses and false alerts; ``without_scores`` counts queries without them.
    """
    rows_by_query: dict[int, dict[str, Any]] = {}
    _missed(run, aliases, rows_by_query)
    _false_alerts(run, rows_by_query)
    _wrong_k(run, rows_by_query)
    rows = [rows_by_query[query] for query in sorted(rows_by_query)]
    first = sorted(rows, key=lambda row: row["kinds"] == ["wrong K"])[:MOST_SCORES]
    if candidates is not None:
        _scores(run, first, candidates)
    return {"rows": rows, "without_scores": len(rows) - len(first)}


def _row(rows_by_query: dict[int, dict[str, Any]], query: int) -> dict[str, Any]:
    return rows_by_query.setdefault(query, {"q": query, "kinds": []})


def _missed(run: Run, aliases: Aliases, rows_by_query: dict[int, dict[str, Any]]) -> None:
    gold_fates = fates(run)
    if gold_fates is None:
        return
    lost = gold_fates.filter(pl.col("fate") != FATES[0])
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
