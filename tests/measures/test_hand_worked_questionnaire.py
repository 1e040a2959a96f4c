"""Questionnaires, worked by hand: four people, three items from 0 to 3, the third one reversed."""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

import pytest

from builders.queries import F, exactly, hand_worked, selective, selective_estimate
from evidentia.tables import Items, read_items

worked = partial(hand_worked, profile="selective")
ITEMS = ("a", "b", "c")


def run_of(*people: tuple[Any, Any], high: int = 3, reversed_item: str = "c") -> Items:
    """Answers (None: abstained) and truth of everybody."""
    items = [{"id": own, "low": 0, "high": high, "reversed": own == reversed_item} for own in ITEMS]
    instrument = {"name": "three", "title": "Three", "items": items, "cuts": [5, 6]}
    results = [
        {
            "participant_id": at,
            "success": True,
            "predicted_items": dict(zip(ITEMS, pred, strict=True)),
            "ground_truth_items": dict(zip(ITEMS, gt, strict=True)),
            "item_signals": {own: {"confidence": 1.0} for own in ITEMS},
        }
        for at, (pred, gt) in enumerate(people)
    ]
    return read_items(
        {"run_metadata": {"instrument": instrument}, "experiments": [{"results": {"mode": "m", "results": results}}]}
    )


@pytest.fixture(scope="module")
def four() -> Items:
    """Totals, the third item as 3 - score: 3 of 5; 5 to 8 of 8; 0 to 6 of 1; 8 of 5."""
    return run_of(
        ((1, 2, 3), (1, 1, 0)), ((3, None, 1), (3, 3, 1)), ((0, None, None), (0, 1, 3)), ((2, 3, 0), (2, 1, 1))
    )


@pytest.fixture(scope="module")
def silent() -> Items:
    return run_of(((None, None, None), (1, 1, 0)), ((None, None, None), (3, 3, 1)))


@worked("MAE(avg=item)")
def test_every_item_weighs_the_same(four: Items) -> None:
    # a: 0 0 0 0; b: 1 2; c: 3 0 1
    assert selective(four, "MAE(avg=item)") == exactly((0 + F(3, 2) + F(4, 3)) / 3) == exactly(F(17, 18))
    assert selective(four, "MAE") == exactly(F(7, 9)), "answers weigh the same"
    assert selective(four, "MAE(avg=item,loss=abs_norm)") == exactly(F(17, 54))
    assert selective(four, "MAE(avg=item,loss=zero_one)") == exactly((0 + 1 + F(2, 3)) / 3)
    assert selective(four, "MAE(avg=item,loss=squared)") == exactly((0 + F(5, 2) + F(10, 3)) / 3)
    estimate = selective_estimate(four, "MAE(avg=item)")
    assert (estimate.n, estimate.left_out, estimate.details["items"]) == (9, {"abstained items": 3}, 3)


@worked("MAE(avg=item)")
def test_an_item_that_nobody_answers_is_left_out_of_the_mean_and_the_number_says_so() -> None:
    items = run_of(((1, None, 3), (1, 1, 0)), ((3, None, 1), (1, 3, 1)))
    assert selective(items, "MAE(avg=item)") == exactly((1 + F(3, 2)) / 2)
    assert selective_estimate(items, "MAE(avg=item)").details["items"] == 2


@worked("MAE", "Cmax")
def test_error_and_coverage_item_by_item(four: Items) -> None:
    assert selective(four, "MAE[item=a]") == exactly(0)
    assert selective(four, "MAE[item=b]") == exactly(F(3, 2))
    assert selective(four, "MAE[item=c]") == exactly(F(4, 3))
    assert [selective(four, f"Cmax[item={own}]") for own in ITEMS] == [exactly(1), exactly(F(1, 2)), exactly(F(3, 4))]
    estimate = selective_estimate(four, "MAE[item=b]")
    assert (estimate.n, estimate.left_out) == (2, {"abstained items": 2})


@worked("WeightedKappa")
def test_kappa_weighs_misses_by_their_square(four: Items) -> None:
    assert selective(four, "WeightedKappa[item=a]") == exactly(1)
    # b: answers 2 3 of 1 1: as far off as any pairing of the two, (1 + 4) / 2
    assert selective(four, "WeightedKappa[item=b]") == exactly(0)
    # c: answers 3 1 0 of 0 1 1: (9 + 0 + 1) / 3 against (17 + 1 + 2) / 9 over all pairs
    assert selective(four, "WeightedKappa[item=c]") == exactly(1 - F(10, 3) / F(20, 9)) == exactly(F(-1, 2))
    # all nine: 15 / 9 against 195 / 81
    assert selective(four, "WeightedKappa") == exactly(1 - F(15, 9) / F(195, 81)) == exactly(F(4, 13))


