"""One browser and one small result for all these tests; every page that a test opens must have behaved in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import evidentia
from browser.chromium import QUIET, chromium, opened, settled
from evidentia.report.page.write import write_report
from evidentia.results import loads
from evidentia.synth import synthetic_run
from evidentia.tables import Run

RESAMPLES, SEED = 300, 7


@dataclass(frozen=True)
class Result:
    """A saved result with its page, and the run that it is of."""

    folder: Path
    run: Run
    frame: pl.DataFrame

    @property
    def page(self) -> Path:
        return self.folder / "report.html"

    @cached_property
    def summary(self) -> dict[str, Any]:
        return loads((self.folder / "summary.json").read_text(encoding="utf-8"))

    def table(self, name: str) -> pl.DataFrame:
        """A table of the folder, every cell as text."""
        return pl.read_csv(self.folder / "tables" / f"{name}.csv", infer_schema=False)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: install Debian's chromium, or name one in EVIDENTIA_CHROMIUM")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield started
        started.close()


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """120 posts, 4 criteria, 5 folds with TUNE rows, candidates, a slice."""
    made = synthetic_run(seed=SEED, posts=120, criteria=4, positives=None, splits=True)
    run = evidentia.read_run(made.per_query, candidates=made.candidates, by=("subreddit",))
    folder = tmp_path_factory.mktemp("browser") / "out"
    evidentia.evaluate(run, resamples=RESAMPLES, seed=SEED, report=False).save(folder)
    write_report(folder, formats=("html",))
    return Result(folder, run, made.per_query)


Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, result: Result) -> Iterator[Visit]:
    """Opens pages; in the end none may have complained, asked the network for anything, or opened a dialog."""
    held = []

    def open_one(path: Path | None = None, **options: Any) -> Page:
        one = opened(browser, path or result.page, **options)
        held.append((one, *one.__enter__()))
        return held[-1][1]

    yield open_one
    seen = [seen for _, _, seen in held]
    for one, _, _ in held:
        one.__exit__(None, None, None)
    assert all(one.nothing for one in seen), seen


@pytest.fixture
def page(visit: Visit) -> Page:
    """The page of the small result, at its first tab."""
    made = visit()
    settled(made)
    return made
