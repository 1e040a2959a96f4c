"""Two predictors that may abstain, compared: the same draws as a naive loop, and never where it would not be fair."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evidentia.array_types import Floats
from evidentia.errors import InputError
from evidentia.evaluation.compare_items import ItemPair, compare_items
from evidentia.evaluation.intervals import Resampling
from evidentia.measures import Definition
from evidentia.results import SelectiveComparison
from evidentia.selective import compare, evaluate
from evidentia.stats.intervals import percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.synth import synthetic_phq8
from evidentia.tables import Items, read_items
from selective import naive
from selective.naive import Answer, Sample
from selective.runs import differences, phq8_items, phq8_rows, phq8_run, table_items, table_rows, uneven_table

SEED, RESAMPLES, ALLOWED = 5, 200, 1e-12
NAMES = ("A", "B")
PAIRS = ("two modes by llm", "two modes by token_msp", "uneven clusters")
every_pair = pytest.mark.parametrize("pair", PAIRS)


@cache
def both(pair: str) -> tuple[tuple[Items, Items], tuple[tuple[Answer, ...], tuple[Answer, ...]], str]:
    """A and B as the package reads them and as plain rows, and the signal."""
    if pair.startswith("two modes by "):
        signal = pair.removeprefix("two modes by ")
        modes = ("zero_shot", "few_shot")
        first, second = (phq8_items(mode) for mode in modes)
        one, two = (phq8_rows(mode, signal) for mode in modes)
        return (first, second), (one, two), signal
    tables = uneven_table(), uneven_table(seed=8, abstained=0.5)
    return (
        (table_items(tables[0]), table_items(tables[1])),
        (table_rows(tables[0]), table_rows(tables[1])),
        "confidence",
    )


@cache
def compared(pair: str) -> SelectiveComparison:
    (a, b), _, signal = both(pair)
    return compare_items(a, b, names=NAMES, confidence=[signal], resampling=Resampling(RESAMPLES, SEED, 0.9))


@cache
def replicate_deltas(pair: str) -> dict[Definition, Floats]:
    """The package's differences in every replicate."""
    sides, _, signal = both(pair)
    grid = ("0.1", "0.5", "0.6", "0.7", "1")
    held = ItemPair.of(sides, NAMES, Resampling(RESAMPLES, SEED), [signal], loss=None, grid=grid)
    found = {definition: np.empty(RESAMPLES) for definition, _ in held.wants}
    for rows, weights in ResamplingPlan(len(sides[0].cluster_ids), RESAMPLES, SEED, block=64).blocks():
        drawn_differences = held.differences(weights)
        for definition, grouping in held.wants:
            found[definition][rows] = drawn_differences[definition, grouping.columns][0]
    return found


@cache
def drawn(pair: str, replicate: int) -> tuple[Sample, Sample]:
    first, second = both(pair)[1]
    return naive.drawn(first, SEED, replicate), naive.drawn(second, SEED, replicate)


def plain_delta(a: Sample, b: Sample, base: str, params: dict[str, str], cut: str | None) -> float:
    """B - A; undefined where either is, or does not reach the coverage."""
    common = min(a.predicted, b.predicted)
    if cut is not None and (common == 0 if cut == "common" else not (a.reaches(cut) and b.reaches(cut))):
        return math.nan
    first, second = (naive.value(side, base, params, cut, common) for side in (a, b))
    return second - first


@pytest.mark.sample(every=3)
@every_pair
def test_deltas_of_every_replicate_equal_the_naive_loop(pair: str) -> None:
    undefined = []
    for definition, values in replicate_deltas(pair).items():
        args = definition.args
        cut = None if args.cut is None else str(args.cut).partition("=")[2]
        base, params = definition.measure.base, dict(args.params)
        pairs = (drawn(pair, replicate) for replicate in range(RESAMPLES))
        expected = [plain_delta(a, b, base, params, cut) for a, b in pairs]
        assert differences(values, expected) <= ALLOWED, definition.expanded
        if np.isnan(expected).any():
            undefined.append((cut, int(np.isnan(expected).sum())))
    assert {cut for cut, _ in undefined} >= {"0.6", "1"}, "coverages that some replicates do not reach"
    assert ("1", RESAMPLES) in undefined
    assert any(0 < count < RESAMPLES for _, count in undefined)
    assert not any(cut == "common" for cut, _ in undefined)


