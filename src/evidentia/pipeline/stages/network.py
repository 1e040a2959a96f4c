"""The graph reranker as a graph network: the candidates of a query are ranked once more, seen together with their neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from evidentia.corpus.posts import rows_of
from evidentia.pipeline.mixing import choose_weight, mixed
from evidentia.pipeline.neural.reranker import GraphReranker
from evidentia.pipeline.neural.settings import GraphSettings
from evidentia.pipeline.stage import Lesson, Parts, Per, View
from evidentia.pipeline.stages.meaning import Meaning
from evidentia.pipeline.stages.query_graphs import QueryGraphs, query_graphs
from evidentia.tables.queries import Bools, Floats, Frozen, Ints


@dataclass(frozen=True, eq=False)
class Refinable(Frozen):
    """The graphs of the queries, and the scores that are to be refined."""

    asked: QueryGraphs
    given: Floats

    def take(self, posts: Ints) -> Refinable:
        """The same about some of the posts."""
        return Refinable(self.asked.take(posts), self.given[rows_of(posts, self.asked.offsets)])


@dataclass(frozen=True)
class GraphNetwork:
    """A graph network over the candidates of each query; mixed with the input by a weight chosen on TUNE.

    TUNE also says when to stop learning. Where no candidate of TRAIN is gold the input is left as it is.
    """

    source: str = "reranker"
    meaning: Meaning = field(default_factory=Meaning)
    neighbours: int = 3
    network: GraphSettings = field(default_factory=GraphSettings)
    epochs: int = 30
    patience: int = 5
    learns: ClassVar[bool] = True
    per: ClassVar[Per] = "sentence"

    def space(self, train: View) -> Parts:
        """Where sentences are alike."""
        return self.meaning.learn(train)

    def inputs(self, space: Parts, view: View) -> Refinable:
        """The graphs of the queries."""
        return Refinable(query_graphs(self.meaning, space, view, self.neighbours), view.scores[self.source])

    def fit(self, inputs: Refinable, lesson: Lesson, *, seed: int) -> Parts:
        """The network, and how much it counts beside the score that came in."""
        train, tune = (_taught(inputs, posts, lesson.gold) for posts in (lesson.posts, lesson.tune))
        if not train.nodes.any():
            return Parts({"weight": 0.0})
        fitted = GraphReranker.fit(
            train.asked.graphs,
            train.nodes,
            tune=(tune.asked.graphs, tune.nodes) if tune.nodes.any() else None,
            seed=seed,
            epochs=self.epochs,
            patience=self.patience,
            settings=self.network,
        )
        kept, offsets = tune.asked.kept, tune.asked.offsets
        weight = choose_weight(tune.given, _said(fitted, tune.asked), kept=kept, gold=tune.gold, offsets=offsets)
        return fitted.to_parts().joined(Parts(weight.to_dict()))

    def score(self, space: Parts, model: Parts, inputs: Refinable) -> Floats:
        """The mixture."""
        weight = float(model.document["weight"])
        if weight == 0:
            return inputs.given
        return mixed(inputs.given, _said(GraphReranker.from_parts(model), inputs.asked), weight)


@dataclass(frozen=True, eq=False)
class _Taught:
    """Some posts with their gold: of sentences x criteria, and of every node."""

    asked: QueryGraphs
    given: Floats
    gold: Bools
    nodes: Bools


def _taught(inputs: Refinable, posts: Ints, gold: Bools) -> _Taught:
    taken = inputs.take(posts)
    known = gold[rows_of(posts, inputs.asked.offsets)]
    return _Taught(taken.asked, taken.given, known, taken.asked.nodes(known))


def _said(fitted: GraphReranker, asked: QueryGraphs) -> Floats:
    return asked.spread(fitted.score(asked.graphs, at_once=asked.criteria))
