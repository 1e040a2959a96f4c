"""Logistic regressions solved together, against liblinear and the definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from evidentia.array_types import Bools, Floats
from evidentia.pipeline.stages.classifiers import UNSEEN, linear, per_criterion
from evidentia.pipeline.stages.logistic import solve

STRENGTH = 10.0


def objective(features: Floats, labels: Bools, weights: Floats, bias: float) -> float:
    """Half the squared weights and bias, and ten times the log loss."""
    odds = features @ weights + bias
    loss = np.logaddexp(0, np.where(labels, -odds, odds)).sum()
    return float((weights @ weights + bias**2) / 2 + STRENGTH * loss)


def counts(rows: int = 400, columns: int = 900, seed: int = 3) -> tuple[Floats, Bools]:
    """Rows of unit length with a few of many columns, and questions of which some are rare."""
    rng = np.random.default_rng(seed)
    features = rng.random((rows, columns)) * (rng.random((rows, columns)) < 0.03)
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    told = features @ rng.normal(size=(columns, 6)) * 4 + rng.normal(size=(rows, 6))
    shares = (0.5, 0.8, 0.95, 0.99, 0.3, 0.9)
    limits = [np.quantile(told[:, at], share) for at, share in enumerate(shares)]
    return features, told > np.array(limits)


@pytest.mark.parametrize("shape", ["sparse", "dense", "single precision"])
def test_no_worse_than_liblinear_and_the_same_scores(shape: str) -> None:
    features, labels = counts()
    read = {"sparse": sparse.csr_matrix(features), "dense": features, "single precision": features.astype(np.float32)}
    weights, bias = solve(read[shape], labels, STRENGTH)
    for at in range(labels.shape[1]):
        fitted = LogisticRegression(C=STRENGTH, solver="liblinear", tol=1e-8, max_iter=10_000).fit(
            features, labels[:, at]
        )
        best = objective(features, labels[:, at], fitted.coef_[0], float(fitted.intercept_[0]))
        ours = objective(features, labels[:, at], weights[:, at], float(bias[at]))
        assert ours == pytest.approx(best, rel=2e-6)
        expected = fitted.decision_function(features)
        np.testing.assert_allclose(features @ weights[:, at] + bias[at], expected, atol=0.02)


def test_each_question_is_solved_as_if_it_were_alone() -> None:
    features, labels = counts()
    together = solve(sparse.csr_matrix(features), labels, STRENGTH)
    for at in range(labels.shape[1]):
        alone = solve(sparse.csr_matrix(features), labels[:, [at]], STRENGTH)
        assert together[0][:, at].tobytes() == alone[0][:, 0].tobytes()
        assert together[1][at] == alone[1][0]


def test_rows_that_do_not_count_change_nothing() -> None:
    features, labels = counts()
    heard = np.random.default_rng(1).random(labels.shape) < 0.7
    weights, bias = solve(sparse.csr_matrix(features), labels, STRENGTH, heard)
    for at in range(labels.shape[1]):
        rows = heard[:, at]
        alone = solve(sparse.csr_matrix(features[rows]), labels[rows][:, [at]], STRENGTH)
        assert weights[:, at].tobytes() == alone[0][:, 0].tobytes()
        assert bias[at] == alone[1][0]


def test_the_same_bytes_again() -> None:
    features, labels = counts()
    first, second = (solve(sparse.csr_matrix(features), labels, STRENGTH) for _ in range(2))
    assert all(one.tobytes() == other.tobytes() for one, other in zip(first, second, strict=True))


def test_criteria_without_gold_with_one_and_with_nothing_else() -> None:
    """None and one gold sentence teach nothing; all gold is surely gold; a criterion beside them is learnt as alone."""
    features, labels = counts()
    gold = np.zeros((len(features), 4), bool)
    gold[0, 1] = gold[:, 2] = True
    gold[:, 3] = labels[:, 0]
    scores = linear(per_criterion(sparse.csr_matrix(features), gold, STRENGTH), sparse.csr_matrix(features))
    assert [np.unique(scores[:, at]).tolist() for at in range(3)] == [[UNSEEN], [UNSEEN], [-UNSEEN]]
    alone = linear(per_criterion(features, labels[:, :1], STRENGTH), features)
    np.testing.assert_allclose(scores[:, 3], alone[:, 0], atol=0.02)


@pytest.mark.parametrize("labels", [np.zeros((5, 2), bool), np.ones((5, 2), bool)])
def test_labels_of_one_class_and_features_that_say_nothing(labels: Bools) -> None:
    weights, bias = solve(np.zeros((5, 3)), labels, STRENGTH)
    assert not weights.any()
    assert (np.sign(bias) == np.where(labels[0], 1, -1)).all()


def test_features_that_part_the_labels_perfectly_and_are_large() -> None:
    features = np.array([[-1e4], [-1.0], [1.0], [1e4]])
    weights, bias = solve(features, features > 0, STRENGTH)
    fitted = LogisticRegression(C=STRENGTH, solver="liblinear", tol=1e-10).fit(features, features[:, 0] > 0)
    assert weights[0, 0] == pytest.approx(fitted.coef_[0, 0], rel=1e-2)
    assert np.isfinite(bias).all()
