"""Detection measures on eight queries that fit on a napkin."""

from __future__ import annotations

import math

import polars as pl
import pytest

from builders.queries import F, detector, estimate, exactly, hand_worked, query, run_of, value
from evidentia.errors import InputError
from evidentia.evaluation import evaluate_run
from evidentia.tables import Run

LABELS = (1, 0, 1, 0, 1, 0, 0, 0)
PROBS = (0.9, 0.8, 0.7, 0.7, 0.4, 0.3, 0.2, 0.1)


@pytest.fixture(scope="module")
def eight() -> Run:
    """3 queries with evidence, 5 without; one tie at 0.7. At 0.5: TP 2, FP 2, FN 1, TN 3."""
    return detector(LABELS, PROBS)


@hand_worked("Queries", "Positives", "PositiveRate")
def test_eight_queries_of_which_three_have_evidence(eight: Run) -> None:
    assert value(eight, "Queries") == 8
    assert value(eight, "Positives") == 3
    assert value(eight, "PositiveRate") == exactly(F(3, 8))


@hand_worked("AUROC")
def test_auroc_counts_pairs_in_order_and_half_of_the_ties(eight: Run) -> None:
    # 0.9 beats all 5; 0.7 beats 0.3 0.2 0.1 and ties with 0.7; 0.4 beats 0.3 0.2 0.1
    assert value(eight, "AUROC") == exactly((5 + F(7, 2) + 3) / 15)


@hand_worked("AUROC")
def test_auroc_of_one_class_is_one_half_by_convention_and_says_so() -> None:
    assert estimate(detector([1, 1], [0.2, 0.9]), "AUROC").value == 0.5
    assert estimate(detector([1, 1], [0.2, 0.9]), "AUROC").degenerate == "no queries without evidence"
    assert estimate(detector([0, 0], [0.2, 0.9]), "AUROC").degenerate == "no queries with evidence"


@hand_worked("AUPRC")
def test_average_precision_adds_precision_where_recall_grows(eight: Run) -> None:
    # precision is 1/1 at 0.9, 2/4 at 0.7 (tie group), 3/5 at 0.4; each gains a third of the recall
    assert value(eight, "AUPRC") == exactly((F(1) + F(1, 2) + F(3, 5)) / 3)
    assert estimate(eight, "AUPRC").details["prevalence"] == exactly(F(3, 8))


@hand_worked("AUPRC")
def test_average_precision_of_one_class_is_the_prior_and_says_so() -> None:
    only, none = detector([1, 1], [0.2, 0.9]), detector([0, 0], [0.2, 0.9])
    assert (estimate(only, "AUPRC").value, estimate(none, "AUPRC").value) == (1.0, 0.0)
    assert estimate(only, "AUPRC").degenerate == "no queries without evidence"
    assert estimate(none, "AUPRC").degenerate == "no queries with evidence"


def test_without_prob_the_sweeps_run_over_the_detection_score() -> None:
    run = run_of(*(query(f"p{i}", has_evidence=y, detection_score=s) for i, (y, s) in enumerate([(1, 7), (0, -3)])))
    assert value(run, "AUROC") == 1.0


def candidate_run(**extra: list[float]) -> Run:
    """Two queries with five candidates; gold scores 3 and 1, others 2, 1 and 0."""
    candidates = pl.DataFrame(
        {
            "post_id": ["p1", "p1", "p1", "p2", "p2"],
            "criterion_id": ["A", "A", "A", "B", "B"],
            "sent_uid": ["p1.a", "p1.b", "p1.c", "p2.a", "p2.b"],
            "score": [3.0, 2.0, 0.0, 1.0, 1.0],
            "is_gold": [1, 0, 0, 1, 0],
            **extra,
        }
    )
    return run_of(query("p1", "A", gold="a"), query("p2", "B", gold="a"), candidates=candidates)


