"""Selective prediction at its edges, worked by hand: perfect or no predictions, ties, whole items, and two systems."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from builders.queries import F, answers, exactly, hand_worked, losing, selective, selective_estimate
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.selective import augrc, aurc, cmax, evaluate, risk_at_coverage
from evidentia.stats.coverage import Coverage, counts_to_reach, counts_within, items_up_to
from evidentia.tables import Items, read_items

worked = partial(hand_worked, profile="selective")
AREAS = ("AURC", "nAURC", "eAURC", "AUGRC", "nAUGRC", "eAUGRC", "AURC@C=0.5", "AUGRC@C=0.5")
PHQ8 = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")


@pytest.fixture(scope="module")
def four() -> Items:
    """Losses 0, 2, 0 and an abstention. The first two are equally sure: in the order of the items 0 comes first."""
    return answers(("p", 1, 2, 2, 2), ("p", 2, 3, 1, 2), ("p", 3, 1, 1, 1), ("p", 4, None, 0, 0))


# perfect, alone, nothing


@worked(*AREAS)
def test_perfect_predictions_have_no_area_whatever_the_confidence() -> None:
    perfect = losing(0, 0, None, 0, confidence=[1, 5, 2, 5])
    for name in (*AREAS, *(f"{n}(ties=plateau)" for n in AREAS[:6]), "MAE", "MAE@coverage=0.75"):
        assert selective(perfect, name) == 0, name
    assert selective(perfect, "Cmax") == F(3, 4)


@worked(*AREAS, "MAE@coverage=0.1", "Cmax")
def test_one_prediction_among_abstentions() -> None:
    # loss 2 at coverage 1/8, which counts over one step of 1/8; every item counts in N
    one = losing(None, None, 2, None, None, None, None, None)
    assert selective(one, "Cmax") == F(1, 8)
    assert selective(one, "AURC") == exactly(2 * F(1, 8))
    assert selective(one, "AURC(ties=plateau)") == exactly(2 * F(1, 8))
    assert selective(one, "AUGRC") == exactly(F(2, 3) * F(1, 8) * F(1, 8)) == exactly(F(1, 96))
    assert selective(one, "AUGRC(ties=plateau)") == exactly(F(1, 192)), "the line rises from 0"
    assert selective(one, "nAURC") == exactly(2)
    assert selective(one, "nAUGRC(loss=abs)") == exactly(F(2, 8))
    assert selective(one, "AURC@C=0.0625") == exactly(2 * F(1, 16)), "half of the only step"
    assert selective(one, "MAE@coverage=0.1") == 2  # ceil(0.8) = 1
    assert math.isnan(selective_estimate(one, "MAE@coverage=0.13").value)  # ceil(1.04) = 2
    assert selective(one, "eAURC") == selective(one, "eAUGRC(ties=plateau)") == 0


@worked(*AREAS, "MAE", "MAE@coverage=0.5", "Cmax")
def test_without_any_prediction_areas_are_0_by_convention_and_means_are_missing() -> None:
    silent = losing(None, None)
    for name in (*AREAS, "MAE", "MAE@coverage=0.5"):
        found = selective_estimate(silent, name)
        missing = name.startswith(("n", "MAE"))
        assert math.isnan(found.value) if missing else found.value == 0.0, name
        reason = "the system does not reach this coverage" if "coverage" in name else None
        assert found.degenerate == (reason or "no item is predicted: everything is abstained"), name
    assert selective(silent, "Cmax") == 0
    assert aurc([math.nan], [1]) == augrc([math.nan], [1]) == cmax([math.nan]) == 0
    assert risk_at_coverage([math.nan], [1], 1.0) is None


@worked("AURC", "AUGRC")
def test_one_item_of_one_participant() -> None:
    assert selective(losing(3), "AURC") == selective(losing(3), "AURC(ties=plateau)") == 3
    assert selective(losing(3), "AUGRC") == 1
    assert selective(losing(3), "AUGRC(ties=plateau)") == F(1, 2)


# ties


@worked("AURC", "AUGRC")
def test_equally_sure_items_are_taken_by_participant_then_by_item_as_numbers() -> None:
    # participant 9 before 10 and item 2 before 10: losses 0 3 2, risks 0 3/2 5/3. As texts it were 2 3 0.
    tied = answers((10, 1, 2, 0, 1), (9, 10, 3, 0, 1), (9, 2, 0, 0, 1))
    assert selective(tied, "AURC") == exactly((0 + F(3, 2) + F(5, 3)) / 3)
    assert selective(tied, "AUGRC(loss=abs)") == exactly(F(0 + 3 + 5, 9))
    assert selective(tied, "AURC(ties=plateau)") == exactly(F(5, 3)), "on lines the order of ties is moot"


@worked("AURC")
def test_confidence_comes_before_participant() -> None:
    # participant 10 is surer: losses 2 0 3, risks 2 1 5/3
    mixed = answers((10, 1, 2, 0, 2), (9, 1, 0, 0, 1), (9, 2, 3, 0, 1))
    assert selective(mixed, "AURC") == exactly((2 + 1 + F(5, 3)) / 3)


def phq8(people: dict[int, tuple[list[int | None], list[int]]]) -> dict[str, Any]:
    """A run in which every true score is 0; by participant the predicted scores and the evidence counts."""
    results = [
        {
            "participant_id": person,
            "success": True,
            "predicted_items": dict(zip(PHQ8, predicted, strict=True)),
            "ground_truth_items": dict.fromkeys(PHQ8, 0),
            "item_signals": {
                item: {"llm_evidence_count": count, "keyword_evidence_count": 0, "evidence_source": None}
                for item, count in zip(PHQ8, counts, strict=True)
            },
        }
        for person, (predicted, counts) in people.items()
    ]
    return {"run_metadata": {}, "experiments": [{"provenance": {"mode": "m"}, "results": {"results": results}}]}


@worked("AURC")
def test_the_items_of_phq8_are_taken_in_the_order_of_the_questionnaire() -> None:
    # NoInterest 0, Depressed 3, Appetite 0 by person 9, then NoInterest 1 by person 10, all with one quote:
    # risks 0 3/2 1 1 over 16 items. By the alphabet Appetite came before Depressed: 0 0 1 1.
    nothing: list[int | None] = [None] * 8
    run = phq8(
        {
            10: ([1, *nothing[1:]], [1] * 8),
            9: ([0, 3, None, None, 0, None, None, None], [1] * 8),
        }
    )
    items = read_items(run)
    assert items.item[:3] == PHQ8[:3]
    found = evaluate_items(items, confidence=["llm"], resampling=Resampling(0, 7))
    assert found["AURC"].value == exactly((0 + F(3, 2) + 1 + 1) / 16)
    assert found["Cmax"].value == exactly(F(4, 16))
    assert found["AUGRC"].value == exactly(F(0 + 3 + 3 + 4, 3) / 16 / 16)


@worked("AURC", "AUGRC")
def test_tie_sensitivity_gives_the_best_the_expected_and_the_worst_order(four: Items) -> None:
    # 0 2 | 0: best 0 2 0, worst 2 0 0, expected 1 1 0; the risks are 0 1 2/3, 2 1 2/3 and 1 1 2/3
    spread = selective_estimate(four, "AURC").details["tie_sensitivity"]
    assert spread == {
        "best": exactly(F(5, 12)),
        "expected": exactly(F(8, 12)),
        "worst": exactly(F(11, 12)),
        "tied_items": 2,
    }
    spread = selective_estimate(four, "AUGRC(loss=abs)").details["tie_sensitivity"]
    assert [spread[which] for which in ("best", "expected", "worst")] == [
        exactly(F(joint, 16)) for joint in (0 + 2 + 2, 1 + 2 + 2, 2 + 2 + 2)
    ]
    assert "tie_sensitivity" not in selective_estimate(four, "AURC(ties=plateau)").details


# how many items a coverage stands for


@worked("MAE@coverage=0.55")
def test_55_percent_of_200_are_110_items() -> None:
    # floats make 0.55 x 200 = 110.00000000000001, which rounds up to 111
    assert math.ceil(0.55 * 200) == 111
    losses: list[float | None] = [0.0] * 200
    losses[109], losses[110] = 1.0, 1.0
    rows = losing(*losses)
    assert selective(rows, "MAE@coverage=0.55") == exactly(F(1, 110))
    assert selective(rows, "MAE@coverage=55%") == exactly(F(1, 110))
    assert selective(rows, "AURC@C=0.55") == exactly(F(1, 110) / 200)
    assert risk_at_coverage(np.array(losses, float), -np.arange(200), 0.55) == exactly(F(1, 110))


@worked("MAE@coverage=0.5", "AURC@C=0.5")
@pytest.mark.parametrize("given", [29 / 56, Fraction(29, 56), "0.5178571428571429", Decimal(repr(29 / 56)), "cmax"])
def test_29_of_56_items_are_29_items(given: Coverage | str) -> None:
    # the shortest decimal of 29/56 is a little more than 29/56, and must not ask for a thirtieth item
    assert Fraction(repr(29 / 56)) > F(29, 56)
    losses: list[float | None] = [*(1.0 if i == 28 else 0.0 for i in range(29)), *[None] * 27]
    rows = losing(*losses)
    coverage = selective(rows, "Cmax") if given == "cmax" else given
    found = evaluate(rows, seed=7, resamples=0, coverage=[coverage])
    assert found["MAE@coverage=0.5178571428571429"].value == exactly(F(1, 29))
    area = found["AURC@C=0.5178571428571429"]
    assert (area.value, area.warnings) == (exactly(F(1, 29) / 56), ())
    if not isinstance(coverage, str):
        arrays = np.array(losses, float), -np.arange(56.0)
        assert risk_at_coverage(*arrays, coverage) == exactly(F(1, 29))
        assert aurc(*arrays, up_to=coverage) == exactly(F(1, 29) / 56)


@worked("MAE@coverage=0.5")
@pytest.mark.parametrize(
    ("coverage", "total", "items"),
    [
        (0.55, 200, F(110)),
        (29 / 56, 56, F(29)),
        (Fraction(29, 56), 56, F(29)),
        (1 / 3, 3, F(1)),
        (0.3333, 3, F(9999, 10000)),
        (0.6, 4, F(12, 5)),
        (0.1, 30, F(3)),
        (Decimal("0.1"), 7, F(7, 10)),
        (1.0, 8, F(8)),
        (0.07, 100, F(7)),
    ],
)
def test_a_coverage_is_its_shortest_decimal_or_the_share_that_it_was_divided_from(
    coverage: Coverage, total: int, items: Fraction
) -> None:
    assert items_up_to(coverage, total) == items
    assert counts_to_reach(coverage, np.array([total])).tolist() == [math.ceil(items)]
    whole, rest = counts_within(coverage, np.array([total]))
    assert (whole[0], rest[0]) == (math.floor(items), exactly(items % 1))


# two systems


@worked("AURC@C=common", "AUGRC@C=common")
def test_up_to_the_common_coverage_both_are_cut_at_the_smaller_cmax(four: Items) -> None:
    # losses 1 1 of four items against 0 2 0: up to 1/2 the risks are 1 1 against 0 1
    half = answers(("p", 1, 1, 2, 2), ("p", 2, 2, 1, 1), ("p", 3, None, 1, 0), ("p", 4, None, 0, 0))
    found = evaluate(four, against=half, seed=7, resamples=10, names=("half", "four")).comparison
    assert found is not None
    assert found.common_coverage == F(1, 2)
    delta = found["AURC@C=common"]
    assert (delta.baseline_value, delta.system_value) == (exactly(F(1 + 1, 4)), exactly(F(0 + 1, 4)))
    assert delta.delta == exactly(F(-1, 4))
    joint = found["AUGRC@C=common"]
    assert (joint.baseline_value, joint.system_value) == (exactly(F(1 + 2, 3 * 16)), exactly(F(0 + 2, 3 * 16)))
    plateau = found["AURC(ties=plateau)@C=common"]
    assert (plateau.baseline_value, plateau.system_value) == (exactly(F(1, 2)), exactly(F(1, 2)))
