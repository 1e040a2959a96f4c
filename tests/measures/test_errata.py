"""Where a source is wrong or ambiguous: what this package does instead, by the number of the erratum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.queries import F, detector, estimate, exactly, query, run_of, value
from evidentia.errors import InputError
from evidentia.evaluation import evaluate_run
from evidentia.protocol.thresholds import fpr_budget_threshold
from evidentia.results import Evaluation, Finding
from evidentia.tables import Run
from evidentia.workflow import evaluate
from sampling import examples

# 1: the largest threshold among those that maximise TPR within the budget

scored = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), st.booleans()), max_size=15)


@examples(200)
@given(scored, st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0]))
def test_1_the_threshold_is_the_largest_of_the_best_within_budget(
    rows: list[tuple[float, bool]], budget: float
) -> None:
    positives = sum(label for _, label in rows)
    negatives = len(rows) - positives
    best, chosen = 0, None  # reject everything
    for t in sorted({score for score, _ in rows}, reverse=True):
        tp = sum(label for score, label in rows if score >= t)
        fp = sum(not label for score, label in rows if score >= t)
        if fp <= F(str(budget)) * negatives and tp > best:
            best, chosen = tp, t
    scores, labels = np.array([s for s, _ in rows], float), np.array([y for _, y in rows], bool)
    found = fpr_budget_threshold(scores, labels, budget)
    assert found.value == chosen
    assert found.reason == (None if chosen is not None else "reject_all")
    assert found.tpr == (best / positives if positives else 0.0)
    assert found.fpr <= budget
    assert found.says_yes(scores).sum() == (0 if chosen is None else (scores >= chosen).sum())


def test_1_rejecting_everything_also_rejects_prob_1() -> None:
    found = fpr_budget_threshold(np.array([1.0, 1.0]), np.array([True, False]), 0.05)
    assert (found.value, found.reason, found.tpr, found.fpr) == (None, "reject_all", 0.0, 0.0)
    assert not found.says_yes(np.array([1.0])).any()
    same = estimate(detector([1, 0], [1.0, 1.0]), "TPR@FPR=5%")
    assert (same.value, same.details["threshold"], same.details["threshold_reason"]) == (0.0, None, "reject_all")


def test_1_a_lower_threshold_that_gains_nothing_is_not_taken() -> None:
    # 0.9 finds all; 0.8 and 0.7 are negatives that the budget could afford
    found = estimate(detector([1, 0, 0], [0.9, 0.8, 0.7]), "TPR@FPR=100%")
    assert (found.value, found.details["threshold"], found.details["achieved_fpr"]) == (1.0, 0.9, 0.0)


# 2: thresholds are inclusive


def test_2_a_prob_equal_to_the_threshold_is_a_yes() -> None:
    run = detector([1, 1, 0, 0], [0.5, 0.49, 0.5, 0.49], tau=[0.49] * 4)
    assert [value(run, f"{cell}(t=0.5)") for cell in ("TP", "FP", "FN", "TN")] == [1, 1, 1, 1]
    assert [value(run, f"{cell}(t=gate)") for cell in ("TP", "FP", "FN", "TN")] == [2, 2, 0, 0]
    assert value(run, "NetBenefit@t=0.5") == 0.0


def test_2_states_start_at_their_taus() -> None:
    below = float(np.nextafter(0.3, 0)), float(np.nextafter(0.6, 0))
    run = detector([1] * 4, [below[0], 0.3, below[1], 0.6], tau_neg=[0.3] * 4, tau_pos=[0.6] * 4)
    assert value(run, "NegRate") == 0.25
    assert value(run, "UncertainRate") == 0.5
    assert value(run, "PosRate") == 0.25


def test_2_equal_taus_leave_nothing_uncertain() -> None:
    run = detector([1] * 2, [0.3, 0.29], tau_neg=[0.3] * 2, tau_pos=[0.3] * 2)
    assert (value(run, "NegRate"), value(run, "UncertainRate"), value(run, "PosRate")) == (0.5, 0.0, 0.5)


def test_2_taus_in_the_wrong_order_are_an_error() -> None:
    with pytest.raises(InputError, match="tau_neg > tau_pos"):
        detector([1], [0.5], tau_neg=[0.7], tau_pos=[0.3])


# 4: bins

tenths = st.integers(0, 10).map(lambda i: i / 10)
nearby = st.one_of(tenths, tenths.map(lambda p: float(np.nextafter(p, 0))), st.floats(0, 1))


@examples(80)
@given(st.lists(st.tuples(st.integers(0, 1), nearby), min_size=1, max_size=25))
def test_4_ece_bins_hold_every_prob_once(rows: list[tuple[int, float]]) -> None:
    bins: dict[int, list[tuple[int, float]]] = {}
    for label, prob in rows:
        index = max(i for i in range(10) if i / 10 <= prob)
        bins.setdefault(index, []).append((label, prob))
    gaps = sum(abs(sum(F(p) for _, p in held) - sum(y for y, _ in held)) for held in bins.values())
    assert sum(map(len, bins.values())) == len(rows)
    assert value(detector([y for y, _ in rows], [p for _, p in rows]), "ECE") == pytest.approx(
        float(gaps / len(rows)), rel=0, abs=1e-12
    )


# 5: conventions travel with their reasons, and stay out of means


def three_folds() -> Run:
    """AUROC is 1 in fold 0, 1/2 in fold 1, and undefined in fold 2, which has one class."""
    rows = {0: [(1, 0.9), (0, 0.1)], 1: [(1, 0.5), (0, 0.5)], 2: [(0, 0.3), (0, 0.2)]}
    return run_of(
        *(
            query(f"p{fold}{i}", fold=fold, has_evidence=label, prob=prob)
            for fold, pairs in rows.items()
            for i, (label, prob) in enumerate(pairs)
        )
    )


def test_5_degenerate_folds_are_left_out_of_mean_and_std_and_counted() -> None:
    found = estimate(three_folds(), "AUROC")
    assert found.fold_mean == exactly(F(3, 4))
    assert found.fold_std == exactly((2 * 0.25**2) ** 0.5)  # ddof 1
    assert found.folds_used == 2
    assert found.warnings == ("1 of 3 folds are undefined and left out of mean and std",)
    in_fold = estimate(three_folds(), "AUROC[fold=2]")
    assert (in_fold.value, in_fold.degenerate) == (0.5, "no queries with evidence")


def test_5_the_audit_divides_by_the_number_of_folds() -> None:
    assert estimate(three_folds(), "AUROC", "audit").fold_std == exactly(F(1, 4))  # ddof 0


def test_5_one_fold_has_a_mean_and_no_std() -> None:
    run = run_of(
        query("a", fold=0, has_evidence=1, prob=0.9),
        query("b", fold=0, has_evidence=0, prob=0.1),
        query("c", fold=1, has_evidence=0, prob=0.1),
    )
    found = estimate(run, "AUROC")
    assert (found.fold_mean, found.fold_std, found.folds_used) == (1.0, None, 1)


def test_5_no_fold_has_neither() -> None:
    run = run_of(query("a", fold=0, has_evidence=0, prob=0.9), query("b", fold=1, has_evidence=0, prob=0.1))
    found = estimate(run, "AUROC")
    assert (found.fold_mean, found.fold_std, found.folds_used) == (None, None, 0)


def test_5_degenerate_criteria_are_left_out_of_the_mean_over_criteria_and_counted() -> None:
    run = run_of(
        query("a", "A.1", has_evidence=1, prob=0.9),
        query("b", "A.1", has_evidence=0, prob=0.1),
        query("a", "A.2", has_evidence=0, prob=0.1),
        query("a", "A.3", has_evidence=1, prob=0.1),
    )
    found = estimate(run, "AUROC(avg=criterion)")
    assert found.value == 1.0
    assert found.warnings == ("2 of 3 criteria are undefined and left out of the mean",)


def test_5_when_every_criterion_is_degenerate_so_is_their_mean() -> None:
    run = run_of(query("a", "A.1", has_evidence=1, prob=0.9), query("a", "A.2", has_evidence=0, prob=0.1))
    found = estimate(run, "AUROC(avg=criterion)")
    assert (found.value, found.degenerate) == (0.0, "no criterion where it is defined and has weight")


def test_5_a_conventional_zero_of_a_query_is_not_degenerate() -> None:
    found = estimate(run_of(query(gold="", ranked="a b")), "nDCG(pop=all)@10")
    assert (found.value, found.degenerate, found.n) == (0.0, None, 1)


# 6: two targets


def test_6_screening_sensitivity_and_misses_per_1000_are_two_figures() -> None:
    # 200 queries with evidence, one of them skipped, among 2,000: 99.5 % sensitivity, and 0.5 misses per 1,000
    rows = [(1, "NEG")] + [(1, "POS")] * 199 + [(0, "NEG")] * 1800
    run = run_of(*(query(f"p{i}", has_evidence=label, state=state) for i, (label, state) in enumerate(rows)))
    assert value(run, "ScreeningSensitivity") == exactly(F(995, 1000))
    assert value(run, "ScreeningFNPer1000") == exactly(F(1, 2))


# 7: Hamming score and subset accuracy


def test_7_the_hamming_score_is_not_the_exact_match_rate() -> None:
    run = run_of(query("p", "A", has_evidence=1, prob=1.0), query("p", "B", has_evidence=1, prob=0.0))
    assert (value(run, "HammingScore"), value(run, "ExactMatch")) == (0.5, 0.0)


# 8: F1 of posts with nothing to find


def test_8_a_perfect_system_stays_below_1_unless_empty_posts_count_as_right() -> None:
    posts = {"p1": (1, 0), "p2": (1, 1), "p3": (0, 0), "p4": (0, 0), "p5": (0, 1)}
    run = run_of(
        *(
            query(post, criterion, has_evidence=label, prob=float(label))
            for post, labels in posts.items()
            for criterion, label in zip("AB", labels, strict=True)
        )
    )
    assert value(run, "F1(avg=post)") == exactly(F(3, 5))
    assert estimate(run, "F1(avg=post)").details == {"posts_with_nothing_to_find_and_nothing_said": 2}
    assert value(run, "F1(avg=post,empty=1)") == 1.0
    for name in ("F1(avg=micro)", "F1(avg=criterion)", "F1(avg=post_weighted)", "F1(avg=label_weighted)"):
        assert value(run, name) == 1.0


# 13: the level is part of the definition


def test_13_the_same_name_has_another_definition_under_the_paper_and_says_so() -> None:
    run = detector([1, 0], [0.9, 0.1])
    assert estimate(run, "AUROC").definition == "AUROC(level=query,avg=pooled)"
    assert estimate(run, "AUROC(level=query)", "paper").definition == "AUROC(level=query,avg=pooled)"
    with pytest.raises(InputError, match="candidates"):
        estimate(run, "AUROC", "paper")


def test_other_profiles_values_stand_beside_a_number_where_they_differ() -> None:
    run = run_of(query("p1", gold="a c", ranked="a b c"), query("p2", gold="a", ranked="b a"))
    others = evaluate_run(run, measures=["MAP@2", "nDCG@2"]).other_definitions
    assert {(other.name, other.profiles) for other in others} == {
        ("MAP@2", ("e2e",)),  # 1/1 and 1/2 by what was found; the others divide by 2 here
    }


# 17: K_eff and K coincide on complete rankings


@pytest.mark.parametrize("k", [1, 2, 3])
def test_17_on_complete_rankings_the_norms_min_and_min_eff_coincide(k: int) -> None:
    run = run_of(query("p1", gold="a c", ranked="a b c"), query("p2", gold="c", ranked="b a c"))
    assert value(run, f"MAP@{k}", "paper") == value(run, f"MAP@{k}", "audit")


# 19: the gate and the selection


def gate_check(*rows: dict[str, Any]) -> tuple[Evaluation, Finding]:
    evaluation = evaluate(run_of(*rows), measures=["SelectedK", "FPR(t=gate)", "FPR(t=returned)"], resamples=0)
    (finding,) = (check for check in evaluation.checks if check.code == "GATE001")
    return evaluation, finding


def test_19_a_skipped_query_that_returns_sentences_fails_a_check() -> None:
    evaluation, finding = gate_check(
        query("p1", gold="a", ranked="a b", selected="a", state="NEG"),
        query("p2", gold="a", ranked="a b", selected="a", state="POS"),
    )
    assert finding.status == "failed"
    assert finding.message.startswith("1 queries in state NEG return sentences")
    assert not evaluation.passed


def test_19_a_query_let_through_that_returns_nothing_is_legal_and_counted() -> None:
    evaluation, finding = gate_check(
        query("p1", gold="", ranked="a b", selected="", state="POS"),
        query("p2", gold="", ranked="a b", selected="", state="NEG"),
    )
    assert finding.status == "passed"
    assert "1 query that the gate lets through returns nothing, which is legal" in finding.message
    assert evaluation.passed
    assert evaluation["FPR(t=gate)"].value == 0.5
    assert evaluation["FPR(t=returned)"].value == 0.0


def test_19_without_states_the_check_says_that_it_did_not_look() -> None:
    _, finding = gate_check(query("p1", gold="a", ranked="a", selected="a", prob=0.9))
    assert finding.status == "not applicable"
