"""Names and texts that mean harm stay names and texts: nothing runs, nothing breaks out, nothing is a formula."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Page

import evidentia
from browser.chromium import PHONE, TABS, WIDE, go, settled
from browser.conftest import Visit
from browser.hostile import CRITERIA, LONG, NAMES, SLICE, hostile_frame, hostile_result, texts_of
from browser.test_exports import taken
from evidentia.report.page import Content, read_content, render

FORMULA = tuple("=+-@\t\r")


@dataclass(frozen=True)
class Hostile:
    """The saved result, and the run's table."""

    folder: Path
    frame: pl.DataFrame


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    folder = tmp_path_factory.mktemp("hostile") / "out"
    return Hostile(folder, hostile_result(folder))


def walk(page: Page, width: int) -> None:
    """Open everything that shows a name, and look whether anything ran or stands out of the screen."""
    for tab in TABS:
        go(page, tab)
        if tab == "numbers":
            for group in page.eval_on_selector_all("#number-group option", "all => all.map((one) => one.value)")[1:]:
                page.select_option("#number-group", group)
                page.wait_for_function(
                    "(group) => document.querySelector('[data-table=numbers] tbody th').textContent.includes(`[${group}=`)",
                    arg=group,
                )
                check(page, width, f"{tab} {group[:40]}")
        if tab == "figures":
            page.evaluate("document.querySelectorAll('details.data').forEach((one) => { one.open = true; })")
            page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
            settled(page)
        if tab == "errors":
            for one in range(0, 30, 6):
                page.locator("[role=option]").nth(one).click()
        check(page, width, tab)


def check(page: Page, width: int, where: str) -> None:
    assert page.evaluate("window.pwned") is None, where
    assert page.locator("img").count() == 0, where
    assert page.evaluate("document.documentElement.scrollWidth") <= width, where


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("size", [PHONE, WIDE], ids=["phone", "desk"])
def test_nothing_runs_and_nothing_is_wider_than_the_screen(
    visit: Visit, hostile: Hostile, size: dict[str, int]
) -> None:
    """The fixture holds dialogs, requests and words on the console against the page."""
    page = visit(hostile.folder / "report.html", viewport=size)
    walk(page, size["width"])


def test_names_and_texts_are_shown_as_they_are(visit: Visit, hostile: Hostile) -> None:
    page = visit(hostile.folder / "report.html", tab="numbers")
    shown = page.locator('[data-table="criteria"] tbody th').all_text_contents()
    assert set(shown) == {*CRITERIA, "all"}
    assert set(page.locator('[data-table="slice_1"] tbody th').all_text_contents()) == {*NAMES, "all"}
    assert page.locator('[data-table="slice_1"] thead th').first.text_content() == SLICE
    assert f"each {SLICE}" in page.locator("#number-group option").all_text_contents()
    go(page, "errors")
    assert page.locator("#errors-privacy").is_visible()
    texts, seen = set(texts_of(hostile.frame).values()), set()
    for one in range(20):
        page.locator("[role=option]").nth(one).click()
        seen |= set(page.locator("#errors-detail .errors-text bdi").all_text_contents())
    assert len(seen) > 20
    assert seen <= texts


@pytest.mark.slow
def test_figures_have_the_groups_of_a_hostile_slice(visit: Visit, hostile: Hostile) -> None:
    page = visit(hostile.folder / "report.html", tab="figures")
    specs = json.loads(page.text_content("#evidentia-specs") or "")
    for name in ("criteria", "slice_1"):
        groups = {row["group"] for row in specs[name]["data"]["values"]}
        assert groups
        assert groups <= set(NAMES)


def test_no_raw_id_is_in_the_page(hostile: Hostile) -> None:
    content = read_content(hostile.folder, texts=texts_of(hostile.frame))
    held = json.dumps(content.to_dict()["queries"], ensure_ascii=False)
    assert [
        post for post in hostile.frame["post_id"].unique() if json.dumps(post, ensure_ascii=False)[1:-1] in held
    ] == []


