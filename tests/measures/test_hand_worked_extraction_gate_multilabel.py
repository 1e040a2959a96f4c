"""Extraction, the three-state gate and the multi-label family, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from builders.queries import F, estimate, exactly, hand_worked, query, run_of, value
from evidentia.errors import InputError
from evidentia.evaluation import evaluate_run
from evidentia.tables import Run

RANKED = "a b c d"


def chosen(post: str, state: str, gold: str, selected: str, prob: float) -> dict[str, Any]:
    return query(post, state=state, gold=gold, ranked=RANKED, selected=selected, prob=prob)


@pytest.fixture(scope="module")
def five() -> Run:
    """Five queries: the gate stops p3 and p5, of which p3 has evidence and returns some all the same."""
    return run_of(
        chosen("p1", "POS", "a b", "a c", 0.9),  # 1 of 2 gold among 2 selected
        chosen("p2", "UNCERTAIN", "a", "a b c d", 0.5),  # 1 of 1 gold among 4
        chosen("p3", "NEG", "a b c", "a", 0.1),  # 1 of 3 gold among 1, behind a closed gate
        chosen("p4", "POS", "", "a b", 0.8),  # a false alarm
        chosen("p5", "NEG", "", "", 0.2),  # rightly nothing
    )


@hand_worked("SelectedK")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SelectedK", F(2 + 4 + 1 + 2 + 0, 5)),
        ("SelectedK(closed=zero)", F(2 + 4 + 0 + 2 + 0, 5)),
        ("SelectedK(given=gate)", F(2 + 4 + 2, 3)),
        ("SelectedK(given=gate,closed=zero)", F(2 + 4 + 2, 3)),
        ("SelectedK[has_evidence=1]", F(2 + 4 + 1, 3)),
        ("SelectedK[has_evidence=0]", F(2, 2)),
        ("SelectedK[state=POS]", F(4, 2)),
    ],
)
def test_selected_k_says_over_which_queries_it_averages(five: Run, name: str, expected: F) -> None:
    assert value(five, name) == exactly(expected)


@hand_worked("SelectedK")
def test_e2e_counts_a_closed_gate_as_nothing_selected(five: Run) -> None:
    assert value(five, "SelectedK", "e2e") == value(five, "SelectedK(closed=zero)")


@hand_worked("SelectedK")
def test_selected_k_carries_its_histogram(five: Run) -> None:
    spread = estimate(five, "SelectedK").distribution  # 0 1 2 2 4
    assert spread is not None
    assert spread.histogram == {"0": 1, "1": 1, "2": 2, "4": 1}
    assert (spread.min, spread.median, spread.max) == (0.0, 2.0, 4.0)
    assert spread.p90 == exactly(F(32, 10))  # 60 % of the way from the 4th (2) to the 5th (4)


@hand_worked("EvidenceRecall")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("EvidenceRecall", (F(1, 2) + 1 + F(1, 3)) / 3),
        ("EvidenceRecall(given=gate)", (F(1, 2) + 1) / 2),
        ("EvidenceRecall(pool=micro)", F(1 + 1 + 0, 2 + 1 + 3)),
        ("EvidenceRecall(pool=micro,given=gate)", F(1 + 1, 2 + 1)),
        ("EvidenceRecall(pop=all)", (F(1, 2) + 1 + F(1, 3) + 0 + 1) / 5),
    ],
)
def test_evidence_recall_in_its_readings(five: Run, name: str, expected: F) -> None:
    assert value(five, name) == exactly(expected)


@hand_worked("EvidenceRecall")
def test_each_profile_has_its_own_evidence_recall(five: Run) -> None:
    assert value(five, "EvidenceRecall", "e2e") == exactly(F(2, 6))
    assert value(five, "EvidenceRecall", "audit") == exactly(F(17, 30))
    assert value(five, "EvidenceRecall", "paper") == value(five, "EvidenceRecall")


@hand_worked("EvidencePrecision")
def test_evidence_precision_over_positives_and_over_all(five: Run) -> None:
    assert value(five, "EvidencePrecision") == exactly((F(1, 2) + F(1, 4) + 1) / 3)
    # p4 scores 0 of 2; p5 selected nothing and there was nothing
    assert value(five, "EvidencePrecision(pop=all)") == exactly((F(1, 2) + F(1, 4) + 1 + 0 + 1) / 5)


@hand_worked("EvidenceRecall", "EvidencePrecision")
def test_nothing_selected_though_there_was_evidence_scores_0_everywhere() -> None:
    run = run_of(chosen("p1", "POS", "a", "", 0.9))
    for name in ("EvidenceRecall", "EvidenceRecall(pop=all)", "EvidencePrecision", "EvidencePrecision(pop=all)"):
        assert value(run, name) == 0.0


@hand_worked("EvidenceRecall", "EvidencePrecision", "SelectedK")
def test_without_evidence_the_readings_over_positives_are_undefined() -> None:
    run = run_of(chosen("p1", "NEG", "", "", 0.1))
    for name in ("EvidenceRecall", "EvidenceRecall(pool=micro)", "EvidencePrecision", "SelectedK(given=gate)"):
        assert estimate(run, name).degenerate is not None
        assert estimate(run, name).value == 0.0
    assert value(run, "EvidenceRecall(pop=all)") == value(run, "EvidencePrecision(pop=all)") == 1.0


def state(post: str, criterion: str, state: str, label: int) -> dict[str, Any]:
    return query(post, criterion, state=state, has_evidence=label)


@pytest.fixture(scope="module")
def gated() -> Run:
    """Three posts x two criteria; p2 has evidence skipped, p3 a false alarm beside a right one."""
    return run_of(
        state("p1", "A", "POS", 1),
        state("p1", "B", "UNCERTAIN", 1),
        state("p2", "A", "NEG", 1),
        state("p2", "B", "POS", 1),
        state("p3", "A", "POS", 0),
        state("p3", "B", "POS", 1),
    )


@hand_worked("NegRate", "UncertainRate", "PosRate", "AlertsPer1000", "ScreeningFNPer1000")
@hand_worked("ScreeningSensitivity", "AlertPrecision")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NegRate", F(1, 6)),
        ("UncertainRate", F(1, 6)),
        ("PosRate", F(4, 6)),
        ("AlertsPer1000", F(4000, 6)),
        ("ScreeningFNPer1000", F(1000, 6)),
        ("ScreeningSensitivity", F(4, 5)),
        ("AlertPrecision", F(3, 4)),
        ("ScreeningSensitivity(unit=post)", F(2, 3)),  # p2 lost some
        ("AlertPrecision(unit=post)", F(2, 3)),  # p3 cried wolf once
    ],
)
def test_the_gate_in_numbers(gated: Run, name: str, expected: F) -> None:
    assert value(gated, name) == pytest.approx(float(expected), rel=1e-15)


@hand_worked("ScreeningSensitivity", "AlertPrecision")
def test_per_post_figures_count_posts(gated: Run) -> None:
    assert estimate(gated, "ScreeningSensitivity").n == 5
    assert estimate(gated, "ScreeningSensitivity(unit=post)").n == 3
    assert estimate(gated, "AlertPrecision(unit=post)").population == "posts with an alert"


@hand_worked("ScreeningSensitivity", "AlertPrecision")
def test_within_a_criterion_a_post_is_judged_by_its_queries_of_that_criterion(gated: Run) -> None:
    assert value(gated, "ScreeningSensitivity(unit=post)[criterion=A]") == exactly(F(1, 2))  # p1, not p2
    assert value(gated, "ScreeningSensitivity(unit=post)[criterion=B]") == 1.0  # p1 p2 p3
    assert value(gated, "AlertPrecision(unit=post)[criterion=A]") == exactly(F(1, 2))  # p1, not p3
    assert value(gated, "AlertPrecision(unit=post)[criterion=B]") == 1.0  # p2 p3


@hand_worked("ScreeningSensitivity", "AlertPrecision")
def test_without_evidence_or_alerts_the_gate_figures_are_undefined() -> None:
    run = run_of(state("p1", "A", "NEG", 0))
    for name in ("ScreeningSensitivity", "ScreeningSensitivity(unit=post)"):
        assert estimate(run, name).degenerate == "no evidence in the population"
    for name in ("AlertPrecision", "AlertPrecision(unit=post)"):
        assert estimate(run, name).degenerate == "no alerts"
    assert value(run, "NegRate") == 1.0


def judged(post: str, criterion: str, label: int, said: int) -> dict[str, Any]:
    return query(post, criterion, has_evidence=label, prob=0.9 if said else 0.1)


@pytest.fixture(scope="module")
def labelled() -> Run:
    """Four posts x three criteria as (truth, said); criterion C is 0/0.

    p1: A 1,1  B 1,0  C 0,0   TP 1 FN 1, F1 2/3
    p2: A 1,1  B 0,0  C 0,0   all right, F1 1
    p3: A 0,1  B 0,0  C 0,0   a false alarm, F1 0
    p4: A 0,0  B 0,0  C 0,0   nothing there, nothing said: 0/0
    """
    said = {"p1": "11 10 00", "p2": "11 00 00", "p3": "01 00 00", "p4": "00 00 00"}
    return run_of(
        *(
            judged(post, criterion, int(pair[0]), int(pair[1]))
            for post, pairs in said.items()
            for criterion, pair in zip("ABC", pairs.split(), strict=True)
        )
    )


@hand_worked("ExactMatch", "HammingScore", "HammingLoss", "F1(avg=micro)")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ExactMatch", F(2, 4)),
        ("HammingScore", (F(2, 3) + 1 + F(2, 3) + 1) / 4),
        ("HammingLoss", F(2, 12)),
        ("F1(avg=micro)", F(2 * 2, 2 * 2 + 1 + 1)),
        ("F1(avg=post)", (F(2, 3) + 1 + 0 + 0) / 4),
        ("F1(avg=post,empty=1)", (F(2, 3) + 1 + 0 + 1) / 4),
        ("F1(avg=post_weighted)", (2 * F(2, 3) + 1 * F(1)) / 3),
        ("F1(avg=criterion)", (F(4, 5) + 0) / 2),  # A: TP 2 FP 1; B: FN 1; C left out
        ("F1(avg=label_weighted)", (2 * F(4, 5) + 1 * F(0)) / 3),
    ],
)
def test_the_multi_label_family(labelled: Run, name: str, expected: F) -> None:
    assert value(labelled, name) == exactly(expected)


@hand_worked("F1(avg=criterion)")
def test_a_criterion_without_a_defined_f1_is_counted(labelled: Run) -> None:
    for name in ("F1(avg=criterion)", "F1(avg=label_weighted)"):
        assert estimate(labelled, name).warnings == ("1 of 3 criteria are undefined and left out of the mean",)
    assert estimate(labelled, "F1(avg=post)").details == {"posts_with_nothing_to_find_and_nothing_said": 1}


@hand_worked("F1(avg=micro)")
def test_micro_f1_is_the_f1_of_the_gate(labelled: Run) -> None:
    assert value(labelled, "F1(avg=micro)") == value(labelled, "F1(t=gate)")


@hand_worked("F1(avg=micro)")
@pytest.mark.parametrize(("profile", "avg"), [("contract", "post"), ("e2e", "criterion"), ("audit", "criterion")])
def test_macro_f1_means_what_the_profile_says(labelled: Run, profile: str, avg: str) -> None:
    assert value(labelled, "macro_f1", profile) == value(labelled, f"F1(avg={avg})")


@hand_worked("ExactMatch", "HammingScore", "F1(avg=post)")
def test_a_slice_that_cuts_through_posts_has_no_figure_about_whole_posts() -> None:
    right, wrong = judged("p1", "A", 1, 1) | {"part": "x"}, judged("p1", "B", 1, 0) | {"part": "y"}
    run = run_of(right, wrong, by=["part"])
    evaluation = evaluate_run(run, measures=["HammingScore", "ExactMatch", "F1(avg=post)", "TP(t=gate)"], by=["part"])
    grouped = [name for name in evaluation if "part=" in name]
    assert grouped == ["TP(t=gate)[part=x]", "TP(t=gate)[part=y]"]
    assert (evaluation["HammingScore"].value, evaluation["ExactMatch"].value) == (0.5, 0.0)
    with pytest.raises(InputError, match="cuts through posts"):
        evaluate_run(run, measures=["ExactMatch[part=x]"])


@hand_worked("ExactMatch", "F1(avg=post)")
def test_a_missing_pair_means_no_multi_label_figures() -> None:
    run = run_of(judged("p1", "A", 1, 1), judged("p1", "B", 0, 0), judged("p2", "A", 1, 1))
    with pytest.raises(InputError, match="one query for every"):
        estimate(run, "ExactMatch")
