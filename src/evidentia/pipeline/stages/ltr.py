"""The trained reranker: boosted trees or a logistic regression over what is known of each candidate.

That is what others said of it, of its neighbours, and of the rest of its post.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.corpus.posts import owner_of
from evidentia.pipeline.stage import CandidateTable, Lesson, Parts, Supervised, View, fill_others
from evidentia.pipeline.stages.boosting import fit_trees, predict_trees
from evidentia.pipeline.stages.logistic import solve
from evidentia.pipeline.stages.mixing import choose_weight, mixed

Columns = Mapping[str, Floats]
Model = Literal["boosting", "logistic"]
_RATE = 0.08  # with 120 trees as good as 0.05 with 200, for two thirds of the time
_NO_CHANGE = 1e-12  # of the largest value


@dataclass(frozen=True)
class LearnToRank(Supervised):
    """Learns whether a candidate is gold from every candidate of the TRAIN posts, and ranks by the log odds."""

    model: Model = "boosting"
    trees: int = 120
    beside: str | None = None  # the step whose score is mixed in, as far as that orders TUNE better
    in_threads: ClassVar[bool] = True

    def inputs(self, space: Parts, view: View) -> CandidateTable:
        """The features of every candidate."""
        names, values = candidate_features(view)
        return CandidateTable(values, view.posts.offsets, view.kept, names)

    def fit(self, inputs: CandidateTable, lesson: Lesson, *, seed: int) -> Parts:
        """Trees or weights, and how much the step beside counts."""
        at = inputs.candidates(lesson.posts)
        features, labels = inputs.features[at], lesson.gold[at]
        if self.model == "boosting":
            learnt = fit_trees(features, labels, trees=self.trees, rate=_RATE, seed=seed)
        else:
            learnt = fit_logistic(one_per_criterion(features, inputs.kept.shape[1]), labels)
        learnt = Parts({**learnt.document, "features": list(inputs.names)}, learnt.arrays)
        if self.beside is None:
            return learnt
        tune, gold = inputs.take(lesson.tune), lesson.gold[inputs.rows(lesson.tune)]
        own, other = self._odds(learnt, tune), self._beside(tune)
        weight = choose_weight(own, other, kept=tune.kept, gold=gold, offsets=tune.offsets)
        return learnt.joined(Parts(weight.to_dict()))

    def score(self, space: Parts, model: Parts, inputs: CandidateTable) -> Floats:
        """The log odds that each candidate is gold; what did not reach the stage scores as the lowest of its query."""
        odds = self._odds(model, inputs)
        if self.beside is not None:
            odds = mixed(odds, self._beside(inputs), model.document["weight"])
        return fill_others(odds, inputs.kept, inputs.offsets)

    def _odds(self, model: Parts, inputs: CandidateTable) -> Floats:
        """What was learnt says of the candidates; 0 elsewhere."""
        features = inputs.features[inputs.kept]
        odds = np.zeros(inputs.kept.shape)
        if self.model == "boosting":
            odds[inputs.kept] = predict_trees(model, features)
        else:
            odds[inputs.kept] = predict_logistic(model, one_per_criterion(features, inputs.kept.shape[1]))
        return odds

    def _beside(self, inputs: CandidateTable) -> Floats:
        """The score of the step beside, which is one of the features."""
        assert self.beside is not None
        score: Floats = inputs.features[:, :, inputs.names.index(self.beside)].astype(np.float64)
        return score


def one_per_criterion(features: NDArray[np.float32], criteria: int) -> Floats:
    """The last column, a code, as one column per criterion: what a linear model can use."""
    codes = features[:, -1].astype(np.int64)
    return np.column_stack([features[:, :-1].astype(np.float64), np.eye(criteria)[codes]])


def fit_logistic(features: Floats, labels: Bools, *, strength: float = 1.0) -> Parts:
    """A logistic regression over standardised features; labels of one class give a constant."""
    from threadpoolctl import threadpool_limits

    mean, deviation = features.mean(0), features.std(0)
    # that of a column that never changes may be a rounding error, and dividing by it blows up any other value
    scale = np.where(deviation > _NO_CHANGE * np.abs(features).max(0), deviation, 1.0)
    weights, bias = np.zeros(features.shape[1]), 6.0 if labels.all() else -6.0
    if labels.any() and not labels.all():
        with threadpool_limits(limits=1):  # the number of cores must not decide how sums are rounded
            solution, biases = solve((features - mean) / scale, labels[:, None], strength)
        weights, bias = solution[:, 0], float(biases[0])
    return Parts({"bias": bias}, {"mean": mean, "scale": scale, "weights": weights})


def predict_logistic(model: Parts, features: Floats) -> Floats:
    """The log odds of every row."""
    standard = (features - model.arrays["mean"]) / model.arrays["scale"]
    # a product of BLAS rounds by where a row stands among the others; this one does not
    odds: Floats = np.einsum("ij,j->i", standard, model.arrays["weights"]) + float(model.document["bias"])
    return odds


def candidate_features(view: View) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Names and values, sentences x criteria x features; nothing in them comes from labels of these posts."""
    columns: list[tuple[str, Floats]] = []  # not by name: a stage may be called like a feature
    for name, score in view.scores.items():
        columns.extend(_about(name, score, view.posts.offsets).items())
    columns.extend(_about_sentences(view.posts).items())
    criteria = len(view.posts.criteria)
    columns.append(("criterion", np.arange(criteria, dtype=np.float64)[None, :]))
    stacked = np.empty((len(view.posts.texts), criteria, len(columns)), np.float32)
    for at, (_, values) in enumerate(columns):
        stacked[:, :, at] = values
    return tuple(name for name, _ in columns), stacked


