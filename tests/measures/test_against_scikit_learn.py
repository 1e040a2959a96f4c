"""Where scikit-learn defines the same thing it gives the same number, ties, extremes and conventions included."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builders.queries import query, run_of
from evidentia.evaluation import evaluate_run
from evidentia.results import Evaluation
from evidentia.tables import read_run
from sampling import examples

metrics = pytest.importorskip("sklearn.metrics")
many = examples(60)
# few values force ties, 0 and 1 are the extremes, and any other double may come too
probs = st.one_of(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.0]), st.floats(0, 1, allow_subnormal=False))
judged = st.lists(st.tuples(st.booleans(), probs), min_size=1, max_size=40)


@pytest.fixture(autouse=True)
def _without_the_warnings_of_scikit_learn() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="sklearn")
        yield


def same(value: float, expected: float) -> bool:
    return abs(value - expected) <= 1e-12


def evaluation_of(pairs: list[tuple[bool, float]], *names: str) -> Evaluation:
    frame = pl.DataFrame(
        {
            "post_id": [str(i) for i in range(len(pairs))],
            "criterion_id": "A",
            "has_evidence": [label for label, _ in pairs],
            "prob": [prob for _, prob in pairs],
        }
    )
    return evaluate_run(read_run(frame), measures=names)


def arrays(pairs: list[tuple[bool, float]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return np.array([int(y) for y, _ in pairs]), np.array([p for _, p in pairs])


@many
@given(judged)
def test_auroc_and_average_precision_agree_or_are_marked_with_one_class(pairs: list[tuple[bool, float]]) -> None:
    y, p = arrays(pairs)
    found = evaluation_of(pairs, "AUROC", "AUPRC")
    if 0 < y.sum() < len(y):
        assert same(found["AUROC"].value, metrics.roc_auc_score(y, p))
        assert same(found["AUPRC"].value, metrics.average_precision_score(y, p))
        assert found["AUROC"].degenerate is found["AUPRC"].degenerate is None
        return
    assert (found["AUROC"].value, found["AUPRC"].value) == (0.5, y.mean())
    reason = "no queries without evidence" if y.any() else "no queries with evidence"
    assert found["AUROC"].degenerate == found["AUPRC"].degenerate == reason


@many
@given(judged, st.sampled_from(["1%", "3%", "5%", "10%", "25%", "50%", "100%"]))
def test_tpr_at_fpr_is_the_best_point_of_the_whole_roc_curve(pairs: list[tuple[bool, float]], budget: str) -> None:
    y, p = arrays(pairs)
    found = evaluation_of(pairs, f"TPR@FPR={budget}")[f"TPR@FPR={budget}"]
    if not 0 < y.sum() < len(y):
        assert found.value == 0.0
        assert found.degenerate is not None
        return
    fpr, tpr, thresholds = metrics.roc_curve(y, p, drop_intermediate=False)
    inside = fpr <= float(budget[:-1]) / 100
    best = tpr[inside].max()
    assert same(found.value, best)
    largest = thresholds[inside & (tpr == best)].max()
    assert found.details["threshold"] == (None if np.isinf(largest) else largest)


@many
@given(judged)
def test_brier_and_log_loss_agree(pairs: list[tuple[bool, float]]) -> None:
    y, p = arrays(pairs)
    found = evaluation_of(pairs, "Brier", "LogLoss")
    assert same(found["Brier"].value, metrics.brier_score_loss(y, p))
    assert same(found["LogLoss"].value, metrics.log_loss(y, p, labels=[0, 1]))


@many
@given(judged, st.sampled_from(["0", "0.1", "0.3", "0.5", "0.7", "1"]))
def test_the_confusion_family_agrees_at_any_threshold(pairs: list[tuple[bool, float]], t: str) -> None:
    y, p = arrays(pairs)
    yes = (p >= float(t)).astype(int)
    expected = {
        "F1": metrics.f1_score(y, yes, zero_division=0),
        "Precision": metrics.precision_score(y, yes, zero_division=0),
        "Sensitivity": metrics.recall_score(y, yes, zero_division=0),
        "Specificity": metrics.recall_score(y, yes, pos_label=0, zero_division=0),
        "NPV": metrics.precision_score(y, yes, pos_label=0, zero_division=0),
        "MCC": metrics.matthews_corrcoef(y, yes),
    }
    cells = dict(zip(("TN", "FP", "FN", "TP"), metrics.confusion_matrix(y, yes, labels=[0, 1]).ravel(), strict=True))
    names = (*expected, *cells, "FPR", "FNR", "BalancedAccuracy")
    found = evaluation_of(pairs, *(f"{name}(t={t})" for name in names))
    for name, number in (*expected.items(), *cells.items()):
        assert same(found[f"{name}(t={t})"].value, number), name
    if 0 < y.sum() < len(y):
        assert same(found[f"BalancedAccuracy(t={t})"].value, metrics.balanced_accuracy_score(y, yes))
        assert same(found[f"FPR(t={t})"].value, 1 - expected["Specificity"])
        assert same(found[f"FNR(t={t})"].value, 1 - expected["Sensitivity"])
    else:
        assert found[f"BalancedAccuracy(t={t})"].degenerate is not None


@many
@given(judged)
def test_confusion_figures_are_marked_exactly_where_their_denominator_is_0(pairs: list[tuple[bool, float]]) -> None:
    y, p = arrays(pairs)
    yes = p >= 0.5
    undefined = {
        "Sensitivity": not y.any(),
        "FNR": not y.any(),
        "Specificity": y.all(),
        "FPR": y.all(),
        "Precision": not yes.any(),
        "NPV": yes.all(),
        "F1": not y.any() and not yes.any(),
        "MCC": y.all() or not y.any() or yes.all() or not yes.any(),
        "BalancedAccuracy": y.all() or not y.any(),
    }
    found = evaluation_of(pairs, *(f"{name}(t=0.5)" for name in undefined))
    assert {name: found[f"{name}(t=0.5)"].degenerate is not None for name in undefined} == undefined


MULTILABEL = ("ExactMatch", "HammingLoss", "HammingScore", "F1(avg=micro)", "F1(avg=criterion)", "F1(avg=post)")
WEIGHTED = ("F1(avg=label_weighted)", "F1(avg=post_weighted)", "F1(avg=post,empty=1)")


@st.composite
def matrices(draw: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Truth and prediction: posts x criteria."""
    shape = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    cells = st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    return np.array(draw(cells), int).reshape(shape), np.array(draw(cells), int).reshape(shape)


