"""Same seed, same bytes: whatever the size of a block, the number of threads and the order of the rows."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.random import Generator, Philox

from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.plan import OVERALL, grouping_by
from evidentia.evaluation.replicates import ReplicateBatch
from evidentia.measures import resolve
from evidentia.stats.resampling import ResamplingPlan
from evidentia.synth import synthetic_run
from evidentia.tables import Run, read_run
from intervals.runs import CONTRACT, detections, evaluated, summary, tied_run, tied_tables

SOURCE = Path(__file__).resolve().parents[2] / "src"


@cache
def ten_criteria() -> Run:
    """Enough criteria and bins that sums in another order do give other digits."""
    made = synthetic_run(seed=3, posts=40, criteria=10, positives=60, ties=0.5)
    return read_run(made.per_query)


@cache
def by_default() -> str:
    return summary(ten_criteria())


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("block", [1, 7, 512])
def test_the_size_of_a_block_changes_no_byte(block: int) -> None:
    assert summary(ten_criteria(), block=block) == by_default()


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 7, 512])
def test_the_size_of_a_block_changes_no_replicate(block: int) -> None:
    queries = tied_run().queries
    by = [OVERALL, *(grouping_by(queries, column) for column in ("fold", "criterion", "state"))]
    names = ("AUROC", "AUPRC", "ECE", "Brier", "LogLoss", "MAP@10", "nDCG@10", "MCC(t=0.5)", "CalibrationSlope")
    batch = ReplicateBatch(
        queries, [(resolve(name, CONTRACT).definition, g) for name in names for g in by if g is not None]
    )
    whole = batch.run(ResamplingPlan(60, 200, 7))
    cut = batch.run(ResamplingPlan(60, 200, 7, block=block))
    assert {key for key in whole if whole[key].tobytes() != cut[key].tobytes()} == set()


@pytest.mark.parametrize("workers", [1, 5])
def test_the_number_of_threads_changes_no_byte(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidentia.stats.resampling.os.cpu_count", lambda: workers)
    assert summary(ten_criteria(), block=16) == by_default()


@cache
def in_blocks_of_32() -> str:
    return summary(tied_run(), block=32)


SCRIPT = """
import hashlib
from intervals.runs import summary, tied_run
print(hashlib.sha256(summary(tied_run(), block=32).encode()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [{"OPENBLAS_NUM_THREADS": "1"}, {"OPENBLAS_NUM_THREADS": "2"}, {"OPENBLAS_CORETYPE": "Prescott"}],
    ids=lambda setting: "=".join(*setting.items()),
)
def test_the_linear_algebra_library_changes_no_byte(setting: dict[str, str]) -> None:
    path = os.pathsep.join([str(SOURCE), str(Path(__file__).parents[1])])
    environment = {**os.environ, **setting, "PYTHONPATH": path}
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=600
    )
    assert told.stdout.strip() == hashlib.sha256(in_blocks_of_32().encode()).hexdigest()


def test_another_seed_gives_other_intervals_but_the_same_values() -> None:
    names = ("AUROC", "Brier", "Precision(t=0.5)", "nDCG@10", "CalibrationSlope")
    one, other = evaluated(tied_run(), *names, seed=7), evaluated(tied_run(), *names, seed=8)
    for name in names:
        assert one[name].value == other[name].value
        assert one[name].ci != other[name].ci


def test_fewer_resamples_are_the_first_of_more() -> None:
    queries = tied_run().queries
    definition = resolve("AUPRC", CONTRACT).definition
    batch = ReplicateBatch(queries, [(definition, OVERALL)])
    few, more = (batch.run(ResamplingPlan(60, n, 7))[definition, ()] for n in (50, 80))
    assert np.array_equal(few, more[:, :50])


@pytest.mark.slow
def test_the_order_of_the_rows_does_not_matter() -> None:
    per_query, candidates = tied_tables()
    # the order of a query's candidates says which of equal scores comes first, so only queries are shuffled
    shuffled = read_run(per_query.sample(fraction=1, shuffle=True, seed=1), candidates=candidates, by=["subreddit"])
    assert summary(shuffled, by=["subreddit"]) == summary(tied_run(), by=["subreddit"])


def test_posts_are_drawn_in_numerical_order_where_all_ids_are_numbers() -> None:
    """Values 2, 9 and 10 in that order; as strings 10 would come first."""
    run = detections([("10", 0, 1.0), ("9", 0, 0.5), ("2", 0, 0.0)])
    definition = resolve("Brier", CONTRACT).definition
    found = ReplicateBatch(run.queries, [(definition, OVERALL)]).run(ResamplingPlan(3, 20, 7))[definition, ()][0]
    losses = np.array([0.0, 0.25, 1.0])
    for replicate, value in enumerate(found):
        picks = Generator(Philox(key=[7, replicate])).integers(3, size=3)
        assert value == pytest.approx(losses[picks].mean(), abs=1e-15)


def test_posts_that_are_only_tuned_on_are_not_drawn() -> None:
    per_query, _ = tied_tables()
    gone = per_query["post_id"][0]
    tuned_only = per_query.filter((pl.col("post_id") != gone) | (pl.col("split") != "EVAL"))
    never_there = tuned_only.filter(pl.col("split") == "EVAL").drop("split")
    one, other = (evaluated(read_run(table), "AUROC", "nDCG@10") for table in (tuned_only, never_there))
    assert [e.ci for e in one.measures.values()] == [e.ci for e in other.measures.values()]


def test_stratified_draws_keep_the_size_of_every_fold() -> None:
    queries = tied_run().queries
    assert queries.fold is not None
    fold = np.zeros(60, int)
    fold[queries.post] = queries.fold.codes
    plan = Resampling(resamples=50, stratify=True).plan(queries)
    drawn = plan.multiplicities(0, 50)
    for code in range(len(queries.fold.labels)):
        assert set(drawn[:, fold == code].sum(axis=1).tolist()) == {np.count_nonzero(fold == code)}
    free = Resampling(resamples=50).plan(queries).multiplicities(0, 50)
    assert len({tuple(np.bincount(fold, row).tolist()) for row in free}) > 1


def test_stratified_intervals_are_reproducible_and_their_own() -> None:
    names = ("AUROC", "Queries[fold=0]")
    first = evaluated(tied_run(), *names, stratify=True)
    again = evaluated(tied_run(), *names, stratify=True, block=7)
    free = evaluated(tied_run(), *names)
    assert first.to_dict() == again.to_dict()
    assert first["AUROC"].ci != free["AUROC"].ci
    assert first["Queries[fold=0]"].ci is None  # the size of a fold does not vary, and says so
    assert free["Queries[fold=0]"].ci is not None
