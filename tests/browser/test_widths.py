"""Pages of every kind on a phone, a tablet, a laptop and a large screen: nothing broken, cut off, or said on the console."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Page

from browser.chromium import go, settled, tabs_of
from browser.conftest import Visit
from cli.command import evidentia
from evidentia.synth import synthetic_run

WIDTHS = (360, 768, 1200, 1600)
CARD = 'name = "ours"\n[targets]\nScreeningSensitivity = { at_least = 0.995 }\nAUROC = { at_least = 0.85 }\n'
BROKEN = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll("section.open :is(h1, h2, h3, th, td, .badge, .decision), [role=tab]")) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest("code, svg, .sr")) continue;
      for (const word of node.textContent.matchAll(/[\\p{L}\\p{N}_.]{2,30}/gu)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = [...range.getClientRects()].map((box) => box.top);
        if (tops.length && Math.max(...tops) - Math.min(...tops) > 3) broken.push(word[0]);
      }
    }
  }
  return [...new Set(broken)];
}"""
OUTSIDE = """() => {
  const outside = [];
  for (const svg of document.querySelectorAll("section.open [data-figure] svg")) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      const cut = text.textContent.includes("…");
      if (cut || box.right > frame.right + 1 || box.left < frame.left - 1) outside.push(text.textContent);
    }
  }
  return outside;
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A result with targets, the comparison of two, and a questionnaire against another mode."""
    home = tmp_path_factory.mktemp("widths")
    (home / "card.toml").write_text(CARD)
    few = ("--resamples", 50, "--quiet")
    made = synthetic_run(seed=7, posts=40, criteria=3, positives=None).per_query
    made.write_parquet(home / "first.parquet")
    other = made.drop("state", "tau_neg", "tau_pos").with_columns(prob=pl.col("prob") ** 2)
    other.write_parquet(home / "second.parquet")
    for name in ("first", "second"):
        ran = evidentia("evaluate", home / f"{name}.parquet", "-o", home / name, "--card", home / "card.toml", *few)
        assert ran.code == 0, ran
    assert evidentia("compare", home / "first", home / "second", "-o", home / "comparison", *few).code == 0
    assert evidentia("synth", "--kind", "phq8", "-o", home / "phq8", "--participants", 20).code == 0
    modes = ("--mode", "zero_shot", "--against-mode", "few_shot", "--confidence", "all", "--seed", 3)
    ran = evidentia("selective", home / "phq8" / "phq8.json", "-o", home / "selective", *modes, *few)
    assert ran.code == 0, ran
    names = ("first", "comparison", "selective")
    assert [evidentia("report", home / name, "--format", "html").code for name in names] == [0, 0, 0]
    return {name: home / name / "report.html" for name in names}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["first", "comparison", "selective"])
def test_no_word_is_broken_and_nothing_is_cut_off(kind: str, width: int, visit: Visit, pages: dict[str, Path]) -> None:
    """That the console stays silent, in light and dark, is held against the page when the fixture ends."""
    page = visit(pages[kind], viewport={"width": width, "height": 5000})  # so that most figures are in view
    settled(page)
    for tab in tabs_of(page):
        go(page, tab)
        assert page.evaluate(BROKEN) == [], tab
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
        assert page.evaluate(OUTSIDE) == [], tab
    whole = page.eval_on_selector_all(
        "[role=tab]", "tabs => tabs.every((tab) => tab.getBoundingClientRect().right <= innerWidth)"
    )
    assert whole
    page.click("#mode")
    go(page, "figures")


@pytest.mark.parametrize("width", WIDTHS)
def test_roc_is_square_and_starts_in_the_corner(width: int, visit: Visit, pages: dict[str, Path]) -> None:
    page = visit(pages["first"], tab="figures", viewport={"width": width, "height": 900})
    chance, curve = (
        box(page, "#figure-roc path[stroke-dasharray='4,4']"),
        box(page, "#figure-roc path[stroke-width='2.5']"),
    )
    assert chance["width"] == pytest.approx(chance["height"], abs=2)
    assert curve["x"] == pytest.approx(chance["x"], abs=2)
    assert curve["y"] + curve["height"] == pytest.approx(chance["y"] + chance["height"], abs=2)
    legend = page.eval_on_selector_all(
        "#figure-roc .role-legend-label text", "all => all.map((one) => one.textContent)"
    )
    assert legend == ["all queries", "each fold", "chance"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_thousand_squares_are_square(width: int, visit: Visit, pages: dict[str, Path]) -> None:
    page = visit(pages["first"], viewport={"width": width, "height": 900})
    squares = page.eval_on_selector_all(
        "[data-waffle] rect",
        "all => all.map((one) => { const { x, y, width, height } = one.getBoundingClientRect(); return [x, y, width, height]; })",
    )
    assert len(squares) == 1000
    assert all(width == pytest.approx(height, abs=0.1) and width > 3 for _, _, width, height in squares)
    first, below, beside = squares[0], squares[1], squares[20]
    assert below[1] - first[1] == pytest.approx(beside[0] - first[0], abs=0.1)


def box(page: Page, selector: str) -> dict[str, float]:
    return page.eval_on_selector(selector, "one => one.getBoundingClientRect().toJSON()")  # type: ignore[no-any-return]


def test_on_a_phone_the_decisions_are_seen(visit: Visit, pages: dict[str, Path]) -> None:
    page = visit(pages["first"], viewport={"width": 360, "height": 760})
    assert page.locator(".targets .decision").count() == 2
    for decision in page.locator(".targets .decision").all():
        place = decision.bounding_box()
        assert place is not None
        assert place["x"] + place["width"] <= 360 - 44 - 14  # left of what fades out


def test_on_a_phone_the_verdict_of_every_difference_is_seen(visit: Visit, pages: dict[str, Path]) -> None:
    page = visit(pages["comparison"], viewport={"width": 360, "height": 760})
    page.get_by_role("tab", name="Differences").click()
    verdicts = page.locator(".differences .decision").all()
    assert len(verdicts) > 3
    for verdict in verdicts:
        place = verdict.bounding_box()
        assert place is not None
        assert place["x"] + place["width"] <= 360


@pytest.mark.parametrize("width", [360, 768])
def test_a_wide_table_fades_where_it_goes_on_and_keeps_its_first_column(
    width: int, visit: Visit, pages: dict[str, Path]
) -> None:
    page = visit(pages["first"], tab="numbers", viewport={"width": width, "height": 900})
    table = page.locator(".scroll", has=page.locator('[data-table="numbers"]'))
    head, name = table.locator("thead th").first, table.locator('tbody th[scope="row"]').first
    assert table.evaluate("one => getComputedStyle(one).maskImage").startswith("linear-gradient")
    before = [one.bounding_box() for one in (head, name)]
    table.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
    page.wait_for_function("!document.querySelector('.scroll:has([data-table=numbers])').classList.contains('more')")
    assert [one.bounding_box() for one in (head, name)] == before
    assert table.evaluate("one => getComputedStyle(one).maskImage") == "none"
