"""What must hold for every measure of questionnaires with every combination of its choices, whatever the answers."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from every_definition import QUESTIONNAIRE_ONES

from evidentia.array_types import Floats
from evidentia.evaluation.items import ItemComputation
from evidentia.evaluation.plan import OVERALL, Want
from evidentia.evaluation.questionnaire import item_wants
from evidentia.measures.core import Outcome
from evidentia.stats.resampling import ResamplingPlan
from evidentia.tables import Items, read_items
from evidentia.verify.items import ItemRows
from evidentia.verify.questionnaire import TWINS, AnswerSheet, Part
from evidentia.verify.recipes import on_all
from selective.questionnaires import random_run

ITEMS = (("a", 0, 3, False), ("b", 0, 3, True), ("c", 0, 3, False))
NAMES = tuple(d.expanded for d in QUESTIONNAIRE_ONES)
every_definition = pytest.mark.parametrize("name", NAMES)


def run_of(abstained: float) -> dict[str, Any]:
    return random_run(8, participants=25, abstained=abstained, items=ITEMS)


def read(abstained: float = 0.25, times: Floats | None = None) -> Items:
    """A run, or every participant of it so many times."""
    document = run_of(abstained)
    results = document["experiments"][0]["results"]["results"][:-1]
    counts = np.ones(len(results)) if times is None else times
    copies = [
        result | {"participant_id": 10 * result["participant_id"] + copy}
        for result, count in zip(results, counts, strict=True)
        for copy in range(int(count))
    ]
    document["experiments"] = [{"results": {"mode": "first", "results": copies}}]
    return read_items(document)


def wants(items: Items) -> list[Want]:
    return [*((d, OVERALL) for d in QUESTIONNAIRE_ONES), *item_wants(QUESTIONNAIRE_ONES, items.questionnaire)]


def outcomes(items: Items, weights: Floats | None = None) -> dict[str, Outcome]:
    computation = ItemComputation(items, wants(items), ())
    held = np.ones((len(items.cluster_ids), 1)) if weights is None else weights
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        return {d.expanded + "".join(c): t.outcomes(held) for (d, c), t in computation.tallies.items()}


@every_definition
def test_a_whole_weight_is_that_many_copies_of_the_participant(name: str) -> None:
    times = np.random.default_rng(1).integers(0, 4, 25).astype(float)
    left, right = outcomes(read(), times[:, None])[name], outcomes(read(times=times))[name]
    np.testing.assert_array_equal(left.values, right.values)
    np.testing.assert_array_equal(left.flaws, right.flaws)


@cache
def replicates(block: int | None) -> dict[str, Floats]:
    run = ItemComputation(read(), wants(read()), ())
    plan = ResamplingPlan(25, 60, 7, block=block)
    return {r.definition.expanded: r.values for r in run.replicate(plan) if not r.grouping.columns}


@every_definition
def test_the_size_of_the_blocks_changes_no_bit_of_a_replicate(name: str) -> None:
    for block in (1, 7, 59):
        assert replicates(block)[name].tobytes() == replicates(None)[name].tobytes()


@pytest.mark.parametrize("abstained", [0.0, 0.25, 1.0])
@every_definition
def test_values_lie_within_their_bounds_and_what_is_missing_has_a_reason(name: str, abstained: float) -> None:
    measure = next(d.measure for d in QUESTIONNAIRE_ONES if d.expanded == name)
    outcome = outcomes(read(abstained))[name]
    low, high = measure.bounds
    assert outcome.flaws.max() <= len(measure.reasons)
    values = outcome.values[outcome.flaws == 0]
    assert np.isnan(outcome.values[outcome.flaws > 0]).all()
    assert low is not None
    assert (values >= low).all()
    assert high is None or (values <= high).all()


@pytest.mark.parametrize("name", ["MAE(avg=item,loss=abs)", "WeightedKappa", "TotalMAE"])
def test_with_nothing_answered_there_is_no_value(name: str) -> None:
    assert outcomes(read(1.0))[name].flaws.tolist() == [[1]]


@pytest.mark.parametrize("abstained", [0.0, 0.25, 0.8, 1.0])
def test_the_bounds_hold_what_every_filling_of_the_abstained_items_gives(abstained: float) -> None:
    """Fill abstained items at random: sensitivity and specificity stay between the bounds."""
    items, rng = read(abstained), np.random.default_rng(3)
    grid, bounds = items.answers, outcomes(items)
    truth = grid.forward(grid.gt).sum(axis=1) >= 6
    for _ in range(20):
        said = grid.forward(np.where(grid.held, grid.pred, rng.integers(0, 4, grid.pred.shape))).sum(axis=1) >= 6
        for base, share in (("TotalSensitivity", said[truth].mean()), ("TotalSpecificity", 1 - said[~truth].mean())):
            low, high = (bounds[f"{base}(bound={bound})@cut=6"].values[0, 0] for bound in ("low", "high"))
            assert low <= share <= high


@pytest.mark.parametrize("abstained", [0.0, 0.25, 0.8, 1.0])
def test_the_twins_agree(abstained: float) -> None:
    assert {d.measure.base for d in QUESTIONNAIRE_ONES} <= TWINS.keys()
    items = read(abstained)
    assert items.questionnaire is not None
    rows = ItemRows(
        items.cluster_ids, items.cluster, items.item, items.pred, items.gt, dict(items.signals), items.item_max
    )
    sheet = AnswerSheet.of(items.questionnaire.items, rows)
    for definition in QUESTIONNAIRE_ONES:
        ours = outcomes(items)[definition.expanded].values[0, 0]
        theirs = on_all([Part(definition, None, sheet, items.item_max).recipe()], len(sheet))[0]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
