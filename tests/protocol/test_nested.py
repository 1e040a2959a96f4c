"""Nested cross-validation: a model sees TRAIN rows only, and its predictions are a run."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import evidentia
from evidentia.protocol import Choices, apply_tuning, nested_predictions, outer_folds, parse_rule, tune

RANDOM = np.random.default_rng(6)
POSTS = [f"p{i:03d}" for i in range(100)]
POST_IDS = [post for post in POSTS for _ in range(3)]
CRITERIA = ["A", "B", "C"] * 100
LABELS = RANDOM.random(300) < 0.3
FEATURES = LABELS[:, None] + RANDOM.normal(size=(300, 2))


class Spy:
    """Remembers what it was shown: its only feature is the row itself."""

    seen: ClassVar[list[set[int]]] = []

    def fit(self, features: np.ndarray, labels: np.ndarray) -> None:
        assert np.array_equal(labels, LABELS[features])
        self.seen.append({int(row) for row in features})

    def predict(self, features: np.ndarray) -> np.ndarray:
        return features / 300


def predictions(make, features: object) -> pl.DataFrame:
    folds = outer_folds(POSTS, seed=3)
    return nested_predictions(make, features, LABELS, post_ids=POST_IDS, criterion_ids=CRITERIA, folds=folds)


def test_a_model_is_taught_by_train_rows_and_asked_about_the_others() -> None:
    Spy.seen = []
    table = predictions(Spy, np.arange(300))
    for taught, split in zip(Spy.seen, outer_folds(POSTS, seed=3).splits(), strict=True):
        assert {POST_IDS[row] for row in taught} == set(split.train)
        rows = table.filter(fold=split.fold)
        asked = {round(prob * 300) for prob in rows["prob"]}
        assert not asked & taught
        assert set(rows.filter(split="TUNE")["post_id"]) == set(split.tune)
        assert set(rows.filter(split="EVAL")["post_id"]) == set(split.eval)
    assert table.filter(split="EVAL").height == 300


def test_the_predictions_are_a_run_that_is_tuned_and_judged() -> None:
    run = evidentia.read_run(predictions(LogisticRegression, FEATURES))
    judged = apply_tuning(run, tune(run, Choices(parse_rule("youden"))))
    result = evidentia.evaluate(judged, measures=["AUROC", "Sensitivity(t=gate)"], resamples=0)
    assert 0.7 < result["AUROC"].value < 1
    assert result["Sensitivity(t=gate)"].value > 0.5


def test_predictions_of_another_shape_are_refused() -> None:
    class Wide(Spy):
        def predict(self, features: np.ndarray) -> np.ndarray:
            return np.zeros((len(features), 2))

    with pytest.raises(evidentia.InputError, match="one number per query"):
        predictions(Wide, np.arange(300))
