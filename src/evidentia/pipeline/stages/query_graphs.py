"""The candidates of every query as a graph, with all that is known about them: what graph networks read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus.posts import offsets_of, rows_of
from evidentia.pipeline.graphs import Graphs, adjacency, likeness, query_edges, query_nodes
from evidentia.pipeline.stage import Parts, View, ranks, worst
from evidentia.pipeline.stages.features import candidate_features
from evidentia.pipeline.stages.meaning import Meaning
from evidentia.tables.queries import Frozen

QUIETLY = np.float32(
    0.3
)  # how loud the vector of a sentence is beside the scores: louder is learnt by heart (nDCG on TUNE)


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
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return np.where(self.kept, scores, worst(scores, self.kept, self.offsets)[owner])


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
        *(sentence, QUIETLY * meaning.brief(learnt, vectors, offsets), queries),
    )
    return QueryGraphs(graphs, view.kept, offsets)


def _about_candidates(view: View) -> NDArray[np.float32]:
    """Features of every candidate without the code of the criterion, and its rank by every stage so far."""
    _, values = candidate_features(view)
    places = [1 / (1 + ranks(score, view.kept, view.posts.offsets)) for score in view.scores.values()]
    columns = [values[:, :, :-1], *(place[:, :, None].astype(np.float32) for place in places)]
    return np.concatenate(columns, axis=2)
