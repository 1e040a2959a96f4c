"""The trained reranker: boosted trees or a logistic regression over what is known of each candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus.posts import offsets_of, rows_of
from evidentia.pipeline.stage import Lesson, Parts, Per, View, candidates_of, worst
from evidentia.pipeline.stages.boosting import fit_trees, predict_trees
from evidentia.pipeline.stages.features import candidate_features
from evidentia.tables.queries import Frozen

Model = Literal["boosting", "logistic"]
_NO_CHANGE = 1e-12  # of the largest value


@dataclass(frozen=True, eq=False)
class CandidateTable(Frozen):
    """Features of every candidate, which of them reached the stage, and the post of every sentence."""

    names: tuple[str, ...]
    values: NDArray[np.float32]
    kept: Bools
    offsets: Ints

    @property
    def owner(self) -> Ints:
        """The post of every sentence."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def take(self, posts: Ints) -> CandidateTable:
        """The same about some of the posts."""
        rows = rows_of(posts, self.offsets)
        return CandidateTable(self.names, self.values[rows], self.kept[rows], offsets_of(posts, self.offsets))


@dataclass(frozen=True)
class LearnToRank:
    """Learns whether a candidate is gold from every candidate of the TRAIN posts, and ranks by the log odds."""

    model: Model = "boosting"
    trees: int = 200
    learns: ClassVar[bool] = True
    per: ClassVar[Per] = "sentence"

    def space(self, train: View) -> Parts:
        """Nothing but what the stages before it said."""
        return Parts()

    def inputs(self, space: Parts, view: View) -> CandidateTable:
        """The features of every candidate."""
        names, values = candidate_features(view)
        return CandidateTable(names, values, view.kept, view.posts.offsets)

    def fit(self, inputs: CandidateTable, lesson: Lesson, *, seed: int) -> Parts:
        """Trees, or weights."""
        at = candidates_of(lesson.posts, inputs.kept, inputs.offsets)
        features, labels = inputs.values[at], lesson.gold[at]
        if self.model == "boosting":
            learnt = fit_trees(features, labels, trees=self.trees, seed=seed)
        else:
            learnt = fit_logistic(one_per_criterion(features, inputs.kept.shape[1]), labels)
        return Parts({**learnt.document, "features": list(inputs.names)}, learnt.arrays)

    def score(self, space: Parts, model: Parts, inputs: CandidateTable) -> Floats:
        """The log odds that each candidate is gold; what did not reach the stage scores as the lowest of its query."""
        features = inputs.values[inputs.kept]
        scores = np.zeros(inputs.kept.shape)
        if self.model == "boosting":
            scores[inputs.kept] = predict_trees(model, features)
        else:
            scores[inputs.kept] = predict_logistic(model, one_per_criterion(features, inputs.kept.shape[1]))
        return np.where(inputs.kept, scores, worst(scores, inputs.kept, inputs.offsets)[inputs.owner])


def one_per_criterion(features: NDArray[np.float32], criteria: int) -> Floats:
    """The last column, a code, as one column per criterion: what a linear model can use."""
    codes = features[:, -1].astype(np.int64)
    return np.column_stack([features[:, :-1].astype(np.float64), np.eye(criteria)[codes]])


def fit_logistic(features: Floats, labels: Bools, *, strength: float = 1.0) -> Parts:
    """A logistic regression over standardised features; labels of one class give a constant."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    mean, deviation = features.mean(0), features.std(0)
    # that of a column that never changes may be a rounding error, and dividing by it blows up any other value
    scale = np.where(deviation > _NO_CHANGE * np.abs(features).max(0), deviation, 1.0)
    weights, bias = np.zeros(features.shape[1]), 6.0 if labels.all() else -6.0
    if labels.any() and not labels.all():
        with threadpool_limits(limits=1):  # the number of cores must not decide how sums are rounded
            fitted = LogisticRegression(C=strength, max_iter=500).fit((features - mean) / scale, labels)
        weights, bias = fitted.coef_[0], float(fitted.intercept_[0])
    return Parts({"bias": bias}, {"mean": mean, "scale": scale, "weights": weights})


def predict_logistic(model: Parts, features: Floats) -> Floats:
    """The log odds of every row."""
    standard = (features - model.arrays["mean"]) / model.arrays["scale"]
    # a product of BLAS rounds by where a row stands among the others; this one does not
    odds: Floats = np.einsum("ij,j->i", standard, model.arrays["weights"]) + float(model.document["bias"])
    return odds
