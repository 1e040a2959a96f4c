"""What the sliders show is what the library computes for a run with those thresholds; nothing is estimated in the page."""

from __future__ import annotations

import json
import random
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Page

import evidentia
from browser.conftest import RESAMPLES, SEED, Result, Visit
from evidentia.report.page.explorer import NUMBERS
from evidentia.report.show import limits, shown

PAIRS = 24
NAMES = tuple(NUMBERS)


@pytest.fixture
def page(visit: Visit) -> Page:
    """The explorer, ready."""
    return visit(tab="explorer")


def taus(result: Result, name: str) -> list[float]:
    """The thresholds of a slider, in its order."""
    return pl.read_csv(result.folder / "figures" / f"{name}.csv")["tau"].to_list()


def move(page: Page, slider: str, index: int) -> None:
    page.locator(slider).evaluate(
        "(one, index) => { one.value = index; one.dispatchEvent(new Event('input', {bubbles: true})); }", index
    )


def readings(page: Page) -> dict[str, dict[str, Any]]:
    """The five numbers with all their digits, and as they are written."""
    told = page.eval_on_selector_all(
        "[data-explorer]",
        """all => all.map((one) => [one.dataset.explorer, {...one.dataset, text: one.textContent,
            interval: document.querySelector(`[data-explorer-interval="${one.dataset.explorer}"]`).textContent}])""",
    )
    read = {name: found | {key: json.loads(found[key]) for key in ("value", "low", "high")} for name, found in told}
    assert set(read) == set(NAMES)
    return read


def at(result: Result, tau_neg: float, tau_pos: float) -> evidentia.Evaluation:
    """The same run as the library evaluates it under two thresholds for all queries."""
    prob = pl.col("prob")
    state = pl.when(prob < tau_neg).then(pl.lit("NEG")).when(prob >= tau_pos).then(pl.lit("POS"))
    frame = result.frame.filter(pl.col("split") == "EVAL").with_columns(
        tau_neg=pl.lit(tau_neg), tau_pos=pl.lit(tau_pos), state=state.otherwise(pl.lit("UNCERTAIN"))
    )
    measures = [*NUMBERS.values(), "Queries[state=NEG]", "Queries[state=POS]", "Queries"]
    return evidentia.evaluate(evidentia.read_run(frame), measures=measures, resamples=RESAMPLES, seed=SEED)


def random_pairs(result: Result) -> list[tuple[int, int]]:
    """Rows of the two sliders whose thresholds are in order; the ends of both are among them."""
    below, above = taus(result, "operating_screening"), taus(result, "operating_alerts")
    draw = random.Random(20)
    pairs = [(0, 0), (0, len(above) - 1), (len(below) - 1, len(above) - 1)]
    while len(pairs) < PAIRS:
        pair = draw.randrange(len(below)), draw.randrange(len(above))
        if below[pair[0]] <= above[pair[1]]:
            pairs.append(pair)
    return pairs


@pytest.mark.slow
def test_random_pairs_of_thresholds_give_the_numbers_of_the_library(page: Page, result: Result) -> None:
    below, above = taus(result, "operating_screening"), taus(result, "operating_alerts")
    assert int(page.get_attribute("#tau-neg", "max") or 0) == len(below) - 1
    assert int(page.get_attribute("#tau-pos", "max") or 0) == len(above) - 1
    for neg, pos in random_pairs(result):
        move(page, "#tau-neg", 0)  # so that the other can be set anywhere
        move(page, "#tau-pos", pos)
        move(page, "#tau-neg", neg)
        root = page.locator("#explorer-root")
        assert json.loads(root.get_attribute("data-tau-neg") or "") == below[neg]
        assert json.loads(root.get_attribute("data-tau-pos") or "") == above[pos]
        expected, found = at(result, below[neg], above[pos]), readings(page)
        for name, measure in NUMBERS.items():
            one, where = expected[measure], (name, below[neg], above[pos])
            value = None if one.degenerate else one.value
            low, high = one.ci if one.ci is not None and value is not None else (None, None)
            assert (found[name]["value"], found[name]["low"], found[name]["high"]) == (value, low, high), where
            assert found[name]["text"] == shown(value), where
            if low is not None:
                assert found[name]["interval"] == limits((low, high)), where
        confusion = page.eval_on_selector_all(
            "[data-confusion]", "all => all.map((one) => [one.dataset.confusion, one.dataset.value])"
        )
        counts = {name: json.loads(value) for name, value in confusion}
        assert counts["NEG all"] == expected["Queries[state=NEG]"].value
        assert counts["POS all"] == expected["Queries[state=POS]"].value
        assert counts["all all"] == expected["Queries"].value


