"""A report opens from disk, says nothing on the console and asks for nothing but itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from browser.chromium import TABS, go, opened, tabs_of
from browser.conftest import Result, Visit


def test_every_tab_opens_without_a_word_on_the_console_or_a_request(page: Page) -> None:
    """What is said or asked for is held against the page when the fixture ends."""
    assert tuple(tabs_of(page)) == TABS
    for tab in (*TABS, "overview"):
        go(page, tab)
        assert page.locator("section.open").get_attribute("id") == tab
        assert page.locator("section:visible").count() == 1


def test_the_fixture_would_notice(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "bad.html"
    path.write_text(
        "<script>console.warn('w'); fetch('http://127.0.0.1:9/').catch(() => (window.tried = true)); alert(1); oops</script>"
    )
    with opened(browser, path) as (page, seen):
        page.wait_for_function("window.tried")
        assert seen.messages
        assert "oops" in seen.errors[0]
        assert seen.requests == ["http://127.0.0.1:9/"]
        assert seen.dialogs == ["1"]


def test_the_page_could_not_call_home_if_it_wanted_to(browser: Browser, result: Result) -> None:
    with opened(browser, result.page) as (page, _):
        blocked = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => error.name)")
        assert blocked == "TypeError"
        policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
        assert (policy or "").startswith("default-src 'none';")


@pytest.mark.slow
def test_a_link_to_a_tab_opens_it(visit: Visit) -> None:
    page = visit(tab="figures")
    assert page.locator("section.open").get_attribute("id") == "figures"
    assert page.locator("#tab-figures").get_attribute("aria-selected") == "true"
