"""Runs at the edge: every file is still strict JSON without NaN, valid against its schema, and says what is a convention."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from cli.points import point_estimates
from evidentia.measures import PROFILES
from evidentia.report.page import read_content, render
from evidentia.results import loads
from results.schemas import faults, thinned


def queries(*rows: tuple[str, str, str, str, str, float, str]) -> pl.DataFrame:
    names = ["post_id", "criterion_id", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids", "prob", "state"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.with_columns(fold=pl.int_range(pl.len()).mod(2).cast(pl.String))


RUNS = {
    "no positives": queries(("p1", "A", "", "a|b", "", 0.2, "NEG"), ("p2", "A", "", "c", "c", 0.9, "POS")),
    "only positives": queries(("p1", "A", "a", "a|b", "", 0.2, "NEG"), ("p2", "A", "c", "c", "c", 0.9, "POS")),
    "one query": queries(("p1", "A", "a", "a|b", "a", 0.9, "POS")),
    "one query without anything": queries(("p1", "A", "", "", "", 0.0, "NEG")),
    "nothing ranked": queries(("p1", "A", "a", "", "", 0.9, "POS"), ("p2", "A", "", "", "", 0.1, "NEG")),
    "all abstain": queries(("p1", "A", "a", "a", "", 0.0, "NEG"), ("p2", "A", "", "b", "", 0.0, "NEG")),
    "all certain and all wrong": queries(("p1", "A", "a", "b", "", 0.0, "NEG"), ("p2", "A", "", "c", "c", 1.0, "POS")),
    "all tied": queries(
        *((f"p{i}", "A", "g" * (i % 2) + str(i) * (i % 2), "", "", 0.5, "UNCERTAIN") for i in range(6))
    ),
}


@pytest.mark.sample(every=10)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("what", RUNS)
def test_a_degenerate_run_is_written_without_nan(what: str, profile: str, tmp_path: Path) -> None:
    result = point_estimates(evidentia.read_run(RUNS[what]), profile=profile, dual=True)
    result.save(tmp_path / "out")
    parsed = 0
    for path in (tmp_path / "out").rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        loads(text)
        parsed += 1
    assert parsed == 2
    for path in (p for p in (tmp_path / "out").rglob("*") if p.suffix in {".csv", ".tex"}):
        words = set(path.read_text(encoding="utf-8").replace(",", " ").replace("&", " ").lower().split())
        assert not words & {"nan", "inf", "-inf", "infinity"}, path.name
    assert faults("summary", thinned(result.to_dict(), every=23)) == []
    assert all(math.isfinite(estimate.value) for estimate in result.measures.values())
    assert result.passed, result.checks


def test_without_positives_ranking_and_auroc_are_marked() -> None:
    result = point_estimates(evidentia.read_run(RUNS["no positives"]))
    assert (result["AUROC"].value, result["AUPRC"].value, result["nDCG@10"].value) == (0.5, 0.0, 0.0)
    for name in ("AUROC", "AUPRC", "nDCG@10", "TPR@FPR=5%", "Sensitivity(t=gate)", "EvidenceRecall"):
        assert result[name].degenerate, name
    assert result["nDCG@10"].n == 0
    assert result["Specificity(t=gate)"].degenerate is None


def test_with_positives_only_the_prior_is_the_average_precision_and_marked() -> None:
    result = point_estimates(evidentia.read_run(RUNS["only positives"]))
    assert (result["AUROC"].value, result["AUPRC"].value) == (0.5, 1.0)
    assert result["AUROC"].degenerate
    assert result["AUPRC"].degenerate
    assert result["Specificity(t=gate)"].degenerate


def test_all_certain_and_all_wrong_has_the_largest_calibration_error() -> None:
    result = point_estimates(evidentia.read_run(RUNS["all certain and all wrong"]))
    assert (result["ECE"].value, result["Brier"].value) == (1.0, 1.0)


def test_a_system_that_always_abstains_does_not_look_perfect() -> None:
    result = point_estimates(evidentia.read_run(RUNS["all abstain"]))
    assert result["ScreeningSensitivity"].value == 0.0
    assert result["AlertPrecision"].degenerate
    assert result["Precision(t=returned)"].degenerate
    assert result["EvidencePrecision"].value == 0.0


def test_degenerate_numbers_are_marked_on_the_screen(tmp_path: Path) -> None:
    RUNS["no positives"].write_csv(tmp_path / "run.csv")
    ran = command("evaluate", tmp_path / "run.csv")
    assert ran.code == 0
    assert "0.5000 *" in ran.out
    assert "degenerate AUROC = 0.5: " in ran.out
    assert "nan" not in ran.out.lower()


def test_one_is_said_in_the_singular(tmp_path: Path) -> None:
    rows = [("p1", "A", "a", "b|a", "b", 0.9, "POS"), ("p1", "B", "", "b", "b", 0.9, "POS")]
    queries(*rows).drop("fold").write_csv(tmp_path / "two.csv")
    told = command("evaluate", tmp_path / "two.csv").out
    assert "2 queries from 1 post, 1 with evidence" in told
    assert "1 of 1 gold sentence missed: " in told
    assert "; 1 false alert\n" in told
    page = render(read_content(_saved(queries(rows[0]), tmp_path / "out")))
    assert "1 query from 1 post and 1 criterion; 1 has evidence" in page
    assert "1 fold, " in page


def _saved(table: pl.DataFrame, folder: Path) -> Path:
    point_estimates(evidentia.read_run(table)).save(folder)
    return folder
