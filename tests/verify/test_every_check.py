"""The checks of a result made again by verification: the same states and words on runs of many kinds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evidentia
from evidentia.tables import DatasetCard
from evidentia.verifying import verify_numbers

from .made import small_run

Frame = pl.DataFrame
CARD = DatasetCard("own", posts=16, criteria=("A.2", "A.1"), n_criteria=2, queries=31, expected={"AUROC": (0.1, 0.2)})


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Frame:
    """The rows of a small run with splits, folds, states, rankings and selections."""
    run = small_run(tmp_path_factory.mktemp("checks") / "run", posts=16, criteria=2, positives=8)
    return pl.read_csv(run / "per_query.csv", infer_schema_length=None)


def evaluation_rows(rows: Frame) -> Frame:
    return rows.filter(pl.col("split") == "EVAL").drop("split")


def top(column: str, count: pl.Expr | int) -> pl.Expr:
    """The first sentences of a ranking."""
    return pl.col(column).fill_null("").str.split("|").list.head(count).list.join("|")


def all_rankings_selected(rows: Frame) -> Frame:
    longer = pl.when(pl.col("state") == "NEG").then(pl.lit("")).otherwise(pl.col("ranked_sent_uids"))
    return rows.with_columns(selected_sent_uids=longer)


def always_two(rows: Frame) -> Frame:
    two = pl.when(pl.col("state") == "NEG").then(pl.lit("")).otherwise(top("ranked_sent_uids", 2))
    return rows.with_columns(selected_sent_uids=two)


def negatives_return(rows: Frame) -> Frame:
    return rows.with_columns(selected_sent_uids=top("ranked_sent_uids", 1))


def moving_tau(rows: Frame) -> Frame:
    tau = pl.Series("tau", [0.3 + 0.01 * (i % 3) for i in range(rows.height)])
    return rows.drop("state", "tau_neg", "tau_pos", strict=False).with_columns(tau)


def cut_rankings(rows: Frame) -> Frame:
    counts = pl.col("ranked_sent_uids").fill_null("").str.split("|").list.len()
    kept = rows.drop("selected_sent_uids").with_columns(n_candidates=counts)
    return kept.with_columns(ranked_sent_uids=top("ranked_sent_uids", 3))


KINDS: dict[str, tuple[Callable[[Frame], Frame], dict[str, Any], dict[str, str]]] = {
    "everything": (lambda f: f, {}, {"LEAK001": "passed", "TUNE001": "passed"}),
    "no splits": (evaluation_rows, {}, {"LEAK001": "not applicable", "FOLD001": "passed"}),
    "no folds": (lambda f: evaluation_rows(f).drop("fold"), {}, {"FOLD001": "not applicable"}),
    "labels and prob": (
        lambda f: evaluation_rows(f).select("post_id", "criterion_id", "has_evidence", "prob"),
        {},
        {"RANK001": "not applicable", "GATE001": "not applicable", "POINT001": "passed"},
    ),
    "rankings alone": (
        lambda f: evaluation_rows(f).select("post_id", "criterion_id", "gold_sent_uids", "ranked_sent_uids"),
        {},
        {"PROB001": "not applicable", "POINT001": "not applicable", "DEPTH001": "not applicable"},
    ),
    "selections are whole rankings": (all_rankings_selected, {}, {"DYNK001": "warning"}),
    "a fixed K": (always_two, {}, {"KPIN001": "warning"}),
    "NEG returns": (negatives_return, {}, {"GATE001": "failed"}),
    "a moving tau": (lambda f: moving_tau(evaluation_rows(f)), {}, {"POINT001": "warning"}),
    "cut rankings": (cut_rankings, {}, {"DEPTH001": "warning"}),
    "no figures at the gate": (lambda f: f, {"measures": ["F1(t=0.5)", "Recall@5"]}, {"POINT001": "warning"}),
    "Recall@K alone": (lambda f: f, {"measures": ["Recall@5", "nDCG(pop=all)@5"]}, {"DYNK001": "warning"}),
    "no recall": (lambda f: f, {"measures": ["AUROC"]}, {"DYNK001": "not applicable", "POP001": "not applicable"}),
    "resamples": (lambda f: f, {"resamples": 4, "measures": ["AUROC", "Recall@5"]}, {"INT001": "passed"}),
    "another profile": (lambda f: f, {"profile": "paper", "dual": True}, {"POP001": "passed"}),
    "a card": (lambda f: f, {"card": CARD}, {"CARD001": "failed", "GOOD001": "warning"}),
}


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("kind", KINDS)
def test_the_checks_come_out_the_same(kind: str, rows: Frame, tmp_path: Path) -> None:
    edit, options, states = KINDS[kind]
    options = {"resamples": 0, **options}
    card = options.pop("card", None)
    run = evidentia.read_run(edit(rows), card=card, by=() if kind != "everything" else ("subreddit",))
    evidentia.evaluate(run, **options).save(tmp_path / "out")
    found = verify_numbers(tmp_path / "out")
    assert found.mismatches == ()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    said = {check["code"]: check["status"] for check in summary["checks"]}
    assert {code: said[code] for code in states} == states


def test_topics_of_trec_files_verify(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n", encoding="utf-8")
    (tmp_path / "run").write_text("1 Q0 d1 1 2.0 x\n1 Q0 d3 2 1.0 x\n3 Q0 d1 1 1.0 x\n", encoding="utf-8")
    run = evidentia.read_trec(tmp_path / "qrels", tmp_path / "run")
    evidentia.evaluate(run, resamples=0).save(tmp_path / "out")
    assert verify_numbers(tmp_path / "out").mismatches == ()
