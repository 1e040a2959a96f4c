"""Every number in the page is one of the result's, with all its digits, and is written by one rule."""

from __future__ import annotations

import csv
import json
import re
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Page

from browser.chromium import TABS, go
from browser.conftest import Result, Visit
from evidentia.report.page.words import per_thousand, workload
from evidentia.report.show import limits, shown

NUMBERS = """() => [...document.querySelectorAll("[data-of]")].map((one) =>
  [one.dataset.of, one.dataset.field, one.dataset.value, one.textContent])"""
BARE = """() => {
  const carried = (node) => node.closest("[data-value], [data-explorer-interval], [data-explorer]") !== null;
  const found = [];
  for (const place of document.querySelectorAll("td.r, .big, .ci")) {
    const walk = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const { data, parentElement } = walk.currentNode;
      if (/[0-9]/.test(data) && !carried(parentElement)) found.push(data);
    }
  }
  return found;
}"""
CELLS = """(table) => [...table.tBodies].flatMap((body) => [...body.rows]).map((row) => [...row.cells].map((cell) =>
  [cell.dataset.value ?? null, cell.textContent.trim(), cell.classList.contains("r")]))"""


def written(field: str, value: Any) -> str:
    """A field of an estimate as a page writes it."""
    if field == "ci":
        return limits(value)
    return shown(value if field == "n" or value is None else float(value))


def check_numbers(page: Page, measures: dict[str, Any], where: str) -> int:
    """Hold every number that names its source against it."""
    found = page.evaluate(NUMBERS)
    for name, field, value, text in found:
        own = measures[name][field]
        assert json.loads(value) == own, (where, name, field)
        assert text == written(field, own), (where, name, field)
    assert page.evaluate(BARE) == [], where
    return len(found)


def test_every_number_of_every_tab_and_group_is_in_the_summary(visit: Visit, result: Result) -> None:
    page, measures = visit(), result.summary["measures"]
    for tab in TABS:
        go(page, tab)
        check_numbers(page, measures, tab)
    go(page, "numbers")
    seen = set()
    for group in page.eval_on_selector_all("#number-group option", "all => all.map((one) => one.value)"):
        page.select_option("#number-group", group)
        expected = sum((f"[{group}=" in name if group else "[" not in name) for name in measures)
        page.wait_for_function(
            "(n) => document.querySelectorAll('[data-table=numbers] tbody tr:not(.family)').length === n", arg=expected
        )
        assert check_numbers(page, measures, group) >= 2 * expected
        seen |= set(
            page.eval_on_selector_all("[data-table=numbers] [data-of]", "all => all.map((one) => one.dataset.of)")
        )
    assert seen == set(measures)


def test_tables_hold_the_cells_of_the_files(visit: Visit, result: Result) -> None:
    page = visit(tab="numbers")
    names = page.eval_on_selector_all("#numbers table[data-table]", "all => all.map((one) => one.dataset.table)")
    assert len(names) > 8
    for name in names:
        if name == "numbers":
            continue
        path = result.folder / "tables" / f"{'other_definitions' if name == 'others' else name}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            own = list(csv.reader(file))[1:]
        found = page.eval_on_selector(f'[data-table="{name}"]', CELLS)
        assert len(found) == len(own)
        for cells, texts in zip(found, own, strict=True):
            for (value, text, numeric), cell in zip(cells, texts, strict=True):
                check_cell(value, text, numeric, cell, name)


def check_cell(value: str | None, text: str, numeric: bool, cell: str, where: str) -> None:
    if value is None:
        assert text == (cell or shown(None)), where
        assert not numeric
        return
    assert json.loads(value) == float(cell), where
    whole = re.fullmatch(r"-?\d+", cell) is not None
    assert text == shown(int(cell) if whole else float(cell)), where


@pytest.mark.slow
def test_the_data_of_figures_are_those_that_are_drawn_and_those_of_the_folder(visit: Visit, result: Result) -> None:
    page = visit(tab="figures")
    names = page.eval_on_selector_all("[data-rows]", "all => all.map((one) => one.dataset.rows)")
    page.evaluate("document.querySelectorAll('details.data').forEach((one) => { one.open = true; })")
    page.wait_for_function("[...document.querySelectorAll('[data-rows]')].every((one) => one.childElementCount)")
    specs = json.loads(page.text_content("#evidentia-specs") or "")
    for name in names:
        found = page.eval_on_selector(f'[data-table="figure-{name}"]', CELLS)
        rows = [list(row.values()) for row in specs[name]["data"]["values"]]
        assert [[_value(cell) for cell in row] for row in found] == [[_plain(one) for one in row] for row in rows], name
        for place, values in enumerate(zip(*rows, strict=True)):
            counts = all(one is None or (not isinstance(one, str) and float(one).is_integer()) for one in values)
            for one, row in zip(values, found, strict=True):
                text = one if one is None or isinstance(one, str) else int(one) if counts else float(one)
                assert row[place][1] == shown(text), name
        path = result.folder / "figures" / f"{name}.csv"
        if path.is_file():
            assert [[None if one is None else str(one) for one in row] for row in rows] == [
                [None if one is None else str(_number(one)) for one in row]
                for row in pl.read_csv(path, infer_schema=False).rows()
            ], name


def _value(cell: list[Any]) -> Any:
    value, text, _ = cell
    return json.loads(value) if value is not None else text


def _plain(one: Any) -> Any:
    return shown(None) if one is None else one


def _number(text: str) -> int | float | str:
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        return text


def test_sentences_of_the_first_screen_hold_the_numbers_of_the_summary(page: Page, result: Result) -> None:
    told, data = page.inner_text("#overview .lead"), result.summary["dataset"]
    assert (
        f"{shown(data['queries'])} queries from {shown(data['posts'])} posts and {shown(data['criteria'])} criteria"
        in told
    )
    assert f"{shown(data['positives'])} have evidence" in told
    assert f"{data['folds']} folds, {shown(result.summary['resamples'])} resamples of posts" in told
    work = workload(result.summary["measures"])
    assert work is not None
    words = page.inner_text("#workload-words")
    parts = (work.skipped, work.careful, work.alerts, work.right, work.missed)
    assert re.findall(r"fewer than 0\.1|[\d.,]*\d", words) == [per_thousand(part) for part in parts if part is not None]
    drawn = page.eval_on_selector(
        "[data-waffle]",
        "one => [one.dataset.neg, one.dataset.unc, one.dataset.alerts, one.dataset.right, one.dataset.missed]",
    )
    assert [float(one) for one in drawn] == list(parts)


@pytest.mark.slow
def test_the_dots_are_a_thousand_and_in_proportion(page: Page) -> None:
    kinds = page.eval_on_selector_all(
        "[data-waffle] rect", "all => all.map((one) => one.parentNode.querySelector('title').textContent)"
    )
    data = page.eval_on_selector("[data-waffle]", "one => ({...one.dataset})")
    assert len(kinds) == 1000
    assert abs(kinds.count("needs a careful look") - float(data["unc"])) < 1
    assert abs(kinds.count("right alert") - float(data["right"])) < 1
    assert abs(kinds.count("skipped, with evidence (missed)") - float(data["missed"])) < 1
