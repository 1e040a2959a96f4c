"""Tuned on TUNE, applied to EVAL: what is chosen, what it changes in the run, and everything that is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import evidentia
from cli.points import point_estimates
from evidentia.protocol import (
    Choices,
    Tuning,
    apply_tuning,
    choose_threshold,
    from_document,
    parse_rule,
    parse_targets,
    posts_sha256,
    to_document,
    tune,
)
from evidentia.tables import Run

THREE = Choices(None, parse_targets(["ScreeningSensitivity>=0.9", "ScreeningFNPer1000<=5", "AlertPrecision>=0.6"]))
EASY = (
    *("ScreeningSensitivity>=0.9", "ScreeningFNPer1000<=50", "AlertPrecision>=0.5"),
    *("ScreeningSensitivity(unit=post)>=0.6", "AlertPrecision(unit=post)>=0.3"),
)
ONE = Choices(parse_rule("max-f1"))


def rows(table: pl.DataFrame, fold: str, split: str) -> pl.DataFrame:
    return table.filter(fold=fold, split=split)


def test_every_fold_is_tuned_on_its_own_tune_rows(run: Run, table: pl.DataFrame) -> None:
    tuning = tune(run, ONE)
    assert [fold.fold for fold in tuning.folds] == ["0", "1", "2", "3", "4"]
    for fold in tuning.folds:
        own = rows(table, fold.fold, "TUNE")
        expected = choose_threshold(ONE.rule, own["prob"].to_numpy(), own["has_evidence"].to_numpy() == 1)
        assert fold.threshold.value == expected.value
        assert dict(fold.threshold.metrics) == dict(expected.metrics)
        assert set(fold.threshold.tuned_on.posts) == set(own["post_id"]) == fold.posts
        assert fold.threshold.tuned_on.sha256 == posts_sha256(own["post_id"].unique())
        assert (fold.tune_queries, fold.tune_positives) == (own.height, own["has_evidence"].sum())


def test_eval_labels_have_no_say(run: Run, table: pl.DataFrame) -> None:
    is_eval = pl.col("split") == "EVAL"
    flipped = table.drop("gold_sent_uids", "selected_sent_uids").with_columns(
        has_evidence=pl.when(is_eval).then(1 - pl.col("has_evidence")).otherwise("has_evidence")
    )
    for choices in (ONE, THREE, replace(THREE, certify=True, calibrate="auto")):
        folds = [to_document(tune(one, choices))["folds"] for one in (run, evidentia.read_run(flipped))]
        assert folds[0] == folds[1]


def test_one_threshold_becomes_the_gate(run: Run, table: pl.DataFrame) -> None:
    tuning = tune(run, ONE)
    applied = apply_tuning(run, tuning)
    assert not {"state", "tau_neg", "tau_pos"} & set(applied.frame.columns)
    tau = {fold.fold: fold.threshold.value for fold in tuning.folds}
    for row, gate, selected in zip(
        applied.frame.iter_rows(named=True), applied.queries.gate, applied.queries.n_selected, strict=True
    ):
        assert row["tau"] == tau[row["fold"]]
        assert gate == (row["prob"] >= row["tau"])
        assert len(row["selected_sent_uids"]) == selected
        assert gate or not selected
    judged = {True: 0, False: 0}
    for fold in map(str, range(5)):
        own = rows(table, fold, "EVAL")
        for label, prob in own.select("has_evidence", "prob").iter_rows():
            judged[bool(label)] += prob >= tau[fold]
    result = point_estimates(applied, measures=["TP(t=gate)", "FP(t=gate)"])
    assert (result["TP(t=gate)"].value, result["FP(t=gate)"].value) == (judged[True], judged[False])


def test_two_thresholds_become_states(run: Run) -> None:
    applied = apply_tuning(run, tune(run, THREE))
    for row in applied.frame.iter_rows(named=True):
        low, high = row["tau_neg"], row["tau_pos"]
        state = "NEG" if row["prob"] < low else "UNCERTAIN" if row["prob"] < high else "POS"
        assert row["state"] == state
        assert state != "NEG" or row["selected_sent_uids"] == []
    result = point_estimates(applied, measures=["ScreeningSensitivity", "NegRate"])
    assert result["NegRate"].value == applied.frame["state"].eq("NEG").mean()
    assert evidentia.validate_run(applied.frame) == ()


def test_the_calibrator_comes_first_and_the_raw_probability_stays(run: Run) -> None:
    tuning = tune(run, replace(THREE, calibrate="platt"))
    applied = apply_tuning(run, tuning)
    assert applied.frame["raw_prob"].to_list() == run.frame["prob"].to_list()
    for fold in tuning.folds:
        own = applied.frame.filter(fold=fold.fold)
        assert own["prob"].to_numpy() == pytest.approx(fold.calibrator.apply(own["raw_prob"].to_numpy()))
        assert set(fold.calibrator.tuned_on.posts) == set(run.tune_frame.filter(fold=fold.fold)["post_id"])
        on_tune = applied.tune_frame.filter(fold=fold.fold)
        assert on_tune["prob"].to_numpy() == pytest.approx(fold.calibrator.apply(on_tune["raw_prob"].to_numpy()))
    assert (applied.frame["prob"] != applied.frame["raw_prob"]).mean() > 0.9


def test_a_raw_score_becomes_a_probability(table: pl.DataFrame) -> None:
    raw = (pl.col("prob") * 8 - 3).alias("detection_score")
    run = evidentia.read_run(table.with_columns(raw).drop("prob", "state", "tau_neg", "tau_pos"))
    with pytest.raises(evidentia.InputError, match="only detection_score"):
        tune(run, ONE)
    applied = apply_tuning(run, tune(run, replace(ONE, calibrate="auto")))
    assert applied.queries.prob.min() >= 0
    assert applied.queries.prob.max() <= 1
    assert applied.frame["detection_score"].to_list() == run.frame["detection_score"].to_list()
    assert point_estimates(applied, measures=["AUROC"])["AUROC"].value > 0.5


def test_certificates_use_posts_that_the_calibrator_did_not_see(run: Run) -> None:
    easy = replace(THREE, certify=True, targets=parse_targets(EASY))
    for fold in tune(run, replace(easy, calibrate="platt")).folds:
        screening, alerts = fold.three_state.certificates
        certified_on = set(screening.tuned_on.posts)
        assert certified_on == set(alerts.tuned_on.posts)
        assert len(certified_on) > len(fold.calibrator.tuned_on.posts) > 0
        assert not certified_on & set(fold.calibrator.tuned_on.posts)
        assert certified_on | set(fold.calibrator.tuned_on.posts) == set(fold.three_state.tuned_on.posts)
    plain = tune(run, easy)
    assert all(fold.three_state.certificates[0].value is not None for fold in plain.folds)
    for fold in plain.folds:
        screening, alerts = fold.three_state.certificates
        assert fold.three_state.tau_neg == min(screening.value, fold.three_state.tau_pos)
        assert alerts.value in {None, fold.three_state.tau_pos}


def test_posts_of_earlier_choices_cannot_certify(run: Run) -> None:
    with pytest.raises(evidentia.InputError, match=r"1 post .* would certify thresholds"):
        tune(run, replace(THREE, certify=True), used=[run.tune.post_ids[run.tune.post[0]]])


def test_what_cannot_be_certified_stays_tuned_and_says_how_many_posts_it_needs(run: Run) -> None:
    plain, asked = tune(run, THREE), tune(run, replace(THREE, certify=True))
    for one, other in zip(plain.folds, asked.folds, strict=True):
        screening, _ = other.three_state.certificates
        assert (screening.value, screening.posts_needed) == (None, 598)
        assert one.three_state.tau_neg == other.three_state.tau_neg
        assert one.three_state.certificates == ()


def test_a_run_without_folds(table: pl.DataFrame) -> None:
    run = evidentia.read_run(table.filter(fold="2").drop("fold"))
    tuning = tune(run, ONE)
    assert [fold.fold for fold in tuning.folds] == [None]
    assert apply_tuning(run, tuning).frame["tau"].unique().to_list() == [tuning.folds[0].threshold.value]


def edited(tuning: Tuning, fold: int, **changes: object) -> Tuning:
    folds = list(tuning.folds)
    folds[fold] = replace(folds[fold], **changes)
    return replace(tuning, folds=tuple(folds))


def test_thresholds_tuned_on_judged_posts_are_refused_with_fold_and_number(run: Run, table: pl.DataFrame) -> None:
    tuning = tune(run, THREE)
    judged = rows(table, "1", "EVAL")["post_id"].unique().sort().to_list()
    three = tuning.folds[1].three_state
    leak = replace(three, tuned_on=replace(three.tuned_on, posts=(*three.tuned_on.posts, *judged[:3])))
    with pytest.raises(evidentia.InputError) as caught:
        apply_tuning(run, edited(tuning, 1, three_state=leak))
    assert [problem.code for problem in caught.value.problems] == ["THRESHOLD_LEAK"]
    assert f"fold '1' were tuned on 3 posts of the {len(judged)} that they would be applied to" in str(caught.value)
    assert repr(judged[0]) in str(caught.value)


def test_a_calibrator_or_a_certificate_that_saw_a_judged_post_is_refused_too(run: Run, table: pl.DataFrame) -> None:
    tuning = tune(run, replace(THREE, calibrate="platt", certify=True))
    judged = rows(table, "0", "EVAL")["post_id"][0]
    fold = tuning.folds[0]
    seen = replace(fold.calibrator, tuned_on=replace(fold.calibrator.tuned_on, posts=(judged,)))
    first, second = fold.three_state.certificates
    told = replace(second, tuned_on=replace(second.tuned_on, posts=(judged,)))
    for change in ({"calibrator": seen}, {"three_state": replace(fold.three_state, certificates=(first, told))}):
        with pytest.raises(evidentia.InputError, match="tuned on 1 post of the 24"):
            apply_tuning(run, edited(tuning, 0, **change))


def test_one_threshold_for_all_folds_names_every_fold_that_it_was_tuned_on(run: Run, table: pl.DataFrame) -> None:
    """The pitfall itself: tuned on all posts but those of fold 0, then used everywhere."""
    part = pl.when(pl.col("fold") == "0").then(pl.lit("EVAL")).otherwise(pl.lit("TUNE"))
    pooled = table.filter(split="EVAL").with_columns(split=part, fold=pl.lit("0"))
    (only,) = tune(evidentia.read_run(pooled), ONE).folds
    everywhere = replace(tune(run, ONE), folds=tuple(replace(only, fold=fold) for fold in "01234"))
    with pytest.raises(evidentia.InputError) as caught:
        apply_tuning(run, everywhere)
    assert [message.partition(" were tuned on ")[0][-8:] for message in str(caught.value).splitlines()] == [
        f"fold '{fold}'" for fold in "1234"
    ]
    assert str(caught.value).count("tuned on 24 posts of the 24") == 4


def test_missing_folds_other_scores_and_untuned_folds_are_refused(run: Run, table: pl.DataFrame) -> None:
    tuning = tune(run, ONE)
    with pytest.raises(evidentia.InputError, match="no thresholds for fold '0'"):
        apply_tuning(run, replace(tuning, folds=tuning.folds[1:]))
    with pytest.raises(evidentia.InputError, match="no thresholds for the run, which has no folds"):
        apply_tuning(evidentia.read_run(table.filter(split="EVAL").drop("fold", "split")), tuning)
    with pytest.raises(evidentia.InputError, match="tuned on detection_score, but the run has prob"):
        apply_tuning(run, replace(tuning, score="detection_score"))
    without = table.filter(~((pl.col("fold") == "3") & (pl.col("split") == "TUNE") & (pl.col("has_evidence") == 1)))
    one_class = evidentia.read_run(without)
    with pytest.raises(evidentia.InputError, match="fold '3' cannot be tuned: no TUNE queries with evidence"):
        apply_tuning(one_class, tune(one_class, THREE))


def test_rejecting_everything_is_said_or_refused(table: pl.DataFrame) -> None:
    """The best TUNE score has no evidence, so FPR = 0 rejects all; tau 1 says so unless a prob is 1."""
    highest = pl.col("prob").clip(0.0, 0.9)
    negative = (pl.col("split") == "TUNE") & (pl.col("has_evidence") == 0)
    capped = table.drop("state", "tau_neg", "tau_pos").with_columns(
        prob=pl.when(negative).then(0.95).otherwise(highest)
    )
    run = evidentia.read_run(capped)
    tuning = tune(run, Choices(parse_rule("fpr=0")))
    assert {fold.reason for fold in tuning.folds} == {"reject_all"}
    applied = apply_tuning(run, tuning)
    assert not applied.queries.gate.any()
    certain = capped.with_columns(prob=pl.when(pl.col("split") == "EVAL").then(1.0).otherwise("prob"))
    with pytest.raises(evidentia.InputError, match="no tau can say where a prob is 1"):
        apply_tuning(evidentia.read_run(certain), tuning)


def test_runs_that_cannot_be_tuned_are_refused(table: pl.DataFrame) -> None:
    with pytest.raises(evidentia.InputError, match="no TUNE rows"):
        tune(evidentia.read_run(table.filter(split="EVAL")), ONE)
    with pytest.raises(evidentia.InputError, match="no score column in common"):
        tune(evidentia.read_run(table.drop("prob", "tau_neg", "tau_pos", "state")), ONE)
    with pytest.raises(evidentia.InputError, match="three-state"):
        Choices(parse_rule("youden"), certify=True)


def test_a_fixed_threshold_was_tuned_on_nothing(run: Run) -> None:
    tuning = tune(run, Choices(parse_rule("fixed=0.5")))
    assert {fold.threshold.value for fold in tuning.folds} == {0.5}
    assert {fold.posts for fold in tuning.folds} == {frozenset()}


def test_both_readings_of_tpr_at_fpr_are_there_with_the_achieved_rate(run: Run, table: pl.DataFrame) -> None:
    result = point_estimates(run, measures=["TPR(same)@FPR=5%", "TPR(tuned)@FPR=5%", "FPR(tuned)@FPR=5%"])
    false_alarms = negatives = 0
    for fold in tune(run, Choices(parse_rule("fpr=5%"))).folds:
        own = rows(table, fold.fold, "EVAL").filter(has_evidence=0)
        negatives += own.height
        false_alarms += int((own["prob"] >= fold.threshold.value).sum())
    assert result["FPR(tuned)@FPR=5%"].value == pytest.approx(false_alarms / negatives)
    assert result["TPR(same)@FPR=5%"].value != result["TPR(tuned)@FPR=5%"].value


@pytest.mark.parametrize("choices", [ONE, THREE, replace(THREE, certify=True, calibrate="auto")])
def test_a_document_says_everything(run: Run, choices: Choices) -> None:
    tuning = tune(run, choices)
    again = from_document(to_document(tuning), name="t.json")
    assert to_document(again) == to_document(tuning)
    one, other = apply_tuning(run, tuning), apply_tuning(run, again)
    assert one.frame.equals(other.frame)
    assert np.array_equal(one.queries.gate, other.queries.gate)


@pytest.mark.parametrize(
    ("value", "words"),
    [(False, "is false, not a number"), ("0.1", "is text, not a number"), (float("nan"), "is not finite")],
)
@pytest.mark.parametrize("key", ["tau_neg", "tau_pos"])
def test_only_numbers_are_thresholds(run: Run, key: str, value: object, words: str) -> None:
    """Python takes false for 0: as tau_neg it would let everything through without a word."""
    document = to_document(tune(run, THREE))
    document["folds"][1]["three_state"][key] = value
    with pytest.raises(evidentia.InputError, match=rf"^t\.json: damaged \(folds\[1\]\.three_state\.{key} {words}"):
        from_document(document, name="t.json")


def test_values_that_were_tuned_on_other_rows_are_noted(run: Run, table: pl.DataFrame) -> None:
    """The same posts under other scores: the posts give nothing away, the hash of the rows does."""
    other = evidentia.read_run(table.drop("state", "tau_neg", "tau_pos").with_columns(prob=pl.col("prob") / 2))
    strange = "the values of 5 folds were tuned on rows that are not the TUNE rows of this run"
    tuning = tune(run, ONE)
    assert not any(strange in note for note in apply_tuning(run, tuning).notes)
    assert any(strange in note for note in apply_tuning(other, tuning).notes)
    alone = evidentia.read_run(table.filter(split="EVAL"))
    assert any(strange in note for note in apply_tuning(alone, tuning).notes)
