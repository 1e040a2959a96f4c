"""The sweep over gamma: an honest one is found again, and no cell can be changed unnoticed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from evidentia.verify.attribution import COLUMNS, gamma_sheets
from evidentia.verify.evidence import read_queries
from evidentia.verify.folder import ResultFolder
from evidentia.verify.sheet import check_csv
from evidentia.verify.tally import Tally
from evidentia.verifying import verify_numbers
from verify.interval_runs import result, tables
from verify.made import Copy

FIGURE = "figures/gamma_sweep.csv"
STATES = ("state", "tau_neg", "tau_pos")


def checked(path: Path) -> Tally:
    folder, tally = ResultFolder(path), Tally()
    for sheet in gamma_sheets(read_queries(folder)):
        check_csv(folder, sheet, tally)
    return tally


def made(
    folder: Path,
    change: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame,
    pool: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame,
) -> Path:
    per_query, candidates = tables(20, 3, 14)
    return result(folder, change(per_query), pool(candidates), resamples=0, measures=["AUROC", "SelectedK"])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("gamma") / "out")


def test_an_honest_result_verifies_whole(written: Path) -> None:
    assert (written / FIGURE).is_file()
    found = verify_numbers(written)
    assert found.passed, found.mismatches[:5]
    assert checked(written).comparisons > 24


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.drop(*STATES),
        lambda frame: frame.drop(*STATES, "prob").with_columns(detection_score=frame["prob"]),
        lambda frame: frame.drop(*STATES).with_columns(prob=0.1),
    ],
    ids=["no states", "no gate", "all stopped"],
)
def test_odd_gates_are_found_again(tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    tally = checked(made(tmp_path / "out", change))
    assert tally.mismatches == []
    assert tally.comparisons > 24


def test_probabilities_that_are_all_zero_are_found_again(tmp_path: Path) -> None:
    folder = made(tmp_path / "out", pool=lambda frame: frame.with_columns(node_prob=0.0))
    assert checked(folder).mismatches == []


@pytest.mark.parametrize("column", COLUMNS)
def test_a_changed_cell_is_noticed(written: Path, tmp_path: Path, column: str) -> None:
    shutil.copytree(written, tmp_path / "copy")
    Copy(tmp_path / "copy").cell(FIGURE, 2, column, lambda cell: repr(float(cell) + 1e-6))
    assert [one.where for one in checked(tmp_path / "copy").mismatches] == [f"{FIGURE}: row 2: {column}"]


def test_a_figure_that_is_missing_or_should_not_be_there_is_noticed(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "gone")
    (tmp_path / "gone" / FIGURE).unlink()
    assert not verify_numbers(tmp_path / "gone").passed
    bare = made(tmp_path / "bare", pool=lambda frame: frame.drop("node_prob"))
    assert not (bare / FIGURE).exists()
    assert verify_numbers(bare).passed
    shutil.copy(written / FIGURE, bare / FIGURE)
    Copy(bare).renew(FIGURE)
    assert any("gamma_sweep" in str(one) for one in verify_numbers(bare).mismatches)
