"""The stages that are graph networks: one ranks the candidates of a query once more, one says whether any is evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus.posts import offsets_of, rows_of
from evidentia.pipeline.graphs import Graphs, adjacency, likeness, query_edges, query_nodes
from evidentia.pipeline.neural.models import GraphModel, GraphReranker, NoEvidenceGate
from evidentia.pipeline.neural.networks import GraphSettings, graph_settings
from evidentia.pipeline.stage import Lesson, Parts, Per, Supervised, View, fill_others, ranks
from evidentia.pipeline.stages.gate import Classifier, PooledGate, QueryTable
from evidentia.pipeline.stages.ltr import candidate_features
from evidentia.pipeline.stages.meaning import Meaning
from evidentia.pipeline.stages.mixing import choose_weight, mixed
from evidentia.tables.queries import Frozen

_CERTAIN = 6.0  # log odds where TRAIN knows one answer only
_POOLED = "pooled"
_APART = 1_000_003  # between the seeds of networks
_QUIETLY = np.float32(
    0.3
)  # how loud the vector of a sentence is beside the scores: louder is learnt by heart (nDCG on TUNE)
_RANKING = {"batch_size": 256, "negatives": 2.0, "node_loss": 3.0}
_GATING = {"batch_size": 256, "learning_rate": 1e-3, "share": 0.5}


@dataclass(frozen=True, kw_only=True)
class _OverGraphs(Supervised):
    """What both stages are told about graphs, networks and how long to learn."""

    neighbours: int = 3
    meaning: Meaning = field(default_factory=Meaning)
    conv: str = "gatv2"
    layers: int = 2
    hidden: int = 64
    dropout: float = 0.2
    epochs: int = 30
    patience: int = 3
    networks: int = 3

    def _network(self, **more: object) -> GraphSettings:
        shape = {"conv": self.conv, "layers": self.layers, "hidden": self.hidden, "dropout": self.dropout}
        return graph_settings({**shape, **more})

    def space(self, train: View) -> Parts:
        """Where sentences are alike."""
        return self.meaning.learn(train)

    def _several(self, fit: Callable[[int], GraphModel], seed: int) -> Parts:
        """Networks that differ in their seed only: their mean is steadier than any of them."""
        together = Parts({"networks": self.networks})
        for at in range(self.networks):
            together = together.joined(fit(seed + at * _APART).to_parts().under(str(at)))
        return together


@dataclass(frozen=True, eq=False)
class Refinable(Frozen):
    """The graphs of the queries, and the scores that are to be refined."""

    asked: QueryGraphs
    given: Floats

    def take(self, posts: Ints) -> Refinable:
        """The same about some of the posts."""
        return Refinable(self.asked.take(posts), self.given[rows_of(posts, self.asked.offsets)])


@dataclass(frozen=True, kw_only=True)
class GraphNetwork(_OverGraphs):
    """Graph networks over the candidates of each query; their mean is mixed with the input by a weight chosen on TUNE.

    TUNE also says when to stop learning. Where no candidate of TRAIN is gold the input is left as it is.
    """

    source: str = "reranker"

    def inputs(self, space: Parts, view: View) -> Refinable:
        """The graphs of the queries."""
        return Refinable(query_graphs(self.meaning, space, view, self.neighbours), view.scores[self.source])

    def fit(self, inputs: Refinable, lesson: Lesson, *, seed: int) -> Parts:
        """The network, and how much it counts beside the score that came in."""
        train, tune = inputs.take(lesson.posts), inputs.take(lesson.tune)
        train_gold, tune_gold = (
            lesson.gold[rows_of(posts, inputs.asked.offsets)] for posts in (lesson.posts, lesson.tune)
        )
        train_nodes, tune_nodes = train.asked.nodes(train_gold), tune.asked.nodes(tune_gold)
        if not train_nodes.any():
            return Parts({"weight": 0.0})
        fit = partial(
            GraphReranker.fit,
            train.asked.graphs,
            train_nodes,
            tune=(tune.asked.graphs, tune_nodes) if tune_nodes.any() else None,
            epochs=self.epochs,
            patience=self.patience,
            settings=self._network(**_RANKING),
        )
        fitted = self._several(lambda own: fit(seed=own), seed)
        kept, offsets = tune.asked.kept, tune.asked.offsets
        refined = tune.asked.spread(_said(GraphReranker, fitted, tune.asked))
        weight = choose_weight(tune.given, refined, kept=kept, gold=tune_gold, offsets=offsets)
        return fitted.joined(Parts(weight.to_dict()))

    def score(self, space: Parts, model: Parts, inputs: Refinable) -> Floats:
        """The mixture."""
        weight = float(model.document["weight"])
        if weight == 0:
            return inputs.given
        return mixed(inputs.given, inputs.asked.spread(_said(GraphReranker, model, inputs.asked)), weight)


def _said(kind: type[GraphModel], model: Parts, asked: QueryGraphs) -> Floats:
    """The mean of what the networks say."""
    networks = [kind.from_parts(model.within(str(at))) for at in range(int(model.document["networks"]))]
    mean: Floats = np.mean([each.score(asked.graphs, at_once=asked.criteria) for each in networks], axis=0)
    return mean


@dataclass(frozen=True, eq=False)
class Gated(Frozen):
    """The graphs of the queries, and their pooled features."""

    asked: QueryGraphs
    pooled: QueryTable

    def take(self, posts: Ints) -> Gated:
        """The same about some of the posts."""
        return Gated(self.asked.take(posts), self.pooled.take(posts))


@dataclass(frozen=True, kw_only=True)
class NetworkGate(_OverGraphs):
    """Graph networks of sentences and criterion that also know the pooled scores of the query.

    TUNE says when to stop learning. With ``blend`` the answer is the mean of their log odds and those of a `PooledGate`.
    """

    sources: tuple[str, ...] = ("graph", "reranker", "retriever")
    conv: str = "sage"
    dropout: float = 0.3
    epochs: int = 40
    patience: int = 5
    blend: bool = True
    beside: Classifier = "blend"
    trees: int = 120
    per: ClassVar[Per] = "post"

    @property
    def _beside(self) -> PooledGate:
        return PooledGate(self.beside, self.sources, self.trees)

    def inputs(self, space: Parts, view: View) -> Gated:
        """The graphs of the queries, each told what its scores look like together."""
        pooled = self._beside.inputs(Parts(), view)
        about = pooled.features[:, :, :-1].reshape(-1, pooled.features.shape[2] - 1)  # the network knows the criterion
        asked = query_graphs(self.meaning, space, view, self.neighbours, about.astype(np.float32))
        return Gated(asked, pooled)

    def fit(self, inputs: Gated, lesson: Lesson, *, seed: int) -> Parts:
        """The network, and the classifier beside it."""
        has = np.logical_or.reduceat(lesson.gold, inputs.pooled.offsets[:-1], axis=0)
        labels, tune_labels = has[lesson.posts].ravel(), has[lesson.tune].ravel()
        if labels.all() or not labels.any():
            return Parts({"constant": _CERTAIN if labels.any() else -_CERTAIN})
        fit = partial(
            NoEvidenceGate.fit,
            inputs.asked.take(lesson.posts).graphs,
            labels,
            tune=(inputs.asked.take(lesson.tune).graphs, tune_labels) if len(tune_labels) else None,
            epochs=self.epochs,
            patience=self.patience,
            settings=self._network(**_GATING),
        )
        fitted = self._several(lambda own: fit(seed=own), seed)
        if not self.blend:
            return fitted
        return fitted.joined(self._beside.fit(inputs.pooled, lesson, seed=seed).under(_POOLED))

    def score(self, space: Parts, model: Parts, inputs: Gated) -> Floats:
        """The log odds that each query has evidence, posts x criteria."""
        shape = inputs.pooled.features.shape[:2]
        if "constant" in model.document:
            return np.full(shape, float(model.document["constant"]))
        odds = _said(NoEvidenceGate, model, inputs.asked).reshape(shape)
        return (odds + self._beside.score(Parts(), model.within(_POOLED), inputs.pooled)) / 2 if self.blend else odds


@dataclass(frozen=True, eq=False)
class QueryGraphs(Frozen):
    """The graphs of the posts in view, post by post and within one by criterion; which sentences are their nodes."""

    graphs: Graphs
    kept: Bools
    offsets: Ints

    @property
    def criteria(self) -> int:
        """How many graphs each post has."""
        return int(self.kept.shape[1])

    def take(self, posts: Ints) -> QueryGraphs:
        """The same about some of the posts."""
        places = (posts[:, None] * self.criteria + np.arange(self.criteria)).ravel()
        kept = self.kept[rows_of(posts, self.offsets)]
        return QueryGraphs(self.graphs.take(places), kept, offsets_of(posts, self.offsets))

    def nodes(self, values: Bools) -> Bools:
        """What a matrix sentences x criteria says of every node."""
        _, sentence, criterion = query_nodes(self.kept, self.offsets)
        return values[sentence, criterion]

    def spread(self, values: Floats) -> Floats:
        """A number for every node as a matrix sentences x criteria; what is no node scores as the lowest of its query."""
        _, sentence, criterion = query_nodes(self.kept, self.offsets)
        scores = np.zeros(self.kept.shape)
        scores[sentence, criterion] = values
        return fill_others(scores, self.kept, self.offsets)


def query_graphs(
    meaning: Meaning, learnt: Parts, view: View, neighbours: int, queries: NDArray[np.float32] | None = None
) -> QueryGraphs:
    """The graphs of all queries in view.

    A node knows what every stage so far said of it, of its neighbours and of the rest of its post, its rank, its place and the
    vector of its sentence. Criteria are told apart by their vectors and by one column each.
    """
    offsets, criteria = view.posts.offsets, len(view.posts.criteria)
    vectors = meaning.of_sentences(learnt, view.posts.texts)
    asked = meaning.of_criteria(learnt, view.posts.criteria)
    asked = meaning.brief(learnt, asked, np.array([0, criteria]))
    ends, sentence, criterion = query_nodes(view.kept, offsets)
    joined = [
        query_edges(graph, sentence, criterion, view.kept)
        for graph in (likeness(vectors, offsets, neighbours), adjacency(offsets))
    ]
    edges, weight = (np.concatenate(both, axis=-1) for both in zip(*joined, strict=True))
    step = np.repeat([0, 1], [len(strength) for _, strength in joined])
    graphs = Graphs(
        ends,
        _about_candidates(view)[sentence, criterion],
        *(edges, weight, step),
        np.tile(np.arange(criteria), len(view.posts)),
        np.concatenate([asked, np.eye(criteria, dtype=np.float32)], axis=1),
        *(sentence, _QUIETLY * meaning.brief(learnt, vectors, offsets), queries),
    )
    return QueryGraphs(graphs, view.kept, offsets)


def _about_candidates(view: View) -> NDArray[np.float32]:
    """Features of every candidate without the code of the criterion, and its rank by every stage so far."""
    _, values = candidate_features(view)
    places = [1 / (1 + ranks(score, view.kept, view.posts.offsets)) for score in view.scores.values()]
    columns = [values[:, :, :-1], *(place[:, :, None].astype(np.float32) for place in places)]
    return np.concatenate(columns, axis=2)
