"""Nothing is silently missing: what a run cannot have is listed with the reason, under every profile."""

from __future__ import annotations

import polars as pl
import pytest

import evidentia
from builders.runs import Files
from cli.points import point_estimates
from evidentia.measures import PROFILES, canonical
from evidentia.results import Evaluation

WITHOUT = {
    "prob": (["prob", "tau_neg", "tau_pos", "state"], {"detection", "calibration", "gate", "multi-label"}),
    "state": (["state", "tau_neg", "tau_pos"], {"gate"}),
    "selected": (["selected_sent_uids"], {"extraction", "detection"}),
    "ranking": (["ranked_sent_uids", "selected_sent_uids"], {"ranking", "extraction", "detection"}),
    "gold": (["gold_sent_uids", "selected_sent_uids", "ranked_sent_uids"], {"ranking", "extraction", "detection"}),
    "fold": (["fold", "split"], {"detection"}),
    "TUNE rows": (["split"], {"detection"}),
    "candidates": ([], {"detection"}),
    "nothing": ([], set()),
}
REASON = {
    "prob": "needs a prob column",
    "state": "needs a state column",
    "selected": "needs selected_sent_uids",
    "ranking": "needs gold_sent_uids and ranked_sent_uids",
    "gold": "needs gold_sent_uids",
    "fold": "needs folds and TUNE rows",
    "TUNE rows": "needs folds and TUNE rows",
    "candidates": "needs a candidates table",
}


@pytest.fixture(scope="module")
def frame(split_files: Files) -> pl.DataFrame:
    return pl.read_csv(split_files.per_query, infer_schema=False)


def run_without(what: str, frame: pl.DataFrame, files: Files) -> evidentia.Run:
    if what in {"fold", "TUNE rows"}:
        frame = frame.filter(pl.col("split") == "EVAL")
    candidates = None if what in {"candidates", "gold", "ranking"} else files.candidates
    return evidentia.read_run(frame.drop(WITHOUT[what][0]), candidates=candidates)


def missing(result: Evaluation) -> set[str]:
    return {name for gap in result.not_computed for name in gap.measures}


@pytest.mark.sample(every=12)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("what", WITHOUT)
def test_every_measure_of_the_profile_is_computed_or_listed_for_a_run_without(
    what: str, profile: str, frame: pl.DataFrame, split_files: Files
) -> None:
    result = point_estimates(run_without(what, frame, split_files), profile=profile, dual=True)
    chosen = PROFILES[profile]
    promised = {canonical(name, chosen) for name in chosen.names(dual=True)}
    computed = {estimate.name for estimate in result.overall()}
    assert computed | missing(result) == promised
    assert not computed & missing(result)
    assert len(promised) > 100


@pytest.mark.sample(every=9)
@pytest.mark.parametrize("what", WITHOUT)
def test_the_families_and_reasons_are_those_of_a_run_without(
    what: str, frame: pl.DataFrame, split_files: Files
) -> None:
    result = point_estimates(run_without(what, frame, split_files))
    full = point_estimates(run_without("nothing", frame, split_files))
    assert full.not_computed == ()
    lost = {full[name].family for name in missing(result)}
    assert {gap.family for gap in result.not_computed} == lost
    assert WITHOUT[what][1] <= lost
    if what != "nothing":
        reasons = {gap.reason for gap in result.not_computed}
        assert any(reason.startswith(REASON[what]) for reason in reasons), reasons
        assert all(reason.startswith("needs ") for reason in reasons)


def test_a_gap_names_each_measure_once_and_under_one_reason(frame: pl.DataFrame, split_files: Files) -> None:
    result = point_estimates(run_without("prob", frame, split_files))
    listed = [name for gap in result.not_computed for name in gap.measures]
    assert len(listed) == len(set(listed))
    keys = [(gap.family, gap.reason) for gap in result.not_computed]
    assert len(keys) == len(set(keys))


def test_pairs_that_are_missing_leave_out_the_multi_label_family(frame: pl.DataFrame) -> None:
    first = frame.filter(pl.col("split") == "EVAL").slice(1)
    result = point_estimates(evidentia.read_run(first))
    (gap,) = [gap for gap in result.not_computed if gap.family == "multi-label"]
    assert gap.reason == "needs one query for every (post, criterion) pair"
    assert "ExactMatch" in gap.measures


def test_asking_by_name_for_what_the_run_cannot_have_is_listed_not_dropped(frame: pl.DataFrame) -> None:
    result = point_estimates(
        evidentia.read_run(frame.drop("prob", "state", "tau_neg", "tau_pos")), measures=["AUROC", "MRR"]
    )
    assert [estimate.name for estimate in result.overall()] == ["MRR"]
    assert missing(result) == {"AUROC"}


def test_a_fold_without_tune_rows_is_not_taken_for_reject_all(frame: pl.DataFrame) -> None:
    """No threshold was chosen there: counting its queries as rejected would be a number that nobody tuned."""
    gone = (pl.col("split") == "TUNE") & (pl.col("fold") == "0")
    run = evidentia.read_run(frame.filter(~gone))
    result = point_estimates(run, profile="e2e", measures=["TPR@FPR=5%"])
    if "TPR@FPR=5%" in result.measures:
        said = result["TPR@FPR=5%"]
        assert said.warnings or said.degenerate
        assert said.details["thresholds"].get("0", {}).get("reason") != "reject_all"
    else:
        assert missing(result) == {"TPR@FPR=5%"}


def test_queries_left_out_are_counted_with_the_reason(frame: pl.DataFrame) -> None:
    result = point_estimates(evidentia.read_run(frame))
    assert result["nDCG@10"].left_out == {"queries without evidence": 240 - 22}
    assert result["nDCG@10"].n == 22
    assert result.dataset["left_out"] == {"TRAIN rows": int((frame["split"] == "TRAIN").sum())}
