"""Tables are sorted and filtered, tabs are opened with hands and keys, and nothing is wider than the screen."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page

from browser.chromium import PHONE, TABS, go, settled
from browser.conftest import Result, Visit
from evidentia.report.show import NONE

NUMBERS = '[data-table="numbers"]'
OUTLINE = "one => { const style = getComputedStyle(one); return [style.outlineStyle, parseFloat(style.outlineWidth)]; }"


def column(page: Page, table: str, index: int) -> list[list[Any]]:
    """What a column of each body of a table holds, from top to bottom: numbers, texts, and None where there is nothing."""
    bodies = page.eval_on_selector(
        table,
        """(table, at) => [...table.tBodies].map((body) => [...body.rows].filter((row) => !row.hidden && !row.classList.contains("family")).map((row) => {
            const cell = row.cells[at], carrier = cell.dataset.value === undefined ? cell.querySelector("[data-value]") : cell;
            return carrier ? carrier.dataset.value : cell.textContent.trim();
        }))""",  # noqa: E501
        index,
    )
    return [[_read(text) for text in body] for body in bodies]


def _read(text: str) -> Any:
    if text in {"", "None", "null", NONE, "no interval"}:
        return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value[0] if isinstance(value, list) else value


def sort_by(page: Page, table: str, index: int) -> str:
    head = page.locator(f"{table} thead th").nth(index)
    head.locator("button").click()
    return head.get_attribute("aria-sort") or ""


@pytest.mark.slow
def test_columns_are_sorted_both_ways_with_what_is_missing_last(visit: Visit) -> None:
    page = visit(tab="numbers")
    for table, at in (
        (NUMBERS, 1),
        (NUMBERS, 2),
        (NUMBERS, 3),
        ('[data-table="folds"]', 2),
        ('[data-table="others"]', 3),
    ):
        before = column(page, table, at)
        for said, backwards in (("ascending", False), ("descending", True)):
            assert sort_by(page, table, at) == said
            for found, held in zip(column(page, table, at), before, strict=True):
                there = sorted((one for one in held if one is not None), reverse=backwards)
                assert found == there + [None] * (len(held) - len(there))
            assert "sorted by" in page.inner_text("#say")
        assert page.locator(f"{table} th[aria-sort=ascending], {table} th[aria-sort=descending]").count() == 1
    first = page.eval_on_selector_all(f"{NUMBERS} tbody", "all => all.map((body) => body.rows[0].className)")
    assert set(first) == {"family"}  # which keep their heads
    sort_by(page, NUMBERS, 0)
    names = page.eval_on_selector_all(f"{NUMBERS} tbody th[scope=row]", "all => all.map((one) => one.textContent)")
    depths = [name for name in names if name.startswith("nDCG@")]
    assert depths[:5] == ["nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "nDCG@20"]  # as people count


def test_a_filter_leaves_the_rows_that_hold_its_words(visit: Visit) -> None:
    page = visit(tab="numbers")
    whole = page.locator(f"{NUMBERS} tbody tr:not(.family):visible").count()
    page.fill("#number-filter", "RECALL@10")
    rows = page.locator(f"{NUMBERS} tbody tr:not(.family):visible")
    texts = rows.all_text_contents()
    assert 0 < len(texts) < whole
    assert all("recall@10" in text.lower() for text in texts)
    assert page.inner_text("#number-count") == f"{len(texts)} numbers"
    heads = page.locator(f"{NUMBERS} tr.family:visible")
    assert heads.count() == page.eval_on_selector_all(
        f"{NUMBERS} tbody", "all => all.filter((body) => body.querySelector('tr:not(.family):not([hidden])')).length"
    )
    page.fill("#number-filter", "no number has these words")
    assert rows.count() == heads.count() == 0
    page.fill("#number-filter", "")
    assert rows.count() == whole
    other = page.locator('[data-table="criteria"] tbody tr:visible')
    page.fill('[data-filter="criteria"]', "A.2")
    assert other.locator("th").all_text_contents() == ["A.2"]


@pytest.mark.slow
def test_numbers_of_every_group_can_be_chosen(visit: Visit, result: Result) -> None:
    page, measures = visit(tab="numbers"), result.summary["measures"]
    groups = page.eval_on_selector_all("#number-group option", "all => all.map((one) => one.value)")
    assert groups[0] == ""
    assert {"fold", "criterion", "state", "subreddit"} <= set(groups)
    for group in (*groups[1:], ""):
        page.select_option("#number-group", group)
        expected = [name for name in measures if (f"[{group}=" in name if group else "[" not in name)]
        page.wait_for_function(
            "(n) => document.querySelectorAll('[data-table=numbers] tbody tr:not(.family)').length === n",
            arg=len(expected),
        )
        names = page.eval_on_selector_all(f"{NUMBERS} tbody th[scope=row]", "all => all.map((one) => one.textContent)")
        assert sorted(names) == sorted(expected)


@pytest.mark.slow
def test_a_filter_holds_when_the_group_changes_and_the_last_choice_counts(visit: Visit) -> None:
    page = visit(tab="numbers")
    page.fill("#number-filter", "AUROC")
    page.evaluate(
        """() => { const group = document.getElementById("number-group");
          for (const one of ["criterion", "fold"]) { group.value = one; group.dispatchEvent(new Event("change")); } }"""
    )  # the second choice comes before the first one's numbers are there
    page.wait_for_function("document.querySelector('[data-table=numbers] tbody tr th').textContent.includes('[fold=')")
    assert page.locator(f"{NUMBERS} tbody").count() == 1
    texts = page.locator(f"{NUMBERS} tbody tr:visible").all_text_contents()
    assert texts
    assert all("auroc" in text.lower() for text in texts)


def test_tabs_have_roles_and_one_of_them_is_chosen(page: Page) -> None:
    assert page.locator("[role=tablist]").count() == 1
    for tab in TABS:
        one = page.locator(f"#tab-{tab}")
        assert (one.get_attribute("role"), one.get_attribute("aria-controls")) == ("tab", tab)
        panel = page.locator(f"#{tab}")
        assert (panel.get_attribute("role"), panel.get_attribute("aria-labelledby")) == ("tabpanel", f"tab-{tab}")
        one.click()
        chosen = page.eval_on_selector_all(
            "[role=tab]", "all => all.map((one) => [one.getAttribute('aria-controls'), one.ariaSelected, one.tabIndex])"
        )
        assert chosen == [[other, str(other == tab).lower(), 0 if other == tab else -1] for other in TABS]


def test_keys_open_tabs(page: Page) -> None:
    page.focus("#tab-overview")
    went = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "ArrowLeft", "Home"):
        page.keyboard.press(key)
        opened = page.locator("section.open").get_attribute("id")
        assert page.evaluate("document.activeElement.id") == f"tab-{opened}"
        went.append(opened)
    assert went == ["numbers", "figures", "numbers", "reproduce", "overview", "reproduce", "overview"]


@pytest.mark.slow
def test_the_first_key_reaches_a_link_that_skips_the_head_and_focus_is_seen(page: Page) -> None:
    assert page.locator(".skip").bounding_box()["x"] < 0  # type: ignore[index]
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    assert skip.evaluate("one => one === document.activeElement")
    assert skip.bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.locator("section.open").get_attribute("id") == "overview"


@pytest.mark.slow
def test_everything_that_keys_reach_shows_it(page: Page) -> None:
    seen = set()
    for tab in TABS:
        go(page, tab)
        page.focus(f"#tab-{tab}")
        for _ in range(14):
            page.keyboard.press("Tab")
            at = page.locator(":focus")
            if at.count() == 0:
                break
            style, width = at.evaluate(OUTLINE)
            what = at.evaluate("one => one.outerHTML.slice(0, 120)")
            assert (style, width >= 2) == ("solid", True), what
            seen.add(what)
    assert len(seen) > 20


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 800}], ids=["phone", "desk"])
def test_no_tab_is_wider_than_the_screen(visit: Visit, size: dict[str, int]) -> None:
    page = visit(viewport=size)
    for tab in TABS:
        go(page, tab)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], tab
        assert page.locator(f"#tab-{tab}").bounding_box()["x"] < size["width"]  # type: ignore[index]
    go(page, "figures")
    for name in ("roc", "criteria"):
        page.locator(f"#figure-{name} summary").click()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
