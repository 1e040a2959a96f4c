"""The Poisson bootstrap: replicate values worked again with plain rows, counts scaled, and no order or block in any bit."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import evidentia
from evidentia.errors import InputError
from evidentia.evaluation import intervals
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.plan import OVERALL
from evidentia.evaluation.replicates import ReplicateBatch, replicate
from evidentia.measures import resolve
from evidentia.stats.poisson import cluster_keys, poisson_weights
from evidentia.stats.resampling import PoissonPlan, ResamplingPlan, heaviest
from evidentia.tables import Run, read_run
from intervals.plain_loop import differences
from intervals.runs import CONTRACT, detections, evaluated, summary, tied_run, tied_tables

POISSON: dict[str, Any] = {"bootstrap": "poisson"}


def values_of(run: Run, *names: str, resamples: int = 40, block: int | None = None) -> dict[str, np.ndarray]:
    queries = run.queries
    wanted = {name: resolve(name, CONTRACT).definition for name in names}
    plan = Resampling(resamples, 7, block=block, bootstrap="poisson").plan(queries)
    assert isinstance(plan, PoissonPlan)
    found = ReplicateBatch(queries, [(definition, OVERALL) for definition in wanted.values()]).run(plan)
    return {name: found[definition, ()][0] for name, definition in wanted.items()}


def test_a_replicate_by_hand() -> None:
    """Posts p1, p2, p3 count (3, 0, 1), (2, 0, 3), (1, 1, 2), (3, 1, 1), (0, 1, 1) times: see the test of the weights."""
    run = detections([("p1", 1, 1.0), ("p2", 0, 0.5), ("p3", 0, 0.0)])
    found = values_of(run, "Brier", "Queries", "Positives", "TP(t=0.5)", "PositiveRate", resamples=5)
    assert found["Brier"] == pytest.approx([0, 0, 1 / 16, 1 / 20, 1 / 8], abs=1e-15)
    assert found["PositiveRate"].tolist() == [3 / 4, 2 / 5, 1 / 4, 3 / 5, 0]
    assert found["Queries"] == pytest.approx([3] * 5, abs=1e-14)  # every post has one
    assert found["Positives"].tolist() == pytest.approx([9 / 4, 6 / 5, 3 / 4, 9 / 5, 0], abs=1e-15)
    assert found["TP(t=0.5)"].tolist() == found["Positives"].tolist()


def test_replicates_equal_rows_that_are_repeated() -> None:
    """Means, ratios, sweeps and a mean over criteria of rows that stand there as often as their post counts."""
    names = (
        "AUROC",
        "AUPRC",
        "TPR@FPR=5%",
        "Brier",
        "nDCG@10",
        "MCC(t=0.5)",
        "F1(t=0.5,avg=criterion)",
        "AlertPrecision",
    )
    per_query, candidates = tied_tables()
    rows = per_query.filter(pl.col("split") == "EVAL")
    run = read_run(rows, candidates=candidates.filter(pl.col("split") == "EVAL"))
    found = values_of(run, *names, resamples=4)
    posts = sorted(set(rows["post_id"].to_list()))
    for number, weights in enumerate(poisson_weights(cluster_keys(posts), 7, range(4)).T):
        drawn = pl.concat(
            [
                rows.filter(pl.col("post_id") == post).with_columns(post_id=pl.lit(f"{post} {copy}"))
                for post, times in zip(posts, weights.tolist(), strict=True)
                for copy in range(times)
            ]
        )
        again = evaluated(read_run(drawn, uids="post"), *names, resamples=0)
        assert differences([found[name][number] for name in names], [again[name].value for name in names]) < 1e-12


def test_a_replicate_without_any_post_is_left_out() -> None:
    run = detections([("p1", 1, 0.9), ("p2", 0, 0.6)])
    empty = poisson_weights(cluster_keys(["p1", "p2"]), 7, range(300)).sum(axis=0) == 0
    assert 20 < empty.sum() < 60  # e^-2 of 300 are 41
    queries = run.queries
    plan = Resampling(300, 7, bootstrap="poisson").plan(queries)
    wants = [
        (resolve(name, CONTRACT).definition, OVERALL) for name in ("Queries", "Brier", "TP(t=0.5)", "ECE", "AUROC")
    ]
    for replicated in replicate(queries, wants, plan, gaps=True):
        drawn = replicated.values[0] if replicated.gaps is None else replicated.gaps[0, :, 0]
        assert np.isnan(drawn[empty]).all(), replicated.definition
        assert replicated.definition.measure.base == "AUROC" or not np.isnan(drawn[~empty]).any()
    assert evaluated(run, "Brier", resamples=300, **POISSON)["Brier"].replicates_left_out == empty.sum()


# the same bits


@cache
def by_default() -> str:
    return summary(tied_run(), *NAMES, **POISSON)


NAMES = (
    "AUROC",
    "AUPRC",
    "ECE",
    "ECE(debiased)",
    "nDCG@10",
    "TP(t=0.5)",
    "AlertPrecision",
    "CalibrationSlope",
    "F1(avg=criterion)",
)


@pytest.mark.parametrize("block", [1, 7, 50])
def test_the_size_of_a_block_changes_no_byte(block: int) -> None:
    assert summary(tied_run(), *NAMES, block=block, **POISSON) == by_default()


def test_the_order_of_the_rows_changes_no_byte() -> None:
    per_query, candidates = tied_tables()
    for seed in (1, 2):
        mixed = per_query.sample(fraction=1, shuffle=True, seed=seed)
        run = read_run(mixed, candidates=candidates, by=["subreddit"])
        assert summary(run, *NAMES, **POISSON) == by_default()


def test_the_order_of_the_posts_changes_no_replicate() -> None:
    """Ids that are sorted in another way have the same weights, but exact draws know posts by their places only."""
    queries = tied_run().queries
    order = np.random.default_rng(3).permutation(len(queries.post_ids))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    moved = replace(queries, post=place[queries.post], post_ids=tuple(queries.post_ids[i] for i in order))
    wants = [(resolve(name, CONTRACT).definition, OVERALL) for name in NAMES]
    for bootstrap, same in (("poisson", True), ("exact", False)):
        how = Resampling(60, 7, bootstrap=bootstrap)
        one, other = (ReplicateBatch(q, wants).run(how.plan(q)) for q in (queries, moved))
        assert all(one[key].tobytes() == other[key].tobytes() for key in one) == same


def test_sums_of_parts_are_the_sums_of_the_whole() -> None:
    """What a merge is: posts in two files, weighed apart, add up to the bit."""
    keys = cluster_keys(tied_run().queries.post_ids)
    ((_, whole),) = PoissonPlan(keys, 30, 7).blocks()
    ((_, first),) = PoissonPlan(keys[:23], 30, 7).blocks()
    ((_, second),) = PoissonPlan(keys[23:], 30, 7).blocks()
    assert np.array_equal(np.concatenate([first, second]), whole)


def test_no_replicate_is_heavier_than_what_small_sums_are_safe_for() -> None:
    for posts in (1, 10, 1000):
        weights = poisson_weights(cluster_keys([str(i) for i in range(posts)]), 7, range(5000))
        assert weights.sum(axis=0).max() < heaviest(posts)


# which of the two


def test_the_exact_bootstrap_is_the_usual_one_up_to_a_million(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Resampling().settled(1_000_000).bootstrap == "exact"
    assert Resampling().settled(1_000_001).bootstrap == "poisson"
    assert Resampling(stratify=True).settled(1_000_001).bootstrap == "exact"
    assert Resampling(method="bca").settled(1_000_001).bootstrap == "exact"
    assert isinstance(Resampling(5).plan(tied_run().queries), ResamplingPlan)
    monkeypatch.setattr(intervals, "MOST_EXACT", 59)
    usual = evaluated(tied_run(), "AUROC")
    assert usual.interval["bootstrap"] == "poisson"
    assert usual["AUROC"].ci == evaluated(tied_run(), "AUROC", **POISSON)["AUROC"].ci
    assert usual["AUROC"].ci != evaluated(tied_run(), "AUROC", bootstrap="exact")["AUROC"].ci


@pytest.mark.parametrize("other", [{"stratify": True}, {"method": "bca"}])
def test_what_needs_all_posts_together_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="needs the exact bootstrap"):
        Resampling(bootstrap="poisson", **other)


def test_an_unknown_bootstrap_is_refused() -> None:
    with pytest.raises(InputError, match="auto, exact or poisson"):
        Resampling(bootstrap="bayes")  # type: ignore[arg-type]


def test_limits_are_near_those_of_exact_draws() -> None:
    names = ("AUROC", "nDCG@10", "AlertPrecision", "ECE", "TP(t=0.5)")
    exact, poisson = (evaluated(tied_run(), *names, resamples=4000, bootstrap=b) for b in ("exact", "poisson"))
    for name in names:
        width = exact[name].ci[1] - exact[name].ci[0]
        assert np.abs(np.subtract(exact[name].ci, poisson[name].ci)).max() < 0.08 * width


def test_compared_systems_share_their_weights() -> None:
    per_query = tied_tables()[0].filter(pl.col("split") == "EVAL")
    same = evidentia.compare(per_query, per_query.reverse(), measures="AUROC", resamples=20, bootstrap="poisson")
    assert same.interval == {"level": 0.95, "method": "t", "stratified_by_fold": False, "bootstrap": "poisson"}
    assert same["AUROC"].p == 1.0
