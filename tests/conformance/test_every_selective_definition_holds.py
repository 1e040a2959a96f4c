"""What must hold for every measure of selective prediction with every combination of its choices, whatever the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl
import pytest
from every_selective import ALONE, BY_NAME, EXPANDED, SIGNALS, WANTS, Tables, mixed, outcomes, read, repeated, same_bits

from evidentia.array_types import Floats
from evidentia.evaluation.items import ItemComputation
from evidentia.measures.core import Outcome
from evidentia.stats.resampling import ResamplingPlan

every_definition = pytest.mark.parametrize("name", EXPANDED)
every_one_alone = pytest.mark.parametrize("name", ALONE)
BASES = {"AURC", "nAURC", "eAURC", "AUGRC", "nAUGRC", "eAUGRC", "MAE", "Cmax"}
NOTHING = 0.0, True  # a value by convention, and marked
UNDEFINED = float("nan"), True
WITHOUT_PREDICTIONS = {
    **dict.fromkeys(("AURC", "eAURC", "AUGRC", "eAUGRC"), NOTHING),
    **dict.fromkeys(("nAURC", "nAUGRC", "MAE"), UNDEFINED),
    "Cmax": (0.0, False),
}


@cache
def plain() -> dict[str, Outcome]:
    return outcomes(mixed())


def test_every_choice_is_among_the_definitions() -> None:
    assert {BY_NAME[name].measure.base for name in EXPANDED} == BASES
    assert len(EXPANDED) == 2 * (2 * 2 * 4) + 4 * (2 * 4) + 2 * (2 * 4 * 2) + 2 * 4 + 1
    assert {BY_NAME[name].args.get("order") for name in EXPANDED} == {"confidence", "oracle", None}


def test_the_run_has_ties_abstentions_and_clusters_of_many_sizes() -> None:
    items = read(mixed().own)
    assert len(np.unique(items.confidence("confidence"))) == 5
    assert 0.4 < items.predicted.mean() < 0.75
    assert len(np.unique(np.bincount(items.cluster))) > 4
    assert items.cluster_ids[4:6] == ("9", "10")


# (a) the order of the rows


@cache
def in_other_orders() -> tuple[dict[str, Outcome], ...]:
    tables = mixed()
    return tuple(
        outcomes(
            Tables(
                tables.own.sample(fraction=1, shuffle=True, seed=seed),
                tables.other.sample(fraction=1, shuffle=True, seed=seed + 9),
            )
        )
        for seed in (1, 2)
    )


@every_definition
def test_shuffling_the_rows_changes_no_bit(name: str) -> None:
    for other in in_other_orders():
        assert same_bits(plain()[name], other[name])


# (b) weights


def weights_against_copies(times: Floats) -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    counts = dict(zip(read(mixed().own).cluster_ids, times.astype(int).tolist(), strict=True))
    return outcomes(mixed(), times[:, None]), outcomes(repeated(mixed(), counts))


@cache
def any_weights() -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    return weights_against_copies(np.random.default_rng(1).integers(0, 4, 30).astype(float))


@cache
def one_cluster_twice() -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    times = np.ones(30)
    times[7] = 2
    return weights_against_copies(times)


def assert_same_values(left: dict[str, Outcome], right: dict[str, Outcome], name: str) -> None:
    np.testing.assert_allclose(left[name].values, right[name].values, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(left[name].flaws, right[name].flaws)


@every_definition
def test_a_whole_weight_is_that_many_copies_of_every_item_of_the_cluster(name: str) -> None:
    assert_same_values(*any_weights(), name)


@every_definition
def test_a_cluster_of_weight_two_counts_as_two(name: str) -> None:
    assert_same_values(*one_cluster_twice(), name)
    weighted = one_cluster_twice()[0]
    assert weighted[name].values[0] != plain()[name].values[0]


@cache
def some_left_out() -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    times = np.ones(30)
    times[::3] = 0
    kept = [name for name, count in zip(read(mixed().own).cluster_ids, times, strict=True) if count]
    return outcomes(mixed(), times[:, None]), outcomes(mixed().kept(pl.col("cluster_id").cast(pl.String).is_in(kept)))


@every_definition
def test_a_cluster_of_weight_zero_is_not_there(name: str) -> None:
    assert_same_values(*some_left_out(), name)


@cache
def side_by_side() -> tuple[dict[str, Outcome], list[dict[str, Outcome]]]:
    weights = np.random.default_rng(3).multinomial(30, [1 / 30] * 30, size=5).T.astype(float)
    return outcomes(mixed(), weights), [outcomes(mixed(), weights[:, [i]]) for i in range(5)]


@every_definition
def test_a_weighting_does_not_feel_its_neighbours(name: str) -> None:
    together, alone = side_by_side()
    for i, one in enumerate(alone):
        assert together[name].values[i].tobytes() == one[name].values[0].tobytes()
        assert together[name].flaws[i] == one[name].flaws[0]


# (c) blocks and threads


@cache
def replicates(block: int | None) -> dict[str, Floats]:
    wants = [want for want in WANTS if want[0].expanded in ALONE]
    run = ItemComputation(read(mixed().own), wants, SIGNALS)
    return {r.definition.expanded: r.values for r in run.replicate(ResamplingPlan(30, 60, 7, block=block))}


@pytest.mark.slow
@every_one_alone
def test_the_size_of_the_blocks_changes_no_bit_of_a_replicate(name: str) -> None:
    whole = replicates(None)[name]
    assert len(np.unique(whole[~np.isnan(whole)])) > 10
    for block in (1, 7, 59):
        assert replicates(block)[name].tobytes() == whole.tobytes()


@pytest.mark.parametrize("workers", [1, 5])
def test_the_number_of_threads_changes_no_bit_of_a_replicate(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = replicates(4)
    replicates.cache_clear()
    monkeypatch.setattr("evidentia.stats.resampling.os.cpu_count", lambda: workers)
    again = replicates(4)
    assert again is not usual
    assert [name for name in usual if usual[name].tobytes() != again[name].tobytes()] == []


# (d) nothing to measure


def all_abstain(tables: Tables) -> Tables:
    return tables.each(pl.lit(None, dtype=pl.Float64).alias("pred"))


def one_answers(tables: Tables) -> Tables:
    """The first item of one cluster is all that either predicts."""
    there = (pl.col("cluster_id") == 12) & (pl.col("item") == 0)
    return tables.each(pl.when(there).then(pl.col("gt") + 1).otherwise(None).alias("pred"))


def always_right(tables: Tables) -> Tables:
    return tables.each(pl.col("gt").alias("pred"))


POOR: dict[str, Callable[[Tables], Tables]] = {
    "all abstain": all_abstain,
    "one item is predicted": one_answers,
    "one cluster": lambda tables: tables.kept(pl.col("cluster_id") == 12),
    "one cluster, all abstain": lambda tables: all_abstain(tables.kept(pl.col("cluster_id") == 12)),
    "a cluster without predictions": lambda tables: tables.kept(pl.col("cluster_id") == 9),
    "one item": lambda tables: tables.kept((pl.col("cluster_id") == 12) & (pl.col("item") == 0)),
    "always right": always_right,
    "one confidence": lambda tables: tables.each(pl.lit(1.0).alias("confidence")),
    "one confidence, always wrong": lambda tables: tables.each(
        pl.lit(1.0).alias("confidence"), (pl.col("gt") + 1).alias("pred")
    ),
}


@cache
def poor(kind: str) -> dict[str, Outcome]:
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        return outcomes(POOR[kind](mixed()))


@cache
def nobody_drawn() -> dict[str, Outcome]:
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        return outcomes(mixed(), np.zeros((30, 2)))


@every_definition
def test_nothing_predicted_gives_the_convention_and_a_reason(name: str) -> None:
    value, marked = WITHOUT_PREDICTIONS[BY_NAME[name].measure.base]
    silent = ("all abstain", "one cluster, all abstain", "a cluster without predictions")
    for outcome in (*(poor(kind)[name] for kind in silent), nobody_drawn()[name]):
        np.testing.assert_array_equal(outcome.values, np.full(len(outcome.values), value))
        assert (outcome.flaws > 0).tolist() == [marked] * len(outcome.values)


@every_definition
def test_no_value_is_missing_without_a_reason_and_every_reason_is_known(name: str) -> None:
    known = len(BY_NAME[name].measure.reasons)
    for outcome in (plain()[name], any_weights()[0][name], *(poor(kind)[name] for kind in POOR)):
        assert outcome.flaws.min() >= 0
        assert outcome.flaws.max() <= known
        assert np.isfinite(outcome.values[outcome.flaws == 0]).all()
        assert not np.isinf(outcome.values).any()


@cache
def every_item_a_cluster() -> dict[str, Outcome]:
    tables = mixed().kept(pl.col("cluster_id") == 12)
    return outcomes(tables.each(pl.col("item").alias("cluster_id"), pl.lit(1).alias("item")))


@every_definition
def test_a_single_cluster_has_the_value_that_its_items_have(name: str) -> None:
    assert_same_values(poor("one cluster"), every_item_a_cluster(), name)
    assert poor("one cluster")[name].flaws[0] == 0


@every_definition
def test_who_is_always_right_has_no_error_anywhere(name: str) -> None:
    expected = 1.0 if name == "Cmax" else 0.0
    assert (poor("always right")[name].values[0], poor("always right")[name].flaws[0]) == (expected, 0)


# (e) bounds


@every_definition
def test_values_lie_within_the_bounds_of_their_measure(name: str) -> None:
    low, high = BY_NAME[name].measure.bounds
    tables = (plain(), any_weights()[0], side_by_side()[0], *(poor(kind) for kind in POOR))
    values = np.concatenate([table[name].values for table in tables])
    values = values[~np.isnan(values)]
    assert low is not None
    assert values.min() >= low
    assert high is None or values.max() <= high


@pytest.mark.parametrize("name", [name for name in EXPANDED if name != "Cmax"])
def test_a_mean_is_at_most_the_largest_loss_and_an_area_that_times_the_coverage(name: str) -> None:
    definition = BY_NAME[name]
    largest = {"abs": 4.0, "abs_norm": 1.0, "zero_one": 1.0, "squared": 16.0}[definition.args["loss"]]
    mean = definition.measure.base in {"nAURC", "nAUGRC", "MAE"}
    assert 0 < plain()[name].values[0] <= largest * (1.0 if mean else plain()["Cmax"].values[0])