@worked("WeightedKappa")
def test_the_confusion_matrix_has_truth_in_rows_and_abstained_last(four: Items) -> None:
    matrix = selective_estimate(four, "WeightedKappa[item=c]").details["confusion"]
    assert matrix == [[0, 0, 0, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]]


@worked("WeightedKappa")
def test_where_chance_cannot_miss_kappa_is_null() -> None:
    alike = selective_estimate(run_of(((1, 1, 1), (1, 1, 1)), ((1, None, 1), (1, 3, 1))), "WeightedKappa")
    assert math.isnan(alike.value)
    assert alike.degenerate == "every answer and every true score are the same: chance alone would agree"


def test_kappa_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    chance = random.Random(4)
    people = [([chance.randint(0, 3) for _ in ITEMS], [chance.randint(0, 3) for _ in ITEMS]) for _ in range(30)]
    pred, gt = ([score for person in people for score in person[side]] for side in (0, 1))
    theirs = metrics.cohen_kappa_score(pred, gt, weights="quadratic", labels=range(4))
    assert selective(run_of(*people), "WeightedKappa") == pytest.approx(theirs, abs=1e-12)


@worked("TotalMAE")
def test_the_error_of_totals_is_over_those_with_every_item(four: Items) -> None:
    assert selective(four, "TotalMAE") == exactly(F(2 + 3, 2))
    estimate = selective_estimate(four, "TotalMAE")
    assert (estimate.n, estimate.n_clusters) == (2, 2)
    assert estimate.left_out == {"participants with an abstained item": 2}


@worked("TotalMAE")
def test_without_the_reversed_item_the_totals_are_others() -> None:
    plain = run_of(((1, 2, 3), (1, 1, 0)), reversed_item="")
    assert selective(plain, "TotalMAE") == exactly(abs(6 - 2))


@worked("TotalDecided@cut=6")
def test_decided_are_those_whose_interval_lies_on_one_side(four: Items) -> None:
    # 3 is below 5, 5 to 8 reaches it whatever b is, 0 to 6 may be on either side, 8 reaches it
    assert selective(four, "TotalDecided@cut=5") == exactly(F(3, 4))
    counts = selective_estimate(four, "TotalDecided@cut=5").details
    assert dict(counts) == {"cut": 5, "above": 2, "below": 1, "undecided": 1}
    # at 6 also 5 to 8 is undecided, and 0 to 6 just so
    assert selective(four, "TotalDecided@cut=6") == exactly(F(1, 2))
    assert selective(four, "TotalDecided@cut=7") == exactly(F(3, 4)), "0 to 6 is below 7"


@worked("TotalSensitivity(bound=low)@cut=6", "TotalSensitivity(bound=high)@cut=6")
def test_undecided_people_count_against_or_for_the_sensitivity(four: Items) -> None:
    # only the second total, 8, reaches 6: it may be 5 to 8
    assert selective(four, "TotalSensitivity(bound=low)@cut=6") == exactly(0)
    assert selective(four, "TotalSensitivity(bound=high)@cut=6") == exactly(1)
    # true totals 5, 8 and 5 reach 5: the first is certainly missed, the others certainly not
    assert selective(four, "TotalSensitivity(bound=low)@cut=5") == exactly(F(2, 3))
    assert selective(four, "TotalSensitivity(bound=high)@cut=5") == exactly(F(2, 3))
    assert selective_estimate(four, "TotalSensitivity(bound=low)@cut=5").n == 3


@worked("TotalSpecificity(bound=low)@cut=6", "TotalSpecificity(bound=high)@cut=6")
def test_undecided_people_count_against_or_for_the_specificity(four: Items) -> None:
    # below 6 are 5 (said 3), 1 (said 0 to 6) and 5 (said 8)
    assert selective(four, "TotalSpecificity(bound=low)@cut=6") == exactly(F(1, 3))
    assert selective(four, "TotalSpecificity(bound=high)@cut=6") == exactly(F(2, 3))


@pytest.mark.parametrize("name", ["MAE(avg=item)", "WeightedKappa", "TotalMAE", "MAE[item=a]", "WeightedKappa[item=a]"])
def test_with_nothing_to_judge_there_is_no_value_and_a_reason(silent: Items, name: str) -> None:
    estimate = selective_estimate(silent, name)
    assert math.isnan(estimate.value)
    assert estimate.degenerate is not None
    assert estimate.n == 0


def test_an_abstained_item_is_never_zero(silent: Items) -> None:
    """Counted as 0 both totals were 3, below 5 and decided."""
    assert selective(silent, "TotalDecided@cut=5") == exactly(0)
    assert selective(silent, "TotalSensitivity(bound=low)@cut=5") == exactly(0)
    assert selective(silent, "TotalSensitivity(bound=high)@cut=5") == exactly(1)
    nobody = selective_estimate(silent, "TotalSpecificity(bound=low)@cut=5")
    assert math.isnan(nobody.value)
    assert nobody.degenerate == "no participant's true total is below the cut-off"
