"""Sentence graphs against loops over pairs of sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from builders.posts import ends, scored, spans
from evidentia.array_types import Bools, Floats, Ints
from evidentia.pipeline.graphs import adjacency, likeness, query_edges, query_nodes

Scored = tuple[Floats, Bools, Bools, Ints]


class TestLikeness:
    def test_three_directions(self) -> None:
        """At 0, 30 and 90 degrees: cosines 0.866, 0.5 and 0. With one neighbour each, the second is everybody's."""
        angles = np.deg2rad([0, 30, 90])
        vectors = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
        found = likeness(vectors, np.array([0, 3]), 1).toarray()
        expected = [[0, 0.8660254, 0], [0.8660254, 0, 0.5], [0, 0.5, 0]]
        np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_nothing_joins_posts_and_nothing_joins_a_sentence_with_itself(self) -> None:
        found = likeness(np.ones((5, 1), np.float32), np.array([0, 1, 3, 5]), 3).toarray()
        assert np.argwhere(found).tolist() == [[1, 2], [2, 1], [3, 4], [4, 3]]

    def test_equally_near_ones_are_taken_in_the_order_of_the_post(self) -> None:
        found = likeness(np.ones((4, 1), np.float32), np.array([0, 4]), 1).toarray()
        assert np.argwhere(found).tolist() == [[0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]

    @pytest.mark.parametrize(
        "vectors", [np.zeros((3, 2)), np.zeros((3, 0)), np.eye(3), -np.ones((3, 1)) * [[1], [0], [-1]]]
    )
    def test_what_has_nothing_in_common_is_not_joined(self, vectors: Floats) -> None:
        assert likeness(vectors.astype(np.float32), np.array([0, 3]), 2).nnz == 0

    @settings(deadline=None)
    @given(
        lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
        neighbours=st.integers(1, 4),
        seed=st.integers(0, 99),
    )
    def test_against_a_loop_over_pairs(self, lengths: list[int], neighbours: int, seed: int) -> None:
        offsets = ends(lengths)
        vectors = (
            np.random.default_rng(seed).integers(-1, 3, (sum(lengths), 3)).astype(np.float32)
        )  # exact cosines, ties
        joined = np.zeros((len(vectors), len(vectors)))
        for span in spans(offsets):
            for row in span:
                near = sorted((-float(vectors[row] @ vectors[other]), other) for other in span if other != row)
                for cosine, other in near[:neighbours]:
                    if -cosine > 0:
                        joined[row, other] = joined[other, row] = -cosine
        assert likeness(vectors, offsets, neighbours).toarray().tolist() == joined.tolist()


class TestAdjacency:
    def test_a_chain_per_post(self) -> None:
        found = adjacency(np.array([0, 3, 4, 6]))
        assert np.argwhere(found.toarray()).tolist() == [[0, 1], [1, 0], [1, 2], [2, 1], [4, 5], [5, 4]]
        assert set(found.data.tolist()) == {1.0}

    def test_posts_of_one_sentence_have_no_edge(self) -> None:
        assert adjacency(np.array([0, 1, 2])).nnz == 0

    @settings(deadline=None)
    @given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    def test_against_a_loop(self, lengths: list[int]) -> None:
        expected = {(row, row + 1) for span in spans(ends(lengths)) for row in span if row + 1 in span}
        found = {(int(row), int(column)) for row, column in np.argwhere(adjacency(ends(lengths)).toarray())}
        assert found == expected | {(after, before) for before, after in expected}


class TestQueries:
    @settings(deadline=None)
    @given(scored())
    def test_nodes_are_the_candidates_query_by_query(self, case: Scored) -> None:
        _, kept, _, offsets = case
        nodes, counts = [], []
        for span in spans(offsets):
            for column in range(kept.shape[1]):
                mine = [(row, column) for row in span if kept[row, column]]
                nodes += mine
                counts.append(len(mine))
        found, sentence, criterion = query_nodes(kept, offsets)
        assert list(zip(sentence.tolist(), criterion.tolist(), strict=True)) == nodes
        assert found.tolist() == ends(counts).tolist()

    @settings(deadline=None)
    @given(scored(), st.integers(0, 99))
    def test_edges_join_candidates_of_the_same_query(self, case: Scored, seed: int) -> None:
        _, kept, _, offsets = case
        rng = np.random.default_rng(seed)
        graph = np.zeros((len(kept), len(kept)))
        for span in spans(offsets):
            graph[span.start : span.stop, span.start : span.stop] = rng.integers(0, 3, (len(span), len(span)))
        _, sentence, criterion = query_nodes(kept, offsets)
        edges, weight = query_edges(sparse.csr_matrix(graph), sentence, criterion, kept)
        found = sorted((*edge, value) for edge, value in zip(edges.T.tolist(), weight.tolist(), strict=True))
        assert found == [
            (one, other, graph[sentence[one], sentence[other]])
            for one in range(len(sentence))
            for other in range(len(sentence))
            if criterion[one] == criterion[other] and graph[sentence[one], sentence[other]] > 0
        ]

    def test_a_query_without_candidates_has_no_node(self) -> None:
        found, sentence, criterion = query_nodes(np.array([[True, False], [True, False]]), np.array([0, 1, 2]))
        assert (found.tolist(), sentence.tolist(), criterion.tolist()) == ([0, 1, 1, 2, 2], [0, 1], [0, 0])

    def test_a_graph_without_edges_gives_none(self) -> None:
        edges, weight = query_edges(
            sparse.csr_matrix((2, 2)), np.array([0, 1]), np.array([0, 0]), np.ones((2, 1), bool)
        )
        assert edges.shape == (2, 0)
        assert weight.shape == (0,)