@hand_worked("AUROC", "AUPRC")
def test_candidate_level_asks_which_sentence_not_whether() -> None:
    run = candidate_run()
    # gold 3 beats 2 1 0; gold 1 beats 0 and ties with 1
    assert value(run, "AUROC(level=candidate)") == exactly((3 + 1 + F(1, 2)) / 6)
    # precision 1/1 at 3, 2/4 at 1
    assert value(run, "AUPRC(level=candidate)") == exactly((F(1) + F(1, 2)) / 2)
    assert estimate(run, "AUROC(level=candidate)").n == 5
    assert value(run, "AUROC", "paper") == value(run, "AUROC(level=candidate)")


@hand_worked("AUROC", "AUPRC")
def test_candidate_level_averages_over_criteria() -> None:
    run = candidate_run()
    # criterion A: 1.0; criterion B: a tie
    assert value(run, "AUROC(level=candidate,avg=criterion)") == exactly((1 + F(1, 2)) / 2)
    assert value(run, "AUPRC(level=candidate,avg=criterion)") == exactly((1 + F(1, 2)) / 2)


def test_candidate_level_prefers_node_prob_to_score() -> None:
    assert value(candidate_run(node_prob=[0.1, 0.2, 0.9, 0.1, 0.5]), "AUROC(level=candidate)") == 0.0


@hand_worked("TPR@FPR=5%")
@pytest.mark.parametrize(
    ("budget", "tpr", "threshold", "achieved"),
    [
        ("0%", F(1, 3), 0.9, F(0)),
        ("20%", F(1, 3), 0.9, F(0)),  # 0.8 would spend a fifth of the negatives for nothing
        ("39%", F(1, 3), 0.9, F(0)),
        ("40%", F(1), 0.4, F(2, 5)),
        ("100%", F(1), 0.4, F(2, 5)),
    ],
)
def test_tpr_at_fpr_takes_the_most_evidence_within_the_budget(
    eight: Run, budget: str, tpr: F, threshold: float, achieved: F
) -> None:
    found = estimate(eight, f"TPR@FPR={budget}")
    assert found.value == exactly(tpr)
    assert found.details == {
        "threshold": threshold,
        "threshold_reason": None,
        "achieved_fpr": exactly(achieved),
    }


@hand_worked("TPR@FPR=5%")
def test_where_no_threshold_fits_the_budget_everything_is_rejected() -> None:
    found = estimate(detector([0, 1], [0.9, 0.8]), "TPR@FPR=5%")
    assert found.value == 0.0
    assert found.details == {"threshold": None, "threshold_reason": "reject_all", "achieved_fpr": 0.0}
    assert found.degenerate is None


@hand_worked("TPR@FPR=5%")
def test_tpr_at_fpr_of_one_class_is_zero_and_says_so() -> None:
    assert estimate(detector([1, 1], [0.9, 0.8]), "TPR@FPR=5%").value == 0.0
    assert estimate(detector([1, 1], [0.9, 0.8]), "TPR@FPR=5%").degenerate == "no queries without evidence"
    assert estimate(detector([0, 0], [0.9, 0.8]), "TPR@FPR=5%").degenerate == "no queries with evidence"


def nested() -> Run:
    """Two folds. TUNE of fold 0 gives the threshold 0.6, TUNE of fold 1 must reject everything."""
    rows = []
    for fold, split, probs, labels in (
        (0, "TUNE", (0.6, 0.5, 0.3), (1, 0, 1)),
        (0, "EVAL", (0.7, 0.6, 0.6, 0.2, 0.1), (1, 1, 0, 1, 0)),
        (1, "TUNE", (0.9, 0.8), (0, 1)),
        (1, "EVAL", (0.95, 0.9), (1, 0)),
    ):
        rows += [
            query(f"{split}{fold}{i}", fold=fold, split=split, prob=p, has_evidence=y)
            for i, (p, y) in enumerate(zip(probs, labels, strict=True))
        ]
    return run_of(*rows)


