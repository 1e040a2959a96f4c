"""What went wrong, query by query: for the error browser of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from evidentia.evaluation.attribution import FATES, fates, let_through, oracle
from evidentia.report.page.pseudonyms import Aliases
from evidentia.tables import Run
from evidentia.tables.queries import POS

DEEPEST = 10  # sentences of a ranking that come with scores
MOST_SCORES = 1_500  # queries with scores; a page should stay small


def errors_of(run: Run, local: Aliases) -> Mapping[str, Any]:
    """The queries with a missed sentence, a false alert or another K than the best one; rows count from 0."""
    found: dict[int, dict[str, Any]] = {}
    _missed(run, local, found)
    _false_alerts(run, found)
    _wrong_k(run, found)
    rows = [found[query] for query in sorted(found)]
    if run.candidates is not None:
        _scores(run, rows[:MOST_SCORES])
    return {"rows": rows}


def _row(found: dict[int, dict[str, Any]], query: int) -> dict[str, Any]:
    return found.setdefault(query, {"q": query, "kinds": []})


def _missed(run: Run, local: Aliases, found: dict[int, dict[str, Any]]) -> None:
    told = fates(run)
    if told is None:
        return
    for query, uid, fate in told.filter(pl.col("fate") != FATES[0]).select("query", "uid", "fate").iter_rows():
        row = _row(found, query)
        row["kinds"] = ["missed"]
        row.setdefault("lost", {})[local.sentence(uid)] = fate


def _false_alerts(run: Run, found: dict[int, dict[str, Any]]) -> None:
    queries = run.queries
    if queries.gate is None:
        return
    alert = queries.state == POS if queries.state is not None else queries.gate
    for query in np.flatnonzero(alert & ~queries.label).tolist():
        _row(found, query)["kinds"].append("false alert")


def _wrong_k(run: Run, found: dict[int, dict[str, Any]]) -> None:
    queries = run.queries
    if queries.n_selected is None or queries.gold_ranks is None or queries.n_gold is None:
        return
    rows = np.flatnonzero(queries.label & let_through(queries))
    best = oracle(queries, rows)[0]
    for query, k, best_k in zip(rows.tolist(), queries.n_selected[rows].tolist(), best.tolist(), strict=True):
        if k != best_k:
            row = _row(found, query)
            row["kinds"].append("wrong K")
            row["best_k"] = best_k


def _scores(run: Run, rows: list[dict[str, Any]]) -> None:
    """The scores of the first sentences of each ranking, rounded: they are looked at, not computed with."""
    assert run.candidates is not None
    wanted = pl.DataFrame(
        {"row": range(len(rows)), "query": [row["q"] for row in rows]}, {"row": pl.Int64, "query": pl.Int64}
    )
    ranked = (
        run.frame.select("post_id", "criterion_id", uid=pl.col("ranked_sent_uids").list.head(DEEPEST))
        .with_row_index("query")
        .with_columns(pl.col("query").cast(pl.Int64))
        .join(wanted, on="query", maintain_order="right")
        .explode("uid")
        .drop_nulls("uid")
    )
    held = run.candidates
    if "split" in held.columns:
        held = held.filter(pl.col("split").is_null() | (pl.col("split") == "EVAL"))
    keys = ["post_id", "criterion_id", "uid"]
    scores = held.select("post_id", "criterion_id", "score", uid="sent_uid").unique(keys, keep="first")
    joined = ranked.join(scores, on=keys, how="left", maintain_order="left")
    for row, values in joined.group_by("row", maintain_order=True).agg("score").iter_rows():
        rows[row]["scores"] = [None if value is None else round(value, 4) for value in values]
