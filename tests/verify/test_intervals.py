"""Intervals that are made again agree with the reported ones, under every profile and option."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import check_intervals
from evidentia.verify.study import read_study
from evidentia.verify.tally import Tally
from verify.interval_runs import checked, result, tables

HALF = pl.lit(0.5)
EVAL = pl.col("split") == "EVAL"
EVIDENCE = pl.col("has_evidence").cast(pl.Boolean)
IDS = ("post_id", "criterion_id")


@pytest.mark.sample(every=6)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"profile": "e2e"},
        {"profile": "paper"},
        {"profile": "audit"},
        {"dual": True},
        {"by": ("subreddit", "length_band")},
        {"stratify": True, "seed": 11},
        {"ci": 0.9, "resamples": 333},
        {"resamples": 2},
        {"resamples": 0},
    ],
    ids=str,
)
def test_every_interval_is_found_again(tmp_path: Path, options: dict[str, Any]) -> None:
    tally = checked(result(tmp_path / "out", *tables(), **options))
    assert tally.mismatches == []
    assert tally.comparisons > 5000


ODD: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "all ties": lambda frame: frame.drop("state", "tau_neg", "tau_pos").with_columns(prob=HALF, tau=HALF),
    "only evidence": lambda frame: frame.filter(EVAL & EVIDENCE),
    "no evidence": lambda frame: frame.filter(EVAL & ~EVIDENCE),
    "one post": lambda frame: frame.filter(EVAL & (pl.col("post_id") == frame["post_id"].min())),
    "no folds": lambda frame: frame.filter(EVAL).drop("fold", "split"),
    "rankings only": lambda frame: frame.filter(EVAL).select(*IDS, "gold_sent_uids", "ranked_sent_uids"),
    "scores only": lambda frame: frame.select(
        *IDS, "fold", "split", "has_evidence", detection_score=pl.col("prob") - 3
    ),
    "numbers for ids": lambda frame: frame.with_columns(post_id=pl.col("post_id").str.extract(r"0*(\d+)$")),
}


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_odd_runs(tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    tally = checked(result(tmp_path / "out", change(tables()[0])))
    assert tally.mismatches == []
    assert tally.comparisons > 300


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    "options", [{}, {"stratify": True, "profile": "e2e"}, {"ci": 0.9, "profile": "paper"}], ids=str
)
def test_bca(tmp_path: Path, options: dict[str, Any]) -> None:
    tally = checked(result(tmp_path / "out", *tables(), ci_method="bca", **options))
    assert tally.mismatches == []
    assert tally.comparisons > 5000


def test_a_fold_that_cannot_be_tuned(tmp_path: Path) -> None:
    lost = (pl.col("split") == "TUNE") & (pl.col("fold").cast(pl.String) == "1") & EVIDENCE
    names = ["TPR(same)@FPR=5%", "F1(tuned)@FPR=5%"]
    assert checked(result(tmp_path / "out", tables()[0].filter(~lost), measures=names)).mismatches == []


def test_few_posts(tmp_path: Path) -> None:
    tally = checked(result(tmp_path / "out", *tables(5, 3, 6, seed=2)))
    assert tally.mismatches == []


def test_slices_with_any_words_in_them(tmp_path: Path) -> None:
    words = ["f", "m, x", 'q"u]o', "=sum", "", " a b "]
    frame = tables()[0].with_columns(
        pl.col("post_id").hash(1).mod(6).cast(pl.Int64).replace_strict(dict(enumerate(words))).alias("gen,der")
    )
    tally = checked(result(tmp_path / "out", frame, by=("gen,der",), measures=["AUROC", "F1(t=gate)", "ExactMatch"]))
    assert tally.mismatches == []


def test_named_measures_in_crossed_groups(tmp_path: Path) -> None:
    names = [
        *("AUROC[fold=1,criterion=A.1]", "AUROC(avg=criterion)[state=NEG]", "F1(avg=label_weighted)[fold=2]"),
        *("ECE(bins=15)", "NetBenefit@t=1", "Sensitivity(t=0.25)", "MAP(norm=min_eff,pop=all)@ALL", "Precision@ALL"),
    ]
    tally = checked(result(tmp_path / "out", *tables(), measures=names))
    assert tally.mismatches == []
    assert tally.comparisons > len(names) * 5


def test_progress_reaches_the_end_and_batches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ResultFolder(result(tmp_path / "out", *tables(), measures=["AUROC", "Brier", "F1(avg=criterion)"]))
    monkeypatch.setattr("evidentia.verify.intervals.CELLS", 2000)
    monkeypatch.setattr("evidentia.verify.draws.CELLS", 400)
    seen: list[tuple[int, int]] = []
    tally = Tally()
    check_intervals(folder, read_study(folder), tally, lambda done, total: seen.append((done, total)))
    assert tally.mismatches == []
    assert seen[-1][0] == seen[-1][1]
    assert len({total for _, total in seen}) == 1