@hand_worked("TPR(tuned)@FPR=5%", "FPR(tuned)@FPR=5%", "Precision(tuned)@FPR=5%", "F1(tuned)@FPR=5%")
@hand_worked("MCC(tuned)@FPR=5%")
def test_a_tuned_threshold_comes_from_tune_and_is_judged_on_eval() -> None:
    run = nested()
    # fold 0 says yes to 0.7, 0.6 and 0.6; fold 1 to nothing: TP 2, FP 1, FN 2, TN 2
    assert value(run, "TPR(tuned)@FPR=5%") == exactly(F(2, 4))
    assert value(run, "FPR(tuned)@FPR=5%") == exactly(F(1, 3))  # achieved, well above the budget
    assert value(run, "Precision(tuned)@FPR=5%") == exactly(F(2, 3))
    assert value(run, "F1(tuned)@FPR=5%") == exactly(F(4, 7))
    assert value(run, "MCC(tuned)@FPR=5%") == exactly((2 * 2 - 1 * 2) / math.sqrt(3 * 4 * 3 * 4))
    assert value(run, "TPR(tuned)@FPR=5%[fold=0]") == exactly(F(2, 3))
    assert value(run, "TPR(tuned)@FPR=5%[fold=1]") == 0.0


@hand_worked("TPR(tuned)@FPR=5%")
def test_a_tuned_figure_carries_budget_thresholds_and_what_they_achieved_on_tune() -> None:
    details = estimate(nested(), "TPR(tuned)@FPR=5%").details
    assert details["budget_fpr"] == 0.05
    assert details["thresholds"] == {
        "0": {"value": 0.6, "reason": None, "tune_tpr": 0.5, "tune_fpr": 0.0},
        "1": {"value": None, "reason": "reject_all", "tune_tpr": 0.0, "tune_fpr": 0.0},
    }


@hand_worked("TPR(tuned)@FPR=5%", "TPR(same)@FPR=5%")
def test_tuned_and_same_are_two_names_with_two_values() -> None:
    run = nested()
    # on EVAL itself: 0.95 and 0.9 (negative) come first, so one of four at FPR 0; within 40 % (1 of 3): 2 of 4
    assert value(run, "TPR(same)@FPR=5%") == exactly(F(1, 4))
    assert value(run, "TPR(same)@FPR=40%") == exactly(F(2, 4))
    assert value(run, "TPR@FPR=5%", "contract") == value(run, "TPR(same)@FPR=5%")
    assert value(run, "TPR@FPR=5%", "e2e") == value(run, "TPR(tuned)@FPR=5%")


def test_a_tuned_figure_needs_tune_rows(eight: Run) -> None:
    with pytest.raises(InputError, match="TUNE rows"):
        estimate(eight, "TPR(tuned)@FPR=5%")


FOUR = ("TP(t=0.5)", "FP(t=0.5)", "FN(t=0.5)", "TN(t=0.5)")
CONFUSION = ("Sensitivity", "Specificity", "FPR", "FNR", "Precision", "NPV", "F1", "MCC", "BalancedAccuracy")


@hand_worked(*FOUR, *(f"{name}(t=0.5)" for name in CONFUSION))
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TP", 2),
        ("FP", 2),
        ("FN", 1),
        ("TN", 3),
        ("Sensitivity", F(2, 3)),
        ("Specificity", F(3, 5)),
        ("FPR", F(2, 5)),
        ("FNR", F(1, 3)),
        ("Precision", F(2, 4)),
        ("NPV", F(3, 4)),
        ("F1", F(4, 7)),
        ("MCC", (2 * 3 - 2 * 1) / math.sqrt(4 * 3 * 5 * 4)),
        ("BalancedAccuracy", (F(2, 3) + F(3, 5)) / 2),
    ],
)
def test_the_confusion_family_at_one_half(eight: Run, name: str, expected: F) -> None:
    assert value(eight, f"{name}(t=0.5)") == exactly(expected)