@every_pair
def test_limits_and_left_out_replicates_are_those_of_the_differences(pair: str) -> None:
    found, deltas = compared(pair), replicate_deltas(pair)
    checked = 0
    for definition, values in deltas.items():
        delta = next((d for d in found.deltas if d.definition == definition.expanded), None)
        if delta is None:  # a coverage that is not on the usual grid
            continue
        limits = percentile_limits(values[None], 0.9)
        assert delta.replicates_left_out == limits.left_out[0]
        if delta.ci is not None:
            checked += 1
            assert delta.ci == pytest.approx((limits.low[0], limits.high[0]), rel=0, abs=ALLOWED)
            assert delta.delta == pytest.approx(delta.system_value - delta.baseline_value, rel=0, abs=0)
    assert checked > 20


def test_the_share_of_resamples_that_do_not_reach_a_coverage_is_said() -> None:
    delta = compared("uneven clusters")["MAE@coverage=0.5"]
    assert RESAMPLES / 20 < delta.replicates_left_out < RESAMPLES
    said = f"undefined in {delta.replicates_left_out} of {RESAMPLES} resamples, which are left out of the interval"
    assert said in delta.warnings


# what is not fair


def test_at_different_coverages_a_bare_mae_is_refused_with_the_reason() -> None:
    found = compared("two modes by llm")
    a, b = (items.predicted.mean() for items in both("two modes by llm")[0])
    assert a != b
    delta = found["MAE"]
    assert (delta.delta, delta.ci, delta.p, delta.verdict) == (None, None, None, "undefined")
    assert any(
        said.startswith(f"not compared: the two answer different shares of the items ({a:.4g} and {b:.4g})")
        for said in delta.warnings
    )
    assert any("compare MAE at a coverage that both reach" in said for said in delta.warnings)
    for value, rows in zip((delta.baseline_value, delta.system_value), both("two modes by llm")[1], strict=True):
        assert value == pytest.approx(naive.value(Sample(rows), "MAE", {"loss": "abs"}))


@pytest.mark.parametrize("name", ["AURC", "nAURC", "eAURC(ties=plateau)", "AUGRC", "AUGRC(loss=abs)"])
def test_at_different_coverages_whole_areas_are_given_but_not_tested(name: str) -> None:
    delta = compared("two modes by llm")[name]
    assert delta.delta is not None
    assert delta.ci is not None
    assert (delta.p, delta.p_holm, delta.verdict) == (None, None, "undefined")
    assert any(said.startswith("not tested: the areas end at different coverages") for said in delta.warnings)


@pytest.mark.parametrize("name", ["AURC", "AURC(ties=plateau)", "AUGRC", "AUGRC(ties=plateau)"])
def test_at_different_coverages_areas_up_to_the_common_one_are_tested(name: str) -> None:
    for cut in ("C=common", "C=0.5"):
        delta = compared("two modes by llm")[f"{name}@{cut}"]
        assert delta.delta is not None
        assert delta.p is not None
        assert delta.verdict in {"win", "tie", "loss"}


def test_coverages_that_one_does_not_reach_are_named() -> None:
    found = compared("two modes by llm")
    reach = min(items.predicted.mean() for items in both("two modes by llm")[0])
    assert found.common_coverage == reach
    for row in found.coverages:
        assert row["valid"] == (row["coverage"] <= reach)
        assert (row["reason"] is None) == row["valid"]
    last = found.coverages[-1]
    assert last["reason"] == "A reaches only 0.6; B reaches only 0.7"
    beyond = found["AURC@C=1"]
    assert (beyond.delta, beyond.p, beyond.verdict) == (None, None, "undefined")
    assert last["reason"] in beyond.warnings


