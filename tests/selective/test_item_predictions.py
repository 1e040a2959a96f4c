"""The functions over plain rows: hand-worked numbers, and the same as the rest of the package on a run."""

from __future__ import annotations

import random
from functools import partial

import polars as pl
import pytest

from evidentia import selective
from evidentia.errors import InputError
from evidentia.selective import (
    BootstrapDeltaResult,
    BootstrapResult,
    ItemPrediction,
    bootstrap_by_participant,
    compute_augrc,
    compute_aurc,
    compute_cmax,
    compute_risk_at_coverage,
    compute_risk_coverage_curve,
    paired_bootstrap_delta_by_participant,
)

AURC = partial(compute_aurc, loss="abs")


def run(seed: int, participants: int = 23, shift: float = 0.0) -> list[ItemPrediction]:
    """Eight items per participant, four in ten abstained, most confidences tied; the truth does not depend on the seed."""
    truth, drawn = random.Random(0), random.Random(seed)
    rows = []
    for person in range(participants):
        for item in range(8):
            gt = truth.randrange(4)
            pred = None if drawn.random() < 0.4 else min(3, max(0, gt + drawn.choice((-1, 0, 0, 1))))
            rows.append(ItemPrediction(person * 7, item, pred, gt, drawn.randrange(3) + shift))
    drawn.shuffle(rows)
    return rows


def frame(rows: list[ItemPrediction]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "cluster_id": [str(one.participant_id) for one in rows],
            "item": [str(one.item_index) for one in rows],
            "pred": [one.pred for one in rows],
            "gt": [one.gt for one in rows],
            "confidence": [one.confidence for one in rows],
        }
    )


def test_perfect_predictions_have_no_risk() -> None:
    rows = [ItemPrediction(1, item, 2, 2, item / 8) for item in range(8)]
    assert (compute_aurc(rows, loss="abs"), compute_augrc(rows, loss="abs_norm"), compute_cmax(rows)) == (0, 0, 1)


def test_one_prediction_among_eight() -> None:
    """Loss 2 at a coverage of 1/8: AURC 2/8, AUGRC 2/8 * 1/8, and half of all items is out of reach."""
    rows = [ItemPrediction(1, item, 3 if item == 4 else None, 1, 0.5) for item in range(8)]
    assert compute_aurc(rows, loss="abs") == pytest.approx(2 / 8)
    assert compute_aurc(rows, loss="abs_norm") == pytest.approx(2 / 3 / 8)
    assert compute_augrc(rows, loss="abs") == pytest.approx(2 / 64)
    assert compute_cmax(rows) == 1 / 8
    assert compute_risk_at_coverage(rows, target_coverage=0.1, loss="abs") == 2.0  # ceil(0.8) = 1 item
    assert compute_risk_at_coverage(rows, target_coverage=0.2, loss="abs") is None  # ceil(1.6) = 2 items


def test_the_curve_by_hand() -> None:
    """Losses 0, 2, 1 in the order of confidence, one of four abstained."""
    rows = [
        ItemPrediction(2, 0, 1, 0, 0.1),
        ItemPrediction(1, 1, 3, 1, 0.7),
        ItemPrediction(1, 0, 2, 2, 0.9),
        ItemPrediction(2, 1, None, 3, 0.0),
    ]
    curve = compute_risk_coverage_curve(rows, loss="abs")
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75]
    assert curve.risk.tolist() == [0.0, 1.0, 1.0]
    assert curve.joint_risk.tolist() == (curve.coverage * curve.risk).tolist() == [0.0, 0.5, 0.75]
    assert compute_aurc(rows, loss="abs") == pytest.approx((0 + 1 + 1) / 4)
    assert compute_augrc(rows, loss="abs") == pytest.approx((0 + 0.5 + 0.75) / 4)


def test_ties_are_ordered_by_participant_and_item_whatever_the_order_of_rows() -> None:
    rows = [ItemPrediction(person, item, 1, loss, 0.5) for person, item, loss in ((2, 0, 1), (1, 1, 3), (1, 0, 1))]
    found = {tuple(compute_risk_coverage_curve(random.Random(s).sample(rows, 3), loss="abs").risk) for s in range(9)}
    assert found == {(0.0, 1.0, 2 / 3)}


@pytest.mark.parametrize("loss", ["abs", "abs_norm"])
def test_the_same_numbers_and_limits_as_an_evaluation(loss: str) -> None:
    rows = run(3)
    names = {
        f"AURC(loss={loss})": partial(compute_aurc, loss=loss),
        f"AUGRC(loss={loss})": partial(compute_augrc, loss=loss),
        f"MAE(loss={loss})@coverage=0.55": partial(compute_risk_at_coverage, target_coverage=0.55, loss=loss),
        "Cmax": compute_cmax,
    }
    ours = selective.evaluate(frame(rows), seed=11, resamples=300, measures=list(names), item_max=3)
    for name, metric in names.items():
        made = bootstrap_by_participant(rows, metric, seed=11, n_resamples=300)
        assert isinstance(made, BootstrapResult)
        assert made.estimate == pytest.approx(ours[name].value, abs=1e-12), name
        assert made.ci == pytest.approx(ours[name].ci, abs=1e-12), name
        assert made.excluded == ours[name].replicates_left_out
    reached = bootstrap_by_participant(rows, names[f"MAE(loss={loss})@coverage=0.55"], seed=11, n_resamples=300)
    assert 0 < reached.exclusion_rate < 1


