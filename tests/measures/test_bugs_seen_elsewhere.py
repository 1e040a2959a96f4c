"""Bugs that other tools have or had, and pitfalls that the sources list: each with a test that would catch it here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.queries import F, detector, estimate, exactly, query, run_of, value
from evidentia.errors import InputError
from evidentia.evaluation import evaluate_run
from evidentia.measures import PROFILES, canonical
from evidentia.results import dumps, loads
from evidentia.synth import synthetic_run
from evidentia.tables import Run, read_run

# Thinned ROC points


def twenty_tied_pairs() -> tuple[list[int], list[float]]:
    """At each of 20 scores one query with evidence and one without: all points lie on the diagonal."""
    return [1, 0] * 20, [score / 100 for score in range(20, 0, -1) for _ in range(2)]


def test_tied_scores_keep_every_operating_point() -> None:
    found = estimate(detector(*twenty_tied_pairs()), "TPR@FPR=50%")
    assert found.value == 0.50
    assert found.details["achieved_fpr"] == 0.50
    assert found.details["threshold"] == 0.11


def test_the_thinned_curve_would_have_said_one_in_twenty() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    fpr, tpr, _ = metrics.roc_curve(*twenty_tied_pairs())
    assert tpr[fpr <= 0.5].max() == 0.05


# ECE that drops prob = 1


def test_all_wrong_and_all_certain_scores_an_ece_of_1() -> None:
    assert value(detector([0] * 5, [1.0] * 5), "ECE") == 1.0
    assert value(detector([0, 0, 1, 1], [1.0, 1.0, 0.0, 0.0]), "ECE") == 1.0


def test_all_right_and_all_certain_scores_an_ece_of_0() -> None:
    assert value(detector([1, 1, 0], [1.0, 1.0, 0.0]), "ECE") == 0.0


# nDCG whose ideal comes from the truncated list


def test_the_ideal_of_ndcg_comes_from_the_labels_not_from_the_list() -> None:
    run = run_of(query(gold="a x y", ranked="a b c"))
    assert value(run, "nDCG@3") == exactly(1 / (1 + 1 / math.log2(3) + 1 / 2))
    assert round(value(run, "nDCG@3"), 3) == 0.469


def test_the_ideal_of_ndcg_is_cut_at_k_too() -> None:
    assert value(run_of(query(gold="a b c d", ranked="a b x y")), "nDCG@2") == 1.0


# Row order under ties


@pytest.mark.slow
def test_with_explicit_rankings_shuffled_rows_give_the_same_bytes() -> None:
    tables = synthetic_run(seed=3, posts=25, criteria=4, positives=30, ties=1.0, splits=True)
    printed = set()
    for seed in range(3):
        run = read_run(
            tables.per_query.sample(fraction=1, shuffle=True, seed=seed),
            candidates=tables.candidates.sample(fraction=1, shuffle=True, seed=seed),
        )
        printed |= {(profile, dumps(evaluate_run(run, profile=profile).to_dict())) for profile in PROFILES}
    assert len(printed) == len(PROFILES)


def test_a_constant_score_is_worth_nothing_in_either_order_of_the_rows() -> None:
    for labels in ([1, 1, 0, 0, 0], [0, 0, 0, 1, 1]):
        run = detector(labels, [0.5] * 5)
        assert value(run, "AUROC") == 0.5
        assert value(run, "AUPRC") == exactly(F(2, 5))
        assert value(run, "TPR@FPR=10%") == 0.0


# NaN in JSON


def lone(**columns: Any) -> Run:
    return run_of(query("p1", **columns), query("p2", **columns))


DEGENERATE = {
    "no evidence": lambda: lone(gold="", ranked="", selected="", prob=0.0, state="NEG"),
    "only evidence": lambda: lone(gold="a", ranked="a", selected="a", prob=1.0, state="POS"),
    "nothing ranked": lambda: lone(gold="a", ranked="", selected="", prob=0.5),
    "labels only": lambda: lone(has_evidence=0),
    "one query": lambda: run_of(query("p1", fold=1, gold="", ranked="a", selected="", prob=0.5, state="UNCERTAIN")),
    "a fold without evidence": lambda: run_of(
        query("p1", fold=0, gold="a", ranked="a", prob=1.0), query("p2", fold=1, gold="", ranked="a", prob=0.0)
    ),
    "nothing to tune on": lambda: run_of(
        query("p1", fold=0, split="TUNE", has_evidence=0, prob=1.0),
        query("p2", fold=0, split="EVAL", has_evidence=1, prob=1.0),
    ),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", DEGENERATE)
def test_a_degenerate_run_is_still_strict_json(kind: str, profile: str) -> None:
    evaluation = evaluate_run(DEGENERATE[kind](), profile=profile)
    content = loads(dumps(evaluation.to_dict()))
    assert content["measures"]
    for name, entry in content["measures"].items():
        assert isinstance(entry["value"], float), name
    assert evaluation.passed


def test_strict_json_refuses_what_is_not_json() -> None:
    for wrong in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match=r"JSON|range"):
            dumps({"value": wrong})
    with pytest.raises(ValueError, match="NaN is not JSON"):
        loads('{"value": NaN}')


# NaN cluster ids


@pytest.mark.parametrize("ids", [[1.0, math.nan, math.nan], [1.5, math.nan, 2.5], ["a", None, "b"], [1, None, 2]])
def test_missing_post_ids_are_an_input_error_and_not_one_big_cluster(ids: list[Any]) -> None:
    frame = pl.DataFrame({"post_id": ids, "criterion_id": ["A", "B", "C"], "has_evidence": [1, 0, 1]})
    with pytest.raises(InputError, match="without post_id"):
        read_run(frame)


def test_missing_post_ids_in_a_pandas_frame_are_an_input_error_too() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"post_id": [1, np.nan, np.nan], "criterion_id": list("ABC"), "has_evidence": [1, 0, 1]})
    with pytest.raises(InputError, match="2 rows without post_id"):
        read_run(frame)


# The pitfalls of the sources


@pytest.fixture(scope="module")
def rare() -> Run:
    """One query in four has evidence; it is found at rank 2, beyond a selection of one."""
    return run_of(
        query("p1", gold="b", ranked="a b c", selected="a", prob=0.9),
        *(query(f"n{i}", gold="", ranked="a b c", selected="", prob=0.2) for i in range(3)),
    )


def test_recall_at_k_is_over_the_queries_with_evidence_unless_told_otherwise(rare: Run) -> None:
    found = estimate(rare, "Recall@10")
    assert (found.value, found.n, found.population) == (1.0, 1, "queries with evidence")
    assert found.left_out == {"queries without evidence": 3}
    assert value(rare, "Recall(pop=all)@10") == 0.25


def test_mrr_leaves_out_the_queries_without_evidence(rare: Run) -> None:
    assert value(rare, "MRR") == 0.5
    assert estimate(rare, "MRR").n == 1
    assert value(rare, "MRR(pop=all)") == 0.125


def test_average_precision_carries_the_prevalence_it_is_judged_against(rare: Run) -> None:
    assert estimate(rare, "AUPRC").details["prevalence"] == 0.25
    assert "not against 0.5" in estimate(rare, "AUPRC").meaning


def test_the_checksum_of_the_audit_gives_an_auroc_of_1() -> None:
    assert value(detector([1, 1, 0, 0, 1], [0.9, 0.7, 0.4, 0.2, 0.8]), "AUROC", "audit") == 1.0


def test_a_figure_at_a_threshold_always_names_the_threshold() -> None:
    for base in ("F1", "Precision", "Sensitivity", "MCC", "FPR", "TP"):
        assert canonical(base, PROFILES["contract"]) == f"{base}(t=gate)"
    found = evaluate_run(detector([1, 0], [0.9, 0.4], tau=[0.3, 0.3]), measures=["FPR(t=0.5)", "FPR(t=gate)"])
    assert {name: entry.value for name, entry in found.measures.items() if not entry.group} == {
        "FPR(t=0.5)": 0.0,
        "FPR(t=gate)": 1.0,
    }


def test_recall_at_10_and_evidence_recall_are_two_names_with_two_values(rare: Run) -> None:
    assert value(rare, "Recall@10") == 1.0
    assert value(rare, "EvidenceRecall") == 0.0


def test_a_post_in_two_folds_is_an_input_error() -> None:
    with pytest.raises(InputError, match="fold"):
        run_of(query("p1", "A", fold=0, has_evidence=1), query("p1", "B", fold=1, has_evidence=0))


def split_run(*, eval_label: int = 1, train_prob: float = 0.5, other_fold: float = 0.5) -> Run:
    """Fold 0 has TRAIN, TUNE and EVAL rows, and fold 1 rows of its own."""
    return run_of(
        query("a", fold=0, split="TRAIN", has_evidence=0, prob=train_prob),
        query("b", fold=0, split="TUNE", has_evidence=1, prob=0.6),
        query("c", fold=0, split="TUNE", has_evidence=0, prob=0.4),
        query("d", fold=0, split="EVAL", has_evidence=eval_label, prob=0.7),
        query("e", fold=0, split="EVAL", has_evidence=0, prob=0.65),
        query("f", fold=1, split="TUNE", has_evidence=1, prob=other_fold),
        query("g", fold=1, split="TUNE", has_evidence=0, prob=0.1),
        query("h", fold=1, split="EVAL", has_evidence=1, prob=0.9),
    )


def test_a_tuned_threshold_sees_tune_rows_of_its_fold_only() -> None:
    def of_fold_0(run: Run) -> Any:
        return estimate(run, "TPR(tuned)@FPR=5%").details["thresholds"]["0"]

    usual = of_fold_0(split_run())
    assert usual["value"] == 0.6
    assert of_fold_0(split_run(eval_label=0)) == usual
    assert of_fold_0(split_run(train_prob=0.99)) == usual
    assert of_fold_0(split_run(other_fold=0.99)) == usual


def test_train_and_tune_rows_are_never_measured() -> None:
    run = split_run()
    assert value(run, "Queries") == 3
    assert value(run, "Positives") == 2


def test_a_threshold_is_never_carried_from_one_kind_of_score_to_another() -> None:
    # TUNE rows have a detection score only, EVAL rows a prob too: 5.0 is no threshold for a probability
    rows = [("TUNE", 1, 5.0, None), ("TUNE", 0, 3.0, None), ("EVAL", 1, 6.0, 0.9), ("EVAL", 0, 1.0, 0.1)]
    run = run_of(
        *(
            query(f"p{i}", fold=0, split=split, has_evidence=label, detection_score=score, prob=prob)
            for i, (split, label, score, prob) in enumerate(rows)
        )
    )
    try:
        found = estimate(run, "TPR(tuned)@FPR=5%")
    except InputError:
        return
    assert found.value == 1.0


@pytest.mark.parametrize(
    "tune", [[], [(0, 0.9)], [(1, 0.9)]], ids=["no TUNE rows", "no evidence in TUNE", "only evidence in TUNE"]
)
def test_a_fold_that_cannot_be_tuned_is_not_passed_over_in_silence(tune: list[tuple[int, float]]) -> None:
    rows = [(0, "TUNE", 1, 0.8), (0, "TUNE", 0, 0.2), (0, "EVAL", 1, 0.9), (1, "EVAL", 1, 0.9), (1, "EVAL", 0, 0.1)]
    rows += [(1, "TUNE", label, prob) for label, prob in tune]
    run = run_of(
        *(
            query(f"p{i}", fold=fold, split=split, has_evidence=label, prob=prob)
            for i, (fold, split, label, prob) in enumerate(rows)
        )
    )
    evaluation = evaluate_run(run, measures=["TPR(tuned)@FPR=5%", "FPR(tuned)@FPR=5%"])
    pooled, untuned = evaluation["TPR(tuned)@FPR=5%"], evaluation["TPR(tuned)@FPR=5%[fold=1]"]
    assert (pooled.value, pooled.n, pooled.fold_mean, pooled.folds_used) == (1.0, 1, 1.0, 1)
    assert pooled.left_out == {"queries without evidence, or queries of folds that cannot be tuned": 2}
    assert pooled.warnings[0].startswith("fold 1 cannot be tuned")
    assert untuned.degenerate is not None
    assert evaluation["TPR(tuned)@FPR=5%[fold=0]"].warnings == ()
    assert evaluation["FPR(tuned)@FPR=5%"].degenerate is not None  # fold 0 has no EVAL query without evidence
