"""Boosted trees as plain arrays: fitted by scikit-learn, saved without code, and asked with numpy.

A tree of at most 16 leaves is a list of questions. Each answer "larger" rules out the leaves on the left of its question, and
the first leaf that is left over holds the value (Lucchese et al. 2015, QuickScorer): a few array operations per question
instead of a walk per row.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats
from evidentia.pipeline.stage import Parts

Matrix = NDArray[np.float32] | NDArray[np.float64]
MOST_LEAVES = 16
_ALL = np.uint16(0xFFFF)
_CHUNK = 1 << 15  # rows at a time: their masks stay in the cache of a core
_FEW = 512  # rows up to which it pays to ask many trees at once: a call of numpy costs more than its work
_TOGETHER = 1 << 16  # answers at a time


def fit_trees(
    features: Matrix,
    labels: Bools,
    *,
    trees: int = 200,
    rate: float = 0.05,
    leaves: int = 15,
    smallest: int = 50,
    seed: int,
) -> Parts:
    """Trees for a yes-or-no question. Labels of one class give a constant.

    One thread fits them: a tree of this size is many short pieces of work, and threads that wait for each other between
    them cost ten times the work itself as soon as somebody else uses the machine. Folds are what runs side by side.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    assert 2 <= leaves <= MOST_LEAVES
    if labels.all() or not labels.any():
        return Parts({"baseline": 6.0 if labels.any() else -6.0}, _stacked([]))
    trainer = HistGradientBoostingClassifier(
        max_iter=trees,
        learning_rate=rate,
        max_leaf_nodes=leaves,
        min_samples_leaf=smallest,
        max_features=0.7,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
    asked = features[: min(len(features), 500)]
    with threadpool_limits(limits=1, user_api="openmp"):
        model = trainer.fit(features, labels)
        expected = model.decision_function(asked)
    questions = [_questions(predictor[0].nodes) for predictor in model._predictors]
    parts = Parts({"baseline": float(model._baseline_prediction.item())}, _stacked(questions))
    # the layout of the nodes is not part of scikit-learn's promise, so what we took is compared with what it says itself
    if not np.allclose(predict_trees(parts, asked), expected, atol=1e-9):
        raise RuntimeError("this release of scikit-learn lays out its trees in another way")
    return parts


def _questions(nodes: Any) -> tuple[list[tuple[int, float, int]], list[float]]:
    """The questions of a tree, each with the leaves that stay possible after "larger", and its leaves from left to right."""
    questions: list[tuple[int, float, int]] = []
    leaves: list[float] = []

    def visit(at: int) -> int:
        """Number the leaves below a node; return them as bits."""
        node = nodes[at]
        if node["is_leaf"]:
            leaves.append(float(node["value"]))
            return 1 << (len(leaves) - 1)
        here = len(questions)
        questions.append((0, 0.0, 0))
        left = visit(int(node["left"]))
        right = visit(int(node["right"]))
        questions[here] = (int(node["feature_idx"]), float(node["num_threshold"]), int(_ALL) & ~left)
        return left | right

    visit(0)
    return questions, leaves


def _stacked(trees: list[tuple[list[tuple[int, float, int]], list[float]]]) -> dict[str, NDArray[Any]]:
    """All trees as rectangles; what is missing to the widest is a question that nobody answers with "larger"."""
    shape = (len(trees), MOST_LEAVES - 1)
    feature, threshold = np.zeros(shape, np.int32), np.full(shape, np.inf)
    mask, value = np.full(shape, _ALL, np.uint16), np.zeros((len(trees), MOST_LEAVES))
    for row, (questions, leaves) in enumerate(trees):
        for column, (which, limit, left_over) in enumerate(questions):
            feature[row, column], threshold[row, column], mask[row, column] = which, limit, left_over
        value[row, : len(leaves)] = leaves
    return {"feature": feature, "threshold": threshold, "mask": mask, "value": value}


def predict_trees(model: Parts, features: Matrix) -> Floats:
    """The log odds of every row."""
    odds = np.full(len(features), float(model.document["baseline"]))
    for start in range(0, len(features), _CHUNK):
        columns = np.ascontiguousarray(features[start : start + _CHUNK].T, np.float64)
        ask = _sum_of_leaves if columns.shape[1] > _FEW else _sum_of_few
        odds[start : start + _CHUNK] += ask(model, columns)
    return odds


def _sum_of_few(model: Parts, columns: Floats) -> Floats:
    """The same for a few rows, many trees at a time; leaves are added up in the same order, so to the same bits."""
    tree, rows = model.arrays, columns.shape[1]
    leaves = [np.zeros((1, rows))]
    trees_at_once = max(1, _TOGETHER // max(1, rows * (MOST_LEAVES - 1)))
    for start in range(0, len(tree["value"]), trees_at_once):
        feature, threshold, mask, value = (
            tree[name][start : start + trees_at_once] for name in ("feature", "threshold", "mask", "value")
        )
        larger = columns[feature] > threshold[:, :, None]
        left_over = (larger.astype(np.uint16) - np.uint16(1)) | mask[:, :, None]
        possible: NDArray[np.uint16] = np.bitwise_and.reduce(left_over, axis=1)
        leaves.append(np.take_along_axis(value, _first_bit()[possible].astype(np.intp), axis=1))
    total: Floats = np.add.accumulate(np.concatenate(leaves), axis=0)[-1]
    return total


def _sum_of_leaves(model: Parts, columns: Floats) -> Floats:
    tree, total = model.arrays, np.zeros(columns.shape[1])
    first = _first_bit()
    for feature, threshold, mask, value in zip(
        tree["feature"].tolist(), tree["threshold"].tolist(), tree["mask"], tree["value"], strict=True
    ):
        possible = np.full(columns.shape[1], _ALL)
        for which, limit, left_over in zip(feature, threshold, mask, strict=True):
            if limit < np.inf:
                larger = columns[which] > limit
                # a mask of ones where the answer is no: arithmetic on small integers beats a choice per row
                possible &= (larger.astype(np.uint16) - np.uint16(1)) | left_over
        total += value[first[possible]]
    return total


@cache
def _first_bit() -> NDArray[np.uint8]:
    """The place of the lowest bit of every number of 16 bits."""
    numbers = np.arange(1 << 16, dtype=np.uint32)
    lowest = numbers & (~numbers + np.uint32(1))
    lowest[0] = 1
    return np.log2(lowest).astype(np.uint8)
