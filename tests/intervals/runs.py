"""Runs for the tests of intervals, as the package reads them and as plain rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl

from evidentia.evaluation.evaluate import evaluate_run
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.plan import MeasurePlan, plan_for, with_tuned_decisions
from evidentia.measures import PROFILES
from evidentia.results import Evaluation, dumps
from evidentia.synth import synthetic_run
from evidentia.tables import Run, read_run
from intervals.plain_loop import Row

CONTRACT = PROFILES["contract"]


@cache
def tied_tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """60 posts with 5 criteria, TUNE rows and candidates; probabilities on a grid of 21 values, so that most are tied."""
    made = synthetic_run(seed=5, posts=60, criteria=5, positives=45, mean_candidates=8, ties=0.5, splits=True)
    grid = (pl.col("prob") * 20).round() / 20
    coarse = (pl.col("node_prob") * 10).round() / 10
    return made.per_query.with_columns(grid).drop("tau_neg", "tau_pos"), made.candidates.with_columns(coarse)


@cache
def tied_run() -> Run:
    per_query, candidates = tied_tables()
    return read_run(per_query, candidates=candidates, by=["subreddit"])


@cache
def planned() -> tuple[Run, MeasurePlan]:
    """The run with its tuned decisions, and everything that the contract reports of it."""
    run = tied_run()
    plan = plan_for(run, CONTRACT, CONTRACT.names(), ["subreddit"])
    return with_tuned_decisions(run, plan.definitions)[0], plan


@cache
def plain_rows() -> tuple[Row, ...]:
    """The EVAL rows as plain Python values, straight from the tables; only tuned yes and no come from the package."""
    per_query, candidates = tied_tables()
    queries = planned()[0].queries
    keys = [
        (queries.post_ids[p], queries.criterion_ids[c])
        for p, c in zip(queries.post.tolist(), queries.criterion.tolist(), strict=True)
    ]
    tuned: dict[tuple[str, str], dict[str, int]] = {key: {} for key in keys}
    for cut, answers in queries.decisions.items():
        for key, answer in zip(keys, answers.tolist(), strict=True):
            tuned[key][cut] = answer
    scored: dict[tuple[str, str], list[tuple[float, bool]]] = {key: [] for key in keys}
    for one in candidates.filter(pl.col("split") == "EVAL").iter_rows(named=True):
        scored[one["post_id"], one["criterion_id"]].append((one["node_prob"], bool(one["is_gold"])))
    rows = per_query.filter(pl.col("split") == "EVAL").iter_rows(named=True)
    return tuple(_plain(row, tuned, scored) for row in rows)


def _plain(row: dict[str, Any], tuned: dict[Any, dict[str, int]], scored: dict[Any, list[tuple[float, bool]]]) -> Row:
    key = (row["post_id"], row["criterion_id"])
    return Row(
        post=row["post_id"],
        criterion=row["criterion_id"],
        group={
            "fold": str(row["fold"]),
            "criterion": row["criterion_id"],
            "state": row["state"],
            "has_evidence": str(row["has_evidence"]),
            "subreddit": row["subreddit"],
        },
        label=bool(row["has_evidence"]),
        prob=row["prob"],
        gold=frozenset(_uids(row["gold_sent_uids"])),
        ranked=_uids(row["ranked_sent_uids"]),
        selected=_uids(row["selected_sent_uids"]),
        state=row["state"],
        tuned=tuned[key],
        candidates=tuple(scored[key]),
    )


def _uids(cell: str | Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(cell, str):
        return tuple(uid for uid in cell.split("|") if uid)
    return tuple(cell or ())


def detections(rows: Sequence[tuple[str, int, float]], **columns: Sequence[Any]) -> Run:
    """A run of (post, label, prob) rows; the criteria of a post are numbered as they come."""
    seen: dict[str, int] = {}
    criteria = []
    for post, _, _ in rows:
        seen[post] = seen.get(post, 0) + 1
        criteria.append(f"C{seen[post]}")
    posts, labels, probs = zip(*rows, strict=True)
    return read_run(
        pl.DataFrame(
            {"post_id": posts, "criterion_id": criteria, "has_evidence": labels, "prob": probs, **columns},
            strict=False,
        )
    )


def evaluated(run: Run, *names: str, **resampling: Any) -> Evaluation:
    """With intervals, from few resamples unless told otherwise."""
    settings = {"resamples": 200, "seed": 7, **resampling}
    return evaluate_run(run, measures=names or None, resampling=Resampling(**settings))


def summary(run: Run, *names: str, by: Sequence[str] = (), **resampling: Any) -> str:
    """The bytes of summary.json and of the curves."""
    settings = {"resamples": 50, "seed": 7, **resampling}
    found = evaluate_run(run, measures=names or None, by=by, resampling=Resampling(**settings))
    curves = {curve.name: {key: list(column) for key, column in curve.columns.items()} for curve in found.curves}
    return dumps(found.to_dict()) + json.dumps(curves)