def test_the_same_difference_and_limits_as_a_comparison() -> None:
    a, b = run(3), run(4)
    compared = selective.compare(frame(a), frame(b), seed=5, resamples=200, loss="abs")
    made = paired_bootstrap_delta_by_participant(a, b, AURC, seed=5, n_resamples=200)
    assert isinstance(made, BootstrapDeltaResult)
    assert (made.a, made.b) == (AURC(a), AURC(b))
    assert made.estimate == pytest.approx(compared["AURC"].delta, abs=1e-12)
    assert made.ci == pytest.approx(compared["AURC"].ci, abs=1e-12)
    same = paired_bootstrap_delta_by_participant(a, a, AURC, seed=5, n_resamples=50)
    assert (same.estimate, same.ci, same.excluded) == (0.0, (0.0, 0.0), 0)


def test_a_metric_without_a_value_has_no_interval() -> None:
    rows = [ItemPrediction(person, 0, None, 1, 0.0) for person in range(4)]
    never = partial(compute_risk_at_coverage, target_coverage=0.5, loss="abs")
    made = bootstrap_by_participant(rows, never, seed=1, n_resamples=20)
    assert (made.estimate, made.ci, made.excluded, made.exclusion_rate) == (None, None, 20, 1.0)


def test_bad_rows_are_refused() -> None:
    rows = run(3)
    with pytest.raises(InputError, match="There are no items"):
        bootstrap_by_participant([], AURC, seed=1, n_resamples=20)
    with pytest.raises(InputError, match="There are no items"):
        compute_aurc([], loss="abs")
    with pytest.raises(InputError, match=r"1 item of a participant occur twice"):
        bootstrap_by_participant([*rows, rows[0]], AURC, seed=1, n_resamples=20)
    with pytest.raises(InputError, match="same items and ground truth"):
        paired_bootstrap_delta_by_participant(rows, rows[1:], AURC, seed=1, n_resamples=20)
    with pytest.raises(InputError, match="loss must be"):
        compute_aurc(rows, loss="squared")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="finite confidence"):
        compute_aurc([ItemPrediction(1, 0, 1, 1, float("nan"))], loss="abs")
    with pytest.raises(InputError, match="needs resamples"):
        bootstrap_by_participant(rows, AURC, seed=1, n_resamples=0)


# instruments with other ranges than 0 to 3


def from_1_to_9(seed: int) -> list[ItemPrediction]:
    drawn = random.Random(seed)
    rows = []
    for person in range(12):
        for item in range(5):
            gt = drawn.randint(1, 9)
            pred = None if drawn.random() < 0.3 else min(9, max(1, gt + drawn.randint(-4, 4)))
            rows.append(ItemPrediction(person, item, pred, gt, float(drawn.randrange(4))))
    return rows


def test_an_instrument_of_another_range_by_hand() -> None:
    """Scores from 1 to 9: errors of 8 and 2 are 1 and 1/4 of the largest one."""
    rows = [ItemPrediction(1, 0, 9, 1, 0.9), ItemPrediction(1, 1, 3, 5, 0.5), ItemPrediction(1, 2, None, 4, 0.0)]
    assert compute_aurc(rows, loss="abs") == pytest.approx((8 + 5) / 3)
    assert compute_aurc(rows, loss="abs_norm", item_max=8) == pytest.approx((1 + 5 / 8) / 3)
    assert compute_augrc(rows, loss="abs_norm", item_max=8) == pytest.approx((1 / 3 + 1.25 / 3) / 3)
    assert compute_risk_at_coverage(rows, target_coverage=0.5, loss="abs_norm", item_max=8) == pytest.approx(5 / 8)
    assert compute_risk_coverage_curve(rows, loss="abs_norm", item_max=8).risk.tolist() == [1.0, 0.625]


def test_another_range_gives_the_numbers_and_limits_of_an_evaluation() -> None:
    rows = from_1_to_9(2)
    metric = partial(compute_augrc, loss="abs_norm", item_max=8)
    ours = selective.evaluate(frame(rows), seed=3, resamples=100, measures="AUGRC", item_max=8)["AUGRC"]
    drawn = bootstrap_by_participant(rows, metric, seed=3, n_resamples=100)
    assert drawn.estimate == pytest.approx(ours.value, abs=1e-12)
    assert drawn.ci == pytest.approx(ours.ci, abs=1e-12)


@pytest.mark.parametrize("item_max", [0, -1, float("nan"), float("inf")])
def test_the_largest_error_is_a_number_above_0(item_max: float) -> None:
    with pytest.raises(InputError, match="item_max must be a number above 0"):
        compute_aurc(from_1_to_9(2), loss="abs_norm", item_max=item_max)


def test_errors_beyond_the_largest_one_are_refused_and_counted() -> None:
    rows = [ItemPrediction(1, 0, 9, 1, 0.9), ItemPrediction(1, 1, 3, 5, 0.5)]
    with pytest.raises(InputError, match=r"^1 item off by more than item_max \(3\)"):
        compute_aurc(rows, loss="abs_norm")
    assert compute_aurc(rows, loss="abs") == pytest.approx((8 + 5) / 2)
