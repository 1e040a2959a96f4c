"""A measure without a hand-worked test is not finished."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from builders import queries
from evidentia.measures import MEASURES
from evidentia.results.measure import Measure

MODULES = sorted(path.stem for path in (Path(__file__).parents[1] / "measures").glob("test_hand_worked*.py"))


def without_a_test(measures: Iterable[Measure], worked: Collection[queries.Key]) -> list[str]:
    """The measures that no hand-worked test names."""
    return [f"{measure.base} (cut {measure.cut})" for measure in measures if measure.key not in worked]


@pytest.fixture(scope="module")
def worked() -> frozenset[queries.Key]:
    assert MODULES, "no hand-worked tests were found"
    for module in MODULES:
        import_module(module)
    return frozenset(queries.HAND_WORKED)


def test_every_registered_measure_has_a_hand_worked_test(worked: frozenset[queries.Key]) -> None:
    lacking = without_a_test(MEASURES, worked)
    assert lacking == [], f"no test in tests/measures/test_hand_worked_*.py is marked @hand_worked for {lacking}"


def test_a_new_measure_without_a_hand_worked_test_is_reported(worked: frozenset[queries.Key]) -> None:
    dummy = replace(MEASURES[0], base="Dummy")
    assert "Dummy (cut None)" in without_a_test((*MEASURES, dummy), worked)


def test_a_new_cut_of_a_known_measure_is_reported_too(worked: frozenset[queries.Key]) -> None:
    recall = next(measure for measure in MEASURES if measure.base == "Recall")
    assert "Recall (cut coverage)" in without_a_test((*MEASURES, replace(recall, cut="coverage")), worked)


def test_measures_are_told_apart_by_their_keys() -> None:
    assert len({measure.key for measure in MEASURES}) == len(MEASURES)
