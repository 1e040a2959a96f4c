"""Who wins: by direction, by the corrected p of the family, and never by a number that is not one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from cli.command import refused
from evidentia.results import Comparison, Delta

from .systems import FEW, family, gated, read, sharp_and_blunt, system


def plain_holm(p: list[float]) -> list[float]:
    ranked = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, i in enumerate(ranked):
        largest = max(largest, (len(p) - rank) * p[i])
        adjusted[i] = min(1.0, largest)
    return adjusted


def verdict_by_hand(delta: Delta, alpha: float) -> str:
    if delta.delta is None:
        return "undefined"
    if delta.p_holm > alpha or delta.delta == 0:
        return "tie"
    up, down = {"neither": ("differs", "differs"), "higher": ("win", "loss"), "lower": ("loss", "win")}[delta.direction]
    return up if delta.delta > 0 else down


def test_lower_is_better_for_brier() -> None:
    sharp, blunt = sharp_and_blunt()
    better = evidentia.compare(blunt, sharp, measures=["Brier"], resamples=200)["Brier"]
    assert better.direction == "lower"
    assert better.delta < 0
    assert better.ci[1] < 0
    assert better.p == 2 / 201
    assert better.verdict == "win"
    worse = evidentia.compare(sharp, blunt, measures=["Brier"], resamples=200)["Brier"]
    assert worse.delta == -better.delta
    assert worse.verdict == "loss"


def test_higher_is_better_for_ndcg_and_neither_for_how_much_is_selected() -> None:
    comparison = evidentia.compare(read(system(0.2)), read(system(0.95)), measures=FEW, resamples=300)
    assert comparison["nDCG@10"].direction == "higher"
    assert comparison["nDCG@10"].delta < 0
    assert comparison["nDCG@10"].verdict == "loss"
    assert comparison["SelectedK"].direction == "neither"
    assert comparison["SelectedK"].p_holm <= 0.05
    assert comparison["SelectedK"].verdict == "differs"
    back = evidentia.compare(read(system(0.95)), read(system(0.2)), measures=FEW, resamples=300)
    assert back["nDCG@10"].verdict == "win"
    assert back["SelectedK"].verdict == "differs"


def test_a_rate_without_direction_differs() -> None:
    labels = [1, 0] * 30
    shy = gated(["NEG", "NEG", "POS"] * 20, labels)
    bold = gated(["POS", "NEG", "POS"] * 20, labels)
    assert evidentia.compare(shy, bold, measures=["PosRate"], resamples=200)["PosRate"].verdict == "differs"


@pytest.mark.parametrize("order", [1, -1])
def test_what_one_of_the_two_does_not_define_is_undefined_and_never_wins(order: int) -> None:
    labels = [1, 0] * 20
    silent, loud = gated(["NEG"] * 40, labels), gated(["POS", "NEG"] * 20, labels)
    comparison = evidentia.compare(*(silent, loud)[::order], measures=["AlertPrecision", "NegRate"], resamples=200)
    delta = comparison["AlertPrecision"]
    assert (delta.delta, delta.ci, delta.p, delta.p_holm, delta.verdict) == (None, None, None, None, "undefined")
    assert "undefined for at least one of the two" in delta.warnings
    negative = comparison["NegRate"]  # what is undefined is no test of its family either
    assert negative.p_holm == negative.p


def test_one_class_only_is_undefined_where_two_are_needed() -> None:
    labels = [0] * 40
    one, other = (gated([state] * 40, labels) for state in ("NEG", "POS"))
    comparison = evidentia.compare(one, other, measures=["ScreeningSensitivity", "NegRate"], resamples=100)
    assert comparison["ScreeningSensitivity"].verdict == "undefined"


@pytest.fixture(scope="module")
def many() -> Comparison:
    return evidentia.compare(read(system(0.2)), read(system(0.95)), resamples=1000, alpha=0.3)


def test_every_verdict_follows_from_the_delta_its_direction_and_the_corrected_p(many: Comparison) -> None:
    for delta in many.deltas:
        assert delta.verdict == verdict_by_hand(delta, 0.3), delta.name
    assert {delta.verdict for delta in many.deltas} >= {"loss", "tie"}


def test_families_are_corrected_apart(many: Comparison) -> None:
    corrected = {}
    for name in ("measures", "criteria"):
        tested = [delta for delta in family(many.deltas, name) if delta.p is not None]
        expected = plain_holm([delta.p for delta in tested])
        assert [delta.p_holm for delta in tested] == pytest.approx(expected, abs=1e-15)
        corrected[name] = len(tested)
    assert corrected["measures"] > 90
    assert corrected["criteria"] == 7 * 3
    assert all("[criterion=" in delta.name for delta in family(many.deltas, "criteria"))
    assert not any("[" in delta.name for delta in family(many.deltas, "measures"))


def test_fewer_measures_are_corrected_for_fewer_measures(many: Comparison) -> None:
    few = evidentia.compare(read(system(0.2)), read(system(0.95)), measures=["nDCG@10"], resamples=1000)
    assert few["nDCG@10"].p == many["nDCG@10"].p
    assert few["nDCG@10"].p_holm == few["nDCG@10"].p < many["nDCG@10"].p_holm
    assert few["nDCG@10[criterion=A.1]"].p_holm <= 3 * few["nDCG@10[criterion=A.1]"].p


def test_the_note_when_the_number_of_resamples_bounds_significance() -> None:
    sharp, blunt = sharp_and_blunt()
    bounded = evidentia.compare(sharp, blunt, measures=["Brier"], resamples=38)  # 2/39 is above 0.05
    assert bounded["Brier"].p == 2 / 39
    assert bounded["Brier"].verdict == "cannot tell"
    assert len(bounded.notes) == 1
    assert bounded.notes[0].startswith(
        "with 38 resamples and 1 tests in the family 'measures' the smallest corrected p is 0.0513, "
        "so nothing in it can be significant at 0.05"
    )
    free = evidentia.compare(sharp, blunt, measures=["Brier"], resamples=39)  # 2/40 is 0.05, which is enough
    assert free["Brier"].p == 0.05
    assert free["Brier"].verdict == "loss"
    assert free.notes == ()


def test_the_note_counts_the_tests_of_each_family() -> None:
    runs = read(system(0.2)), read(system(0.95))
    # 2 tests overall and 6 per criterion; 2/201 times 2 is 0.02, times 6 is 0.06
    comparison = evidentia.compare(*runs, measures=["AUROC", "nDCG@10"], resamples=200)
    assert len(comparison.notes) == 1
    assert "6 tests in the family 'criteria' the smallest corrected p is 0.0597" in comparison.notes[0]
    for delta in family(comparison.deltas, "criteria"):
        assert delta.verdict == ("cannot tell" if delta.delta and delta.p <= 0.05 else "tie")
    assert evidentia.compare(*runs, measures=["AUROC", "nDCG@10"], resamples=240).notes == ()


def test_the_command_prints_the_note(folders: Path) -> None:
    ran = command("compare", folders / "good", folders / "bad", "--resamples", 30, "--measures", "AUROC")
    assert ran.code == 0
    assert "note with 30 resamples and 1 tests in the family 'measures'" in ran.out
    assert "cannot tell: too few resamples" in ran.out


def test_alpha_is_the_largest_corrected_p_that_counts() -> None:
    sharp, blunt = sharp_and_blunt()
    assert (
        evidentia.compare(sharp, blunt, measures=["Brier"], resamples=200, alpha=0.009)["Brier"].verdict
        == "cannot tell"
    )
    assert evidentia.compare(sharp, blunt, measures=["Brier"], resamples=200, alpha=0.01)["Brier"].verdict == "loss"


def test_few_posts_and_few_positives_travel_with_the_number() -> None:
    labels = [1, 0, 0, 0] * 5
    one, other = gated(["NEG", "POS"] * 10, labels), gated(["POS", "NEG"] * 10, labels)
    warnings = evidentia.compare(one, other, measures=["PosRate"], resamples=100)["PosRate"].warnings
    assert any("rests on 20 posts (fewer than 30)" in warning for warning in warnings)
    assert any("rests on 5 queries with evidence (fewer than 10)" in warning for warning in warnings)


def one_post(ranked: list[str]) -> evidentia.Run:
    return read(
        pl.DataFrame(
            {"post_id": "p", "criterion_id": ["A", "B"], "gold_sent_uids": ["a", "b"], "ranked_sent_uids": ranked}
        )
    )


def test_a_single_post_is_no_evidence_of_a_difference() -> None:
    """Every resample of one post is that post, so the resamples say nothing about chance."""
    delta = evidentia.compare(one_post(["b|a", "a|b"]), one_post(["a|b", "b|a"]), measures=["nDCG@10"], resamples=200)
    assert delta["nDCG@10"].ci is None
    assert delta["nDCG@10"].verdict not in {"win", "loss", "differs"}


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0, -1.0, float("nan")])
def test_an_alpha_that_is_no_share_is_refused(alpha: float, folders: Path) -> None:
    refused(
        command(
            *("compare", folders / "good", folders / "bad", "--measures", "AUROC"),
            *("--resamples", 20, "--alpha", alpha),
        ),
        "between 0 and 1",
    )


@pytest.mark.parametrize("name", ["Brier[criterion=A.1]", "nDCG@10[criterion=A.1]", "AUROC[fold=0]"])
def test_a_measure_of_a_group_is_compared_in_that_group_or_refused(name: str) -> None:
    try:
        comparison = evidentia.compare(read(system(0.2)), read(system(0.95)), measures=[name], resamples=20)
    except evidentia.InputError:
        return
    assert [delta.name for delta in comparison.deltas] == [name]


@pytest.mark.parametrize("name", ["TPR(tuned)@FPR=5%", "AUROC(level=candidate)", "Queries"])
def test_a_measure_that_was_asked_for_and_cannot_be_compared_is_not_passed_over_in_silence(
    name: str, folders: Path
) -> None:
    ran = command("compare", folders / "good", folders / "bad", "--measures", name, "--resamples", 20)
    assert ran.code == 2 or name in ran.out
