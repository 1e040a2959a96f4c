"""Results of the Poisson bootstrap are found again by weights of verification's own, and a changed word about them is noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evidentia
from evidentia import selective
from evidentia.stats import poisson
from evidentia.synth.phq8 import synthetic_phq8
from evidentia.verify.comparison import check_comparison
from evidentia.verify.folder import ResultFolder
from evidentia.verify.poisson import LIMITS, hashed, weights_by_name
from evidentia.verify.record import check_head
from evidentia.verify.run import read_points
from evidentia.verify.selective import check_selective
from evidentia.verify.tally import Tally
from verify.interval_runs import checked, edited, result, tables, where

POISSON: dict[str, Any] = {"bootstrap": "poisson"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return result(tmp_path_factory.mktemp("poisson") / "out", *tables(), **POISSON)


def test_both_programs_have_the_same_weights() -> None:
    names = [f"post_{i}" for i in range(300)] + ["", "Ä", "日本 1"]
    assert hashed(names).tolist() == poisson.cluster_keys(names).tolist()
    assert LIMITS.tolist() == list(poisson.THRESHOLDS)
    for seed in (0, 7, 2**63 + 5, 2**64 - 1):
        ours = weights_by_name(hashed(names), seed, range(90, 200))
        assert np.array_equal(ours, poisson.poisson_weights(poisson.cluster_keys(names), seed, range(90, 200)))


def test_every_interval_is_found_again(written: Path) -> None:
    tally = checked(written)
    assert where(tally) == []
    assert tally.comparisons > 5000


@pytest.mark.parametrize("posts", [2, 3])
def test_resamples_without_any_post_are_left_out_here_too(posts: int, tmp_path: Path) -> None:
    per_query = tables(posts=posts, positives=2)[0].filter(pl.col("split") == "EVAL")
    names = ("Queries", "TP(t=0.5)", "Brier", "ECE", "AUROC", "NegRate")
    out = result(tmp_path / "out", per_query, measures=names, **POISSON)
    assert json.loads((out / "summary.json").read_text())["measures"]["Brier"]["replicates_left_out"] > 0
    assert where(checked(out)) == []


@pytest.mark.parametrize("other", ["exact", None])
def test_another_bootstrap_than_was_used_is_noticed(written: Path, tmp_path: Path, other: str | None) -> None:
    def change(how: dict[str, Any]) -> None:
        how.pop("bootstrap") if other is None else how.update(bootstrap=other)

    copy = edited(written, tmp_path / "one", lambda summary: change(summary["interval"]))
    tally = Tally()
    check_head(ResultFolder(copy), read_points(ResultFolder(copy)).study, tally)
    assert where(tally)
    both = edited(copy, tmp_path / "two", lambda manifest: change(manifest["options"]["interval"]), "manifest.json")
    assert "AUROC: ci low" in where(checked(both))


@pytest.mark.parametrize("change", [{"bootstrap": "bayes"}, {"stratified_by_fold": True}, {"method": "bca"}])
def test_what_there_is_not_is_noticed(written: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    copy = edited(written, tmp_path / "copy", lambda summary: summary["interval"].update(change))
    assert "summary.json: interval: bootstrap" in where(checked(copy))


def test_a_result_from_before_there_were_two_is_exact(tmp_path: Path) -> None:
    out = result(tmp_path / "out", *tables(), measures=("AUROC", "nDCG@10"))
    old = edited(out, tmp_path / "one", lambda summary: summary["interval"].pop("bootstrap"))
    older = edited(old, tmp_path / "two", lambda m: m["options"]["interval"].pop("bootstrap"), "manifest.json")
    assert where(checked(older)) == []


def test_a_comparison_is_found_again(tmp_path: Path) -> None:
    per_query, _ = tables()
    rows = per_query.filter(pl.col("split") == "EVAL").drop("tau_neg", "tau_pos")
    worse = rows.with_columns(prob=pl.col("prob").reverse())
    names = ("AUROC", "nDCG@10", "TP(t=0.5)", "AlertPrecision", "ECE(debiased)")
    evidentia.compare(
        rows, worse, names=["a", "b"], measures=names, resamples=60, out=tmp_path / "out", report=False, **POISSON
    )
    tally = Tally()
    check_comparison(ResultFolder(tmp_path / "out"), tally)
    assert where(tally) == []
    changed = edited(
        tmp_path / "out", tmp_path / "copy", lambda m: m["options"].update(bootstrap="exact"), "manifest.json"
    )
    tally = Tally()
    check_comparison(ResultFolder(changed), tally)
    assert "comparison.json: interval: bootstrap" in where(tally)
    assert len(where(tally)) > 5


def test_a_selective_result_is_found_again(tmp_path: Path) -> None:
    run = synthetic_phq8(seed=5, participants=14, failures=1)
    found = selective.evaluate(run, mode="few_shot", against_mode="zero_shot", seed=7, resamples=40, **POISSON)
    found.save(tmp_path / "out")
    tally = Tally()
    check_selective(ResultFolder(tmp_path / "out"), tally)
    assert where(tally) == []
    old = edited(tmp_path / "out", tmp_path / "copy", lambda m: m["options"].pop("bootstrap"), "manifest.json")
    tally = Tally()
    check_selective(ResultFolder(old), tally)
    assert len(where(tally)) > 100
