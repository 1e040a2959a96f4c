"""Made-up graphs whose labels can only be told by looking at neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Ints
from evidentia.pipeline.graphs import Graphs

CRITERIA, WIDTH = 3, 6


@dataclass(frozen=True)
class Toy:
    """Graphs with the nodes that are gold and the queries that have any."""

    graphs: Graphs
    gold: Bools
    has_evidence: Bools


def toy(seed: int, queries: int = 300, features: int = 4, *, empty: bool = False) -> Toy:
    """Lines of 4 to 9 sentences. A sentence is gold where it and a neighbour are marked; half of the marks stand alone.

    The mark is feature 0, so a sentence by itself does not tell. Criterion 2 has no gold whatever the marks are.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(4, 10, queries)
    if empty:
        lengths[:2] = 0
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    criterion = rng.integers(0, CRITERIA, queries)
    marks = np.concatenate([_marks(int(length), rng) for length in lengths])
    steps = _line(offsets)
    beside = np.zeros(len(marks), bool)
    np.logical_or.at(beside, steps[1], marks[steps[0]])
    gold = marks & beside & (np.repeat(criterion, lengths) != 2)
    nodes = rng.normal(size=(len(marks), features)).astype(np.float32)
    nodes[:, 0] = marks * 5.0 + 100
    vectors = np.random.default_rng(0).normal(size=(CRITERIA, WIDTH)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    edges, step = _with_likeness(steps, offsets, rng)
    graphs = Graphs(offsets, nodes, edges, rng.uniform(0.3, 1, len(step)), step, criterion, vectors)
    counts = np.diff(np.concatenate([[0], np.cumsum(gold)])[offsets])
    return Toy(graphs, gold, counts > 0)


def _marks(length: int, rng: np.random.Generator) -> Bools:
    """Two marks, side by side or apart."""
    marks = np.zeros(length, bool)
    if length:
        first = int(rng.integers(0, length - 2))
        marks[[first, first + (1 if rng.random() < 0.5 else 2)]] = True
    return marks


def _line(offsets: Ints) -> Ints:
    inside = np.setdiff1d(np.arange(offsets[-1]), offsets[:-1])  # nodes that have one before them
    return np.concatenate([np.stack([inside - 1, inside]), np.stack([inside, inside - 1])], axis=1)


def _with_likeness(steps: Ints, offsets: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The steps and, between random sentences of one query, some edges of likeness; shuffled."""
    lengths = np.diff(offsets)
    owner = rng.choice(np.flatnonzero(lengths), len(lengths))
    ends = offsets[owner] + rng.integers(0, lengths[owner], (2, len(owner)))
    edges = np.concatenate([steps, ends, ends[::-1]], axis=1)
    step = np.concatenate([np.ones(steps.shape[1], np.int64), np.zeros(2 * len(owner), np.int64)])
    order = rng.permutation(len(step))
    return edges[:, order], step[order]
