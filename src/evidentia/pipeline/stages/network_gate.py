"""The no-evidence gate as a graph network, beside the classifier of pooled scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from evidentia.pipeline.neural.gate import NoEvidenceGate
from evidentia.pipeline.neural.settings import GraphSettings
from evidentia.pipeline.stage import Lesson, Parts, Per, View
from evidentia.pipeline.stages.gate import PooledGate, QueryTable
from evidentia.pipeline.stages.meaning import Meaning
from evidentia.pipeline.stages.query_graphs import QueryGraphs, query_graphs
from evidentia.tables.queries import Floats, Frozen, Ints

_CERTAIN = 6.0  # log odds where TRAIN knows one answer only
_POOLED = "pooled/"


@dataclass(frozen=True, eq=False)
class Gated(Frozen):
    """The graphs of the queries, and their pooled features."""

    asked: QueryGraphs
    pooled: QueryTable

    def take(self, posts: Ints) -> Gated:
        """The same about some of the posts."""
        return Gated(self.asked.take(posts), self.pooled.take(posts))


@dataclass(frozen=True)
class NetworkGate:
    """A graph network of sentences and criterion that also knows the pooled scores of the query.

    TUNE says when to stop learning. With ``blend`` the answer is the mean of its log odds and those of a `PooledGate`.
    """

    sources: tuple[str, ...] = ("graph", "reranker", "retriever")
    meaning: Meaning = field(default_factory=Meaning)
    neighbours: int = 3
    network: GraphSettings = field(default_factory=GraphSettings)
    epochs: int = 40
    patience: int = 5
    blend: bool = True
    trees: int = 120
    learns: ClassVar[bool] = True
    per: ClassVar[Per] = "post"

    @property
    def _beside(self) -> PooledGate:
        return PooledGate(sources=self.sources, trees=self.trees)

    def space(self, train: View) -> Parts:
        """Where sentences are alike."""
        return self.meaning.learn(train)

    def inputs(self, space: Parts, view: View) -> Gated:
        """The graphs of the queries, each told what its scores look like together."""
        pooled = self._beside.inputs(Parts(), view)
        about = pooled.values[:, :, :-1].reshape(-1, pooled.values.shape[2] - 1)  # the network knows the criterion
        asked = query_graphs(self.meaning, space, view, self.neighbours, about.astype(np.float32))
        return Gated(asked, pooled)

    def fit(self, inputs: Gated, lesson: Lesson, *, seed: int) -> Parts:
        """The network, and the classifier beside it."""
        has = np.logical_or.reduceat(lesson.gold, inputs.pooled.offsets[:-1], axis=0)
        labels, tune_labels = has[lesson.posts].ravel(), has[lesson.tune].ravel()
        if labels.all() or not labels.any():
            return Parts({"constant": _CERTAIN if labels.any() else -_CERTAIN})
        fitted = NoEvidenceGate.fit(
            inputs.asked.take(lesson.posts).graphs,
            labels,
            tune=(inputs.asked.take(lesson.tune).graphs, tune_labels) if len(tune_labels) else None,
            seed=seed,
            epochs=self.epochs,
            patience=self.patience,
            settings=self.network,
        ).to_parts()
        if not self.blend:
            return fitted
        return fitted.joined(_named(self._beside.fit(inputs.pooled, lesson, seed=seed)))

    def score(self, space: Parts, model: Parts, inputs: Gated) -> Floats:
        """The log odds that each query has evidence, posts x criteria."""
        shape = inputs.pooled.values.shape[:2]
        if "constant" in model.document:
            return np.full(shape, float(model.document["constant"]))
        graphs = inputs.asked.graphs
        odds = NoEvidenceGate.from_parts(model).score(graphs, at_once=inputs.asked.criteria).reshape(shape)
        return (odds + self._beside.score(Parts(), _unnamed(model), inputs.pooled)) / 2 if self.blend else odds


def _named(beside: Parts) -> Parts:
    """The classifier's parts under names that the network's do not have."""
    document, arrays = (
        {_POOLED + name: value for name, value in part.items()} for part in (beside.document, beside.arrays)
    )
    return Parts(document, arrays)


def _unnamed(model: Parts) -> Parts:
    document, arrays = (
        {name.removeprefix(_POOLED): value for name, value in part.items() if name.startswith(_POOLED)}
        for part in (model.document, model.arrays)
    )
    return Parts(document, arrays)