def test_a_run_against_itself_differs_nowhere_and_wins_nothing() -> None:
    items = phq8_items("zero_shot")
    found = compare(items, items, seed=3, resamples=100)
    assert all("resamples" in note and "nothing in it can be significant" in note for note in found.notes)
    for delta in found.deltas:
        assert delta.delta in {0.0, None}, delta.name
        assert delta.ci is None
        assert delta.p in {1.0, None}
        assert delta.verdict in {"tie", "undefined"}
        if delta.delta is None:
            assert float(delta.definition.rpartition("=")[2]) > items.predicted.mean(), "a coverage out of reach"
    assert sum(delta.p == 1.0 for delta in found.deltas) > 50


# who can be compared


def silent(items: Items) -> Items:
    frame = uneven_table().with_columns(pred=pl.lit(None, dtype=pl.Float64))
    assert items.cluster_ids == table_items(frame).cluster_ids
    return table_items(frame)


@pytest.mark.parametrize("first", [True, False])
def test_who_abstains_on_everything_is_refused_and_never_wins(first: bool) -> None:
    speaks = table_items(uneven_table())
    pair = (silent(speaks), speaks) if first else (speaks, silent(speaks))
    with pytest.raises(InputError, match="says nothing abstains on every item"):
        compare(*pair, seed=3, resamples=10, names=("says nothing", "B") if first else ("A", "says nothing"))


def test_who_answers_perfectly_but_little_does_not_win_by_its_whole_area() -> None:
    """One right answer has the smallest AURC there is; the areas up to the common coverage may be compared, the whole not."""
    frame = uneven_table()
    only = (pl.col("cluster_id") == 2) & (pl.col("item") == 0)
    little = frame.with_columns(pred=pl.when(only).then(pl.col("gt")))
    found = compare(table_items(frame), table_items(little), seed=3, resamples=5000, names=NAMES)
    assert found["AURC"].system_value == 0.0 < found["AURC"].baseline_value
    assert found["AURC"].verdict == "undefined"
    assert found["Cmax"].verdict == "loss"
    assert all(d.name.endswith("@C=common") for d in found.deltas if d.verdict == "win"), "only where both answer"


def with_participants(run: dict[str, Any], keep: Sequence[int]) -> dict[str, Any]:
    """The run with only these participants, by their place among the successful ones."""
    made = []
    for experiment in run["experiments"]:
        rows = [r for r in experiment["results"]["results"] if r["success"]]
        held = [row for at, row in enumerate(rows) if at in keep]
        made.append({**experiment, "results": {**experiment["results"], "results": held}})
    return {**run, "experiments": made}


def test_participants_that_only_one_run_has_are_an_error_that_says_whom() -> None:
    whole, part = phq8_items("zero_shot"), read_items(with_participants(phq8_run(), range(1, 20)), mode="few_shot")
    first = whole.cluster_ids[0]
    with pytest.raises(
        InputError, match=f"A has 1 participant that the other run lacks or failed on .first: .*{first}"
    ):
        compare(whole, part, seed=3, resamples=10, names=NAMES)
    with pytest.raises(InputError, match="B has 1 participant"):
        compare(part, whole, seed=3, resamples=10, names=NAMES)


def test_too_few_resamples_to_be_significant_are_said() -> None:
    a, b = phq8_items("zero_shot"), phq8_items("few_shot")
    families = {note.split("'")[1] for note in compare(a, b, seed=3, resamples=100).notes}
    assert families == {"measures", "coverage", "truncated", "questionnaire", "items"}
    assert compare(a, b, seed=3, resamples=2000, coverage=[0.5]).notes == ()


def test_intersect_compares_the_participants_that_both_have_and_says_so() -> None:
    run = phq8_run()
    a = read_items(with_participants(run, range(18)), mode="zero_shot")
    b = read_items(with_participants(run, range(3, 20)), mode="few_shot")
    found = compare(a, b, seed=3, resamples=50, names=NAMES, on_mismatch="intersect")
    assert found.notes[:2] == (
        "A: 3 participants that the other run lacks are left out",
        "B: 2 participants that the other run lacks are left out",
    )
    assert (found.participants, found.items) == (15, 120)
    shared = with_participants(run, range(3, 18))
    again = compare(
        *(read_items(shared, mode=mode) for mode in ("zero_shot", "few_shot")), seed=3, resamples=50, names=NAMES
    )
    assert again.notes == found.notes[2:]
    assert found.deltas == again.deltas or [d.to_dict() for d in found.deltas] == [d.to_dict() for d in again.deltas]


