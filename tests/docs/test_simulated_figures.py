"""The figures that warnings quote are those of the tables that the slow suite wrote into docs/intervals.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evidentia.results.sample_size import COVERED, REJECTED, Kind

PAGE = (Path(__file__).parents[2] / "docs" / "intervals.md").read_text(encoding="utf-8")
COLUMNS = {"percentile": 2, "bca": 3, "auto": 5}
SWEEPS = ("`AUROC`", "`AUPRC`", "`TPR@FPR=5%`")


def rows(name: str) -> list[list[str]]:
    """The rows of a table, without its head."""
    table = PAGE.split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def numbers(cells: list[str]) -> list[float]:
    return [float(number) for cell in cells for number in re.findall(r"[0-9.]+", cell)]


@pytest.mark.parametrize("method", COLUMNS)
@pytest.mark.parametrize("kind", ["sum", "sweep"])
def test_coverage_with_30_posts(method: str, kind: Kind) -> None:
    names = {"sweep"} if kind == "sweep" else {"mean", "ratio"}
    shares = numbers([row[COLUMNS[method]] for row in rows("worst") if row[0] in names and row[1] == "30"])
    assert (min(shares), max(shares)) == COVERED[method][kind]


@pytest.mark.parametrize("kind", ["sum", "sweep"])
def test_rejections_of_equal_systems_with_30_posts(kind: Kind) -> None:
    shares = numbers([cell for row in rows("null") if (row[0] in SWEEPS) == (kind == "sweep") for cell in row[1:4]])
    assert (min(shares), max(shares)) == REJECTED[kind]
