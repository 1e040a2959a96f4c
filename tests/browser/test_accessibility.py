"""axe-core finds nothing serious: on any tab, light or dark, wide or narrow."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from browser.chromium import PHONE, TABS, WIDE, go
from browser.conftest import Visit

ONLY = {"resultTypes": ["violations"]}
OPEN = {
    "include": [["header"], ["section.open"], ["footer"]],
    "exclude": [[".drawing svg"]],
}  # which readers do not meet


def findings(page: Page, context: Any = None) -> list[tuple[str, str, Any]]:
    """What axe-core calls serious or critical, and where; without a context in the whole document."""
    found = Axe().run(page, context=context, options=ONLY).response["violations"]
    return [
        (one["id"], one["help"], [node["html"][:160] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]


@pytest.mark.sample(every=9)  # every tab once, and every way to look at it
@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize(
    ("scheme", "size"), [("light", WIDE), ("dark", WIDE), ("light", PHONE)], ids=["light", "dark", "phone"]
)
def test_no_tab_has_a_serious_finding(visit: Visit, scheme: str, size: dict[str, int], third: int) -> None:
    page = visit(color_scheme=scheme, viewport=size)
    found, tabs = {}, TABS[third::3]
    for tab in tabs:
        go(page, tab)
        if tab == "figures":
            page.click("#figure-reliability summary")
        if tab == "explorer":
            page.press("#tau-neg", "ArrowRight")  # with the warning
            page.fill("#prevalence-percent", "3")
        if tab == "numbers":
            for box in page.locator("#numbers [type=search]").all():
                box.fill("AUROC")  # rows are made alike, and axe-core takes its time over thousands
        found[tab] = findings(page, OPEN)
    assert found == {tab: [] for tab in tabs}


@pytest.mark.slow
def test_axe_would_find_what_is_wrong(visit: Visit) -> None:
    page = visit()
    page.evaluate("document.getElementById('mode').textContent = ''; document.getElementById('mode').title = ''")
    assert [one[0] for one in findings(page)] == ["button-name"]  # and nothing else in the whole document
