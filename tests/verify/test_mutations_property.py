"""Any single cell of per_query.csv: an edit is noticed, or it provably changes no reported number."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import evidentia
from evidentia.errors import InputError
from evidentia.evaluation.load import load_result
from evidentia.verify.folder import ResultFolder
from evidentia.verify.points import Points
from evidentia.verify.run import read_points
from evidentia.verifying import verify_numbers
from sampling import examples

from .made import Copy, copied, result

__all__ = ["result"]
PIECES = st.sampled_from(
    ["", "0", "1", "true", "false", "0.5", "0.999", "NEG", "POS", "UNCERTAIN", "A.1", "A.2", "x", "EVAL", "x|y", "'"]
)


def numbers(points: Points) -> dict[str, tuple[float, int, str | None]]:
    """Everything that is reported, computed anew."""
    recomputed = {name: points.number(entry) for name, entry in points.expected.entries.items()}
    return {name: (number.value, number.n, number.flaw) for name, number in recomputed.items()}


def edited_cell(data: st.DataObject, cells: list[list[str]]) -> tuple[int, int, str]:
    row = data.draw(st.integers(1, len(cells) - 1), label="row")
    column = data.draw(st.integers(0, len(cells[0]) - 1), label="column")
    elsewhere = st.sampled_from(sorted({line[column] for line in cells[1:]}))
    uids = cells[row][column].split("|")
    new = data.draw(st.one_of(elsewhere, PIECES, st.permutations(uids).map("|".join)), label="new")
    return row, column, new


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_edit_is_noticed_or_changes_no_number(data: st.DataObject, result: Path) -> None:
    with (result / "per_query.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))
    row, column, new = edited_cell(data, cells)
    with tempfile.TemporaryDirectory() as home:
        copy = copied(result, Path(home) / "out")
        if new == cells[row][column]:
            return
        copy.cell("per_query.csv", row, cells[0][column], lambda _: new)
        if verify_numbers(copy.folder).passed:
            assert unchanged(copy, result)


def unchanged(copy: Copy, result: Path) -> bool:
    """Both implementations give the numbers of the result from the edited file."""
    assert numbers(read_points(ResultFolder(copy.folder))) == numbers(read_points(ResultFolder(result)))
    try:
        loaded = load_result(copy.folder)
    except InputError:  # then nobody can compute another number from it
        return True
    again = evidentia.evaluate(loaded.run, by=loaded.options["by"], resamples=0)
    reported = ResultFolder(result).summary["measures"]
    assert list(again.measures) == list(reported)
    for name, estimate in again.measures.items():
        assert estimate.value == pytest.approx(reported[name]["value"], abs=1e-9)
    return True
