"""Sentence graphs, one per query: the nodes are its candidates, the edges join neighbours and sentences alike in meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evidentia.tables.queries import Floats, Frozen, Ints


@dataclass(frozen=True, eq=False)
class Graphs(Frozen):
    """A batch of graphs, laid out flat: ``offsets`` says where the nodes of each query start.

    ``edges`` is 2 x m, both directions listed, in places of the whole batch; ``weight`` has one number per edge, ``step``
    tells adjacency (1) from likeness (0). ``criterion`` is the code of each query's criterion, ``criterion_vectors`` has one
    row per code. Nothing here is made from labels.
    """

    offsets: Ints
    features: NDArray[np.float32]
    edges: Ints
    weight: Floats
    step: Ints
    criterion: Ints
    criterion_vectors: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.offsets) - 1
