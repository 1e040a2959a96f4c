"""tau_neg and tau_pos: least work within the targets, against trying every pair, and honest where targets cannot be met."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import evidentia
from evidentia.protocol import Provenance, Targets, ThreeState, parse_targets, score_grid, tune_three_state

HERE = Provenance("0", "prob", ("a", "b"))
scored = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=3, max_size=40)
EASY = parse_targets(["ScreeningSensitivity>=0.8", "ScreeningFNPer1000<=100", "AlertPrecision>=0.6"])
BUDGETS = parse_targets(["AlertsPer1000<=200", "UncertainRate<=30%", "NegRate>=0.6", "PosRate>=0.1"])
SURE = parse_targets(["AlertPrecision>=1", "ScreeningSensitivity>=0.5"])


def plain(rows: list[tuple[float, bool]], targets: Targets) -> tuple[float, float]:
    """Try every pair, figures as the contract defines them, the targets in their order."""
    size, positives = len(rows), sum(label for _, label in rows)
    best = None
    taus = sorted({score for score, _ in rows})
    for low in taus:
        for high in (t for t in taus if t >= low):
            missed = sum(label and score < low for score, label in rows)
            alerts = [label for score, label in rows if score >= high]
            skipped = sum(score < low for score, _ in rows)
            figures = {
                "ScreeningSensitivity": (positives - missed) / positives,
                "ScreeningFNPer1000": 1000 * missed / size,
                "AlertPrecision": sum(alerts) / len(alerts),
                "AlertsPer1000": 1000 * len(alerts) / size,
                "NegRate": skipped / size,
                "UncertainRate": (size - skipped - len(alerts)) / size,
                "PosRate": len(alerts) / size,
            }
            signed = (
                (figures[name[:-2]], value, 1 if ">" in name else -1)
                for name, value in targets.values
                if "(" not in name
            )
            short = [max(0.0, sign * (value - reached)) for reached, value, sign in signed]
            key = (*short, size - skipped, -sum(alerts), -low, -high)
            best = min(best, (key, low, high)) if best else (key, low, high)
    return best[1], best[2]


@settings(max_examples=200, deadline=None)
@given(scored, st.sampled_from([Targets(), EASY, BUDGETS, SURE]))
def test_the_pair_is_that_of_trying_all(rows: list[tuple[int, bool]], targets: Targets) -> None:
    rows = [(score / 12, label) for score, label in rows]
    labels = np.array([label for _, label in rows])
    assume(labels.any() and not labels.all())
    found = tune_three_state(np.array([score for score, _ in rows]), labels, targets, tuned_on=HERE)
    assert (found.tau_neg, found.tau_pos) == plain(rows, targets)
    assert found.met == all(outcome.missed_by == 0 for outcome in found.targets)


def test_a_hand_worked_choice() -> None:
    """Evidence at 0.3, 0.6, 0.8, 0.9; nothing may be missed, so tau_neg is 0.3; from 0.6 on 3 of 4 alerts are right."""
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    labels = np.array([False, False, True, False, False, True, False, True, True])
    found = tune_three_state(scores, labels, parse_targets(["AlertPrecision>=0.75"]), tuned_on=HERE)
    assert (found.tau_neg, found.tau_pos, found.met) == (0.3, 0.6, True)
    assert found.metrics["Workload"] == pytest.approx(7 / 9)
    assert found.metrics["AlertPrecision"] == 0.75
    assert found.metrics["AlertRecall"] == 0.75


def test_targets_out_of_reach_give_the_nearest_point_and_say_by_how_much() -> None:
    """The highest score has no evidence, so no alert precision above 1/2 can be had; screening is not given up for it."""
    scores, labels = np.array([0.1, 0.4, 0.8, 0.9]), np.array([False, False, True, False])
    found = tune_three_state(scores, labels, Targets(), tuned_on=HERE)
    assert (found.tau_neg, found.tau_pos, found.met) == (0.8, 0.8, False)
    missed = {outcome.name: outcome.missed_by for outcome in found.targets}
    assert missed == {"ScreeningSensitivity>=": 0, "ScreeningFNPer1000<=": 0, "AlertPrecision>=": pytest.approx(0.4)}


def test_the_whole_grid_is_kept() -> None:
    random = np.random.default_rng(4)
    scores, labels = random.random(900), random.random(900) < 0.3
    found = tune_three_state(scores, labels, Targets(), tuned_on=HERE)
    assert {len(column) for column in found.grid.values()} == {201}
    at = found.grid["tau"].index(found.tau_pos)
    assert found.grid["AlertPrecision"][at] == pytest.approx(labels[scores >= found.tau_pos].mean())
    assert found.grid["ScreeningSensitivity"][0] == 1.0
    assert found.grid["Workload"][0] == 1.0


@given(st.lists(st.integers(0, 500), min_size=1, max_size=600))
def test_thinning_keeps_the_ends_and_looks_at_no_label(values: list[int]) -> None:
    grid = score_grid(np.array(values, float))
    assert len(grid) == min(len(set(values)), 201)
    assert (grid[0], grid[-1]) == (min(values), max(values))
    assert set(grid) <= set(values)
    assert (np.diff(grid) > 0).all()


def test_a_fold_of_one_class_has_no_thresholds() -> None:
    found = tune_three_state(np.array([0.3, 0.4]), np.array([True, True]), Targets(), tuned_on=HERE)
    assert (found.tau_neg, found.tau_pos, found.met) == (None, None, False)
    assert found.reason == "cannot be tuned: no TUNE queries without evidence"


def test_written_and_read_back() -> None:
    found = tune_three_state(np.array([0.1, 0.8]), np.array([False, True]), Targets(), tuned_on=HERE)
    assert ThreeState.from_dict(found.to_dict()).to_dict() == found.to_dict()
    with pytest.raises(ValueError, match="tau_neg <= tau_pos"):
        ThreeState.from_dict({**found.to_dict(), "tau_neg": 0.9})


def test_the_order_of_targets_is_their_priority() -> None:
    """Evidence at 0.1 and 0.8 of ten: half of it is skipped by whoever skips half; both cannot be had."""
    scores, labels = np.arange(10) / 10, np.isin(np.arange(10), [1, 8])
    for first, second, tau_neg in (
        ("ScreeningSensitivity>=1", "NegRate>=0.5", 0.1),
        ("NegRate>=0.5", "ScreeningSensitivity>=1", 0.8),
    ):
        found = tune_three_state(scores, labels, parse_targets([first, second]), tuned_on=HERE)
        assert found.tau_neg == tau_neg
        outcomes = {outcome.name + f"{outcome.target:g}": outcome for outcome in found.targets}
        assert [*outcomes][:2] == [first, second]
        assert (outcomes[first].missed_by, outcomes[second].missed_by) == (
            0,
            pytest.approx(0.4 if tau_neg == 0.1 else 0.5),
        )


def test_a_budget_of_alerts_is_kept() -> None:
    """Ten queries, 200 alerts per 1,000: the two highest alert, though a lower tau_pos would find more evidence."""
    scores, labels = np.arange(10) / 10, np.arange(10) >= 6
    found = tune_three_state(scores, labels, parse_targets(["AlertsPer1000<=200"]), tuned_on=HERE)
    assert (found.tau_neg, found.tau_pos, found.met) == (0.6, 0.8, True)


def test_targets_are_read_as_typed_and_the_rest_comes_last_as_the_contract_has_it() -> None:
    found = parse_targets(["AlertsPer1000 <= 20", "ScreeningSensitivity >= 98%", "AlertPrecision(unit=post)>=0.8"])
    assert list(found.to_dict().items()) == [
        *(("AlertsPer1000<=", 20.0), ("ScreeningSensitivity>=", 0.98), ("AlertPrecision(unit=post)>=", 0.8)),
        *(("ScreeningFNPer1000<=", 5.0), ("AlertPrecision>=", 0.9), ("ScreeningSensitivity(unit=post)>=", 0.995)),
    ]
    assert Targets.from_dict(found.to_dict()) == found
    for text in (
        *("AUROC>=0.9", "NegRate=0.9", "AlertPrecision>=1.5", "ScreeningSensitivity(unit=post)>=1"),
        *("NegRate(unit=post)>=0.5", "AlertPrecision(unit=post)<=0.5", "AlertsPer1000<=1001"),
    ):
        with pytest.raises(evidentia.InputError):
            parse_targets([text])
    with pytest.raises(evidentia.InputError, match="Give each once"):
        parse_targets(["NegRate>=0.5", "NegRate>=0.6"])