@hand_worked(*(f"{name}(t=0.8)" for name in CONFUSION))
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TP", 1),
        ("FP", 1),
        ("FN", 2),
        ("TN", 4),
        ("Sensitivity", F(1, 3)),
        ("Specificity", F(4, 5)),
        ("FPR", F(1, 5)),
        ("FNR", F(2, 3)),
        ("Precision", F(1, 2)),
        ("NPV", F(4, 6)),
        ("F1", F(2, 5)),
        ("MCC", (1 * 4 - 1 * 2) / math.sqrt(2 * 3 * 5 * 6)),
        ("BalancedAccuracy", (F(1, 3) + F(4, 5)) / 2),
    ],
)
def test_any_threshold_may_be_written_and_is_inclusive(eight: Run, name: str, expected: F) -> None:
    assert value(eight, f"{name}(t=0.8)") == exactly(expected)  # 0.9 and 0.8 say yes


def three_ways() -> Run:
    """Four queries on which prob, state and selection disagree.

    prob >= 0.5: yes no no yes; state: yes yes no yes; returned: yes no no no. Truth: yes yes no no.
    """
    rows = [("POS", 0.9, "a", "a b"), ("UNCERTAIN", 0.4, "a", ""), ("NEG", 0.1, "", ""), ("POS", 0.8, "", "")]
    return run_of(
        *(
            query(f"p{i}", prob=prob, state=state, gold=gold, ranked="a b", selected=selected)
            for i, (state, prob, gold, selected) in enumerate(rows)
        )
    )


@hand_worked(*(f"{name}(t=gate)" for name in CONFUSION), *(f"{name}(t=returned)" for name in CONFUSION))
@pytest.mark.parametrize(
    ("point", "tp", "fp", "fn", "tn"), [("0.5", 1, 1, 1, 1), ("gate", 2, 1, 0, 1), ("returned", 1, 0, 1, 2)]
)
def test_the_operating_point_is_part_of_the_name(point: str, tp: int, fp: int, fn: int, tn: int) -> None:
    run = three_ways()
    assert [value(run, f"{cell}(t={point})") for cell in ("TP", "FP", "FN", "TN")] == [tp, fp, fn, tn]
    assert value(run, f"Sensitivity(t={point})") == exactly(F(tp, tp + fn))
    assert value(run, f"Specificity(t={point})") == exactly(F(tn, tn + fp))
    assert value(run, f"FPR(t={point})") == exactly(F(fp, tn + fp))
    assert value(run, f"FNR(t={point})") == exactly(F(fn, tp + fn))
    assert value(run, f"Precision(t={point})") == exactly(F(tp, tp + fp))
    assert value(run, f"NPV(t={point})") == exactly(F(tn, tn + fn))
    assert value(run, f"F1(t={point})") == exactly(F(2 * tp, 2 * tp + fp + fn))
    assert value(run, f"BalancedAccuracy(t={point})") == exactly((F(tp, tp + fn) + F(tn, tn + fp)) / 2)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    assert value(run, f"MCC(t={point})") == exactly((tp * tn - fp * fn) / math.sqrt(product))


@hand_worked("F1(t=alert)", "MCC(t=alert)")
def test_an_alert_is_pos_against_the_rest() -> None:
    """Alerts: three, two of them right; one query with evidence is UNCERTAIN, one without is NEG. Of prob nothing is asked."""
    rows = [("POS", "a"), ("UNCERTAIN", "a"), ("POS", "a"), ("NEG", ""), ("POS", "")]
    run = run_of(
        *(query(f"p{i}", prob=0.1, state=state, gold=gold, ranked="a b") for i, (state, gold) in enumerate(rows))
    )
    assert [value(run, f"{cell}(t=alert)") for cell in ("TP", "FP", "FN", "TN")] == [2, 1, 1, 1]
    assert value(run, "F1(t=alert)") == exactly(F(4, 6))
    assert value(run, "MCC(t=alert)") == exactly(F(1, 6))
    assert value(run, "F1(t=gate)") == exactly(F(6, 7))
    without = run_of(query("p1", prob=0.9, gold="a", ranked="a"), query("p2", prob=0.1, gold="", ranked="a"))
    missing = evaluate_run(without, measures=["AUROC", "F1(t=alert)"]).not_computed
    assert [gap.reason for gap in missing] == ["needs a state column, or prob with tau_neg and tau_pos"]


