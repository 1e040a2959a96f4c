"""The figures over thresholds: honest ones are found again, limits included, and no column can be changed unnoticed."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidentia.evaluation.operating_points import threshold_grid
from evidentia.verify.figures import operating_sheets, swept_sheets, thresholds
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import Settings
from evidentia.verify.sheet import check_csv
from evidentia.verify.study import read_study
from evidentia.verify.tally import Tally
from verify.interval_runs import result, tables

EVAL = pl.col("split") == "EVAL"
EVIDENCE = pl.col("has_evidence").cast(pl.Boolean)
SCREENED = ("neg_rate", "sensitivity", "fn_per_1000")
ALERTED = ("alert_precision", "alerts_per_1000", "likelihood_ratio")
COLUMNS = {
    "operating_screening": ("tau", "skipped", "missed", *(n + s for n in SCREENED for s in ("", "_low", "_high"))),
    "operating_alerts": (
        *("tau", "alerts", "right", "tpr", "fpr"),
        *(name + side for name in ALERTED for side in ("", "_low", "_high")),
    ),
    "decision": ("threshold", "net_benefit", "low", "high", "treat_all", "treat_none"),
}
CELLS = [(name, column) for name, columns in COLUMNS.items() for column in columns]


def checked(path: Path) -> Tally:
    """What verification makes of the figures over thresholds, and of all bands."""
    folder, tally = ResultFolder(path), Tally()
    study, settings = read_study(folder), Settings.of(folder.summary)
    for sheet in [*operating_sheets(study, settings), *swept_sheets(study, settings)]:
        check_csv(folder, sheet, tally)
    return tally


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More queries than a figure has points."""
    return result(tmp_path_factory.mktemp("operating") / "out", tables(80, 4, 50)[0])


def test_the_columns_are_all_there(written: Path) -> None:
    for name, columns in COLUMNS.items():
        with (written / f"figures/{name}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert sorted(header) == sorted(columns)
        assert len(rows) == (99 if name == "decision" else 201)


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    "options",
    [{}, {"ci_method": "bca"}, {"stratify": True, "ci": 0.8}, {"resamples": 0}, {"resamples": 41}],
    ids=str,
)
def test_honest_figures_are_found_again(tmp_path: Path, options: dict[str, Any]) -> None:
    tally = checked(result(tmp_path / "out", tables(80, 4, 50)[0], **options))
    assert tally.mismatches == []
    assert tally.comparisons > 3000


ODD: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "all ties": lambda frame: frame.with_columns(prob=0.5).drop("state", "tau_neg", "tau_pos"),
    "only evidence": lambda frame: frame.filter(EVAL & EVIDENCE),
    "no evidence": lambda frame: frame.filter(EVAL & ~EVIDENCE),
    "one post": lambda frame: frame.filter(EVAL & (pl.col("post_id") == frame["post_id"].min())),
    "separated": lambda frame: frame.with_columns(prob=EVIDENCE.cast(pl.Float64)).drop("state", "tau_neg", "tau_pos"),
    "a threshold for every query": lambda frame: frame.drop("state").with_columns(
        tau_neg=pl.int_range(pl.len()) / 1e6, tau_pos=1.0
    ),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
@pytest.mark.parametrize("method", ["percentile", pytest.param("bca", marks=pytest.mark.slow)])
def test_odd_runs_are_found_again(tmp_path: Path, change: Callable[..., pl.DataFrame], method: str) -> None:
    tally = checked(result(tmp_path / "out", change(tables()[0]), ci_method=method, resamples=60))
    assert tally.mismatches == []
    assert tally.comparisons > 500


def edit(folder: Path, name: str, column: str, change: Callable[[str], str]) -> int:
    """Change the middle one of the cells of a column that say something, and tell its row."""
    path = folder / f"figures/{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))
    at = cells[0].index(column)
    said = [row for row, line in enumerate(cells) if row and line[at]]
    row = said[len(said) // 2]
    cells[row][at] = change(cells[row][at])
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(cells)
    return row


@pytest.mark.sample(every=10, by=("name",))
@pytest.mark.parametrize(("name", "column"), CELLS)
@pytest.mark.parametrize("change", [lambda cell: repr(float(cell) + 1e-6), lambda cell: ""], ids=["nudged", "removed"])
def test_a_changed_cell_is_noticed(
    written: Path, tmp_path: Path, name: str, column: str, change: Callable[[str], str]
) -> None:
    copy = shutil.copytree(written, tmp_path / "copy")
    edit(copy, name, column, change)
    found = checked(copy).mismatches
    assert len(found) == 1
    assert found[0].where.startswith(f"figures/{name}.csv: ")
    assert column in found[0].where


def test_a_limit_that_should_not_be_there_is_noticed(written: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(written, tmp_path / "copy")
    path = copy / "figures/operating_alerts.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[-1].endswith(",,")  # nobody alerts wrongly at the highest threshold, so that the ratio has no limits
    path.write_text("\n".join([*lines[:-1], lines[-1] + "0.1"]) + "\n", encoding="utf-8")
    (found,) = checked(copy).mismatches
    assert re.fullmatch(r"figures/operating_alerts.csv: row [0-9]+: likelihood_ratio_high", found.where)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_row_that_is_missing_is_noticed(written: Path, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(written, tmp_path / "copy")
    path = copy / f"figures/{name}.csv"
    path.write_text("\n".join(path.read_text(encoding="utf-8").splitlines()[:-1]) + "\n", encoding="utf-8")
    assert [mismatch.where for mismatch in checked(copy).mismatches] == [f"figures/{name}.csv: rows"]


@given(
    prob=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    repeated=st.integers(1, 20),
    deployed=st.sets(st.floats(0, 1), max_size=55),
)
def test_both_implementations_choose_the_same_thresholds(
    prob: list[float], repeated: int, deployed: set[float]
) -> None:
    spread = np.unique(np.array([one * (1 - part / 50) for one in prob for part in range(repeated)]))
    for always in ([], [0.0]):
        ours = threshold_grid(spread, sorted(deployed), always).tolist()
        assert ours == list(thresholds(spread.tolist(), deployed, always))
        assert len(ours) <= 201
