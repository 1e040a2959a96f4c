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
    assert better.p < 0.001
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
    return evidentia.compare(read(system(0.2)), read(system(0.95)), measures="all", resamples=1000, alpha=0.3)


def test_every_verdict_follows_from_the_delta_its_direction_and_the_corrected_p(many: Comparison) -> None:
    for delta in many.deltas:
        assert delta.verdict == verdict_by_hand(delta, 0.3), delta.name
    assert {delta.verdict for delta in many.deltas} >= {"loss", "tie"}


def one_test(delta: Delta) -> object:
    """The t statistic, for all that a rate and its complement share it; what does not differ at all is a test of its own."""
    if delta.ci is None or not delta.delta:
        return delta.name
    return round(abs(delta.delta) / (delta.ci[1] - delta.ci[0]), 9)


def test_families_are_corrected_apart_and_the_same_test_counts_once(many: Comparison) -> None:
    corrected = {}
    for name in ("measures", "criteria"):
        tested = [delta for delta in family(many.deltas, name) if delta.p is not None]
        tests = {one_test(delta): delta.p for delta in tested}
        expected = dict(zip(tests, plain_holm(list(tests.values())), strict=True))
        assert [delta.p_holm for delta in tested] == pytest.approx([expected[one_test(d)] for d in tested], abs=1e-15)
        corrected[name] = (len(tested), len(tests))
    assert corrected["measures"][0] > 90
    assert corrected["measures"][1] <= corrected["measures"][0] - 17
    assert corrected["criteria"][0] == 8 * 3
    assert all("[criterion=" in delta.name for delta in family(many.deltas, "criteria"))
    assert not any("[" in delta.name for delta in family(many.deltas, "measures"))


@pytest.mark.parametrize("twins", [("FPR(t=gate)", "Specificity(t=gate)"), ("PosRate", "AlertsPer1000")])
def test_a_measure_and_its_twin_are_corrected_as_one(twins: tuple[str, str]) -> None:
    runs = read(system(0.2)), read(system(0.95))
    alone = evidentia.compare(*runs, measures=[twins[0], "nDCG@10"], resamples=300)
    both = evidentia.compare(*runs, measures=[*twins, "nDCG@10"], resamples=300)
    assert both["nDCG@10"].p_holm == alone["nDCG@10"].p_holm
    assert both[twins[1]].p_holm == pytest.approx(both[twins[0]].p_holm, rel=1e-6)


def test_fewer_measures_are_corrected_for_fewer_measures(many: Comparison) -> None:
    few = evidentia.compare(read(system(0.2)), read(system(0.95)), measures=["nDCG@10"], resamples=1000)
    assert few["nDCG@10"].p == many["nDCG@10"].p
    assert few["nDCG@10"].p_holm == few["nDCG@10"].p < many["nDCG@10"].p_holm
    assert few["nDCG@10[criterion=A.1]"].p_holm <= 3 * few["nDCG@10[criterion=A.1]"].p


def test_few_resamples_are_told() -> None:
    sharp, blunt = sharp_and_blunt()
    assert evidentia.compare(sharp, blunt, measures=["Brier"], resamples=200).notes == ()
    (note,) = evidentia.compare(sharp, blunt, measures=["Brier"], resamples=199).notes
    assert note.startswith("199 resamples give rough standard errors")


def test_the_command_prints_the_note(folders: Path) -> None:
    ran = command("compare", folders / "good", folders / "bad", "--resamples", 30, "--measures", "AUROC")
    assert ran.code == 0
    assert "note 30 resamples give rough standard errors" in ran.out


def test_alpha_is_the_largest_corrected_p_that_counts() -> None:
    runs = read(system(0.5)), read(system(0.6))
    p = evidentia.compare(*runs, measures=["Brier"], resamples=200)["Brier"].p
    verdicts = [
        evidentia.compare(*runs, measures=["Brier"], resamples=200, alpha=alpha)["Brier"].verdict
        for alpha in (p * 0.999, p * 1.001)
    ]
    assert verdicts[0] == "tie"
    assert verdicts[1] in {"win", "loss"}


def test_few_posts_and_few_positives_travel_with_the_number() -> None:
    labels = [1, 0, 0, 0] * 5
    one, other = gated(["NEG", "POS"] * 10, labels), gated(["POS", "NEG"] * 10, labels)
    warnings = evidentia.compare(one, other, measures=["PosRate"], resamples=100)["PosRate"].warnings
    assert any("rests on 20 posts (fewer than 50)" in warning for warning in warnings)
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
