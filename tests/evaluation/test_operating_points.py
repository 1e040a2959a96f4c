"""The curves over thresholds say what the library says of a run whose states such a threshold has set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidentia.evaluation.evaluate import evaluate_run
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.operating_points import operating_curves, threshold_grid
from evidentia.results import Estimate
from evidentia.synth import synthetic_run
from evidentia.tables import Run, read_run
from sampling import examples

Rows = Sequence[tuple[str, int, float]]  # post, label, prob
Point = dict[str, Any]
HOW = Resampling(resamples=200)
SCREENING = {"neg_rate": "NegRate", "sensitivity": "ScreeningSensitivity", "fn_per_1000": "ScreeningFNPer1000"}
ALERTS = {"alert_precision": "AlertPrecision", "alerts_per_1000": "AlertsPer1000"}
SMALL: Rows = (("a", 1, 0.9), ("a", 0, 0.7), ("b", 1, 0.7), ("b", 0, 0.2), ("c", 0, 0.1), ("c", 0, 0.2))


def frame(rows: Rows, **columns: object) -> pl.DataFrame:
    posts, labels, probs = zip(*rows, strict=True)
    criteria = [f"C{at}" for at in range(len(rows))]
    data = {"post_id": posts, "criterion_id": criteria, "has_evidence": labels, "prob": probs}
    return pl.DataFrame(data, strict=False).with_columns(**{name: pl.lit(value) for name, value in columns.items()})


def points(run: Run, how: Resampling = HOW) -> dict[str, list[Point]]:
    """Every curve, its rows by column."""
    made = operating_curves(run, how, how.plan(run.queries))
    return {curve.name: [dict(zip(curve.columns, row, strict=True)) for row in curve.rows()] for curve in made}


def at(rows: list[Point], tau: float) -> Point:
    return next(row for row in rows if row.get("tau", row.get("threshold")) == tau)


def same(point: Point, column: str, estimate: Estimate, names: tuple[str, str] | None = None) -> None:
    """To the last digit: value, and both limits; what is a convention is null."""
    low, high = names or (f"{column}_low", f"{column}_high")
    assert point[column] == (None if estimate.degenerate else estimate.value)
    assert (point[low], point[high]) == (estimate.ci or (None, None))


def with_thresholds(data: pl.DataFrame, low: float, high: float) -> Run:
    """The run as two thresholds for all queries would have it."""
    return read_run(data.with_columns(tau_neg=pl.lit(low), tau_pos=pl.lit(high)))


def check_against_the_library(data: pl.DataFrame, taus: Sequence[float], how: Resampling = HOW) -> None:
    """At each threshold, as tau_neg and as tau_pos."""
    found = points(read_run(data), how)
    for tau in taus:
        screened = evaluate_run(with_thresholds(data, tau, 1.0), measures=SCREENING.values(), resampling=how)
        for column, name in SCREENING.items():
            same(at(found["operating_screening"], tau), column, screened[name])
        alerted = evaluate_run(with_thresholds(data, 0.0, tau), measures=ALERTS.values(), resampling=how)
        for column, name in ALERTS.items():
            same(at(found["operating_alerts"], tau), column, alerted[name])


def test_by_hand() -> None:
    found = points(read_run(frame(SMALL, tau_neg=0.5, tau_pos=0.8)), Resampling(resamples=0))
    screening, alerts = found["operating_screening"], found["operating_alerts"]
    assert [row["tau"] for row in screening] == [0.0, 0.1, 0.2, 0.5, 0.7, 0.9]
    assert [row["skipped"] for row in screening] == [0, 0, 1, 3, 3, 5]
    assert [row["missed"] for row in screening] == [0, 0, 0, 0, 0, 1]
    assert screening[-1] == {
        **{"tau": 0.9, "skipped": 5, "missed": 1, "neg_rate": 5 / 6},
        **{"sensitivity": 0.5, "fn_per_1000": 1000 / 6},
    }
    assert [row["tau"] for row in alerts] == [0.1, 0.2, 0.7, 0.8, 0.9]
    assert [(row["alerts"], row["right"]) for row in alerts] == [(6, 2), (5, 2), (3, 2), (1, 1), (1, 1)]
    assert at(alerts, 0.7) == {
        **{"tau": 0.7, "alerts": 3, "right": 2, "alert_precision": 2 / 3, "alerts_per_1000": 500.0},
        **{"tpr": 1.0, "fpr": 0.25, "likelihood_ratio": 4.0},
    }
    assert at(alerts, 0.8)["likelihood_ratio"] is None  # no false alert: nothing bounds it
    # at 0.2 five are acted on, two rightly: 2/6 - 3/6 x 0.25
    assert at(found["decision"], 0.2)["net_benefit"] == pytest.approx(2 / 6 - 3 / 6 * 0.25)
    assert at(found["decision"], 0.2)["treat_all"] == pytest.approx(2 / 6 - 4 / 6 * 0.25)
    assert {row["treat_none"] for row in found["decision"]} == {0.0}
    assert [row["threshold"] for row in found["decision"]] == [percent / 100 for percent in range(1, 100)]


def test_the_ratio_carries_precision_to_another_prevalence() -> None:
    for row in points(read_run(frame(SMALL)), Resampling(resamples=0))["operating_alerts"]:
        if row["likelihood_ratio"] is not None:
            odds = (2 / 6) / (4 / 6) * row["likelihood_ratio"]
            assert odds / (1 + odds) == pytest.approx(row["alert_precision"])


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    "how",
    [
        HOW,
        Resampling(resamples=150, seed=3, level=0.9, method="bca"),
        Resampling(resamples=150, stratify=True, block=7),
    ],
    ids=["percentile", "bca", "stratified"],
)
def test_five_random_thresholds_are_those_of_the_library(how: Resampling) -> None:
    made = synthetic_run(seed=11, posts=50, criteria=5, positives=40, mean_candidates=4, ties=0.2).per_query
    data = made.drop("state", "tau_neg", "tau_pos", "ranked_sent_uids", "selected_sent_uids", strict=False)
    found = points(read_run(data), how)
    grid = sorted({row["tau"] for row in found["operating_screening"]} & {r["tau"] for r in found["operating_alerts"]})
    rng = np.random.default_rng(5)
    taus = [grid[0], *rng.choice(grid, 5, replace=False).tolist(), grid[-1]]
    check_against_the_library(data, taus, how)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_decision_curve_is_the_librarys_net_benefit(method: Any) -> None:
    how = Resampling(resamples=120, method=method)
    run = read_run(synthetic_run(seed=4, posts=40, criteria=4, positives=25, mean_candidates=4).per_query)
    names = [f"NetBenefit@t={percent / 100:g}" for percent in range(1, 100)]
    library = evaluate_run(run, measures=names, resampling=how)
    for name, row in zip(names, points(run, how)["decision"], strict=True):
        same(row, "net_benefit", library[name], ("low", "high"))


probabilities = st.sampled_from([0.0, 0.01, 0.2, 0.29, 0.5, 1.0]) | st.floats(0, 1)
small_runs = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 1), probabilities), min_size=1, max_size=12)


@examples(25)
@given(rows=small_runs, data=st.data())
def test_small_runs_agree_with_the_library(rows: Rows, data: st.DataObject) -> None:
    tau = data.draw(st.sampled_from([prob for _, _, prob in rows]))
    check_against_the_library(frame(rows), [tau], Resampling(resamples=20))


@examples(40)
@given(rows=small_runs)
def test_the_ratio_is_that_of_a_plain_loop(rows: Rows) -> None:
    run = read_run(frame(rows))
    posts = sorted({post for post, _, _ in rows})
    found = points(run, Resampling(resamples=30))["operating_alerts"]
    for row in found:
        assert row["likelihood_ratio"] == _ratio(rows, row["tau"], finite=True)
        values = []
        for replicate in range(30):
            picks = np.random.Generator(np.random.Philox(key=[7, replicate])).integers(len(posts), size=len(posts))
            drawn = [one for pick in picks for one in rows if one[0] == posts[pick]]
            values.append(_ratio(drawn, row["tau"]))
        limits = _limits([value for value in values if value is not None])
        if row["likelihood_ratio"] is None or limits[0] == limits[1]:
            limits = (None, None)
        assert (row["likelihood_ratio_low"], row["likelihood_ratio_high"]) == pytest.approx(limits)


def _ratio(rows: Rows, tau: float, *, finite: bool = False) -> float | None:
    positives, negatives = [r for r in rows if r[1]], [r for r in rows if not r[1]]
    right, wrong = (sum(prob >= tau for _, _, prob in part) for part in (positives, negatives))
    if not positives or not negatives or right + wrong == 0 or (finite and not wrong):
        return None
    return (right / len(positives)) / (wrong / len(negatives)) if wrong else np.inf


def _limits(values: list[float]) -> tuple[float | None, float | None]:
    """Type 7 percentiles; one that lies beyond all finite values, or between one and infinity, is none."""
    if not values:
        return None, None
    ranked = sorted(values)
    found = []
    for share in (0.025, 0.975):
        place = (len(ranked) - 1) * share
        low, high = ranked[int(place)], ranked[min(int(place) + 1, len(ranked) - 1)]
        part = place - int(place)
        limit = low if part == 0 or low == high else low + (high - low) * part
        found.append(limit if np.isfinite(limit) else None)
    return found[0], found[1]


def test_a_ratio_that_a_resample_can_make_infinite_has_no_upper_limit() -> None:
    rows = [*((f"p{i}", 1, 0.9) for i in range(5)), *((f"n{i}", 0, 0.1) for i in range(9)), ("n9", 0, 0.9)]
    row = at(points(read_run(frame(rows)))["operating_alerts"], 0.9)
    assert row["likelihood_ratio"] == pytest.approx(10.0)
    assert row["likelihood_ratio_low"] < 10
    assert row["likelihood_ratio_high"] is None


def test_nothing_alerts() -> None:
    row = at(points(read_run(frame(SMALL, tau_neg=0.1, tau_pos=1.0)))["operating_alerts"], 1.0)
    assert row["alerts"] == 0
    assert [row[name] for name in ("alert_precision", "alert_precision_low", "alert_precision_high")] == [None] * 3
    assert row["alerts_per_1000"] == 0.0
    assert [row[name] for name in ("likelihood_ratio", "likelihood_ratio_low")] == [None] * 2


def test_exact_limits_where_a_share_does_not_vary() -> None:
    row = points(read_run(frame(SMALL)))["operating_screening"][0]
    assert (row["tau"], row["neg_rate"], row["neg_rate_low"]) == (0.0, 0.0, 0.0)
    assert row["neg_rate_high"] == pytest.approx(1 - 0.025 ** (1 / 3))  # none of three posts
    assert row["sensitivity_low"] == pytest.approx(0.025 ** (1 / 2))  # both of the two posts with evidence
    assert (row["fn_per_1000"], row["fn_per_1000_low"]) == (0.0, 0.0)
    assert row["fn_per_1000_high"] == pytest.approx(1000 * (1 - 0.025 ** (1 / 3)))


def test_one_class_has_no_sensitivity() -> None:
    found = points(read_run(frame([("a", 0, 0.3), ("b", 0, 0.6)])))
    assert {row["sensitivity"] for row in found["operating_screening"]} == {None}
    assert {(row["tpr"], row["likelihood_ratio"]) for row in found["operating_alerts"]} == {(None, None)}


def test_the_grid_holds_201_thresholds_and_the_deployed_ones() -> None:
    prob = np.random.default_rng(1).random(5000)
    grid = threshold_grid(prob, [0.123, 0.456], [0.0])
    assert len(grid) == 201
    assert {0.0, 0.123, 0.456, prob.min(), prob.max()} <= set(grid.tolist())
    assert np.all(np.diff(grid) > 0)
    assert len(threshold_grid(prob, np.linspace(0, 1, 50).tolist(), [0.0])) == 201
    many = np.linspace(0.001, 0.999, 51).tolist()
    assert not set(many) & set(threshold_grid(prob, many).tolist())


def test_labels_have_no_say_in_the_grid() -> None:
    turned = [(post, 1 - label, prob) for post, label, prob in SMALL]
    for name in ("operating_screening", "operating_alerts"):
        one, other = (points(read_run(frame(rows)))[name] for rows in (SMALL, turned))
        assert [row["tau"] for row in one] == [row["tau"] for row in other]


def test_without_probabilities_there_are_none() -> None:
    run = read_run(frame(SMALL).rename({"prob": "detection_score"}))
    assert points(run) == {}


def test_blocks_change_nothing() -> None:
    run = read_run(synthetic_run(seed=4, posts=40, criteria=4, positives=25, mean_candidates=4).per_query)
    assert points(run, Resampling(resamples=50)) == points(run, Resampling(resamples=50, block=3))
