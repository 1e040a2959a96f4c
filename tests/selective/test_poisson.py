"""Participants under Poisson weights: values of rows that are repeated, no order or block in any bit, and few participants."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from evidentia import selective
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.stats.poisson import cluster_keys, poisson_weights
from evidentia.stats.resampling import over_replicates
from evidentia.synth import synthetic_phq8
from selective.runs import computed, differences, table_items, uneven_table

NAMES = ("AURC", "AUGRC", "eAURC", "MAE", "MAE@coverage=0.5", "AURC@C=0.37", "Cmax")


def replicates(frame: pl.DataFrame, resamples: int = 12) -> dict[str, np.ndarray]:
    run, wants = computed(table_items(frame), "confidence", NAMES)
    plan = run.plan(Resampling(resamples, 7, bootstrap="poisson"))
    values = over_replicates(run.values, plan)
    return {name: values[definition, grouping.columns][0] for name, (definition, grouping) in wants.items()}


def repeated(frame: pl.DataFrame, times: Counter[str]) -> pl.DataFrame:
    copies = [
        frame.filter(pl.col("cluster_id") == int(cluster)).with_columns(cluster_id=1000 * int(cluster) + pl.lit(copy))
        for cluster, count in times.items()
        for copy in range(count)
    ]
    return pl.concat(copies)


def test_replicates_equal_rows_that_are_repeated() -> None:
    frame = uneven_table().with_columns(
        confidence=pl.Series(np.random.default_rng(1).permutation(uneven_table().height))
    )
    found, ids = replicates(frame), [str(i) for i in sorted(frame["cluster_id"].unique())]
    weights = poisson_weights(cluster_keys(ids), 7, range(12))
    for number, column in enumerate(weights.T.tolist()):
        rows = repeated(frame, Counter(dict(zip(ids, column, strict=True))))
        run, wants = computed(table_items(rows), "confidence", NAMES)
        outcomes = [run.cell(*wants[name]).outcome for name in NAMES]
        again = [float(o.values[0]) if o.flaws[0] == 0 else np.nan for o in outcomes]
        assert differences([found[name][number] for name in NAMES], again) < 1e-12


def test_neither_the_order_of_rows_nor_blocks_change_a_byte() -> None:
    frame, texts = uneven_table(), set()
    for seed, block in ((1, None), (2, 1), (3, 7)):
        mixed = frame.sort("cluster_id", "item").sample(fraction=1, shuffle=True, seed=seed)
        how = Resampling(40, 7, 0.95, "percentile", block=block, bootstrap="poisson")
        found = evaluate_items(table_items(mixed), measures=NAMES, resampling=how)
        texts.add(found.to_json() + repr([(curve.name, dict(curve.columns)) for curve in found.curves]))
    assert len(texts) == 1


@pytest.mark.parametrize("people", [1, 2, 3])
def test_a_resample_without_any_participant_says_nothing(people: int) -> None:
    frame = uneven_table(clusters=people, abstained=0.0)
    ids = [str(i) for i in sorted(frame["cluster_id"].unique())]
    empty = int((poisson_weights(cluster_keys(ids), 7, range(200)).sum(axis=0) == 0).sum())
    assert empty > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = selective.evaluate(table_items(frame), seed=7, resamples=200, bootstrap="poisson")
    assert {found[name].replicates_left_out for name in ("AURC", "MAE", "Cmax", "MAE@coverage=0.5")} == {empty}


def test_runs_are_compared_under_the_same_weights() -> None:
    run = synthetic_phq8(seed=5, participants=14, failures=1)
    how: dict[str, Any] = {"seed": 7, "resamples": 40, "bootstrap": "poisson"}
    found = selective.evaluate(run, mode="few_shot", against_mode="zero_shot", **how)
    assert found.interval["bootstrap"] == "poisson"
    alone = selective.compare(run, run, modes=("zero_shot", "few_shot"), **how)
    limits = {delta.name: delta.ci for delta in found.comparison.deltas}
    assert limits == {delta.name: delta.ci for delta in alone.deltas}
    assert sum(ci is not None for ci in limits.values()) > 5