def cells_of(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def dangerous(cells: list[str]) -> list[str]:
    """Cells that a spreadsheet would run; numbers may begin with a sign."""
    return [cell for cell in cells if cell.startswith(FORMULA) and not _is_number(cell)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_no_cell_of_the_folder_is_a_formula(hostile: Hostile) -> None:
    files = [*hostile.folder.glob("**/*.csv")]
    assert len(files) > 10
    for path in files:
        assert dangerous(cells_of(path.read_text(encoding="utf-8"))) == [], path.name
    assert any("'=HYPERLINK" in path.read_text(encoding="utf-8") for path in files)


@pytest.mark.slow
def test_no_cell_that_the_page_hands_out_is_a_formula(visit: Visit, hostile: Hostile) -> None:
    page = visit(hostile.folder / "report.html", tab="numbers")
    page.select_option("#number-group", "criterion")
    exports = [taken(page, f'[data-csv="{name}"]')[1] for name in ("numbers", "criteria", "slice_1", "attribution")]
    go(page, "figures")
    page.click("#figure-criteria summary")
    exports.append(taken(page, '[data-csv="figure-criteria"]')[1])
    go(page, "errors")
    exports.append(taken(page, "#errors-csv")[1])
    go(page, "reproduce")
    exports.append(taken(page, "#get-queries")[1])
    for data in exports:
        cells = cells_of(data.decode())
        assert dangerous(cells) == []
        assert any(cell.startswith("'=HYPERLINK") for cell in cells) or data is exports[0]


def test_latex_compiles(hostile: Hostile, tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex on this machine: install texlive-latex-recommended")
    words = [program, "-halt-on-error", "-interaction=nonstopmode", f"-output-directory={tmp_path}", "report.tex"]
    ran = subprocess.run(words, cwd=hostile.folder, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stdout.decode("latin-1")[-1500:]
    assert (tmp_path / "report.pdf").stat().st_size > 10_000


@pytest.mark.slow
def test_the_result_is_verified_and_read_again_under_its_own_names(hostile: Hostile) -> None:
    assert evidentia.verify_result(hostile.folder).passed
    run = evidentia.read_run(hostile.folder / "per_query.csv", by=(SLICE,))
    assert set(run.frame[SLICE]) == set(NAMES)
    assert set(read_content(hostile.folder).queries[SLICE]) == set(NAMES)


def test_markdown_holds_no_markup_of_names(hostile: Hostile) -> None:
    text = (hostile.folder / "report.md").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<img" not in text


def test_names_of_ten_thousand_letters_are_refused(hostile: Hostile) -> None:
    """A column with such names is taken for texts, which results must not hold."""
    for column in ("post_id", "criterion_id", SLICE):
        frame = hostile_frame(posts=2).with_columns(pl.lit(LONG).alias(column))
        with pytest.raises(evidentia.InputError, match="looks like a text") as refused:
            evidentia.read_run(frame, by=(SLICE,))
        assert LONG not in str(refused.value)


def swollen(content: Content) -> Content:
    """The content with a name of 10,000 letters wherever the longest one was, and as the name of the run."""
    text = json.dumps(content.to_dict()).replace(NAMES[-2], LONG)
    return replace(Content.from_dict(json.loads(text)), name=f"{LONG}.csv")


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["desk", "phone"])
def test_a_page_with_names_of_ten_thousand_letters_keeps_its_shape(
    visit: Visit, hostile: Hostile, tmp_path: Path, size: dict[str, int]
) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(swollen(read_content(hostile.folder, show_ids=True))), encoding="utf-8")
    page = visit(path, viewport=size)
    walk(page, size["width"])
    go(page, "overview")
    assert page.locator("h1").bounding_box()["height"] < 400  # type: ignore[index]
