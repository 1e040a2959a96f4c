"""What a reader takes away is what the folder holds."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from playwright.sync_api import Page

import evidentia
from browser.conftest import Result, Visit
from evidentia.report.page import read_content
from evidentia.report.page.write import write_report
from evidentia.report.show import NONE


def taken(page: Page, button: str) -> tuple[str, bytes]:
    """The file that a button hands out, and its name."""
    with page.expect_download() as waiting:
        page.click(button)
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_the_summary_is_the_file_of_the_folder_byte_for_byte(visit: Visit, result: Result) -> None:
    page = visit(tab="numbers")
    expected = (result.folder / "summary.json").read_bytes()
    assert taken(page, "#get-summary") == ("summary.json", expected)
    page.click("#tab-reproduce")
    assert taken(page, "#get-summary-2") == ("summary.json", expected)


@pytest.mark.slow
def test_a_table_is_the_table_of_the_folder_with_all_its_digits(visit: Visit, result: Result) -> None:
    page = visit(tab="numbers")
    for name in ("criteria", "states", "slice_1", "attribution"):
        file, data = taken(page, f'[data-csv="{name}"]')
        assert file == f"{name}.csv"
        own = result.table(name)
        found = pl.read_csv(data, infer_schema=False)
        assert found.columns == own.columns
        for mine, theirs in zip(found.rows(), own.rows(), strict=True):
            assert [_number(cell) for cell in mine] == [_number(cell) for cell in theirs]


def _number(cell: str | None) -> float | str | None:
    try:
        return None if cell is None or cell == "" else float(cell)
    except ValueError:
        return cell


def test_the_table_of_numbers_hands_out_what_is_left_after_a_filter(visit: Visit, result: Result) -> None:
    page, measures = visit(tab="numbers"), result.summary["measures"]
    page.fill("#number-filter", "AUROC")
    rows = rows_of(taken(page, '[data-csv="numbers"]')[1])
    assert {row["measure"] for row in rows} >= {"AUROC"}
    assert len(rows) < 30
    for row in rows:
        entry = measures[row["measure"]]
        assert float(row["value"]) == entry["value"]
        assert row["n"] == str(entry["n"])
    page.fill("#number-filter", "")
    whole = rows_of(taken(page, '[data-csv="numbers"]')[1])
    assert len(whole) == sum("[" not in name for name in measures)
    assert not [row for row in whole if set(row.values()) & {"null", "None", NONE, "undefined"}]


@pytest.mark.slow
def test_the_queries_are_those_of_the_folder_under_their_pseudonyms(visit: Visit, result: Result) -> None:
    page = visit(tab="reproduce")
    name, data = taken(page, "#get-queries")
    assert name == "per_query.csv"
    own = read_content(result.folder).queries
    found = rows_of(data)
    assert len(found) == len(own["post_id"])
    assert found == [{key: column[i] for key, column in own.items()} for i in range(len(found))]


@pytest.mark.slow
def test_figures_are_handed_out_as_svg_and_png_and_their_data_as_csv(visit: Visit, result: Result) -> None:
    page = visit(tab="figures")
    name, svg = taken(page, '[data-svg="roc"]')
    assert name == "roc.svg"
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    name, png = taken(page, '[data-png="roc"]')
    assert name == "roc.png"
    assert png.startswith(b"\x89PNG\r\n")
    page.click("#figure-roc summary")
    name, data = taken(page, '[data-csv="figure-roc"]')
    assert name == "figure-roc.csv"
    own = pl.read_csv(result.folder / "figures" / "roc.csv", infer_schema=False)
    for mine, theirs in zip(rows_of(data), own.rows(named=True), strict=True):
        assert [_number(cell) for cell in mine.values()] == [_number(cell) for cell in theirs.values()]


def test_the_command_is_copied(visit: Visit, result: Result, tmp_path: Path) -> None:
    ran = evidentia.evaluate(result.run, measures="AUROC", resamples=0, command="evidentia evaluate run.csv -o OUT")
    ran.save(tmp_path / "out")
    write_report(tmp_path / "out", formats=("html",))
    page = visit(tmp_path / "out" / "report.html", tab="reproduce", permissions=["clipboard-read", "clipboard-write"])
    page.click("#copy-command")
    page.wait_for_function("document.getElementById('say').textContent === 'copied'")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("#command")
