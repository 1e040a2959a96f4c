"""The result in Python: found by any name that means it, frozen, and honest about what is not there."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl
import pytest

import evidentia
from builders.runs import Files, Saved
from cli.points import point_estimates
from evidentia.results import loads


@pytest.fixture(scope="module")
def run(files: Files) -> evidentia.Run:
    return evidentia.read_run(files.per_query, candidates=files.candidates, by=("subreddit",))


def test_four_lines_from_a_file_to_a_number(files: Files) -> None:
    run = evidentia.read_run(files.per_query)
    result = point_estimates(run)
    assert 0 < result["ndcg_cut_10"].value < 1
    assert result["ndcg_cut_10"] is result["nDCG@10"] is result.measures["nDCG@10"]


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("map_cut_10", "MAP@10"),
        ("recip_rank", "MRR"),
        ("roc_auc_score", "AUROC"),
        ("macro_f1", "F1(avg=post)"),
        ("TPR@FPR=0.05", "TPR@FPR=5%"),
        ("ndcg@10[criterion=A.1]", "nDCG@10[criterion=A.1]"),
        ("AUROC[ fold = 3 ]", "AUROC[fold=3]"),
        ("AUROC[subreddit=restlessminds]", "AUROC[subreddit=restlessminds]"),
    ],
)
def test_a_number_is_found_by_any_name_that_means_it(name: str, canonical: str, saved: Saved) -> None:
    assert saved.evaluation[name].name == canonical
    assert saved.evaluation[name] is saved.evaluation.measures[canonical]


def test_the_name_means_what_the_profile_says(run: evidentia.Run) -> None:
    audit = point_estimates(run, profile="audit", measures=["MAP@10", "macro_f1"])
    assert audit["MAP@10"].definition == "MAP(norm=min,pop=positives,avg=pooled)@10"
    assert audit["macro_f1"].name == "F1(avg=criterion)"


def test_an_unknown_name_is_answered_with_near_ones(saved: Saved) -> None:
    with pytest.raises(evidentia.UnknownNameError, match="Did you mean nDCG"):
        saved.evaluation["nDGC@10"]
    with pytest.raises(evidentia.UnknownNameError, match=r"nDCG@7 is not in this result. Near it: nDCG@"):
        saved.evaluation["nDCG@7"]
    with pytest.raises(evidentia.UnknownNameError, match=r"Near it: nDCG@10\[fold="):
        saved.evaluation["nDCG@10[fold=17]"]


@pytest.mark.parametrize("name", ["TPR(tuned)@FPR=5%", "TPR(tuned)@FPR=5%[criterion=A.1]", "TPR(tuned)@FPR=5%[fold=1]"])
def test_a_measure_that_was_not_computed_says_why(name: str, saved: Saved) -> None:
    with pytest.raises(evidentia.UnknownNameError, match="was not computed: needs folds and TUNE rows"):
        saved.evaluation[name]


def test_a_result_is_frozen(saved: Saved) -> None:
    estimate = saved.evaluation["AUROC"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.value = 1.0  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        saved.evaluation.profile = "audit"  # type: ignore[misc]
    with pytest.raises(TypeError):
        saved.evaluation.measures["AUROC"] = estimate  # type: ignore[index]


def test_what_a_result_holds_is_frozen_too(run: evidentia.Run) -> None:
    result = point_estimates(run, measures=["ECE", "MRR"])
    for held in (result.dataset, result["ECE"].details, result["MRR"].left_out):
        with pytest.raises(TypeError):
            held["x"] = 1  # type: ignore[index]


def test_changing_what_to_dict_returned_does_not_change_the_result(saved: Saved) -> None:
    content = saved.evaluation.to_dict()
    content["measures"]["AUROC"]["value"] = 2.0
    content["dataset"]["queries"] = 0
    assert saved.evaluation["AUROC"].value <= 1.0
    assert saved.evaluation.dataset["queries"] == 240


def test_to_dict_is_the_content_of_the_file(saved: Saved) -> None:
    assert loads((saved.folder / "summary.json").read_text()) == saved.evaluation.to_dict() == saved.summary


def test_to_frame_has_a_row_for_every_number(saved: Saved) -> None:
    frame = saved.evaluation.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == len(saved.evaluation) == len(saved.evaluation.measures)
    row = frame.filter((pl.col("measure") == "nDCG@10") & (pl.col("group") == "fold=3"))
    estimate = saved.evaluation["nDCG@10[fold=3]"]
    assert row.select("value", "n", "definition").row(0) == (estimate.value, estimate.n, estimate.definition)
    overall = frame.filter(pl.col("group") == "")
    assert overall.height == len(saved.evaluation.overall())
    assert overall["measure"].to_list() == [e.name for e in saved.evaluation.overall()]


def test_save_writes_once_and_replaces_only_when_told(run: evidentia.Run, tmp_path: Path) -> None:
    result = point_estimates(run, measures=["AUROC"])
    result.save(tmp_path / "out")
    with pytest.raises(evidentia.OutputError, match="out exists"):
        result.save(str(tmp_path / "out"))
    result.save(tmp_path / "out", force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert loads((tmp_path / "out" / "manifest.json").read_text())["command"] is None


def test_only_the_named_measures_are_computed(run: evidentia.Run) -> None:
    result = point_estimates(run, measures=["AUROC", "ndcg_cut_10", "F1(avg=post,empty=1)"])
    assert [estimate.name for estimate in result.overall()] == ["AUROC", "nDCG@10", "F1(avg=post,empty=1)"]
    assert result.not_computed == ()


def test_a_named_group_is_computed_alone(run: evidentia.Run, saved: Saved) -> None:
    result = point_estimates(run, measures=["AUROC[fold=3]", "MRR[subreddit=restlessminds]"])
    assert list(result) == ["AUROC[fold=3]", "MRR[subreddit=restlessminds]"]
    for name in result:
        assert result[name].value == saved.evaluation[name].value


def test_a_group_that_the_run_does_not_have_is_refused(run: evidentia.Run) -> None:
    for name in ("AUROC[fold=9]", "AUROC[gender=f]", "AUROC[criterion=B.1]"):
        with pytest.raises(evidentia.UnknownNameError, match=r"no group \["):
            point_estimates(run, measures=[name])


def test_slices_are_reported_for_every_value_and_add_up(run: evidentia.Run) -> None:
    result = point_estimates(run, by=["subreddit"], measures=["Queries", "Positives", "AUROC"])
    values = run.frame["subreddit"].unique().to_list()
    assert len(values) > 1
    for name in ("Queries", "Positives"):
        assert sum(result[f"{name}[subreddit={value}]"].value for value in values) == result[name].value
    assert {e.group[0][1] for e in result.grouped("subreddit")} == set(values)


def test_one_slice_or_one_measure_may_be_given_as_a_word(run: evidentia.Run) -> None:
    result = point_estimates(run, by="subreddit", measures="AUROC")
    assert "AUROC[subreddit=restlessminds]" in result.measures


def test_a_slice_that_was_not_read_is_an_error_that_says_so(files: Files) -> None:
    with pytest.raises(evidentia.InputError, match="'subreddit'"):
        point_estimates(evidentia.read_run(files.per_query), by=["subreddit"])


def test_what_cannot_be_is_refused(run: evidentia.Run) -> None:
    with pytest.raises(evidentia.UnknownNameError, match="contract, e2e, paper, audit"):
        point_estimates(run, profile="mine")
    with pytest.raises(evidentia.InputError, match="at least 2"):
        evidentia.evaluate(run, resamples=1)
    with pytest.raises(evidentia.InputError, match="whole number from 1"):
        point_estimates(run, k=[0])


def test_depths_replace_those_of_the_profile(run: evidentia.Run) -> None:
    names = [estimate.name for estimate in point_estimates(run, k=[2, "ALL"]).overall()]
    assert [name for name in names if name.startswith("nDCG@")] == ["nDCG@2", "nDCG@ALL"]


def test_every_public_name_is_there() -> None:
    for name in evidentia.__all__:
        assert getattr(evidentia, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        evidentia.evaluat  # noqa: B018


def test_one_number_without_a_run() -> None:
    assert evidentia.arrays.auroc([1, 1, 0, 0, 1], [0.9, 0.7, 0.4, 0.2, 0.8]) == 1.0
    assert evidentia.resolve_name("macro_f1", "audit") == "F1(avg=criterion)"


def test_a_figure_of_the_report_shows_itself_in_a_notebook(run: evidentia.Run, tmp_path: Path) -> None:
    result = evidentia.evaluate(run, measures="AUROC,ECE", resamples=0)
    picture = result.plot("roc")
    assert picture._repr_svg_().startswith("<svg")
    picture.save(tmp_path / "roc.svg")
    assert (tmp_path / "roc.svg").read_text(encoding="utf-8") == picture.svg
    assert result.plot("roc").svg == picture.svg
    with pytest.raises(evidentia.UnknownNameError, match=r"no figure 'rok' .*roc"):
        result.plot("rok")


def test_f1_alone_is_found_at_the_gate(run: evidentia.Run) -> None:
    assert evidentia.evaluate(run, measures="F1", resamples=0)["F1"].name == "F1(t=gate)"