def _about(name: str, score: Floats, offsets: Ints) -> Columns:
    """A score, those of the sentences before and after, the best and the mean of the post, and the best for other criteria."""
    owner = owner_of(offsets)
    starts, size = offsets[:-1], np.diff(offsets)[:, None]
    most = np.maximum.reduceat(score, starts, axis=0)
    mean = np.add.reduceat(score, starts, axis=0) / size
    before, after = neighbours(score, offsets)
    return {
        name: score,
        f"{name} before": before,
        f"{name} after": after,
        f"{name} below best": most[owner] - score,
        f"{name} mean": mean[owner],
        f"{name} elsewhere": other_criteria(score),
    }


def neighbours(score: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    """The scores of the sentences before and after in the same post; the least score of the post where there is none.

    >>> [side.ravel().tolist() for side in neighbours(np.array([[3.0], [1.0], [2.0]]), np.array([0, 3]))]
    [[1.0, 3.0, 1.0], [1.0, 2.0, 1.0]]
    """
    owner = owner_of(offsets)
    before = np.minimum.reduceat(score, offsets[:-1], axis=0)[owner]
    after = before.copy()
    same = owner[1:] == owner[:-1]
    before[1:][same] = score[:-1][same]
    after[:-1][same] = score[1:][same]
    return before, after


def other_criteria(score: Floats) -> Floats:
    """The best score of the same row for any other criterion; with a single criterion its own.

    >>> other_criteria(np.array([[3.0, 1.0, 2.0]])).tolist()
    [[2.0, 3.0, 3.0]]
    """
    if score.shape[1] < 2:
        return score
    two = np.partition(score, -2, axis=1)[:, -2:]
    at = np.argmax(score, axis=1)
    others = np.repeat(two[:, 1:], score.shape[1], axis=1)
    others[np.arange(len(score)), at] = two[:, 0]
    return others


def _about_sentences(posts: Posts) -> Columns:
    size = posts.lengths[posts.owner]
    place = np.arange(len(posts.texts)) - posts.offsets[:-1][posts.owner]
    characters = np.array([len(text) for text in posts.texts], np.float64)
    return {
        "place in post": (place / np.maximum(size - 1, 1))[:, None],
        "sentences in post": size[:, None].astype(np.float64),
        "characters in sentence": characters[:, None],
        "questions in sentence": np.array([text.count("?") for text in posts.texts], np.float64)[:, None],
    }
