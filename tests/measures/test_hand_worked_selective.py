"""Selective prediction, worked by hand: steps and plateaus, and cuts that fall between items."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import pytest

from builders.queries import F, answers, exactly, hand_worked, losing, selective, selective_estimate
from evidentia.checks import check_items
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.selective import augrc, aurc, cmax, risk_at_coverage, risk_coverage_curve
from evidentia.tables import Items

worked = partial(hand_worked, profile="selective")


@pytest.fixture(scope="module")
def four() -> Items:
    """Losses 0, 2, 0 and an abstention. The first two are equally sure: in the order of the items 0 comes first."""
    return answers(("p", 1, 2, 2, 2), ("p", 2, 3, 1, 2), ("p", 3, 1, 1, 1), ("p", 4, None, 0, 0))


# the four items of the specification


@worked("AURC")
def test_aurc_adds_the_risk_after_every_item(four: Items) -> None:
    # risks 0, (0 + 2) / 2, (0 + 2 + 0) / 3, each over a step of 1/4
    assert selective(four, "AURC") == exactly((0 + 1 + F(2, 3)) / 4) == exactly(F(5, 12))
    # other losses: 0 1 0 gives risks 0 1/2 1/3, and 0 4 0 gives risks 0 2 4/3
    assert selective(four, "AURC(loss=zero_one)") == exactly(F(5, 24))
    assert selective(four, "AURC(loss=squared)") == exactly(F(5, 6))
    assert selective(four, "AURC(loss=abs_norm)") == exactly(F(5, 36))


@worked("AURC")
def test_plateaus_join_one_point_per_confidence_by_straight_lines(four: Items) -> None:
    # level at 1 up to coverage 1/2, then down to 2/3 at 3/4
    assert selective(four, "AURC(ties=plateau)") == exactly(F(1, 2) * 1 + F(1, 4) * (1 + F(2, 3)) / 2)
    assert selective(four, "AURC(ties=plateau)") == exactly(F(17, 24))


@worked("AUGRC")
def test_augrc_adds_the_joint_risk_after_every_item(four: Items) -> None:
    # loss so far over N: 0, 2/4, 2/4
    assert selective(four, "AUGRC(loss=abs)") == exactly((F(1, 2) + F(1, 2)) / 4) == exactly(F(1, 4))
    assert selective(four, "AUGRC") == exactly(F(1, 12)), "the loss is over 3 unless told otherwise"
    # plateaus: from (0, 0) up to (1/2, 1/2), then level to 3/4
    assert selective(four, "AUGRC(ties=plateau,loss=abs)") == exactly(F(1, 8) + F(1, 8))


@worked("AURC@C=0.6", "AUGRC@C=0.6")
def test_plateaus_are_cut_on_the_line(four: Items) -> None:
    # 0.6 is 2/5 of the way from 1/2 to 3/4, where the risk is 1 - 2/5 of 1/3
    there = 1 - F(2, 5) * F(1, 3)
    assert selective(four, "AURC(ties=plateau)@C=0.6") == exactly(F(1, 2) + F(1, 10) * (1 + there) / 2)
    assert selective(four, "AURC(ties=plateau)@C=0.6") == exactly(F(89, 150))
    assert selective(four, "AUGRC(ties=plateau,loss=abs)@C=0.6") == exactly(F(1, 8) + F(1, 10) * F(1, 2))
    assert selective(four, "AUGRC(ties=plateau,loss=abs)@C=0.6") == exactly(F(7, 40))
    # within the first line: the risk is level from the start, the joint risk rises from 0 to 1/2
    assert selective(four, "AURC(ties=plateau)@C=0.3") == exactly(F(3, 10))
    assert selective(four, "AUGRC(ties=plateau,loss=abs)@C=0.3") == exactly(F(3, 10) * F(3, 10) / 2)


@worked("nAURC", "nAUGRC")
def test_normalised_areas_are_over_the_coverage_that_is_reached(four: Items) -> None:
    assert selective(four, "nAURC") == exactly(F(5, 12) / F(3, 4)) == exactly(F(5, 9))
    assert selective(four, "nAURC(ties=plateau)") == exactly(F(17, 18))
    assert selective(four, "nAUGRC") == exactly(F(1, 12) / F(3, 4)) == exactly(F(1, 9))
    assert selective(four, "nAUGRC(ties=plateau,loss=abs)") == exactly(F(1, 3))


@worked("AURC(order=oracle)", "AUGRC(order=oracle)", "eAURC", "eAUGRC")
def test_excess_is_what_lies_above_the_best_order(four: Items) -> None:
    # losses 0 0 2: risks 0 0 2/3, joint risks 0 0 1/2
    assert selective(four, "AURC(order=oracle)") == exactly(F(2, 3) / 4)
    assert selective(four, "eAURC") == exactly(F(5, 12) - F(1, 6)) == exactly(F(1, 4))
    assert selective(four, "AUGRC(order=oracle,loss=abs)") == exactly(F(1, 2) / 4)
    assert selective(four, "eAUGRC(loss=abs)") == exactly(F(1, 4) - F(1, 8))
    assert selective(four, "eAUGRC") == exactly(F(1, 8) / 3)
    # the same points joined by lines: 0 at 1/4 and 1/2, then up to 2/3 (joint: 1/2) at 3/4
    assert selective(four, "AURC(order=oracle,ties=plateau)") == exactly(F(1, 4) * F(2, 3) / 2)
    assert selective(four, "eAURC(ties=plateau)") == exactly(F(17, 24) - F(1, 12)) == exactly(F(5, 8))
    assert selective(four, "AUGRC(order=oracle,ties=plateau,loss=abs)") == exactly(F(1, 4) * F(1, 2) / 2)
    assert selective(four, "eAUGRC(ties=plateau,loss=abs)") == exactly(F(1, 4) - F(1, 16)) == exactly(F(3, 16))


@worked("AURC(order=oracle)", "eAURC")
def test_on_lines_a_tie_of_equal_errors_beats_their_order() -> None:
    # losses 0 1 1: risks 0 1/2 2/3. The line from (1/3, 0) straight to (1, 2/3) runs below the point in the middle,
    # and a confidence that ties the two errors has just that line
    in_order, tied = losing(0, 1, 1), losing(0, 1, 1, confidence=[2, 1, 1])
    assert selective(in_order, "AURC(order=oracle,ties=plateau)") == exactly(F(2, 3) * F(2, 3) / 2)
    assert selective(tied, "AURC(ties=plateau)") == exactly(F(2, 9))
    assert selective(tied, "eAURC(ties=plateau)") == exactly(0)
    assert selective(in_order, "eAURC(ties=plateau)") == exactly(F(1, 3) * (F(1, 4) + F(7, 12)) - F(2, 9))


@worked("AURC(order=oracle)")
def test_the_best_line_starts_level_at_the_smallest_loss() -> None:
    # losses 1 3: level at 1 up to 1/2, then up to 2 at 1
    assert selective(losing(3, 1), "AURC(order=oracle,ties=plateau)") == exactly(F(1, 2) + F(1, 2) * F(3, 2))
    assert selective(losing(3, 1), "AURC(order=oracle)") == exactly(F(1 + 2, 2))


@worked("Cmax")
def test_cmax_is_the_share_of_all_items_that_are_predicted(four: Items) -> None:
    assert selective(four, "Cmax") == F(3, 4)
    assert selective(losing(None, 0, None, None), "Cmax") == F(1, 4)
    assert cmax([math.nan, 0.0, 1.0]) == exactly(F(2, 3))


@worked("MAE")
def test_mae_is_the_mean_loss_of_what_was_predicted(four: Items) -> None:
    found = selective_estimate(four, "MAE")
    assert found.value == exactly(F(2, 3))
    assert (found.n, found.population, dict(found.left_out)) == (3, "predicted items", {"abstained items": 1})
    assert selective(four, "MAE(loss=squared)") == exactly(F(4, 3))
    assert selective(four, "MAE(loss=abs_norm)") == exactly(F(2, 9))


@worked("MAE@coverage=0.5")
def test_mae_at_a_coverage_rounds_the_number_of_items_up(four: Items) -> None:
    expected: dict[str, Fraction | float] = {
        "0.01": 0,
        "0.25": 0,
        "0.26": 1,
        "0.5": 1,
        "0.51": F(2, 3),
        "0.75": F(2, 3),
    }
    for coverage, risk in expected.items():
        assert selective(four, f"MAE@coverage={coverage}") == exactly(risk), coverage


@worked("MAE@coverage=0.5")
def test_mae_at_a_coverage_beyond_reach_is_missing_and_says_why(four: Items) -> None:
    found = selective_estimate(four, "MAE@coverage=0.76")
    assert math.isnan(found.value)
    assert found.degenerate == "the system does not reach this coverage"
    assert found.to_dict()["value"] is None


# at, between and beyond the steps


@worked("AURC@C=0.5")
@pytest.mark.parametrize(
    ("cut", "risks"),
    [
        ("0.25", 0),
        ("0.3", F(1, 5) * 1),  # a fifth of the second step
        ("0.5", 1),
        ("0.6", 1 + F(2, 5) * F(2, 3)),
        ("0.75", 1 + F(2, 3)),
        ("0.8", 1 + F(2, 3)),  # beyond Cmax there is nothing
        ("1", 1 + F(2, 3)),
    ],
)
def test_aurc_is_cut_within_a_step(four: Items, cut: str, risks: Fraction) -> None:
    assert selective(four, f"AURC@C={cut}") == exactly(F(risks) / 4)


@worked("AUGRC@C=0.5")
@pytest.mark.parametrize(
    ("cut", "joint"),
    [
        ("0.25", 0),
        ("0.3", F(1, 5) * F(1, 2)),
        ("0.5", F(1, 2)),
        ("0.6", F(1, 2) + F(2, 5) * F(1, 2)),
        ("0.75", F(1, 2) + F(1, 2)),
        ("1", F(1, 2) + F(1, 2)),
    ],
)
def test_augrc_is_cut_within_a_step(four: Items, cut: str, joint: Fraction) -> None:
    assert selective(four, f"AUGRC(loss=abs)@C={cut}") == exactly(F(joint) / 4)
    assert selective(four, f"AUGRC@C={cut}") == exactly(F(joint) / 12)


@worked("AURC@C=0.5", "AUGRC@C=0.5")
def test_an_area_that_ends_before_its_cut_says_so(four: Items) -> None:
    said = ["Cmax is 0.75: the area ends there, before the coverage that was asked for"]
    for name in ("AURC", "AURC(ties=plateau)", "AUGRC", "AUGRC(ties=plateau)"):
        beyond = selective_estimate(four, f"{name}@C=0.76")
        assert beyond.value == exactly(selective(four, name))
        assert list(beyond.warnings) == said
        assert selective_estimate(four, f"{name}@C=0.75").warnings == ()


# the curve


@worked("AURC", "AUGRC")
def test_the_joint_risk_is_coverage_times_risk(four: Items) -> None:
    curve = risk_coverage_curve([0, 2, 0, math.nan], [2, 2, 1, 0])
    assert curve.coverage.tolist() == [exactly(F(k, 4)) for k in (1, 2, 3)]
    assert curve.risk.tolist() == [0, 1, exactly(F(2, 3))]
    assert curve.joint_risk.tolist() == [0, F(1, 2), F(1, 2)]
    found = evaluate_items(four, resampling=Resampling(0, 7))
    columns = found.curves[0].columns
    assert columns["coverage"] == tuple(curve.coverage)
    assert columns["risk"] == tuple(curve.risk)
    assert columns["joint_risk"] == tuple(curve.joint_risk)
    assert columns["risk_norm"] == (0, exactly(F(1, 3)), exactly(F(2, 9)))
    assert columns["joint_risk_norm"] == (0, exactly(F(1, 6)), exactly(F(1, 6)))
    check = next(check for check in check_items(found, four) if check.code == "SEL002")
    assert (check.status, check.message, check.looked) == ("passed", "3 points looked at", 3)


@worked("AURC", "AUGRC", "MAE")
def test_the_functions_of_arrays_give_the_same_numbers() -> None:
    loss, sure = [0, 2, 0, math.nan], [2, 2, 1, 0]
    assert aurc(loss, sure) == exactly(F(5, 12))
    assert aurc(loss, sure, ties="plateau") == exactly(F(17, 24))
    assert augrc(loss, sure) == exactly(F(1, 4))
    assert augrc(loss, sure, ties="plateau") == exactly(F(1, 4))
    assert aurc(loss, sure, ties="plateau", up_to=0.6) == exactly(F(89, 150))
    assert augrc(loss, sure, ties="plateau", up_to=0.6) == exactly(F(7, 40))
    assert aurc(loss, sure, up_to=Fraction(3, 5)) == exactly(F(19, 60))
    assert risk_at_coverage(loss, sure, 0.5) == 1
    assert risk_at_coverage(loss, sure, 0.76) is None
