"""The twins against hand-worked examples, a double loop, and the solvers of the fast side."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidentia.measures import PROFILES, resolve
from evidentia.measures.calibration import calibration_intercept, calibration_slope
from evidentia.results.names import Cut, group_suffix, parse_name
from evidentia.verify.evidence import Query
from evidentia.verify.plan import Planner, RecomputedNumber
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally

few_scores = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.booleans()), max_size=25)


def recomputed(queries: list[Query], name: str, tune: list[Query] | None = None) -> RecomputedNumber:
    return Planner(Study(queries, tune or [])).number(resolve(name, PROFILES["contract"]).definition, ())


def number(queries: list[Query], name: str, tune: list[Query] | None = None) -> float:
    return recomputed(queries, name, tune).value


def of_probs(*pairs: tuple[float, bool]) -> list[Query]:
    return [Query(f"p{i}", "A", label, fold="0", prob=prob) for i, (prob, label) in enumerate(pairs)]


@settings(deadline=None)
@given(few_scores.filter(lambda pairs: len({label for _, label in pairs}) == 2))
def test_pairs_are_counted_as_in_a_double_loop(pairs: list[tuple[float, bool]]) -> None:
    halves = sum(2 if high > low else high == low for high, yes in pairs if yes for low, no in pairs if not no)
    positives = sum(label for _, label in pairs)
    assert number(of_probs(*pairs), "AUROC") == pytest.approx(halves / 2 / (positives * (len(pairs) - positives)))


@settings(deadline=None)
@given(
    few_scores.filter(lambda pairs: len({label for _, label in pairs}) == 2),
    st.sampled_from(["1%", "20%", "50%", "100%"]),
)
def test_the_best_rate_within_a_budget_tries_every_threshold(pairs: list[tuple[float, bool]], budget: str) -> None:
    negatives = [score for score, label in pairs if not label]
    positives = [score for score, label in pairs if label]
    allowed = float(budget[:-1]) / 100
    rates = [
        sum(score >= t for score in positives) / len(positives)
        for t in [score for score, _ in pairs] + [math.inf]
        if sum(score >= t for score in negatives) / len(negatives) <= allowed
    ]
    assert number(of_probs(*pairs), f"TPR(same)@FPR={budget}") == max(rates)


def test_detection_of_the_audit_document() -> None:
    queries = of_probs((0.9, True), (0.7, True), (0.4, False), (0.2, False), (0.8, True))
    assert number(queries, "AUROC") == number(queries, "AUPRC") == 1.0


def test_average_precision_gives_tied_scores_one_precision() -> None:
    queries = of_probs((0.9, False), (0.5, True), (0.5, False), (0.1, True))
    assert number(queries, "AUPRC") == pytest.approx((1 / 3 + 2 / 4) / 2)


def test_the_last_bin_holds_certainty() -> None:
    queries = of_probs((1.0, False), (0.95, True), (0.3, False))
    assert number(queries, "ECE") == pytest.approx((2 / 3) * abs(1.95 / 2 - 0.5) + (1 / 3) * 0.3)
    bins = recomputed(queries, "ECE").details["bins"]
    assert [b["n"] for b in bins] == [0, 0, 0, 1, 0, 0, 0, 0, 0, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Recall@3", 1 / 3),
        ("Precision@3", 1 / 3),
        ("Precision(depth=k_eff)@10", 2 / 5),
        ("Precision@ALL", 2 / 5),
        ("HitRate@1", 0.0),
        ("MRR", 1 / 2),
        ("MRR@1", 0.0),
        ("MAP(norm=gold)@3", (1 / 2) / 3),
        ("MAP(norm=found)@5", (1 / 2 + 2 / 5) / 2),
        ("MAP(norm=min)@2", (1 / 2) / 2),
        ("MAP(norm=min_eff)@10", (1 / 2 + 2 / 5) / 3),
        ("nDCG@3", (1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / 2)),
    ],
)
def test_ranking_by_hand(name: str, value: float) -> None:
    query = Query("p", "A", True, gold=("b", "e", "x"), ranked=("a", "b", "c", "d", "e"))
    assert number([query], name) == pytest.approx(value)


def test_one_hit_of_three_on_top_is_not_perfect() -> None:
    query = Query("p", "A", True, gold=("a", "x", "y"), ranked=("a", "b", "c"))
    assert number([query], "nDCG@3") == pytest.approx(0.469, abs=5e-4)


@pytest.mark.parametrize(
    ("base", "value"),
    [
        ("MCC", (6 * 3 - 1 * 2) / math.sqrt(7 * 8 * 4 * 5)),
        ("F1", 12 / 15),
        ("BalancedAccuracy", (6 / 8 + 3 / 4) / 2),
        ("NPV", 3 / 5),
    ],
)
def test_confusion_by_hand(base: str, value: float) -> None:
    table = [*[(0.9, True)] * 6, (0.9, False), *[(0.1, True)] * 2, *[(0.1, False)] * 3]
    assert number(of_probs(*table), f"{base}(t=0.5)") == pytest.approx(value)


def test_the_fits_solve_their_equations() -> None:
    pairs = [
        (0.1, False),
        (0.2, False),
        (0.3, True),
        (0.4, False),
        (0.6, True),
        (0.7, False),
        (0.9, True),
        (0.95, True),
    ]
    queries = of_probs(*pairs)
    shift, slope = number(queries, "CalibrationIntercept"), number(queries, "CalibrationSlope")
    odds = [math.log(p / (1 - p)) for p, _ in pairs]
    assert math.fsum(
        y - 1 / (1 + math.exp(-(x + shift))) for x, (_, y) in zip(odds, pairs, strict=True)
    ) == pytest.approx(0)
    low, high = -30.0, 30.0
    for _ in range(200):  # the intercept that belongs to the slope, by halving
        a = (low + high) / 2
        rest = math.fsum(y - 1 / (1 + math.exp(-(a + slope * x))) for x, (_, y) in zip(odds, pairs, strict=True))
        low, high = (a, high) if rest > 0 else (low, a)
    along = math.fsum(x * (y - 1 / (1 + math.exp(-(a + slope * x)))) for x, (_, y) in zip(odds, pairs, strict=True))
    assert along == pytest.approx(0, abs=1e-9)


def test_a_threshold_comes_from_the_folds_own_tune_queries() -> None:
    queries = [*of_probs((0.6, True), (0.5, False)), Query("q", "A", True, fold="1", prob=0.9)]
    tune = [Query("t1", "A", True, fold="0", prob=0.55), Query("t2", "A", False, fold="0", prob=0.4)]
    assert number(queries, "TPR(tuned)@FPR=5%", tune) == 1.0
    study = Study(queries, tune)
    assert recomputed(queries, "TPR(tuned)@FPR=5%", tune).n == 1
    assert study.thresholds(Cut("FPR", Decimal("0.05")))["1"].reason == "cannot be tuned: no TUNE queries"


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(min_size=1, max_size=6), st.text(max_size=6)), max_size=3))
def test_groups_are_read_back(group: list[tuple[str, str]]) -> None:
    assert parse_name("AUROC" + group_suffix(tuple(group))).group == tuple(group)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1e-9, 0.2, 0.5, 0.9, 1.0]), st.booleans()), min_size=2, max_size=30))
def test_both_solvers_of_the_fits_agree_next_to_certainties(pairs: list[tuple[float, bool]]) -> None:
    prob, label = np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])
    for name, solve in (("CalibrationSlope", calibration_slope), ("CalibrationIntercept", calibration_intercept)):
        value, flaw = solve(prob, label, np.ones(len(pairs)))
        found = recomputed(of_probs(*pairs), name)
        assert (found.flaw is None) == (flaw == 0)
        assert found.value == pytest.approx(value, abs=1e-9)


def test_a_slope_that_hangs_on_a_tiny_overlap() -> None:
    """By a solver with sixty digits; one that drops the small part of a probability is off in the ninth decimal."""
    near = [(0.0, False), *[(1e-9, False)] * 3, (0.5, True), (0.5, True), (0.5000001, False), (0.9, True)]
    assert number(of_probs(*near), "CalibrationSlope") == pytest.approx(6.932069815344629, abs=1e-9)
    assert number(of_probs((0.0, False), (0.5, True), (0.5000001, False)), "CalibrationSlope") == pytest.approx(
        0.527407110882506, abs=1e-9
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.01, 0.99), min_size=2, max_size=20),
    st.floats(0.1, 0.9),
    st.floats(-7, -1).map(lambda power: 10.0**power),
)
def test_all_solvers_of_the_slope_agree_where_the_classes_hardly_overlap(
    probs: list[float], cut: float, overlap: float
) -> None:
    """Labels by a cut but for one pair beside it: a slope in the hundreds hangs on the last digits of two numbers.

    A slope of 84 at an overlap of 1e-7 was seen to differ by 2e-11 of itself: the last digit of a logarithm decides.
    """
    pairs = [(prob, prob > cut + overlap) for prob in probs] + [(cut, True), (cut + overlap, False)]
    prob, label = np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])
    value, flaw = calibration_slope(prob, label, np.ones(len(pairs)))
    found = recomputed(of_probs(*pairs), "CalibrationSlope")
    assert (found.flaw is None) == (flaw == 0)
    tally = Tally()
    tally.number("reference", value, found.value)
    assert tally.mismatches == []
