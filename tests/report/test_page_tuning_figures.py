"""The figures about tuning: what they draw, what their captions say, and that a page with them verifies alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evidentia import workflow
from evidentia.protocol import Choices, tune
from evidentia.report.page import Content, read_content
from evidentia.report.page.figure import draw
from evidentia.report.page.images import images
from evidentia.report.page.run_figures import gamma, run_figures
from evidentia.report.page.verification import verify_page
from evidentia.report.tables import Table
from evidentia.synth import synthetic_run
from evidentia.tables import read_run

SWEPT = ("gamma", "mean_k", "evidence_recall", "workload", "at_floor", "at_cap")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result under the thresholds of a three-state gate, with candidates."""
    made = synthetic_run(seed=3, splits=True, posts=40, criteria=3, positives=40)
    run = read_run(made.per_query, candidates=made.candidates)
    out = tmp_path_factory.mktemp("tuned") / "result"
    workflow.evaluate(
        run, thresholds=tune(run, Choices()), measures=["AUROC", "SelectedK", "NegRate"], resamples=0, report=True
    ).save(out)
    return out


@pytest.fixture(scope="module")
def content(folder: Path) -> Content:
    return read_content(folder)


def with_sweep(content: Content, *rows: tuple[float, ...]) -> Content:
    return replace(content, figures=(Table("gamma_sweep", "", SWEPT, rows),))


def test_both_are_drawn_after_the_operating_figures(content: Content) -> None:
    names = [figure.name for figure in run_figures(content)]
    assert names.index("decision") < names.index("threshold_grid") < names.index("gamma_sweep")
    drawn = [figure for figure in run_figures(content) if figure.name in {"threshold_grid", "gamma_sweep"}]
    assert set(images(drawn, ["svg"])) == {"threshold_grid.svg", "gamma_sweep.svg"}


def test_the_grid_is_that_of_every_fold_with_what_was_chosen(folder: Path, content: Content) -> None:
    figure = draw("threshold_grid", content.figure("tune_grid"), rows="TUNE")
    assert figure is not None
    assert figure.table.columns == ("fold", "tau", "sensitivity", "workload", "alert_precision", "chosen")
    assert "on TUNE" in figure.caption
    for fold in json.loads((folder / "thresholds.json").read_text(encoding="utf-8"))["folds"]:
        tuned = fold["three_state"]
        own = [row for row in figure.table.rows if row[0] == fold["fold"]]
        assert [row[1] for row in own] == tuned["grid"]["tau"]
        assert [row[3] for row in own] == tuned["grid"]["Workload"]
        for name in ("tau_neg", "tau_pos"):
            assert [row[1] for row in own if name in str(row[5])] == [tuned[name]]


def test_a_pinned_k_is_said(content: Content) -> None:
    free = gamma(with_sweep(content, (0.7, 2.0, 0.5, 20, 0.1, 0.0), (0.8, 2.5, 0.6, 25, 0.0, 0.1)))
    assert free is not None
    assert "pinned" not in free.caption
    held = gamma(
        with_sweep(content, (0.7, 3.0, 0.5, 30, 0.0, 0.4), (0.8, 4.0, 0.6, 40, 0.0, 0.9), (0.9, 4.0, 0.6, 40, 0.0, 1.0))
    )
    assert held is not None
    assert "its mean is the same at gamma 0.8, 0.9." in held.caption
    assert "At gamma 0.8, 0.9 the cap decides K for most queries." in held.caption
    assert len(held.caption) < 400  # LaTeX cuts longer ones


def test_the_grid_of_cross_fit_thresholds_is_not_said_to_be_of_tune(content: Content) -> None:
    applied = content.manifest["applied_thresholds"]
    changed = {
        **content.manifest,
        "applied_thresholds": {**applied, "choices": {**applied["choices"], "cross_fit": True}},
    }
    figures = run_figures(replace(content, manifest=changed))
    caption = next(figure.caption for figure in figures if figure.name == "threshold_grid")
    assert caption.startswith("Measured on the other folds (cross_fit), where the thresholds were chosen")


def test_without_their_data_there_are_none(content: Content) -> None:
    bare = replace(content, figures=())
    assert gamma(bare) is None
    assert draw("threshold_grid", bare.figure("tune_grid")) is None


@pytest.mark.parametrize(
    "text", ["{}", "not JSON", '{"folds": [{"fold": "0", "three_state": {"grid": {"tau": ["p1"]}}}]}']
)
def test_thresholds_that_cannot_be_read_give_no_figure(folder: Path, text: str) -> None:
    path = folder / "thresholds.json"
    kept = path.read_text(encoding="utf-8")
    try:
        path.write_text(text, encoding="utf-8")
        assert read_content(folder).figure("tune_grid") is None
    finally:
        path.write_text(kept, encoding="utf-8")


def test_the_page_alone_verifies_without_them_and_says_so(folder: Path) -> None:
    made = verify_page(folder / "report.html")
    assert made.verification.passed, made.verification.mismatches[:5]
    assert any("gamma" in words for words in made.left_out)
    assert any("grid" in words for words in made.left_out)
