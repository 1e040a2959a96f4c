"""Curves belong to the measures that are asked for: whoever names one measure waits for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.abstaining import HEAD, ROWS
from cli.command import evidentia

SWEPT, OPERATING = (
    {"roc.csv", "roc_points.csv", "pr.csv"},
    {"operating_screening.csv", "operating_alerts.csv", "decision.csv"},
)


def figures(out: Path) -> set[str]:
    return {path.name for path in out.glob("figures/*.csv")}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ("nDCG@10", set()),
        ("recall@5,MRR", set()),
        ("AUROC[fold=0]", SWEPT),
        ("TPR@FPR=5%,nDCG@10", SWEPT),
        ("ECE", {"reliability.csv"}),
        ("NegRate", OPERATING),
        ("NetBenefit@t=0.2", OPERATING),
    ],
)
def test_named_measures_lead_to_their_own_curves_only(files, tmp_path: Path, measures: str, expected: set[str]) -> None:
    out = tmp_path / "out"
    asked = ("--measures", measures, "--resamples", "20", "--no-report", "--quiet")
    assert evidentia("evaluate", files.per_query, "-o", out, *asked).code == 0
    assert figures(out) == expected
    assert not (out / "tables" / "attribution.csv").exists()
    assert evidentia("verify", out).code == 0


def test_without_names_every_curve_that_the_run_allows_is_there(files, tmp_path: Path) -> None:
    assert evidentia("evaluate", files.per_query, "-o", tmp_path / "out", "--no-report", "--quiet").code == 0
    assert figures(tmp_path / "out") >= SWEPT | OPERATING | {"reliability.csv"}


@pytest.mark.parametrize(
    ("measure", "drawn"), [("Cmax", False), ("MAE", False), ("AURC", True), ("MAE@coverage=0.5", True)]
)
def test_a_selective_run_draws_what_depends_on_a_confidence(tmp_path: Path, measure: str, drawn: bool) -> None:
    run, out = tmp_path / "run.csv", tmp_path / "out"
    run.write_text("\n".join([HEAD, *ROWS]) + "\n")
    few = ("--seed", "5", "--resamples", "20", "--no-report", "--quiet", "--measures", measure)
    assert evidentia("selective", run, "-o", out, *few).code == 0
    assert figures(out) == (
        {"risk_coverage_1_confidence.csv", "risk_coverage_band_1_confidence.csv"} if drawn else set()
    )
    assert evidentia("verify", out).code == 0
