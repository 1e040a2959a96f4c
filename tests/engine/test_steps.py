"""Sweeps of which only the steps of positives are kept, against those that sort every unit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evidentia.engine.steps import Steps
from evidentia.evaluation.curves import PR, ROC, _operating_points, _point
from evidentia.measures import profile_named, resolve
from evidentia.measures.core import Sweep
from evidentia.stats.sweeps import Counts, sweep_counts
from sampling import examples

NAMES = ("AUROC", "AUPRC", "TPR(same)@FPR=1%", "TPR(same)@FPR=10%")


def stepped(scores: np.ndarray, labels: np.ndarray, parts: int) -> Steps:
    steps = Steps(scores[labels])
    for part in np.array_split(scores[~labels], parts):
        steps.add(np.sort(part))
    return steps


def finished(counts: Counts, turns: Counts) -> list[str]:
    """What measures and figures make of a sweep, digit by digit."""
    values = []
    for name in NAMES:
        definition = resolve(name, profile_named("contract")).definition
        assert isinstance(definition.kind, Sweep)
        outcome = definition.kind.finish(counts, definition.args)
        details = None if definition.kind.details is None else definition.kind.details(counts, definition.args)
        values.append(repr((float(outcome.values), int(outcome.flaws), details)))
    curves = [_point(turns, shape) for shape in (ROC, PR)]
    return [*values, *map(repr, curves), repr(_operating_points(turns, 5_000))]


@given(
    units=st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=40),
    parts=st.integers(1, 5),
)
@examples(300)
def test_a_sweep_by_steps_is_one_over_all_units(units: list[tuple[int, bool]], parts: int) -> None:
    scores = np.array([score / 7 for score, _ in units])
    labels = np.array([label for _, label in units], np.bool_)
    if len(units):
        steps, (sorted_all,) = stepped(scores, labels, parts), sweep_counts(scores, labels, None, None, 1)
        assert finished(steps.counts(), steps.turns()) == finished(sorted_all, sorted_all)


def test_a_turn_behind_an_empty_step_is_an_operating_point() -> None:
    """Positives at 0.9, and at 0.5 together with a negative: the curve rises, then turns to the right."""
    scores, labels = np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False])
    (points,) = _operating_points(stepped(scores, labels, 1).turns(), 5_000)
    assert points.columns == {"fpr": (0.0, 0.0, 0.5, 1.0), "tpr": (0.0, 0.5, 1.0, 1.0)}
