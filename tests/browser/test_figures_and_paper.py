"""Figures, light and dark, on the screen and on paper: each is drawn once, in the colours of what it is drawn on."""

from __future__ import annotations

import re
import zlib

import pytest
from playwright.sync_api import Page

from browser.chromium import TABS, go, settled
from browser.conftest import Visit

LIGHT_INK, DARK_INK = "#1b2733", "#e8eef4"
DRAWN_ON_PAPER = "() => !document.querySelector('[data-figure]:not([data-drawn=print])')"


def inks(page: Page, selector: str = "[data-figure]") -> set[str]:
    """The colours of text in drawn figures."""
    return set(page.eval_on_selector_all(f"{selector} svg text", "all => all.map((one) => one.getAttribute('fill'))"))


def drawings(page: Page) -> list[int]:
    """How many drawings every figure holds."""
    return page.eval_on_selector_all(
        "[data-figure], [data-waffle]", "all => all.map((one) => one.querySelectorAll('svg').length)"
    )


def seen_whole(page: Page) -> None:
    """Scroll through, so that every figure has been in view."""
    height = page.evaluate("document.body.scrollHeight")
    for top in range(0, height, 700):
        page.evaluate("(top) => scrollTo({ top, behavior: 'instant' })", top)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    settled(page)


@pytest.mark.slow
def test_every_figure_is_drawn_when_it_comes_into_view_and_keeps_its_description(visit: Visit) -> None:
    page = visit(tab="figures")
    seen_whole(page)
    told = page.eval_on_selector_all(
        "[data-figure]",
        "all => all.map((one) => [one.getAttribute('role'), one.getAttribute('aria-label'), one.querySelectorAll('svg').length])",
    )
    assert len(told) >= 12
    for role, label, held in told:
        assert (role, held) == ("img", 1)
        assert len(label) > 20


@pytest.mark.slow
def test_the_button_and_the_system_choose_the_mode_and_figures_follow(visit: Visit) -> None:
    page = visit(tab="figures", color_scheme="dark")
    mode = page.locator("html")
    assert mode.get_attribute("data-mode") == "dark"
    assert page.locator("#mode").get_attribute("aria-pressed") == "true"
    assert DARK_INK in inks(page)
    assert LIGHT_INK not in inks(page)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="light")  # the system changes its mind, and the reader has not had a say
    page.wait_for_function("document.documentElement.dataset.mode === 'light'")
    seen_whole(page)
    assert LIGHT_INK in inks(page)
    assert DARK_INK not in inks(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
    page.click("#mode")
    page.click("#mode")
    page.emulate_media(color_scheme="dark")  # the reader has chosen
    settled(page)
    assert mode.get_attribute("data-mode") == "light"
    assert set(drawings(page)) <= {0, 1}


@pytest.mark.slow
def test_a_hasty_reader_gets_every_figure_once(visit: Visit) -> None:
    """Modes switched while figures are at work: the last one counts."""
    page = visit()
    page.evaluate("() => { for (let i = 0; i < 5; i++) document.getElementById('mode').click(); }")
    page.click("#tab-figures")
    page.evaluate("() => { for (let i = 0; i < 4; i++) document.getElementById('mode').click(); }")
    settled(page)
    assert page.locator("html").get_attribute("data-mode") == "dark"
    assert inks(page) & {LIGHT_INK, DARK_INK} == {DARK_INK}
    assert set(drawings(page)) == {0, 1}


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_gets_all_tabs_but_those_for_hands_and_all_figures_in_dark_ink(visit: Visit, scheme: str) -> None:
    page = visit(tab="reproduce", color_scheme=scheme)  # no figure was ever in view
    page.emulate_media(media="print")
    page.wait_for_function(DRAWN_ON_PAPER)
    visible = {tab: page.locator(f"#{tab}").is_visible() for tab in TABS}
    assert visible == {tab: tab not in {"explorer", "errors"} for tab in TABS}
    for hidden in ("header.top", "button:not(.sort)", "input", "select", ".skip", "details.data"):
        assert page.locator(f"{hidden}:visible").count() == 0
    assert page.locator("#numbers .tools h3:visible").count() > 5  # a table keeps its title
    assert set(drawings(page)) == {1}
    assert DARK_INK not in inks(page, "[data-figure], [data-waffle]")
    widths = page.eval_on_selector_all(".drawing svg", "all => all.map((one) => one.getBoundingClientRect().width)")
    assert min(width for width in widths if width) > 300
    page.emulate_media(media="screen")
    page.wait_for_function("(mode) => document.documentElement.dataset.mode === mode", arg=scheme)
    go(page, "figures")
    assert (DARK_INK if scheme == "dark" else LIGHT_INK) in inks(page)


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def painted(pdf: bytes) -> int:
    """How much is painted: bytes of the streams that can be unpacked."""
    total = 0
    for found in re.finditer(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            total += len(zlib.decompress(found[1]))
        except zlib.error:
            continue
    return total


@pytest.mark.slow
def test_printing_draws_figures_of_tabs_that_were_never_opened(visit: Visit) -> None:
    """A real print: what is not drawn when the browser says that it will print, is not on paper."""
    page = visit(tab="reproduce", color_scheme="dark")
    page.wait_for_function("window.vegaEmbed !== undefined")
    whole = page.pdf()
    page.evaluate("() => document.querySelectorAll('.figures').forEach((one) => one.remove())")
    without = page.pdf()
    assert pages_of(whole) > pages_of(without)
    assert painted(whole) > painted(without) + 100_000
    assert page.locator("html").get_attribute("data-mode") == "dark"
