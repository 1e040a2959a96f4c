"""The no-evidence gate without torch: what the candidates of a query look like together, and a classifier over that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus.posts import offsets_of
from evidentia.pipeline.stage import Lesson, Parts, Per, Supervised, Unsupervised, View, best, ranks, worst
from evidentia.pipeline.stages.boosting import fit_trees, predict_trees
from evidentia.pipeline.stages.ltr import fit_logistic, one_per_criterion, other_criteria, predict_logistic
from evidentia.tables.queries import Frozen

Classifier = Literal["blend", "boosting", "logistic"]
TOP = 4


@dataclass(frozen=True, eq=False)
class QueryTable(Frozen):
    """Features of every query, posts x criteria x features, and the sentences that each post has."""

    features: NDArray[np.float32] | Floats
    offsets: Ints
    names: tuple[str, ...]

    def take(self, posts: Ints) -> QueryTable:
        """The same about some of the posts."""
        return QueryTable(self.features[posts], offsets_of(posts, self.offsets), self.names)


@dataclass(frozen=True)
class PooledGate(Supervised):
    """A classifier over the pooled scores of a query and those of its post's other criteria.

    Trees, a logistic regression, or the mean of what both say (``blend``).
    """

    model: Classifier = "blend"
    sources: tuple[str, ...] = ("graph", "reranker", "retriever")
    trees: int = 120
    per: ClassVar[Per] = "post"

    def inputs(self, space: Parts, view: View) -> QueryTable:
        """The pooled features of every query."""
        names, values = query_features(view, self.sources)
        return QueryTable(values, view.posts.offsets, names)

    def fit(self, inputs: QueryTable, lesson: Lesson, *, seed: int) -> Parts:
        """Trees, weights or both, over the queries of the lesson's posts."""
        labels = np.logical_or.reduceat(lesson.gold, inputs.offsets[:-1], axis=0)[lesson.posts].ravel()
        features = _flat(inputs.features[lesson.posts])
        learnt = Parts({"features": list(inputs.names)})
        if self.model != "logistic":
            learnt = learnt.joined(fit_trees(features, labels, trees=self.trees, leaves=8, smallest=30, seed=seed))
        if self.model != "boosting":
            learnt = learnt.joined(fit_logistic(one_per_criterion(features, inputs.features.shape[1]), labels))
        return learnt

    def score(self, space: Parts, model: Parts, inputs: QueryTable) -> Floats:
        """The log odds that each query has evidence, posts x criteria."""
        features = _flat(inputs.features)
        answers = []
        if self.model != "logistic":
            answers.append(predict_trees(model, features))
        if self.model != "boosting":
            answers.append(predict_logistic(model, one_per_criterion(features, inputs.features.shape[1])))
        odds: Floats = np.mean(answers, axis=0).reshape(inputs.features.shape[:2])
        return odds


@dataclass(frozen=True)
class BestCandidate(Unsupervised):
    """Before there is a gate: the best candidate's score stands in."""

    source: str = "graph"
    per: ClassVar[Per] = "post"

    def inputs(self, space: Parts, view: View) -> QueryTable:
        """The best score of every query."""
        highest = best(view.scores[self.source], view.kept, view.posts.offsets)
        return QueryTable(highest, view.posts.offsets, ("best",))


def _flat(values: NDArray[np.float32] | Floats) -> NDArray[np.float32]:
    return values.reshape(-1, values.shape[2]).astype(np.float32, copy=False)


def query_features(view: View, sources: tuple[str, ...]) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Names and values, posts x criteria x features; the last is the code of the criterion."""
    columns: dict[str, Floats] = {}
    offsets, shape = view.posts.offsets, (len(view.posts), len(view.posts.criteria))
    for source in (name for name in sources if name in view.scores):
        columns.update(_pooled(source, view.scores[source], view.kept, offsets))
    for name, score in view.scores.items():  # what the parts of the reranker said, without the cut
        if name not in sources:
            columns[f"{name} best"] = best(score, np.ones_like(view.kept), offsets)
    columns["sentences"] = np.broadcast_to(view.posts.lengths[:, None].astype(np.float64), shape)
    columns["criterion"] = np.broadcast_to(np.arange(shape[1], dtype=np.float64), shape)
    return tuple(columns), np.stack([values.astype(np.float32) for values in columns.values()], axis=2)


def _pooled(name: str, score: Floats, kept: Bools, offsets: Ints) -> dict[str, Floats]:
    """The best few scores, how many would be expected to be gold, whether any, and the same for the post's other criteria.

    A query with fewer candidates repeats its lowest.
    """
    place = ranks(score, kept, offsets)
    columns = {}
    lowest = worst(score, kept, offsets)
    for at in range(TOP):
        here = np.where(kept & (place == at), score, -np.inf)
        top = np.maximum.reduceat(here, offsets[:-1], axis=0)
        columns[f"{name} {at + 1}"] = np.where(np.isfinite(top), top, lowest)
    chance = np.where(kept, 1 / (1 + np.exp(-np.clip(score, -30, 30))), 0.0)
    columns[f"{name} expected"] = np.add.reduceat(chance, offsets[:-1], axis=0)
    columns[f"{name} any"] = -np.add.reduceat(np.log1p(-np.minimum(chance, 1 - 1e-12)), offsets[:-1], axis=0)
    columns[f"{name} elsewhere"] = other_criteria(columns[f"{name} 1"])
    return columns