def test_as_deployed_it_shows_the_summary(page: Page, result: Result) -> None:
    for name, found in readings(page).items():
        entry = result.summary["measures"][NUMBERS[name]]
        assert [found["value"], found["low"], found["high"]] == [entry["value"], *entry["ci"]]


@pytest.mark.slow
def test_moving_a_slider_warns_and_going_back_takes_the_warning_away(page: Page) -> None:
    warning = page.locator("#explorer-warning .note.warning")
    start = readings(page)
    assert warning.count() == 0
    move(page, "#tau-neg", 150)
    assert warning.is_visible()
    assert "exploration, not tuning" in warning.inner_text()
    assert readings(page) != start
    assert page.locator("#explorer-root").get_attribute("data-state") == "exploring"
    page.click("#explorer-deployed")
    assert warning.count() == 0
    assert page.locator("#explorer-root").get_attribute("data-state") == "deployed"
    assert readings(page) == start


def test_the_command_that_tunes_properly_can_be_copied(visit: Visit) -> None:
    page = visit(tab="explorer", permissions=["clipboard-read", "clipboard-write"])
    move(page, "#tau-pos", 3)
    command = page.inner_text("#explorer-command")
    assert command.startswith("evidentia tune ")
    page.click("#explorer-copy")
    page.wait_for_function("document.getElementById('explorer-copy').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == command


@pytest.mark.slow
def test_thresholds_stay_in_order_whichever_is_moved(page: Page, result: Result) -> None:
    below, above = taus(result, "operating_screening"), taus(result, "operating_alerts")
    for slider, index in (("#tau-neg", len(below) - 1), ("#tau-pos", 0), ("#tau-neg", 120), ("#tau-pos", 40)):
        move(page, slider, index)
        neg, pos = int(page.input_value("#tau-neg")), int(page.input_value("#tau-pos"))
        assert below[neg] <= above[pos]
        assert (neg if slider == "#tau-neg" else pos) == index


@pytest.mark.slow
def test_another_prevalence_follows_from_the_likelihood_ratio(page: Page, result: Result) -> None:
    rows = pl.read_csv(result.folder / "figures" / "operating_alerts.csv")
    index = next(
        i for i, row in enumerate(rows.iter_rows(named=True)) if i > 60 and row["likelihood_ratio_high"] is not None
    )
    move(page, "#tau-pos", index)
    own = readings(page)
    page.fill("#prevalence-percent", "2.5")
    found, row, odds = readings(page), rows.row(index, named=True), 0.025 / 0.975
    for key, column in (("value", ""), ("low", "_low"), ("high", "_high")):
        ratio = row[f"likelihood_ratio{column}"]
        assert found["alert_precision"][key] == pytest.approx(odds * ratio / (1 + odds * ratio), rel=1e-12)
    assert found["alert_precision"]["value"] != own["alert_precision"]["value"]
    assert found["sensitivity"] == own["sensitivity"]
    assert found["alerts_per_1000"]["value"] == pytest.approx(
        1000 * (0.025 * row["tpr"] + 0.975 * row["fpr"]), rel=1e-12
    )
    assert found["alerts_per_1000"]["low"] is None
    assert page.locator("#explorer-prevalence-note").is_visible()
    page.click("#explorer-prevalence-own")
    assert readings(page) == own
    assert not page.locator("#explorer-prevalence-note").is_visible()


@pytest.mark.slow
def test_a_share_that_is_none_changes_nothing(page: Page) -> None:
    before = readings(page)
    for typed in ("0", "100", "-3", ""):
        page.fill("#prevalence-percent", typed)
        assert page.get_attribute("#prevalence-percent", "aria-invalid") == "true"
        assert readings(page) == before
    page.keyboard.press("Tab")
    assert page.get_attribute("#prevalence-percent", "aria-invalid") == "false"
    assert page.input_value("#prevalence-percent") != ""


def test_keys_move_the_sliders(page: Page) -> None:
    page.focus("#tau-neg")
    start = int(page.input_value("#tau-neg"))
    page.keyboard.press("ArrowRight")
    assert int(page.input_value("#tau-neg")) == start + 1
    assert page.locator("#explorer-warning .note").is_visible()
    page.keyboard.press("Home")
    assert readings(page)["sensitivity"]["value"] == 1
    assert readings(page)["neg_rate"]["value"] == 0
    assert page.get_attribute("#explorer-dots", "data-neg") == "0"
    assert "0 are skipped" in page.inner_text("#explorer-words")
    assert "of 1,000 skipped" in (page.get_attribute("#tau-neg", "aria-valuetext") or "")
