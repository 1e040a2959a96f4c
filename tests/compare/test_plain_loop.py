"""Replicate differences, intervals and p values equal those of a plain loop on the same draws."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import evidentia
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.plan import OVERALL
from evidentia.evaluation.replicates import replicate
from evidentia.measures import profile_named, resolve

from .plain import MEASURES, differences, effective, p_value, t_interval
from .systems import CRITERIA, read, system

SEED, RESAMPLES = 11, 250
Pair = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module", params=[False, True], ids=["text ids", "numeric ids"])
def pair(request: pytest.FixtureRequest) -> Pair:
    return system(0.5, numeric_ids=request.param), system(0.65, numeric_ids=request.param)


@pytest.mark.parametrize("name", MEASURES)
def test_replicate_differences(name: str, pair: Pair) -> None:
    definition = resolve(name, profile_named("contract")).definition
    runs = [read(frame).queries for frame in pair]
    plan = Resampling(RESAMPLES, SEED).plan(runs[0])
    before, after = (next(iter(replicate(queries, [(definition, OVERALL)], plan))).values[0] for queries in runs)
    expected = differences(*pair, name, seed=SEED, resamples=RESAMPLES)
    assert len(set(expected)) > RESAMPLES / 2
    assert after - before == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("level", [0.95, 0.5])
@pytest.mark.parametrize("name", MEASURES)
def test_interval_and_p(name: str, level: float, pair: Pair) -> None:
    expected = differences(*pair, name, seed=SEED, resamples=RESAMPLES)
    comparison = evidentia.compare(*map(read, pair), measures=[name], resamples=RESAMPLES, seed=SEED, ci=level)
    delta = comparison[name]
    whole = [MEASURES[name](frame.to_dicts()) for frame in pair]
    assert delta.baseline_value == pytest.approx(whole[0], rel=0, abs=1e-12)
    assert delta.delta == pytest.approx(whole[1] - whole[0], rel=0, abs=1e-12)
    posts = effective(pair[0], name)
    assert delta.ci == pytest.approx(t_interval(expected, whole[1] - whole[0], posts, level), rel=0, abs=1e-12)
    assert delta.p == pytest.approx(p_value(expected, whole[1] - whole[0], posts), rel=1e-9)
    assert delta.replicates_left_out == 0


@pytest.mark.parametrize("name", MEASURES)
def test_criteria_are_drawn_with_the_same_posts_and_undefined_replicates_are_left_out(name: str) -> None:
    """One criterion keeps two positives only, so that some replicates have none."""
    frames = [system(0.5), system(0.9)]
    rare = frames[0].filter(pl.col("criterion_id") == "A.2", pl.col("has_evidence") == 1)["post_id"].to_list()[2:]
    gone = (pl.col("criterion_id") == "A.2") & pl.col("post_id").is_in(rare)
    empty = pl.lit([], dtype=pl.List(pl.String))
    frames = [
        frame.with_columns(
            pl.when(gone).then(0).otherwise(pl.col("has_evidence")).alias("has_evidence"),
            pl.when(gone).then(empty).otherwise(pl.col("gold_sent_uids")).alias("gold_sent_uids"),
        )
        for frame in frames
    ]
    comparison = evidentia.compare(*map(read, frames), measures=[name], resamples=RESAMPLES, seed=SEED)
    assert len(comparison.deltas) == 1 + CRITERIA
    left_out = {}
    for criterion in ("A.1", "A.2", "A.3"):
        cut = [frame.filter(pl.col("criterion_id") == criterion) for frame in frames]
        values = np.array(differences(*cut, name, seed=SEED, resamples=RESAMPLES))
        used = values[~np.isnan(values)]
        delta = comparison[f"{name}[criterion={criterion}]"]
        assert delta.family == "criteria"
        posts = effective(cut[0], name)
        assert delta.ci == pytest.approx(t_interval(used, delta.delta, posts, 0.95), rel=0, abs=1e-12)
        assert delta.p == pytest.approx(p_value(used, delta.delta, posts), rel=1e-9)
        assert delta.replicates_left_out == len(values) - len(used)
        left_out[criterion] = delta.replicates_left_out
    assert left_out["A.2"] > 5
    assert left_out["A.1"] == left_out["A.3"] == 0


def test_one_seed_one_answer_and_another_seed_another(pair: Pair) -> None:
    runs = [read(frame) for frame in pair]
    once, again, other = (
        evidentia.compare(*runs, measures=["nDCG@10"], resamples=200, seed=seed)["nDCG@10"] for seed in (1, 1, 2)
    )
    assert once == again
    assert once.ci != other.ci
    assert once.delta == other.delta


def test_swapping_the_systems_turns_the_signs(pair: Pair) -> None:
    runs = [read(frame) for frame in pair]
    for name in MEASURES:
        forth = evidentia.compare(*runs, measures=[name], resamples=200)[name]
        back = evidentia.compare(*reversed(runs), measures=[name], resamples=200)[name]
        assert back.delta == -forth.delta
        assert back.p == forth.p
        assert back.ci == pytest.approx([-forth.ci[1], -forth.ci[0]], rel=0, abs=1e-15)
