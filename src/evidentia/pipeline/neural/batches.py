"""Cutting flat graphs into mini-batches of tensors: plain slices of arrays, so that an epoch costs matrix products only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Ints
from evidentia.errors import InputError
from evidentia.pipeline.extras import neural
from evidentia.pipeline.graphs import Graphs
from evidentia.tables.queries import Frozen, Ragged

Tensor = Any  # torch's; torch is not imported to say so
Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scaling(Frozen):
    """Mean and spread of the features of nodes and of queries and of the edge weights, as they were in TRAIN."""

    mean: Single
    spread: Single
    weight: Single  # the mean and the spread of the edge weights
    query_mean: Single
    query_spread: Single

    @classmethod
    def fitted(cls, graphs: Graphs) -> Scaling:
        """From the graphs of TRAIN; a feature that never changes is only centred."""
        weight = graphs.weight if len(graphs.weight) else np.zeros(1)
        scale = np.array([float(weight.mean()), float(_spread(weight.std()))], np.float32)
        queries = np.zeros((len(graphs), 0), np.float32) if graphs.queries is None else graphs.queries
        return cls(*_mean_and_spread(graphs.features), scale, *_mean_and_spread(queries))


def _mean_and_spread(features: Single) -> tuple[Single, Single]:
    wide = features.astype(np.float64)
    return wide.mean(axis=0).astype(np.float32), _spread(wide.std(axis=0)).astype(np.float32)


def _spread(spread: Any) -> Any:
    return np.where(spread > 1e-6, spread, 1.0)


@dataclass(frozen=True)
class Batch:
    """Some graphs as tensors: ``query`` is the graph of each node, ``criterion`` the vector of each graph's criterion."""

    nodes: Tensor
    query: Tensor
    edges: Tensor
    edge_features: Tensor
    criterion: Tensor
    rows: Ints  # the places of the nodes in all graphs
    places: Ints  # and those of the graphs

    @property
    def size(self) -> int:
        """How many graphs there are."""
        return int(self.criterion.shape[0])


class Batches:
    """All graphs, scaled and with their edges sorted by graph, ready to be cut."""

    def __init__(self, graphs: Graphs, scaling: Scaling) -> None:
        self._nodes = Ragged(graphs.offsets, np.arange(len(graphs.features)))
        self._features = (graphs.features - scaling.mean) / scaling.spread
        self._sentence = graphs.sentence
        self._meaning = None if graphs.vectors is None else _lifted(graphs.vectors)
        self._edges = graphs.edges_of()
        self._ends = graphs.edges
        weight = (graphs.weight - scaling.weight[0]) / scaling.weight[1]
        self._edge_features = np.column_stack([weight, graphs.step]).astype(np.float32)
        self._criterion = graphs.criterion
        self._vectors = _lifted(graphs.criterion_vectors)
        self._queries = None if graphs.queries is None else (graphs.queries - scaling.query_mean) / scaling.query_spread

    def __len__(self) -> int:
        return len(self._criterion)

    def take(self, places: Ints) -> Batch:
        """The graphs at these places, in this order."""
        torch = neural("torch")
        nodes, edges = self._nodes.take(places), self._edges.take(places)
        shift = (
            nodes.offsets[:-1] - self._nodes.offsets[:-1][places]
        )  # from places in all graphs to places in the batch
        ends = self._ends[:, edges.values] + np.repeat(shift, edges.lengths)
        return Batch(
            torch.from_numpy(self._about_nodes(nodes.values)),
            torch.from_numpy(np.array(nodes.owner)),
            torch.from_numpy(ends),
            torch.from_numpy(self._edge_features[edges.values]),
            torch.from_numpy(self._about_queries(places)),
            nodes.values,
            places,
        )

    def _about_nodes(self, nodes: Ints) -> Single:
        if self._meaning is None or self._sentence is None:
            return self._features[nodes]
        return np.concatenate([self._features[nodes], self._meaning[self._sentence[nodes]]], axis=1)

    def _about_queries(self, places: Ints) -> Single:
        asked = self._vectors[self._criterion[places]]
        return asked if self._queries is None else np.concatenate([asked, self._queries[places]], axis=1)

    def in_order(self, size: int) -> list[Ints]:
        """Every place, cut into batches."""
        return [np.arange(start, min(start + size, len(self))) for start in range(0, len(self), size)]


def _lifted(vectors: Single) -> Single:
    """Vectors of unit length, so that their numbers are about as large as standardised features."""
    return vectors.astype(np.float32) * np.float32(np.sqrt(vectors.shape[1]))


def check_widths(graphs: Graphs, features: int, criterion: int) -> None:
    """Refuse graphs whose nodes or criteria have another number of features than the network was made for."""
    widths = (graphs.node_width, graphs.query_width)
    if widths != (features, criterion):
        raise InputError(
            f"The graphs have {widths[0]} node features and criteria of {widths[1]} numbers; the network was fitted to "
            f"{features} and {criterion}. Use the encoder and the features it was fitted with."
        )
