"""Calibrators fit what they should, are chosen by posts that they did not see, and survive being written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss as sklearn_log_loss

import evidentia
from evidentia.protocol import Calibrator, Provenance, choose_calibrator, fit_calibrator
from evidentia.protocol.calibrators import METHODS, log_loss, logit

RANDOM = np.random.default_rng(3)
TRUE_ODDS = RANDOM.normal(-1, 2, size=6000)
LABELS = RANDOM.random(6000) < 1 / (1 + np.exp(-TRUE_ODDS))


def sigmoid(odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-odds))


def test_temperature_undoes_overconfidence() -> None:
    found = fit_calibrator("temperature", sigmoid(3 * TRUE_ODDS), LABELS)
    assert found.parameters["temperature"][0] == pytest.approx(3, rel=0.07)


def test_platt_undoes_a_slope_and_a_shift_also_of_raw_scores() -> None:
    of_prob = fit_calibrator("platt", sigmoid(2 * TRUE_ODDS + 1), LABELS)
    assert of_prob.parameters["coefficients"] == pytest.approx((0.5, -0.5), abs=0.05)
    of_score = fit_calibrator("platt", 2 * TRUE_ODDS + 1, LABELS, score="detection_score")
    assert of_score.parameters["coefficients"] == pytest.approx(of_prob.parameters["coefficients"], rel=1e-5)
    assert of_score.apply(np.array([1.0])) == pytest.approx(sigmoid(np.array([0.0])), abs=0.03)


def test_beta_contains_platt_and_keeps_its_signs() -> None:
    a, b, c = fit_calibrator("beta", sigmoid(2 * TRUE_ODDS + 1), LABELS).parameters["coefficients"]
    assert (a, b, c) == pytest.approx((0.5, 0.5, -0.5), abs=0.15)
    upside_down = fit_calibrator("beta", sigmoid(-TRUE_ODDS), LABELS).parameters["coefficients"]
    assert upside_down[:2] == (0, 0)


def test_isotonic_is_that_of_scikit_learn() -> None:
    scores = sigmoid(TRUE_ODDS).round(2)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, LABELS)
    grid = np.linspace(-0.2, 1.2, 57)
    assert fit_calibrator("isotonic", scores, LABELS).apply(grid) == pytest.approx(theirs.predict(grid), abs=1e-12)


def test_log_loss_is_that_of_scikit_learn_also_at_0_and_1() -> None:
    said = np.array([0.0, 1.0, 0.3, 1.0])
    labels = np.array([True, True, False, False])
    assert log_loss(said, labels) == pytest.approx(sklearn_log_loss(labels, said))


@pytest.mark.parametrize("method", METHODS)
def test_written_read_back_and_applied_alike(method: str) -> None:
    prob = sigmoid(2 * TRUE_ODDS)
    fitted = fit_calibrator(method, prob, LABELS)
    again = Calibrator.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    ends = np.array([0.0, 1.0, 0.5])
    assert again.apply(prob).tolist() == fitted.apply(prob).tolist()
    assert ((again.apply(ends) >= 0) & (again.apply(ends) <= 1)).all()
    with pytest.raises(ValueError, match="do not fit"):
        Calibrator.from_dict({**fitted.to_dict(), "parameters": {"coefficients": [1.0]}})


def choose(scores: np.ndarray, labels: np.ndarray, posts: int, **options: object) -> Calibrator:
    post = np.arange(len(scores)) % posts
    made = Provenance("0", str(options.pop("score", "prob")), tuple(f"p{i:04d}" for i in range(posts)))
    return choose_calibrator(scores, labels, post, tuned_on=made, seed=7, **options)


@pytest.mark.parametrize(
    ("scores", "method"),
    [
        (sigmoid(TRUE_ODDS), {"none", "temperature", "platt", "beta"}),
        (sigmoid(4 * TRUE_ODDS), {"temperature"}),
        (sigmoid(TRUE_ODDS + 3), {"platt", "beta"}),
        (sigmoid(np.sign(TRUE_ODDS) * np.abs(TRUE_ODDS) ** 3 - 4), {"isotonic", "beta"}),
    ],
)
def test_the_method_that_fits_the_distortion_is_chosen(scores: np.ndarray, method: set[str]) -> None:
    found = choose(scores, LABELS, 600)
    assert found.method in method, dict(found.log_loss)
    assert set(found.log_loss) == set(METHODS)
    assert found.log_loss[found.method] == min(found.log_loss.values())


def test_the_comparison_holds_whole_posts_out() -> None:
    """Every post has one score of its own and one label: within a post the answer is known, between posts it is not.

    A method that could see the other queries of a post would look perfect; held out by post it must not.
    """
    random = np.random.default_rng(1)
    posts, queries = 61, 20
    label = random.random(posts) < 0.5
    found = choose(np.tile(random.random(posts), queries), np.tile(label, queries), posts)
    assert found.log_loss["isotonic"] > 0.5
    assert found.method != "isotonic"


def test_a_raw_score_is_never_left_as_it_is() -> None:
    found = choose(3 * TRUE_ODDS, LABELS, 600, score="detection_score")
    assert found.method in {"temperature", "platt", "isotonic"}
    assert "none" not in found.log_loss
    with pytest.raises(evidentia.InputError, match="no calibrator 'none' for detection_score"):
        choose(TRUE_ODDS, LABELS, 600, score="detection_score", method="none")
    with pytest.raises(evidentia.InputError, match="cannot be made probabilities"):
        choose(TRUE_ODDS, np.zeros(6000, bool), 600, score="detection_score")


def test_labels_of_one_class_leave_probabilities_alone_and_say_so() -> None:
    found = choose(sigmoid(TRUE_ODDS), np.zeros(6000, bool), 600)
    assert (found.method, found.reason) == ("none", "cannot be tuned: no TUNE queries with evidence")
    rare = np.zeros(6000, bool)
    rare[0] = True
    found = choose(sigmoid(TRUE_ODDS), rare, 600)
    assert (found.method, found.reason) == (
        "none",
        "cannot be tuned: too few posts with evidence to compare calibrators",
    )


def test_log_odds_are_finite_everywhere() -> None:
    assert np.isfinite(logit(np.array([0.0, 1.0]))).all()


def test_fits_are_optima_to_the_last_digits() -> None:
    """The slopes of the log-loss vanish: what another program finds is the same number, not one like it."""
    prob = sigmoid(2 * TRUE_ODDS + 1)
    a, b, c = fit_calibrator("beta", prob, LABELS).parameters["coefficients"]
    slope, shift = fit_calibrator("platt", prob, LABELS).parameters["coefficients"]
    (temperature,) = fit_calibrator("temperature", prob, LABELS).parameters["temperature"]
    odds = logit(prob)
    for said, columns in (
        (a * np.log(prob) - b * np.log1p(-prob) + c, (np.log(prob), np.log1p(-prob), np.ones(6000))),
        (slope * odds + shift, (odds, np.ones(6000))),
        (odds / temperature, (odds,)),
    ):
        assert [np.mean((sigmoid(said) - LABELS) * column) for column in columns] == pytest.approx(
            [0] * len(columns), abs=1e-13
        )


def test_separated_labels_have_no_platt_or_beta() -> None:
    prob = np.linspace(0.05, 0.95, 60)
    labels = prob > 0.6
    assert fit_calibrator("platt", prob, labels) is None
    assert fit_calibrator("beta", prob, labels) is None
    found = choose(prob, labels, 30)
    assert set(found.log_loss) == {"none", "temperature", "isotonic"}
    named = choose(prob, labels, 30, method="platt")
    assert (named.method, named.reason) == (
        "none",
        "cannot be tuned: platt has no finite optimum on labels that are separated",
    )


def test_scores_that_say_the_opposite_leave_beta_with_the_share_of_positives() -> None:
    a, b, c = fit_calibrator("beta", sigmoid(-TRUE_ODDS), LABELS).parameters["coefficients"]
    assert (a, b) == (0, 0)
    assert sigmoid(np.array(c)) == pytest.approx(LABELS.mean())
