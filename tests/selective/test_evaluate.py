"""The Python entry: what must be given, what is taken by default, what is refused, and the same bytes for the same seed."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from evidentia.errors import EvidentiaError, InputError, UnknownNameError
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.selective import augrc, aurc, compare, evaluate, risk_at_coverage, risk_coverage_curve
from evidentia.synth import synthetic_phq8
from evidentia.tables import Items, read_items
from selective.runs import phq8_items, phq8_run, table_items, uneven_table

LOSSES = ("abs", "abs_norm", "zero_one", "squared")


def quick(items: Items | object, **options: Any) -> Any:
    return evaluate(items, **{"seed": 7, "resamples": 0, **options})


def test_the_seed_must_be_given() -> None:
    for function in (evaluate, compare):
        assert inspect.signature(function).parameters["seed"].default is inspect.Parameter.empty
    found = evaluate(phq8_items("zero_shot"), seed=12, resamples=20)
    assert (found.seed, found.to_dict()["seed"], found.resamples) == (12, 12, 20)


# confidences


def test_a_phq8_run_is_ranked_by_both_evidence_counts_unless_told_otherwise() -> None:
    found = quick(phq8_items("zero_shot"))
    assert found.dataset["signals"] == ["llm", "total_evidence"]
    assert {"AURC[confidence=llm]", "AURC[confidence=total_evidence]", "Cmax", "AURC(order=oracle)", "MAE"} <= set(
        found
    )
    assert "AURC" not in found.measures


def test_a_table_is_ranked_by_its_confidence_column_without_a_group() -> None:
    found = quick(table_items(uneven_table()))
    assert found.dataset["signals"] == ["confidence"]
    assert "AURC" in found.measures
    assert not any(estimate.group for estimate in found.measures.values())


def test_one_named_confidence_needs_no_group_and_several_keep_their_order() -> None:
    items = phq8_items("zero_shot")
    one = quick(items, confidence="token_msp")
    assert "AURC" in one.measures
    several = quick(items, confidence=["token_msp", "llm", "token_msp"])
    assert several.dataset["signals"] == ["token_msp", "llm"]
    assert several["AURC[confidence=token_msp]"].value == one["AURC"].value
    assert several["AURC[confidence=token_msp]"].group == (("confidence", "token_msp"),)


def test_all_takes_every_signal_that_every_predicted_item_has_and_names_the_others() -> None:
    items = phq8_items("zero_shot")
    gap = items.signals["keyword"].copy()
    gap[np.flatnonzero(items.predicted)[0]] = np.nan
    holed = replace(items, signals={**items.signals, "keyword": gap})
    found = quick(holed, confidence="all")
    usable = [name for name in items.signals if name != "keyword"]
    assert found.dataset["signals"] == usable
    assert "the signal keyword is left out: predicted items lack it" in found.notes
    ranked = sorted(usable, key=lambda name: found[f"eAURC[confidence={name}]"].value)
    assert set(ranked) == set(usable)
    assert ranked.index("token_msp") < ranked.index("verbalized_confidence"), (
        "the one that tells errors apart is better"
    )


def test_all_without_a_usable_signal_and_an_unknown_signal_are_refused() -> None:
    items = phq8_items("zero_shot")
    empty = replace(items, signals={"llm": np.full(len(items), np.nan)})
    with pytest.raises(InputError, match="no signal has a value for every predicted item"):
        quick(empty, confidence="all")
    with pytest.raises(UnknownNameError, match=r"there is no signal .*nonsense"):
        quick(items, confidence="nonsense")
    with pytest.raises(InputError, match=r"without .*llm"):
        quick(empty, confidence="llm")


# losses, coverages, measures


@pytest.mark.parametrize("loss", LOSSES)
def test_one_loss_for_every_measure(loss: str) -> None:
    found = quick(phq8_items("zero_shot"), confidence="llm", loss=loss)
    lossless = {"Cmax", "WeightedKappa", "TotalMAE", "TotalDecided", "TotalSensitivity", "TotalSpecificity"}
    held = {
        e.definition.partition("loss=")[2].partition(")")[0]
        for e in found.measures.values()
        if e.measure.partition("(")[0].partition("@")[0] not in lossless
    }
    assert held == {loss}


def test_without_a_loss_aurc_is_raw_and_augrc_normalised_and_raw_beside_it() -> None:
    found = quick(phq8_items("zero_shot"), confidence="llm")
    assert found["AURC"].definition == "AURC(order=confidence,ties=step,loss=abs)"
    assert found["AUGRC"].definition == "AUGRC(order=confidence,ties=step,loss=abs_norm)"
    assert found["AUGRC(loss=abs)"].value == pytest.approx(3 * found["AUGRC"].value, rel=1e-14)


def test_a_normalised_loss_without_a_largest_score_is_left_out_with_the_reason_and_another_loss_is_not() -> None:
    items = table_items(uneven_table(), None)
    found = quick(items)
    gap = found.not_computed[0]
    assert gap.reason == "needs the largest possible score (--item-max), or another --loss"
    assert "AUGRC" in gap.measures
    assert "AUGRC" not in found.measures
    assert found["AUGRC(loss=abs)"].value > 0
    assert quick(items, loss="squared").not_computed == ()
    with pytest.raises(InputError, match="largest possible error"):
        quick(items, loss="abs_norm", measures=["AUGRC(loss=abs_norm)"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "cubic"}, "no loss of that name.*abs_norm"),
        ({"coverage": [0.0]}, "coverage must be a number above 0"),
        ({"coverage": [1.1]}, "coverage must be a number above 0"),
        ({"coverage": [0.5, -0.1]}, "coverage must be a number above 0"),
        ({"coverage": [math.nan]}, "coverage must be a number above 0"),
        ({"coverage": ["half"]}, "coverage must be a number above 0"),
        ({"measures": ["nDCG@10"]}, "nDCG@10 is not a measure of selective prediction"),
        ({"measures": ["AURC[confidence=llm]"]}, "without groups"),
        ({"measures": ["AURC@C=common"]}, "needs a second run"),
        ({"measures": ["AURK"]}, "Unknown measure"),
        ({"resamples": 1}, "resamples"),
        ({"ci": 1.5}, "level"),
        ({"ci_method": "exact"}, "percentile or bca"),
        ({"against_mode": "few_shot"}, "against_mode needs a file"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(options: dict[str, Any], words: str) -> None:
    with pytest.raises(EvidentiaError, match=words):
        quick(phq8_items("zero_shot"), **options)


@pytest.mark.parametrize("given", [[0.25, "0.5"], [Fraction(1, 4), 0.5], ["0.250", ".50"], [np.float64(0.25), "0.5"]])
def test_coverages_can_be_given_in_any_form(given: list[Any]) -> None:
    found = quick(phq8_items("zero_shot"), confidence="llm", coverage=given)
    cuts = {name.partition("@")[2] for name in found if "@" in name and "@cut=" not in name}
    assert cuts == {"coverage=0.25", "coverage=0.5", "C=0.25", "C=0.5"}


def test_only_what_was_asked_for_is_computed_and_any_spelling_finds_it() -> None:
    found = quick(phq8_items("zero_shot"), confidence="llm", measures=["aurc", "MAE@coverage=50%", "AURC"])
    assert list(found) == ["AURC", "MAE@coverage=0.5"]
    assert found["AURC(loss=abs)"] is found["AURC"]


# the result


def test_steps_always_stand_beside_plateaus() -> None:
    found = quick(phq8_items("zero_shot"), confidence="llm")
    areas = [name for name in found if name.partition("(")[0].partition("@")[0].lstrip("ne") in {"AURC", "AUGRC"}]
    plateaus = [name for name in areas if "plateau" in name]
    assert len(areas) == 2 * len(plateaus) > 40


def test_failed_participants_are_counted_and_not_included() -> None:
    found = quick(phq8_items("zero_shot"))
    assert (found.dataset["participants"], found.dataset["failed"]) == (20, 2)
    assert (found.dataset["items"], found.dataset["predicted"]) == (160, int(phq8_items("zero_shot").predicted.sum()))
    assert found["Cmax"].n == 160


def test_all_checks_pass_on_a_sound_run_and_each_says_on_how_much() -> None:
    found = quick(phq8_items("zero_shot"))
    assert found.passed
    assert [(check.code, check.status) for check in found.checks] == [
        (code, "passed") for code in ("SEL001", "SEL002", "SEL003")
    ]
    assert found.checks[2].message == "8 areas looked at", "four areas by two confidences"


def test_a_participant_without_all_items_fails_the_check() -> None:
    items = phq8_items("zero_shot")
    found = quick(items.take(np.arange(1, len(items))))
    assert not found.passed
    assert found.checks[0].status == "failed"


def test_nothing_predicted_is_written_as_null_with_a_reason() -> None:
    frame = uneven_table().with_columns(pred=pl.lit(None, dtype=pl.Float64))
    found = evaluate(table_items(frame), seed=7, resamples=20)
    written = json.loads(found.to_json())["measures"]
    assert (written["AURC"]["value"], written["nAURC"]["value"], written["MAE"]["value"]) == (0.0, None, None)
    for name, entry in written.items():
        assert entry["ci"] is None or name == "Cmax"
        assert name == "Cmax" or entry["degenerate"], name
    assert written["Cmax"]["ci_method"] == "clopper-pearson"
    assert found.passed


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_one_participant_has_values_but_no_interval(method: Any) -> None:
    frame = uneven_table().filter(pl.col("cluster_id") == 2)
    found = evaluate(table_items(frame), seed=7, resamples=20, ci_method=method)
    assert found["AURC"].value > 0
    assert found["AURC"].ci is None
    assert "no interval: every resample gives the same value" in found["AURC"].warnings


# the same bytes


@pytest.mark.slow
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_size_of_a_block_changes_no_byte(method: Any) -> None:
    items = read_items(synthetic_phq8(seed=6, participants=120), mode="few_shot")
    texts = set()
    for block in (None, 1, 7, 64):
        found = evaluate_items(items, resampling=Resampling(65, 7, 0.95, method, block=block))
        curves = [(curve.name, repr(dict(curve.columns))) for curve in found.curves]
        texts.add(found.to_json() + repr(curves))
    assert len(texts) == 1


@pytest.mark.parametrize("workers", [1, 5])
def test_the_number_of_threads_changes_no_byte(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    items = table_items(uneven_table(clusters=150))
    usual = evaluate(items, seed=7, resamples=60).to_json()
    monkeypatch.setattr("evidentia.stats.resampling.os.cpu_count", lambda: workers)
    assert evaluate(items, seed=7, resamples=60).to_json() == usual


def test_another_seed_gives_other_intervals_and_the_same_values() -> None:
    one, two = (evaluate(phq8_items("zero_shot"), seed=seed, resamples=50, confidence="llm") for seed in (1, 2))
    assert one["AURC"].value == two["AURC"].value
    assert one["AURC"].ci != two["AURC"].ci


def test_a_file_a_mapping_and_read_items_are_the_same_run(tmp_path: Any) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(phq8_run()), encoding="utf-8")
    texts = {
        evaluate(source, mode="few_shot", seed=7, resamples=0).to_dict()["measures"].__repr__()
        for source in (path, phq8_run())
    }
    texts.add(repr(quick(phq8_items("few_shot")).to_dict()["measures"]))
    assert len(texts) == 1


# arrays


@pytest.mark.parametrize("function", [aurc, augrc, risk_coverage_curve])
def test_arrays_that_do_not_fit_are_refused(function: Any) -> None:
    for loss, sure, words in (
        ([1.0], [1.0, 2.0], "one length"),
        ([[1.0]], [[1.0]], "flat"),
        ([], [], "no items"),
        ([1.0], [math.nan], "finite"),
        ([math.inf], [1.0], "finite"),
    ):
        with pytest.raises(InputError, match=words):
            function(loss, sure)


@pytest.mark.parametrize("coverage", [0, -0.5, 1.5, Fraction(3, 2), math.nan])
def test_a_coverage_outside_0_to_1_is_refused(coverage: Any) -> None:
    with pytest.raises(InputError, match="coverage"):
        aurc([1.0], [1.0], up_to=coverage)
    with pytest.raises(InputError, match="coverage"):
        risk_at_coverage([1.0], [1.0], coverage)
