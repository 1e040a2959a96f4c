"""Replicate values equal those of a loop that repeats the drawn participants, sorts their items and starts anew."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import polars as pl
import pytest

from evidentia.array_types import Floats
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.stats.intervals import bca_limits, percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.tables import Items
from selective import naive
from selective.naive import Answer, Sample
from selective.runs import (
    NAMES,
    computed,
    definition,
    differences,
    parts_of,
    phq8_items,
    phq8_rows,
    table_items,
    table_rows,
    uneven_table,
)

SEED, RESAMPLES, ALLOWED = 11, 200, 1e-12
RUNS = (
    "zero_shot by llm",
    "few_shot by total_evidence",
    "few_shot by token_msp",
    "uneven clusters",
    "hardly an answer",
)
every_name = pytest.mark.parametrize("name", NAMES)
every_run = pytest.mark.parametrize("run", RUNS)


@cache
def hardly_an_answer() -> pl.DataFrame:
    """Five clusters, one of which answers: a third of the draws has no prediction at all."""
    there = pl.col("cluster_id") == 2
    rows = uneven_table(clusters=5).with_columns(pred=pl.when(there).then(pl.col("gt") + pl.col("item") / 7))
    assert rows["pred"].count() == rows.filter(there).height > 1
    return rows


@cache
def both(run: str) -> tuple[Items, tuple[Answer, ...], str]:
    """The run as the package reads it, as plain rows, and the signal."""
    if " by " in run:
        mode, _, signal = run.partition(" by ")
        return phq8_items(mode), phq8_rows(mode, signal), signal
    frame = hardly_an_answer() if run == "hardly an answer" else uneven_table()
    return table_items(frame), table_rows(frame), "confidence"


@cache
def replicates(run: str) -> dict[str, Floats]:
    items, _, signal = both(run)
    mine, wants = computed(items, signal)
    drawn = mine.replicate(ResamplingPlan(len(items.cluster_ids), RESAMPLES, SEED))
    values = {replicated.definition: replicated.values[0] for replicated in drawn}
    return {name: values[definition] for name, (definition, _) in wants.items()}


@cache
def repeated(run: str, replicate: int) -> Sample:
    return naive.drawn(both(run)[1], SEED, replicate)


@cache
def expected(run: str, name: str) -> list[float]:
    return [naive.value(repeated(run, replicate), *parts_of(name)) for replicate in range(RESAMPLES)]


def test_the_runs_have_what_makes_it_hard() -> None:
    items = phq8_items("zero_shot")
    sure = items.confidence("llm")[items.predicted]
    assert len(items.cluster_ids) == 20
    assert len(np.unique(sure)) <= 7 < len(sure) / 10, "many ties"
    assert 0.5 < items.predicted.mean() < 0.7
    assert items.predicted.reshape(20, 8).any(axis=1).sum() < 20, "someone has no prediction"
    totals = {repeated("uneven clusters", replicate).total for replicate in range(RESAMPLES)}
    assert len(totals) > 20, "N differs between replicates"
    silent = [repeated("hardly an answer", replicate).predicted == 0 for replicate in range(RESAMPLES)]
    assert 20 < sum(silent) < 180


@pytest.mark.sample(every=4, by=("name",))
@every_run
@every_name
def test_replicates_equal_the_loop(name: str, run: str) -> None:
    assert differences(replicates(run)[name], expected(run, name)) <= ALLOWED


def test_the_loop_saw_values_that_differ_and_some_that_are_undefined() -> None:
    undefined = 0
    for name in NAMES:
        values = np.array(expected("zero_shot by llm", name))
        undefined += bool(np.isnan(values).any())
        assert len(np.unique(values[~np.isnan(values)].round(9))) >= 4, name
    assert undefined == 2 * 4, "MAE at coverage 0.5 and 0.7 with each loss"


@every_run
def test_the_values_of_the_run_itself_equal_plain_code(run: str) -> None:
    items, rows, signal = both(run)
    mine, wants = computed(items, signal)
    for name in NAMES:
        outcome = mine.cell(*wants[name]).outcome
        sound = outcome.values[0] if outcome.flaws[0] == 0 else np.nan
        assert differences([sound], [naive.value(Sample(rows), *parts_of(name))]) <= ALLOWED, name


@pytest.mark.sample(every=12, by=("method",))
@every_run
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_are_those_of_the_loop(run: str, method: str) -> None:
    items, rows, signal = both(run)
    names = [name for name in NAMES if "loss=squared" not in name]
    resampling = Resampling(RESAMPLES, SEED, 0.9, "bca" if method == "bca" else "percentile")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluate_items(items, confidence=[signal], measures=names, resampling=resampling)
    left_out = [naive.without(rows, cluster) for cluster in naive.sorted_clusters(rows)]
    given = 0
    for name in names:
        estimate = found[name]
        values = np.array([expected(run, name)])
        assert estimate.replicates_left_out == np.isnan(values).sum(), name
        assert estimate.definition == definition(name).expanded
        limits = percentile_limits(values, 0.9)
        if method == "bca":
            jackknife = np.array([[naive.value(part, *parts_of(name)) for part in left_out]])
            # the bias counts replicates that equal the value itself, to the last bit: so it takes ours
            limits = bca_limits(replicates(run)[name][None], np.array([estimate.value]), jackknife, 0.9)
        if estimate.ci is not None:
            given += 1
            assert estimate.ci == pytest.approx((limits.low[0], limits.high[0]), rel=0, abs=1e-9), name
            assert estimate.ci_method == method
    assert given > len(names) / 2


def test_replicates_without_a_value_are_left_out_and_counted() -> None:
    items, _, _ = both("hardly an answer")
    found = evaluate_items(items, measures=["AURC", "nAURC", "Cmax"], resampling=Resampling(RESAMPLES, SEED))
    silent = sum(repeated("hardly an answer", replicate).predicted == 0 for replicate in range(RESAMPLES))
    assert found["AURC"].replicates_left_out == found["nAURC"].replicates_left_out == silent
    assert found["Cmax"].replicates_left_out == 0
    said = f"undefined in {silent} of {RESAMPLES} resamples, which are left out of the interval"
    assert said in found["AURC"].warnings
