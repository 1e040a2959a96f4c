"""A page in a real browser, with everything written down that it should not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)
TABS = ("overview", "numbers", "figures", "explorer", "errors", "reproduce")
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 760}
PATIENCE = 60_000  # milliseconds; nothing here is about speed, and the machine may be busy


def chromium() -> str | None:
    """The system's Chromium, or the one that the environment names; nothing is ever downloaded."""
    named = os.environ.get("EVIDENTIA_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Seen:
    """What a page did that a reader should never see: all of it stays empty."""

    messages: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    @property
    def nothing(self) -> bool:
        return self == Seen()


@contextmanager
def opened(browser: Browser, path: Path, *, tab: str = "", **options: Any) -> Iterator[tuple[Page, Seen]]:
    """A page of its own browser profile, closed in the end."""
    context = browser.new_context(**{"viewport": WIDE, "accept_downloads": True, **options})
    try:
        page, seen = context.new_page(), Seen()
        page.set_default_timeout(PATIENCE)
        own = path.resolve().as_uri()
        page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("request", lambda asked: None if _own(asked.url, own) else seen.requests.append(asked.url))
        page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(f"{own}#{tab}" if tab else own)
        if tab:
            settled(page)
        yield page, seen
    finally:
        context.close()


def _own(url: str, page: str) -> bool:
    """The page itself, or a blob that the page made and hands to its reader."""
    return url.split("#", maxsplit=1)[0] == page or url.startswith(("blob:", "data:"))


def go(page: Page, tab: str) -> None:
    """Open a tab and wait until it shows what it has to show."""
    page.click(f"#tab-{tab}")
    settled(page)


def settled(page: Page) -> None:
    """The open tab is unpacked, and the figures in view are drawn as the reader's mode wants them."""
    page.wait_for_function(
        """() => {
          const open = document.querySelector("section.open"), parts = (selector) => [...open.querySelectorAll(selector)];
          if (!open) return false;
          const drawn = (one) => one.querySelector("svg") !== null;
          const ready = {
            explorer: () => parts("#explorer-root[data-ready=true]").length && parts("[data-live]").every(drawn),
            errors: () => open.dataset.ready || !parts("#errors-list").length,
          }[open.id] ?? (() => true);
          return ready() && parts("[data-wanted]").every((one) => one.dataset.drawn === one.dataset.wanted);
        }"""
    )


def tabs_of(page: Page) -> list[str]:
    """The tabs that a page has, in their order."""
    return page.eval_on_selector_all("[role=tab]", "tabs => tabs.map((tab) => tab.getAttribute('aria-controls'))")
