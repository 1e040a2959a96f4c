"""Cells as they are written: rounding, escaping, quoting, and tables that must or must not be there."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidentia.report.tables import Table
from evidentia.report.write import csv_cell, latex
from evidentia.stats.intervals import share_limits as stats_share_limits
from evidentia.verify.figures import share_limits
from evidentia.verify.folder import ResultFolder, unquoted
from evidentia.verify.sheet import Sheet, check_csv, check_latex, compare_text
from evidentia.verify.tally import Tally

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).filter(lambda text: text.strip() == text)
cells = st.one_of(st.none(), words, st.integers(-10_000, 10_000), st.floats(-1e5, 1e5))


def checked(columns: tuple[str, ...], rows: tuple[tuple, ...], other: tuple[tuple, ...], home: Path) -> Tally:
    """Write a table as a report does, and compare it with what it should have been."""
    (home / "t.tex").write_text(latex(Table("t", "T", columns, other)), encoding="utf-8")
    tally = Tally()
    check_latex(ResultFolder(home), Sheet("t", columns, rows), tally)
    return tally


@settings(deadline=None)
@given(rows=st.lists(st.tuples(words, cells, cells), min_size=1, max_size=4))
def test_latex_is_read_as_it_is_written(rows: list[tuple], tmp_path_factory: pytest.TempPathFactory) -> None:
    made = tuple(rows)
    tally = checked(("measure", "a_b", "c%"), made, made, tmp_path_factory.mktemp("tex"))
    assert tally.mismatches == []
    assert tally.comparisons >= 4 * len(rows)


def test_a_warning_stands_below_once_and_is_marked(tmp_path: Path) -> None:
    rows = (("a", 0.5, "few_posts"), ("b", 0.5, ""), ("c", 0.5, "few_posts"), ("d", 0.5, "none"))
    assert checked(("measure", "value", "warnings"), rows, rows, tmp_path).mismatches == []
    other = (*rows[:2], ("c", 0.5, "none"), rows[3])
    assert checked(("measure", "value", "warnings"), rows, other, tmp_path).mismatches


@pytest.mark.parametrize(("one", "other"), [(0.12341, 0.12349), (48.0, 48.4), (None, 0.0), (1000, 1001), ("a", "b")])
def test_another_cell_is_noticed(one: object, other: object, tmp_path: Path) -> None:
    assert checked(("measure", "x"), (("m", one),), (("m", other),), tmp_path).mismatches


def test_a_value_between_two_roundings_may_be_written_either_way(tmp_path: Path) -> None:
    near = 0.12345
    assert checked(("measure", "x"), (("m", near - 1e-13),), (("m", near + 1e-13),), tmp_path).mismatches == []


@settings(deadline=None)
@given(words)
def test_a_quoted_cell_is_read_back(text: str) -> None:
    assert unquoted(str(csv_cell(text))) == text


@pytest.mark.parametrize(
    ("text", "cell", "same"),
    [
        ("0.5", 0.5, True),
        ("0.5000000001", 0.5, True),
        ("0.50001", 0.5, False),
        ("", None, True),
        ("", 0.5, False),
        ("0.0", None, False),
        ("5", 5, True),
        ("5.0", 5, False),
        ("nan", 0.5, False),
        ("half", 0.5, False),
        ("'=1", "=1", True),
    ],
)
def test_csv_cells(text: str, cell: object, same: bool) -> None:
    tally = Tally()
    compare_text("here", text, cell, tally)  # type: ignore[arg-type]
    assert (tally.comparisons, not tally.mismatches) == (1, same)


def test_a_row_too_many_or_too_short_is_noticed(tmp_path: Path) -> None:
    sheet = Sheet("t", ("a", "b"), (("x", 1), ("y", 2)))
    for text, wrong in (
        ("a,b\nx,1\ny,2\n", 0),
        ("a,b\nx,1\n", 1),
        ("a,b\nx,1\ny,2\nz,3\n", 1),
        ("a,b\nx\ny,2\n", 1),
        ("b,a\nx,1\ny,2\n", 1),
    ):
        (tmp_path / "t.csv").write_text(text)
        tally = Tally()
        check_csv(ResultFolder(tmp_path), sheet, tally)
        assert len(tally.mismatches) == wrong, text


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=30),
    st.sampled_from([0.8, 0.95, 0.999]),
)
def test_limits_of_a_share_are_the_same_in_both(posts: list[tuple[int, int]], level: float) -> None:
    held = [(size, min(size, positives)) for size, positives in posts]
    sizes, counts = np.array(held, float).T[:, :, None]
    mine = stats_share_limits(counts, sizes, level)
    theirs = share_limits(held, level) or (math.nan, math.nan)
    assert (mine.low[0], mine.high[0]) == pytest.approx(theirs, abs=1e-10, nan_ok=True)
