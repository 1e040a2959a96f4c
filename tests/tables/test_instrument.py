"""Runs of other questionnaires: the metadata decide items, ranges and cut-offs; without them a run is PHQ-8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evidentia.assessment.instrument import load_instrument
from evidentia.errors import InputError
from evidentia.results.questionnaire import PHQ8, Questionnaire
from evidentia.tables import read_items

from .phq8_runs import experiment, result, run, signals, the_problem


def worries(**changes: Any) -> dict[str, Any]:
    """Two items of different ranges, the second one reversed."""
    return {
        "name": "worries",
        "title": "Two questions",
        "items": [
            {"id": "Fear", "low": 1, "high": 9, "reversed": False},
            {"id": "Calm", "low": 0, "high": 4, "reversed": True},
        ],
        "cuts": [6],
    } | changes


def answered(own: int, pred: dict[str, Any], gt: dict[str, Any]) -> dict[str, Any]:
    return {
        "participant_id": own,
        "success": True,
        "predicted_items": pred,
        "ground_truth_items": gt,
        "item_signals": {item: signals() for item in ("Fear", "Calm")},
    }


def run_of(instrument: Any, *results: Any) -> dict[str, Any]:
    return {"run_metadata": {"instrument": instrument}, "experiments": [experiment(*results)]}


GOOD = answered(1, {"Fear": 9, "Calm": None}, {"Fear": 1, "Calm": 4})


def test_a_run_without_an_instrument_is_phq8() -> None:
    items = read_items(run(result()))
    assert items.questionnaire == PHQ8
    assert items.item_max == 3.0
    assert PHQ8.to_dict() == load_instrument("phq8").to_dict()


def test_the_instrument_decides_items_ranges_and_cuts() -> None:
    items = read_items(run_of(worries(), GOOD))
    assert items.item == ("Fear", "Calm")
    np.testing.assert_array_equal(items.pred, [9.0, np.nan])
    assert items.item_max is None, "ranges of 8 and 4 points have no common largest error"
    assert items.questionnaire == Questionnaire.of(worries())


def test_the_widest_error_is_high_minus_low_where_all_items_agree() -> None:
    wide = [{"id": item, "low": 1, "high": 9, "reversed": False} for item in ("Fear", "Calm")]
    assert read_items(run_of(worries(items=wide), GOOD)).item_max == 8.0
    with pytest.raises(InputError, match=r"items of 'worries' are scored from 1 to 9. Leave it out."):
        read_items(run_of(worries(items=wide), GOOD), item_max=3)


def test_scores_and_items_are_held_against_the_instrument() -> None:
    beyond = answered(1, {"Fear": 0, "Calm": 1}, {"Fear": 1, "Calm": 4})
    assert "other than a whole number from 1 to 9 (first: participant '1', item Fear" in the_problem(
        run_of(worries(), beyond), "SCORE"
    )
    unknown = answered(1, {"Fear": 1, "Calm": 1, "Sleep": 0}, {"Fear": 1, "Calm": 4})
    message = the_problem(run_of(worries(), unknown), "UNKNOWN_ITEM")
    assert "not of the instrument 'worries'" in message
    assert "The items are Fear, Calm." in message
    assert "lacks 1 of 2 in predicted_items, item Calm" in the_problem(
        run_of(worries(), answered(1, {"Fear": 1}, {"Fear": 1, "Calm": 4})), "MISSING_ITEM"
    )


@pytest.mark.parametrize(
    ("instrument", "fault"),
    [
        ("phq8", "is not an object"),
        (worries(items=[]), "lacks items"),
        (worries(items=["Fear"]), "has an item 1 that is not an object"),
        (worries(items=[{"id": "", "low": 0, "high": 3}]), "has no usable id of item 1"),
        (worries(items=[{"id": "a", "low": 3, "high": 3}]), "low and high are not whole numbers"),
        (worries(items=[{"id": "a", "low": 0, "high": 10_000}]), "low and high are not whole numbers"),
        (worries(items=[{"id": "a", "low": 0, "high": True}]), "low and high are not whole numbers"),
        (worries(items=[{"id": "a", "low": 0, "high": 3, "reversed": 1}]), "wrong id or reversed"),
        (worries(items=[{"id": "a", "low": 0, "high": 3}] * 2), "several items with the id 'a'"),
        (worries(name=3), "has no usable name"),
        (worries(cuts=[6, 6]), "cuts that are not whole numbers that rise"),
        (worries(cuts=[14]), "a cut outside of the total, which lies between 1 and 13"),
    ],
)
def test_a_wrong_instrument_is_refused_and_named(instrument: Any, fault: str) -> None:
    message = the_problem(run_of(instrument, GOOD), "INSTRUMENT")
    assert message.startswith("<mapping>: run_metadata.instrument ")
    assert fault in message
