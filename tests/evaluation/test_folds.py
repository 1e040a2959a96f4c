"""Mean and standard deviation over folds, and folds where a value is undefined."""

from __future__ import annotations

import statistics

import polars as pl
import pytest

import evidentia
from builders.runs import Files
from cli.points import point_estimates
from evidentia.results import Evaluation

STD = {"contract": statistics.stdev, "e2e": statistics.stdev, "paper": statistics.stdev, "audit": statistics.pstdev}


def defined_in_folds(result: Evaluation, name: str) -> list[float]:
    found = [result.measures[f"{name}[fold={fold}]"] for fold in range(5)]
    return [estimate.value for estimate in found if estimate.degenerate is None]


@pytest.mark.parametrize("profile", STD)
def test_mean_and_std_over_folds_are_those_of_the_standard_library(profile: str, files: Files) -> None:
    result = point_estimates(evidentia.read_run(files.per_query), profile=profile)
    compared = 0
    for estimate in result.overall():
        if f"{estimate.name}[fold=0]" not in result.measures:
            assert estimate.folds_used is None
            continue
        values = defined_in_folds(result, estimate.name)
        assert estimate.folds_used == len(values)
        if values:
            assert estimate.fold_mean == pytest.approx(statistics.fmean(values), abs=1e-12)
        if len(values) > 1:
            assert estimate.fold_std == pytest.approx(STD[profile](values), abs=1e-12)
            compared += 1
    assert compared > 80


@pytest.fixture(scope="module")
def uneven() -> Evaluation:
    """Three folds; the first has no query with evidence, the second no ranking hit, the third one of two."""
    rows = [
        ("p1", "0", "", "a1", 0.1),
        ("p2", "0", "", "a2", 0.2),
        ("p3", "1", "a3", "b3", 0.9),
        ("p4", "1", "", "a4", 0.3),
        ("p5", "2", "a5", "a5", 0.8),
        ("p6", "2", "", "a6", 0.85),
    ]
    names = ["post_id", "fold", "gold_sent_uids", "ranked_sent_uids", "prob"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(criterion_id=pl.lit("A"))
    return point_estimates(evidentia.read_run(frame), measures=["AUROC", "HitRate@1", "Brier", "NPV(t=0.5)"])


def test_undefined_folds_are_left_out_of_mean_and_std_with_a_warning(uneven: Evaluation) -> None:
    auroc = uneven["AUROC"]
    assert [uneven[f"AUROC[fold={fold}]"].value for fold in range(3)] == [0.5, 1.0, 0.0]
    assert uneven["AUROC[fold=0]"].degenerate is not None
    assert (auroc.fold_mean, auroc.folds_used) == (0.5, 2)
    assert auroc.fold_std == pytest.approx(statistics.stdev([1.0, 0.0]))
    assert auroc.warnings == ("1 of 3 folds are undefined and left out of mean and std",)


def test_a_zero_that_was_measured_stays_in(uneven: Evaluation) -> None:
    assert uneven["HitRate@1[fold=1]"].value == 0.0
    assert uneven["HitRate@1[fold=1]"].degenerate is None
    assert (uneven["HitRate@1"].fold_mean, uneven["HitRate@1"].folds_used) == (0.5, 2)


def test_where_every_fold_is_defined_nothing_is_said(uneven: Evaluation) -> None:
    assert uneven["Brier"].folds_used == 3
    assert uneven["Brier"].warnings == ()


def test_with_one_defined_fold_there_is_no_std() -> None:
    frame = pl.DataFrame(
        {
            "post_id": ["p1", "p2"],
            "criterion_id": ["A", "A"],
            "fold": ["0", "1"],
            "has_evidence": [1, 0],
            "prob": [1, 0],
        }
    )
    brier = point_estimates(evidentia.read_run(frame), measures=["Sensitivity(t=0.5)"])["Sensitivity(t=0.5)"]
    assert (brier.fold_mean, brier.fold_std, brier.folds_used) == (1.0, None, 1)


def test_without_a_fold_column_there_is_no_fold_figure(files: Files) -> None:
    frame = pl.read_csv(files.per_query, infer_schema=False).drop("fold")
    result = point_estimates(evidentia.read_run(frame), measures=["AUROC"])
    assert (result["AUROC"].fold_mean, result["AUROC"].fold_std, result["AUROC"].folds_used) == (None, None, None)
    assert result.dataset["folds"] is None


def test_the_value_is_the_pooled_one_and_not_the_mean_over_folds(uneven: Evaluation) -> None:
    assert uneven["AUROC"].value == pytest.approx(7 / 8)
    assert uneven["AUROC"].value != uneven["AUROC"].fold_mean
