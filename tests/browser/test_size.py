"""The page of a run of the contract's size is small, draws few points, and is the same whenever it is made."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import evidentia
from evidentia.report.page import read_content, render
from evidentia.report.page.write import write_report
from evidentia.synth import synthetic_run

MOST_BYTES = 3_000_000
MOST_POINTS = 500
SPECS = re.compile(r'<script type="application/json" id="evidentia-specs">(.*?)</script>', re.DOTALL)


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,477 posts, 10 criteria, candidates; few resamples, for intervals are as long whatever they rest on."""
    made = synthetic_run(seed=7)
    folder = tmp_path_factory.mktemp("contract") / "out"
    run = evidentia.read_run(made.per_query, candidates=made.candidates)
    evidentia.evaluate(run, resamples=200, report=False).save(folder)
    write_report(folder, formats=("html",))
    return folder


@pytest.mark.slow
def test_the_page_is_at_most_three_megabytes(contract: Path) -> None:
    assert (contract / "report.html").stat().st_size <= MOST_BYTES


@pytest.mark.slow
def test_no_curve_is_drawn_with_more_than_500_points(contract: Path) -> None:
    found = SPECS.search((contract / "report.html").read_text(encoding="utf-8"))
    assert found
    points = {name: len(spec["data"]["values"]) for name, spec in json.loads(found[1]).items()}
    assert {"roc", "pr", "operating_screening", "operating_alerts", "decision"} <= set(points)
    assert {name: n for name, n in points.items() if n > MOST_POINTS} == {}


@pytest.mark.slow
def test_drawn_again_it_is_the_same_page(contract: Path) -> None:
    assert render(read_content(contract)).encode() == (contract / "report.html").read_bytes()
    assert write_report(contract, formats=("html",)) == []


@pytest.mark.slow
def test_evaluated_again_it_is_the_same_page(tmp_path: Path) -> None:
    pages = []
    for name in ("first", "second"):
        made = synthetic_run(seed=7, posts=40, criteria=3, positives=None, splits=True)
        run = evidentia.read_run(made.per_query, candidates=made.candidates, by=("subreddit",))
        evidentia.evaluate(run, resamples=50, report=False).save(tmp_path / name)
        write_report(tmp_path / name, formats=("html",))
        pages.append((tmp_path / name / "report.html").read_bytes())
    assert pages[0] == pages[1]
