"""Calibration measures, worked by hand: bins and their edges, scores, odds, and the equations that a fit solves."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from scipy.special import logit as log_odds

from builders.queries import F, detector, estimate, exactly, hand_worked, value
from evidentia.measures.calibration import bin_of
from evidentia.tables import Run

LABELS = (1, 0, 1, 0, 1, 0, 0, 0)
PROBS = (0.9, 0.8, 0.7, 0.7, 0.4, 0.3, 0.2, 0.1)


@pytest.fixture(scope="module")
def eight() -> Run:
    return detector(LABELS, PROBS)


@hand_worked("ECE")
def test_ece_adds_the_gap_of_every_bin(eight: Run) -> None:
    # bins 9 8 7 4 3 2 1: gaps |sum of prob - sum of labels| = .1 .8 .4 .6 .3 .2 .1, over 8 queries
    assert value(eight, "ECE") == exactly(F(25, 10) / 8)


@hand_worked("ECE")
def test_the_confidence_of_a_bin_is_its_mean_prob_not_its_middle() -> None:
    assert value(detector([0, 1], [0.42, 0.48]), "ECE") == exactly(abs(F(90, 100) - 1) / 2)


@hand_worked("ECE")
def test_ece_with_two_bins_lets_errors_cancel_within_them(eight: Run) -> None:
    # upper bin: 0.9 + 0.8 + 0.7 + 0.7 = 3.1 against 2; lower bin: 0.4 + 0.3 + 0.2 + 0.1 = 1 against 1
    assert value(eight, "ECE(bins=2)") == exactly(F(11, 10) / 8)
    # three bins: >= 2/3 the upper four; >= 1/3 only 0.4 (gap .6); below 0.3 + 0.2 + 0.1 (gap .6)
    assert value(eight, "ECE(bins=3)") == exactly(F(11 + 6 + 6, 10) / 8)


@hand_worked("ECE")
@pytest.mark.parametrize(
    ("prob", "bin_index"),
    [
        (0.0, 0),
        (0.1, 1),
        (0.3, 3),  # linspace puts its third edge above the double 0.3
        (0.6, 6),
        (0.7, 7),
        (math.nextafter(0.3, 0), 2),
        (math.nextafter(0.6, 0), 5),
        (math.nextafter(0.7, 0), 6),
        (0.99, 9),
        (1.0, 9),
    ],
)
def test_bins_start_at_the_doubles_i_over_10_and_the_last_holds_1(prob: float, bin_index: int) -> None:
    assert bin_of(np.array([prob]), 10).tolist() == [bin_index]


@hand_worked("ECE")
def test_a_prob_on_an_edge_shares_the_bin_above_it() -> None:
    # 0.3 and 0.35 share bin 3, so that a gap of -0.7 and one of +0.35 cancel in part
    assert value(detector([1, 0], [0.3, 0.35]), "ECE") == exactly(F(35, 100) / 2)
    # 0.6 and 0.55 do not share one
    assert value(detector([1, 0], [0.6, 0.55]), "ECE") == exactly((F(4, 10) + F(55, 100)) / 2)
    # 1.0 and 0.95 do
    assert value(detector([0, 1], [1.0, 0.95]), "ECE") == exactly(F(95, 100) / 2)


@hand_worked("ECE(debiased)")
def test_the_debiased_error_is_the_one_that_would_be_expected_to_look_as_large() -> None:
    # two posts of one query, gaps -0.1 and 0.2: as shares of 2 queries 0.05 and 0.1, each with its own size as its
    # standard error; c solves E|N(c, 1)| = 1, which is 0.7271: 2 x 0.30629 + 0.7271 x 0.53282 = 1.00000
    assert value(detector([1, 0], [0.9, 0.2]), "ECE(debiased)") == pytest.approx(0.15 * 0.7271, abs=1e-5)


@hand_worked("ECE(debiased)")
def test_an_error_that_noise_explains_is_no_error() -> None:
    # gaps of 0.05 with standard errors of 0.5 each: chance alone would give 0.8, and 0.1 was seen
    assert value(detector([1, 0, 0, 1], [0.55, 0.55, 0.45, 0.35]), "ECE(debiased)") == 0.0


@hand_worked("ECE(debiased)")
def test_an_error_without_noise_between_posts_stays_as_it_is() -> None:
    assert value(detector([1] * 8, [0.75] * 8), "ECE(debiased)") == exactly(F(1, 4))


@hand_worked("Brier")
def test_brier_is_the_mean_squared_error(eight: Run) -> None:
    assert value(eight, "Brier") == exactly(F(1 + 64 + 9 + 49 + 36 + 9 + 4 + 1, 100) / 8)


@hand_worked("LogLoss")
def test_log_loss_is_the_mean_surprise(eight: Run) -> None:
    likelihood = F(9 * 2 * 7 * 3 * 4 * 7 * 8 * 9, 10**8)
    assert value(eight, "LogLoss") == exactly(-math.log(likelihood) / 8)


@hand_worked("LogLoss")
def test_a_certain_error_costs_52_coin_tosses_and_a_certain_hit_almost_nothing() -> None:
    assert value(detector([0], [1.0]), "LogLoss") == exactly(52 * math.log(2))
    assert value(detector([1], [0.0]), "LogLoss") == exactly(52 * math.log(2))
    assert value(detector([1], [1.0]), "LogLoss") == exactly(2.0**-52)


@hand_worked("NetBenefit@t=0.2")
@pytest.mark.parametrize(
    ("t", "expected"),
    [
        ("0", F(3, 8)),  # acting on all, and false alarms cost nothing
        ("0.2", F(3, 8) - F(4, 8) * F(1, 4)),
        ("0.4", F(3, 8) - F(2, 8) * F(2, 3)),
        ("0.5", F(2, 8) - F(2, 8)),
        ("0.8", F(1, 8) - F(1, 8) * 4),
        ("0.95", F(0)),
    ],
)
def test_net_benefit_pays_for_false_alarms_at_the_odds_of_the_threshold(eight: Run, t: str, expected: F) -> None:
    assert value(eight, f"NetBenefit@t={t}") == exactly(expected)


@hand_worked("NetBenefit@t=0.2")
def test_net_benefit_at_certainty_is_undefined(eight: Run) -> None:
    found = estimate(eight, "NetBenefit@t=1")
    assert (found.value, found.degenerate) == (0.0, "a threshold of 1 makes a false alarm infinitely bad")


@hand_worked("CalibrationSlope", "CalibrationIntercept")
def test_two_distinct_probs_fix_the_slope() -> None:
    # at 0.2 (log-odds -ln 4) 1 of 3 is positive (-ln 2), at 0.8 (ln 4) 2 of 3 (ln 2): slope ln 2 / ln 4
    run = detector([1, 0, 0, 1, 1, 0], [0.2] * 3 + [0.8] * 3)
    assert value(run, "CalibrationSlope") == pytest.approx(1 / 2, abs=1e-12)
    assert value(run, "CalibrationIntercept") == pytest.approx(0, abs=1e-12)


@hand_worked("CalibrationIntercept")
def test_one_prob_shifts_by_the_difference_of_log_odds() -> None:
    # says 0.2, happens half of the time: ln 1 - ln(1/4) = ln 4
    assert value(detector([1, 0], [0.2, 0.2]), "CalibrationIntercept") == pytest.approx(math.log(4), abs=1e-12)


@hand_worked("CalibrationSlope", "CalibrationIntercept")
def test_the_fits_solve_their_score_equations(eight: Run) -> None:
    x, y = log_odds(np.array(PROBS)), np.array(LABELS)
    a = value(eight, "CalibrationIntercept")
    assert np.sum(y - expit(a + x)) == pytest.approx(0, abs=1e-10)
    b = value(eight, "CalibrationSlope")
    own = brentq(lambda a: np.sum(y - expit(a + b * x)), -50, 50, xtol=1e-14)
    assert np.sum(x * (y - expit(own + b * x))) == pytest.approx(0, abs=1e-10)


@hand_worked("CalibrationSlope", "CalibrationIntercept")
@pytest.mark.parametrize(
    ("labels", "probs", "slope_reason", "intercept_reason"),
    [
        ([1, 1], [0.2, 0.8], "one class only", "one class only"),
        ([0, 0], [0.2, 0.8], "one class only", "one class only"),
        ([0, 1], [0.4, 0.4], "no spread", None),
        ([0, 1], [0.2, 0.8], "separated perfectly", None),
        ([1, 0], [0.2, 0.8], "separated perfectly", None),
        ([0, 0, 1, 1], [0.2, 0.5, 0.5, 0.8], "separated perfectly", None),  # but for a tie
        ([0, 1, 1], [0.0, 1.0, 1.0], "separated perfectly", "no shift"),  # hard answers, all right
        ([1, 0, 0], [0.0, 1.0, 1.0], "separated perfectly", "no shift"),  # all wrong
        ([0, 0, 1, 1], [0.0, 1.0, 0.0, 1.0], "clipping", "no shift"),  # half and half: the mean is right at any shift
        ([1, 0, 0], [1.0, 1.0, 1.0], "no spread", "no shift"),
        ([0, 0, 1, 1, 1], [0.0, 1.0, 0.5, 0.0, 1.0], "clipping", "no shift"),  # the 0.5 would have to become 1
        ([0, 1, 0, 1, 1], [0.0, 0.5, 0.5, 0.0, 0.0], "clipping", "no shift"),  # three positives for two that can move
        ([0, 1, 0, 0, 1], [0.0, 0.5, 0.5, 1.0, 0.0], "clipping", None),  # one wrong yes for one wrong no
        ([0, 1, 0, 1], [2.0**-53, 0.6, 0.4, 1.0], "separated perfectly", None),
        ([0, 1, 0, 1], [0.0, 0.4, 0.6, 1.0], None, None),
    ],
)
def test_where_no_finite_solution_exists_it_says_why(
    labels: list[int], probs: list[float], slope_reason: str | None, intercept_reason: str | None
) -> None:
    run = detector(labels, probs)
    for name, reason in (("CalibrationSlope", slope_reason), ("CalibrationIntercept", intercept_reason)):
        found = estimate(run, name)
        assert (reason or "None") in str(found.degenerate)
        assert found.value == 0.0 or reason is None


@hand_worked("CalibrationIntercept", "CalibrationSlope")
@pytest.mark.parametrize(
    ("labels", "probs"),
    [
        ([1, 0, 0], [1 - 1e-15, 1 - 1e-15, 1 - 1e-15]),
        ([1, 0, 1, 0], [1e-15, 1 - 1e-15, 1 - 1e-15, 1e-15]),
        ([1, 0, 0, 0, 0, 0], [0.001, 0.999, 0.999, 0.999, 0.999, 0.999]),
        ([1, 0, 1, 0], [1e-300, 1e-10, 0.5, 1.0]),
    ],
)
def test_extreme_probs_still_have_an_intercept(labels: list[int], probs: list[float]) -> None:
    found = estimate(detector(labels, probs), "CalibrationIntercept")
    assert found.degenerate is None
    assert found.value == pytest.approx(float(shift_in_decimals(labels, probs)), abs=1e-9)


@hand_worked("CalibrationIntercept")
def test_what_is_certain_stays_so_and_the_rest_makes_up_for_it() -> None:
    # a no at 1 and a yes at 0 cancel; of the two at 0.2 one is positive: ln 1 - ln(1/4) = ln 4, however many say 0
    for more in (0, 10_000):
        run = detector([0, 1, 1, 0] + [0] * more, [1.0, 0.0, 0.2, 0.2] + [0.0] * more)
        assert value(run, "CalibrationIntercept") == pytest.approx(math.log(4), abs=1e-12)


def shift_in_decimals(labels: list[int], probs: list[float]) -> Decimal:
    """The root with fifty digits: in doubles the nearly certain probabilities cancel, and the root with them."""
    free = [prob for prob in probs if 2.0**-52 < prob < 1 - 2.0**-52]
    x, wanted = log_odds(np.array(free)), sum(labels) - sum(prob >= 1 - 2.0**-52 for prob in probs)
    with localcontext(prec=50):
        low, high = Decimal(-100), Decimal(100)
        for _ in range(100):
            middle = (low + high) / 2
            means = [1 / (1 + (-(middle + Decimal(float(odds)))).exp()) for odds in x]
            low, high = (middle, high) if wanted > sum(means) else (low, middle)
        return low


@hand_worked("CalibrationSlope", "CalibrationIntercept")
@pytest.mark.parametrize("seed", range(8))
def test_the_slope_is_that_of_an_unpenalised_logistic_regression(seed: int) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(seed)
    prob = np.round(rng.uniform(0.02, 0.98, 60), 2)
    label = rng.random(60) < expit(0.4 + 0.6 * log_odds(prob))
    fitted = linear_model.LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(log_odds(prob)[:, None], label)
    assert value(detector(label.astype(int), prob), "CalibrationSlope") == pytest.approx(fitted.coef_[0, 0], abs=1e-7)


@hand_worked("CalibrationSlope")
@pytest.mark.parametrize("spread", [1e-2, 1e-4, 1e-6])
def test_probs_close_together_have_a_slope_too(spread: float) -> None:
    # 2 of 6 at the lower prob and 4 of 6 at the higher one: overlapping labels, so nothing is separated
    low, high = 0.5 - spread, 0.5 + spread
    run = detector([1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0], [low] * 6 + [high] * 6)
    found = estimate(run, "CalibrationSlope")
    assert found.degenerate is None
    assert found.value == pytest.approx(2 * math.log(2) / (log_odds(high) - log_odds(low)), rel=1e-6)
