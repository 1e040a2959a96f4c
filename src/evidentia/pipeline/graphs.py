"""Sentence graphs, one per query: the nodes are its candidates, the edges join neighbours and sentences alike in meaning."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evidentia.array_types import Bools, Floats, Ints
from evidentia.tables.queries import Frozen, Ragged


@dataclass(frozen=True, eq=False)
class Graphs(Frozen):
    """A batch of graphs, laid out flat: ``offsets`` says where the nodes of each query start.

    ``edges`` is 2 x m, both directions listed, in places of the whole batch; ``weight`` has one number per edge, ``step``
    tells adjacency (1) from likeness (0). ``criterion`` is the code of each query's criterion, ``criterion_vectors`` has one
    row per code. ``vectors`` has a row for each different sentence, and ``sentence`` says which of them a node is: a sentence is
    a node of many queries. ``queries`` has features of whole queries. Nothing here is made from labels.
    """

    offsets: Ints
    features: NDArray[np.float32]
    edges: Ints
    weight: Floats
    step: Ints
    criterion: Ints
    criterion_vectors: NDArray[np.float32]
    sentence: Ints | None = None
    vectors: NDArray[np.float32] | None = None
    queries: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def node_width(self) -> int:
        """How many numbers describe a node."""
        return int(self.features.shape[1]) + (0 if self.vectors is None else int(self.vectors.shape[1]))

    @property
    def query_width(self) -> int:
        """How many numbers describe a query: its criterion, and itself."""
        return int(self.criterion_vectors.shape[1]) + (0 if self.queries is None else int(self.queries.shape[1]))

    def edges_of(self) -> Ragged:
        """The edges of every graph."""
        graph = np.searchsorted(self.offsets, self.edges[0], side="right") - 1
        counts = np.bincount(graph, minlength=len(self))
        return Ragged(np.concatenate([[0], np.cumsum(counts)]), np.argsort(graph, kind="stable"))

    def take(self, places: Ints) -> Graphs:
        """Some of the graphs, in the order that is given; the vectors are shared, not copied."""
        nodes, edges = Ragged(self.offsets, np.arange(len(self.features))).take(places), self.edges_of().take(places)
        shift = nodes.offsets[:-1] - self.offsets[:-1][places]  # from places in all graphs to places in these
        return replace(
            self,
            offsets=nodes.offsets,
            features=self.features[nodes.values],
            edges=self.edges[:, edges.values] + np.repeat(shift, edges.lengths),
            weight=self.weight[edges.values],
            step=self.step[edges.values],
            criterion=self.criterion[places],
            sentence=None if self.sentence is None else self.sentence[nodes.values],
            queries=None if self.queries is None else self.queries[places],
        )


def likeness(vectors: NDArray[np.float32], offsets: Ints, neighbours: int) -> sparse.csr_matrix:
    """The most alike sentences of the same post: for each its nearest few, joined both ways, weighted by their cosine.

    Sentences that have nothing in common are not joined. Equally near ones are taken in the order of the post.
    """
    sources, targets, weights = [], [], []
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        cosine = (vectors[start:stop] @ vectors[start:stop].T).astype(np.float64)
        np.fill_diagonal(cosine, -1.0)
        nearest = np.argsort(-cosine, axis=1, kind="stable")[:, :neighbours]
        source = np.repeat(np.arange(stop - start), nearest.shape[1])
        weight = cosine[source, nearest.ravel()]
        joined = weight > 0
        sources.append(source[joined] + start)
        targets.append(nearest.ravel()[joined] + start)
        weights.append(weight[joined])
    size = (len(vectors), len(vectors))
    graph = sparse.csr_matrix((np.concatenate(weights), (np.concatenate(sources), np.concatenate(targets))), size)
    return graph.maximum(graph.T).tocsr()


def adjacency(offsets: Ints) -> sparse.csr_matrix:
    """Each sentence joined with the one before and the one after it in its post."""
    total = int(offsets[-1])
    first = np.setdiff1d(np.arange(1, total), offsets)  # not the first of a post
    ones = np.ones(2 * len(first))
    return sparse.csr_matrix((ones, (np.r_[first, first - 1], np.r_[first - 1, first])), (total, total))


def query_nodes(kept: Bools, offsets: Ints) -> tuple[Ints, Ints, Ints]:
    """The candidates of all queries after each other, post by post: offsets of the queries, and each node's sentence and criterion.

    >>> [part.tolist() for part in query_nodes(np.array([[True, True], [False, True]]), np.array([0, 2]))]
    [[0, 1, 3], [0, 0, 1], [0, 1, 1]]
    """
    criteria = kept.shape[1]
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    sentence, criterion = np.nonzero(kept)
    query = owner[sentence] * criteria + criterion
    order = np.argsort(query, kind="stable")
    counts = np.bincount(query, minlength=(len(offsets) - 1) * criteria)
    return np.concatenate([[0], np.cumsum(counts)]), sentence[order], criterion[order]


def ranked_nodes(score: Floats, kept: Bools, offsets: Ints) -> tuple[Ints, Ints, Ints]:
    """The candidates of all queries as `query_nodes` lists them, each query's best first; equal scores keep their order."""
    ends, sentence, criterion = query_nodes(kept, offsets)
    query = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = np.lexsort((-score[sentence, criterion], query))
    return ends, sentence[order], criterion[order]


def query_edges(graph: sparse.csr_matrix, sentence: Ints, criterion: Ints, kept: Bools) -> tuple[Ints, Floats]:
    """The edges of a graph over sentences, within each query's candidates, as places among the nodes."""
    place = np.full(kept.shape, -1)
    place[sentence, criterion] = np.arange(len(sentence))
    joined = graph.tocoo()
    source, target = place[joined.row], place[joined.col]
    both = (source >= 0) & (target >= 0)
    weight = np.broadcast_to(joined.data[:, None], both.shape)[both]
    return np.stack([source[both], target[both]]), np.asarray(weight, np.float64)