@many
@given(matrices())
def test_the_multi_label_family_agrees(pair: tuple[NDArray[np.int64], NDArray[np.int64]]) -> None:
    truth, said = pair
    run = run_of(
        *(
            query(f"p{i}", f"A.{j}", has_evidence=int(truth[i, j]), prob=float(said[i, j]))
            for i, j in np.ndindex(truth.shape)
        )
    )
    found = evaluate_run(run, measures=(*MULTILABEL, *WEIGHTED)).measures
    assert same(found["ExactMatch"].value, metrics.accuracy_score(truth, said))
    assert same(found["HammingLoss"].value, metrics.hamming_loss(truth, said))
    assert same(found["HammingScore"].value, 1 - metrics.hamming_loss(truth, said))
    for ours, theirs in (("micro", "micro"), ("post", "samples"), ("label_weighted", "weighted")):
        expected = metrics.f1_score(truth, said, average=theirs, zero_division=0)
        assert same(found[f"F1(avg={ours})"].value, expected), ours
    hits, named = (truth & said).sum(axis=1), (truth + said).sum(axis=1)
    per_post = 2 * hits / np.maximum(named, 1)
    if truth.any():
        assert same(found["F1(avg=post_weighted)"].value, np.average(per_post, weights=truth.sum(axis=1)))
    empty = ~(truth | said).any(axis=1)
    assert same(found["F1(avg=post,empty=1)"].value, np.where(empty, 1.0, per_post).mean())
    defined = (truth | said).any(axis=0)
    per_criterion = metrics.f1_score(truth, said, average=None, zero_division=0)
    macro = found["F1(avg=criterion)"]
    if defined.all():
        assert same(macro.value, metrics.f1_score(truth, said, average="macro"))
        assert macro.warnings == ()
    elif defined.any():
        assert same(macro.value, per_criterion[defined].mean())
        left_out = f"{np.count_nonzero(~defined)} of {len(defined)} criteria are undefined and left out of the mean"
        assert macro.warnings == (left_out,)
    else:
        assert macro.degenerate == "no criterion where it is defined and has weight"


@many
@given(st.lists(st.tuples(st.booleans(), probs, st.integers(0, 2)), min_size=2, max_size=30))
def test_macro_auroc_is_the_mean_over_the_criteria_where_it_is_defined(rows: list[tuple[bool, float, int]]) -> None:
    run = run_of(*(query(f"p{i}", f"A.{c}", has_evidence=int(y), prob=p) for i, (y, p, c) in enumerate(rows)))
    each = []
    for criterion in {c for _, _, c in rows}:
        y, p = arrays([(label, prob) for label, prob, c in rows if c == criterion])
        if 0 < y.sum() < len(y):
            each.append(metrics.roc_auc_score(y, p))
    found = evaluate_run(run, measures=["AUROC(avg=criterion)"])["AUROC(avg=criterion)"]
    assert (found.degenerate is None) == bool(each)
    assert same(found.value, np.mean(each) if each else 0.0)