def test_without_a_state_the_gate_is_tau_and_without_a_tau_one_half() -> None:
    assert value(detector([1, 1], [0.4, 0.2], tau=[0.4, 0.4]), "TP(t=gate)") == 1
    assert value(detector([1, 1], [0.5, 0.49]), "TP(t=gate)") == 1


@hand_worked(*(f"{name}(t=0.5)" for name in CONFUSION))
@pytest.mark.parametrize(
    ("name", "labels", "probs", "convention", "reason"),
    [
        ("Sensitivity", [0, 0], [0.9, 0.1], 0.0, "no queries with evidence"),
        ("FNR", [0, 0], [0.9, 0.1], 0.0, "no queries with evidence"),
        ("Specificity", [1, 1], [0.9, 0.1], 0.0, "no queries without evidence"),
        ("FPR", [1, 1], [0.9, 0.1], 0.0, "no queries without evidence"),
        ("Precision", [1, 0], [0.1, 0.1], 0.0, "no query was answered yes"),
        ("NPV", [1, 0], [0.9, 0.9], 0.0, "no query was answered no"),
        ("F1", [0, 0], [0.1, 0.1], 0.0, "no evidence anywhere and no query answered yes"),
        ("MCC", [1, 0], [0.9, 0.9], 0.0, "a row or a column of the confusion table is empty"),
        ("BalancedAccuracy", [0, 0], [0.9, 0.1], 0.25, "no queries with evidence"),
        ("BalancedAccuracy", [1, 1], [0.9, 0.1], 0.25, "no queries without evidence"),
    ],
)
def test_a_zero_denominator_gives_the_convention_and_a_reason(
    name: str, labels: list[int], probs: list[float], convention: float, reason: str
) -> None:
    found = estimate(detector(labels, probs), f"{name}(t=0.5)")
    assert (found.value, found.degenerate) == (convention, reason)


def two_criteria() -> Run:
    """Criterion A is the eight queries; criterion B has two posts, both right; criterion C has no evidence."""
    rows = [query(f"p{i}", "A", has_evidence=y, prob=p) for i, (y, p) in enumerate(zip(LABELS, PROBS, strict=True))]
    rows += [query("p0", "B", has_evidence=1, prob=0.8), query("p1", "B", has_evidence=0, prob=0.2)]
    return run_of(*rows, query("p0", "C", has_evidence=0, prob=0.1))


@hand_worked("AUROC", "AUPRC", *(f"{name}(t=0.5)" for name in CONFUSION))
@pytest.mark.parametrize(
    ("name", "on_a", "on_b", "on_c"),
    [
        ("AUROC(avg=criterion)", F(23, 30), 1, None),
        ("AUPRC(avg=criterion)", F(7, 10), 1, None),
        ("Sensitivity(t=0.5,avg=criterion)", F(2, 3), 1, None),
        ("Specificity(t=0.5,avg=criterion)", F(3, 5), 1, 1),
        ("FPR(t=0.5,avg=criterion)", F(2, 5), 0, 0),
        ("FNR(t=0.5,avg=criterion)", F(1, 3), 0, None),
        ("Precision(t=0.5,avg=criterion)", F(1, 2), 1, None),
        ("NPV(t=0.5,avg=criterion)", F(3, 4), 1, 1),
        ("F1(t=0.5,avg=criterion)", F(4, 7), 1, None),
        ("MCC(t=0.5,avg=criterion)", 1 / math.sqrt(15), 1, None),
        ("BalancedAccuracy(t=0.5,avg=criterion)", F(19, 30), 1, None),
    ],
)
def test_a_mean_over_criteria_weighs_them_alike_and_leaves_out_the_undefined(
    name: str, on_a: F, on_b: int, on_c: int | None
) -> None:
    found = estimate(two_criteria(), name)
    defined = [float(v) for v in (on_a, on_b, on_c) if v is not None]
    assert found.value == exactly(sum(defined) / len(defined))
    left_out = ("1 of 3 criteria are undefined and left out of the mean",) if on_c is None else ()
    assert found.warnings == left_out