def test_runs_without_a_participant_in_common_are_refused() -> None:
    run = phq8_run()
    a, b = (read_items(with_participants(run, keep), mode="few_shot") for keep in (range(5), range(5, 20)))
    with pytest.raises(InputError, match="no participant in common"):
        compare(a, b, seed=3, resamples=10, on_mismatch="intersect")


def test_another_ground_truth_is_refused() -> None:
    frame = uneven_table()
    one = (pl.col("cluster_id") == 4) & (pl.col("item") == 1)
    moved = frame.with_columns(gt=pl.col("gt") + pl.when(one).then(0.5).otherwise(0.0))
    with pytest.raises(
        InputError, match=r"A and B disagree about the ground truth of 1 item .first: cluster .*4.*, item .*1"
    ):
        compare(table_items(frame), table_items(moved), seed=3, resamples=10, names=NAMES)
    fewer = frame.filter(~one)
    with pytest.raises(InputError, match="do not have the same items"):
        compare(table_items(frame), table_items(fewer), seed=3, resamples=10, names=NAMES)
    with pytest.raises(InputError, match="different largest scores"):
        compare(table_items(frame), table_items(frame, 7.0), seed=3, resamples=10, names=NAMES)


@pytest.mark.parametrize(("change", "words"), [({"resamples": 0}, "needs resamples"), ({"alpha": 1.0}, "alpha")])
def test_a_comparison_without_a_test_is_refused(change: dict[str, Any], words: str) -> None:
    items = phq8_items("zero_shot")
    with pytest.raises(InputError, match=words):
        compare(items, items, **{"seed": 3, "resamples": 10, **change})


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 7, 64])
def test_the_size_of_a_block_changes_no_delta(block: int) -> None:
    a, b = both("uneven clusters")[0]
    whole, cut = (compare_items(a, b, names=NAMES, resampling=Resampling(50, 3, block=size)) for size in (None, block))
    assert repr(whole.to_dict()) == repr(cut.to_dict())


def test_a_better_mode_wins_where_the_comparison_is_fair() -> None:
    run = synthetic_phq8(seed=2, participants=150, failures=0)
    found = evaluate(run, mode="few_shot", against_mode="zero_shot", seed=3, resamples=2000, confidence="token_msp")
    assert found.comparison is not None
    assert (found.comparison.baseline, found.comparison.system) == ("zero_shot", "few_shot")
    assert found.comparison["AURC@C=common"].verdict == "win"
    assert found.comparison["Cmax"].verdict == "win"


def spelled(items: Items, width: int) -> Items:
    """The same items under ids of digits, with zeros before them."""
    return replace(items, cluster_ids=tuple(f"{at:0{width}}" for at in range(1, len(items.cluster_ids) + 1)))


@pytest.mark.parametrize("how", ["error", "intersect"])
def test_people_whose_ids_differ_only_by_leading_zeros_are_not_taken_for_others(how: str) -> None:
    padded, plain = (spelled(phq8_items(mode), width) for mode, width in (("zero_shot", 3), ("few_shot", 1)))
    with pytest.raises(InputError, match=r"^20 participants of zero and few differ only by zeros before the number"):
        compare_items(padded, plain, names=("zero", "few"), resampling=Resampling(20, 1), on_mismatch=how)


def test_modes_of_one_file_are_compared_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(phq8_run()), encoding="utf-8")
    modes = ("zero_shot", "few_shot")
    by_path = compare(path, path, modes=modes, seed=3, resamples=20)
    by_items = compare(*map(phq8_items, modes), seed=3, resamples=20)
    assert by_path.to_dict() == by_items.to_dict()


@pytest.mark.parametrize("option", [{"mode": "few_shot"}, {"item_max": 5.0}])
def test_what_items_were_read_with_is_not_changed_in_silence(option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="were read already"):
        evaluate(phq8_items("zero_shot"), seed=3, resamples=0, **option)
