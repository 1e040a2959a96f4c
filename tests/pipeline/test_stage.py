"""What a stage sees and how its scores are ranked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.posts import posts_of, scored, spans
from evidentia.array_types import Bools, Floats, Ints
from evidentia.pipeline.stage import Parts, Sentences, View, best, candidates_of, ranks, worst

Scored = tuple[Floats, Bools, Bools, Ints]


def plain_ranks(score: Floats, kept: Bools, offsets: Ints) -> list[list[int]]:
    """Sort every query: candidates first, better first, then the order of the post."""
    place = np.zeros(score.shape, int)
    for span in spans(offsets):
        for column in range(score.shape[1]):
            order = sorted(span, key=lambda row: (not kept[row, column], -score[row, column], row))
            for at, row in enumerate(order):
                place[row, column] = at
    return place.tolist()


class TestRanks:
    def test_the_best_candidate_comes_first_and_what_is_no_candidate_last(self) -> None:
        score = np.array([[0.2], [0.9], [0.5], [0.7]])
        kept = np.array([[True], [False], [True], [True]])
        assert ranks(score, kept, np.array([0, 4])).ravel().tolist() == [2, 3, 1, 0]

    def test_equal_scores_keep_the_order_of_the_post(self) -> None:
        assert ranks(np.zeros((5, 1)), np.ones((5, 1), bool), np.array([0, 2, 5])).ravel().tolist() == [0, 1, 0, 1, 2]

    @settings(deadline=None)
    @given(scored())
    def test_ranks_are_those_of_a_sort_per_query(self, case: Scored) -> None:
        score, kept, _, offsets = case
        assert ranks(score, kept, offsets).tolist() == plain_ranks(score, kept, offsets)

    @settings(deadline=None)
    @given(scored())
    def test_best_and_worst_are_those_of_a_loop(self, case: Scored) -> None:
        score, kept, _, offsets = case
        of_query = [
            [[score[row, column] for row in span if kept[row, column]] for column in range(score.shape[1])]
            for span in spans(offsets)
        ]
        assert best(score, kept, offsets).tolist() == [[max(one) for one in post] for post in of_query]
        assert worst(score, kept, offsets).tolist() == [[min(one) for one in post] for post in of_query]

    @settings(deadline=None)
    @given(scored(), st.integers(0, 5))
    def test_candidates_come_in_the_order_of_the_posts(self, case: Scored, seed: int) -> None:
        _, kept, _, offsets = case
        order = np.random.default_rng(seed).permutation(len(offsets) - 1)
        found = [
            (row, column)
            for post in order.tolist()
            for row in spans(offsets)[post]
            for column in range(kept.shape[1])
            if kept[row, column]
        ]
        sentence, criterion = candidates_of(order, kept, offsets)
        assert list(zip(sentence.tolist(), criterion.tolist(), strict=True)) == found


class TestView:
    def test_gold_is_not_in_view(self) -> None:
        posts = posts_of(["a", "b"], ["c"], gold=[[1, 0], [0, 0], [0, 1]])
        assert View.of(posts).posts.gold is None
        assert View.of(posts).take(np.array([1])).posts.gold is None

    def test_two_of_three_are_kept_and_then_one_of_these(self) -> None:
        view = (
            View.of(posts_of(["a", "b", "c"]))
            .with_scores("first", np.array([[3.0, 0], [2, 1], [1, 2]]))
            .narrowed("first", 2)
        )
        assert view.kept.tolist() == [[True, False], [True, True], [False, True]]
        later = view.with_scores("second", np.array([[0.0, 9], [1, 0], [9, 0]])).narrowed("second", 1)
        assert later.kept.tolist() == [
            [False, False],
            [True, True],
            [False, False],
        ]  # the 9s were no candidates any more

    def test_a_stage_cannot_change_what_another_said(self) -> None:
        said = np.zeros((1, 2))
        view = View.of(posts_of(["a"])).with_scores("first", said)
        with pytest.raises(ValueError, match="read-only"):
            view.scores["first"][0, 0] = 1.0
        said[0, 0] = 2.0  # the array of the caller stays writable

    @settings(deadline=None)
    @given(scored(), st.integers(1, 4))
    def test_narrowed_keeps_the_best_of_each_query(self, case: Scored, keep: int) -> None:
        score, kept, _, offsets = case
        place = np.array(plain_ranks(score, kept, offsets))
        posts = posts_of(*(["x"] * len(span) for span in spans(offsets)))
        view = View(posts, {"stage": score}, kept).narrowed("stage", keep)
        assert view.kept.tolist() == (kept & (place < keep)).tolist()
        held = np.add.reduceat(view.kept.astype(int), offsets[:-1], axis=0)
        assert held.min() >= 1
        assert held.max() <= keep

    @settings(deadline=None)
    @given(scored(), st.integers(0, 5))
    def test_taking_posts_and_narrowing_may_change_places(self, case: Scored, seed: int) -> None:
        score, kept, _, offsets = case
        posts = posts_of(*(["x"] * len(span) for span in spans(offsets)))
        some = np.random.default_rng(seed).permutation(len(posts))[: 1 + seed % len(posts)]
        view = View(posts, {"stage": score}, kept)
        first, then = view.take(some).narrowed("stage", 2), view.narrowed("stage", 2).take(some)
        assert first.posts.post_ids == then.posts.post_ids
        assert np.array_equal(first.kept, then.kept)
        assert np.array_equal(first.scores["stage"], then.scores["stage"])


class TestParts:
    def test_parts_that_share_no_name_are_joined(self) -> None:
        both = Parts({"a": 1}, {"x": np.zeros(1)}).joined(Parts({"b": 2}))
        assert dict(both.document) == {"a": 1, "b": 2}
        assert set(both.arrays) == {"x"}

    def test_a_shared_name_is_a_mistake(self) -> None:
        with pytest.raises(AssertionError):
            Parts({"a": 1}).joined(Parts({"a": 1}))


def test_sentences_are_taken_by_post() -> None:
    inputs = Sentences(np.arange(6.0).reshape(6, 1), np.array([0, 2, 3, 6]))
    taken = inputs.take(np.array([2, 1]))
    assert taken.features.ravel().tolist() == [3, 4, 5, 2]
    assert taken.offsets.tolist() == [0, 3, 4]
