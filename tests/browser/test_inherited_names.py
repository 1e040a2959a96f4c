"""Labels that every object of JavaScript has as a member (constructor, __proto__, ...) are labels like any other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser

import evidentia
from browser.chromium import go, opened, settled, tabs_of
from browser.conftest import Visit

NAMES = (
    *("constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "isPrototypeOf", "toLocaleString"),
    *("propertyIsEnumerable", "__defineGetter__", "__lookupSetter__", "prototype", "length", "plain"),
)
SLICES = ("kind", "constructor", "__proto__")


def run(seed: int) -> pl.DataFrame:
    random, rows = np.random.default_rng(seed), []
    for p in range(78):
        for criterion in NAMES[:4]:
            uids = [f"{NAMES[p % 13]}{p}_{i}" for i in range(4)] if p else list(NAMES[:4])
            gold = uids[:1] if (p + len(criterion)) % 3 == 0 or p == 0 else []
            ranked = random.permutation(uids).tolist()
            prob = float(np.clip(0.5 * random.random() + 0.4 * bool(gold), 0, 1))
            post = f"p{p}" if p else "constructor"
            label = NAMES[p % len(NAMES)]
            rows.append((post, criterion, gold, ranked, ranked[:1], prob, label, label, label, p % 3))
    columns = ("post_id", "criterion_id", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids", "prob")
    return pl.DataFrame(rows, (*columns, *SLICES, "fold"), orient="row")


def items(seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    size = len(NAMES) * 4
    more = {name: random.random(size) for name in NAMES[:3]}
    scores = {"pred": random.integers(0, 4, size).astype(float), "gt": random.integers(0, 4, size).astype(float)}
    ids = {"cluster_id": np.repeat(NAMES, 4).tolist(), "item": [*NAMES[:4]] * len(NAMES)}
    return pl.DataFrame(ids | scores | {"confidence": random.random(size)} | more)


@dataclass(frozen=True)
class Results:
    """Folders with pages in which all labels are such names."""

    folders: dict[str, Path]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    home = tmp_path_factory.mktemp("inherited")
    evidentia.evaluate(evidentia.read_run(run(1), by=SLICES), resamples=30, report=True).save(home / "evaluation")
    systems = [evidentia.read_run(run(seed)) for seed in (1, 2, 3)]
    more = {"resamples": 30, "measures": "AUROC,nDCG@10,F1(t=0.5)", "report": True}
    evidentia.compare(*systems, names=NAMES[:3], out=home / "comparison", **more)
    other = items(2).with_columns(gt=items(1)["gt"])
    ranked = {"confidence": ["confidence", *NAMES[:3]], "names": ("constructor", "__proto__")}
    selective = evidentia.selective.evaluate(items(1), against=other, seed=1, resamples=30, report=True, **ranked)
    selective.save(home / "selective")
    return Results({path.name: path for path in home.iterdir()})


FOLDERS = ("evaluation", "comparison", "selective")


@pytest.mark.parametrize("name", FOLDERS)
def test_every_picture_is_drawn(name: str, results: Results) -> None:
    pictures = list((results.folders[name] / "figures").glob("*.svg"))
    assert pictures
    for path in pictures:
        svg = path.read_text(encoding="utf-8")
        assert svg.count("<text") >= 3, path.name
        assert svg.count('class="mark-') > svg.count("role-axis"), path.name


def test_every_group_has_its_mark_and_its_name(results: Results) -> None:
    for number in range(1, len(SLICES) + 1):
        svg = (results.folders["evaluation"] / f"figures/slice_{number}.svg").read_text(encoding="utf-8")
        for name in NAMES:
            assert f">{name[:10]}" in svg, name


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("name", FOLDERS)
def test_the_page_draws_everything_and_nothing_breaks(name: str, results: Results, browser: Browser) -> None:
    with opened(browser, results.folders[name] / "report.html") as (page, seen):
        for tab in tabs_of(page):
            go(page, tab)
            if tab == "figures":
                page.evaluate("document.querySelectorAll('details.data').forEach((one) => { one.open = true; })")
                page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
                settled(page)
            if tab == "errors" and page.locator("[role=option]").count():
                for one in range(3):
                    page.locator("[role=option]").nth(one).click()
                assert "native code" not in page.inner_text("section.open")
        assert json.loads(page.text_content("#evidentia-specs") or "{}")
        assert seen.errors == []
        assert [words for words in seen.messages if not words.startswith('warning: WARN Dropping "fit-y"')] == []


@pytest.mark.slow
def test_the_data_of_a_figure_are_shown_as_they_are(results: Results, visit: Visit) -> None:
    page = visit(results.folders["evaluation"] / "report.html", tab="figures")
    page.evaluate("document.querySelectorAll('details.data').forEach((one) => { one.open = true; })")
    for number in range(1, len(SLICES) + 1):
        table = f'[data-table="figure-slice_{number}"] tbody'
        page.wait_for_selector(f"{table} td", state="attached")
        cells = page.locator(f"{table} bdi").all_text_contents()
        assert set(NAMES) <= set(cells)
        assert not [cell for cell in cells if cell.endswith("\N{NO-BREAK SPACE}")]
