"""A changed limit, count, method, warning, seed, probability or band is caught."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verify.interval_runs import checked, edited, result, tables, where

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return result(tmp_path_factory.mktemp("changed") / "out", *tables())


def entry(name: str, key: str, value: Any) -> Change:
    def change(summary: dict[str, Any]) -> None:
        said = summary["measures"][name]
        said[key] = value(said[key]) if callable(value) else value

    return change


@pytest.mark.sample(every=12)
@pytest.mark.parametrize(
    ("change", "caught"),
    [
        (entry("AUROC", "ci", lambda ci: [ci[0] + 1e-8, ci[1]]), "AUROC: ci low"),
        (entry("nDCG@10[fold=2]", "ci", lambda ci: [ci[0], ci[1] - 1e-8]), "nDCG@10[fold=2]: ci high"),
        (entry("ECE[criterion=A.1]", "ci", None), "ECE[criterion=A.1]: ci low"),
        (entry("Brier", "ci", "wide"), "Brier: ci low"),
        (entry("AUPRC[fold=1]", "replicates_left_out", lambda n: n + 1), "AUPRC[fold=1]: replicates_left_out"),
        (entry("MCC(t=gate)", "ci_method", "bca"), "MCC(t=gate): ci_method"),
        (entry("Brier", "warnings", ["rests on 3 posts"]), "Brier: warnings about the interval"),
        (entry("AUROC[fold=1]", "warnings", []), "AUROC[fold=1]: warnings about the interval"),
        (entry("AUROC", "definition", "AUROC(level=candidate,avg=pooled)"), "AUROC: ci low"),
        (entry("AUROC", "definition", "Luck"), "AUROC: definition"),
        (entry("AUROC", "definition", "?"), "AUROC: definition"),
        (lambda summary: summary.update(seed=8), "manifest.json: seed"),
        (lambda summary: summary["interval"].update(level=0.9), "AUROC: ci low"),
        (lambda summary: summary["interval"].update(method="bca"), "AUROC: ci_method"),
        (lambda summary: summary["interval"].update(stratified_by_fold=True), "AUROC: ci low"),
    ],
)
def test_a_changed_summary_is_caught(written: Path, tmp_path: Path, change: Change, caught: str) -> None:
    assert caught in where(checked(edited(written, tmp_path / "copy", change)))


def test_another_seed_is_caught_by_the_limits_too(written: Path, tmp_path: Path) -> None:
    copy = edited(written, tmp_path / "copy", lambda summary: summary.update(seed=8))
    edited(copy, tmp_path / "both", lambda manifest: manifest.update(seed=8), "manifest.json")
    assert len(where(checked(tmp_path / "both"))) > 500


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    ("file", "column"), [("per_query.csv", "prob"), ("figures/roc.csv", "low"), ("figures/pr.csv", "high")]
)
def test_a_changed_cell_is_caught(written: Path, tmp_path: Path, file: str, column: str) -> None:
    path = edited(written, tmp_path / "copy", lambda summary: None) / file
    lines = path.read_text(encoding="utf-8").splitlines()
    at, cells = lines[0].split(",").index(column), lines[7].split(",")
    cells[at] = str(1 - float(cells[at]))
    lines[7] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert where(checked(tmp_path / "copy"))


def test_a_missing_figure_is_caught(written: Path, tmp_path: Path) -> None:
    (edited(written, tmp_path / "copy", lambda summary: None) / "figures/roc.csv").unlink()
    assert where(checked(tmp_path / "copy")) == ["figures/roc.csv: rows"]
