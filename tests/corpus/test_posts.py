"""Posts laid out flat: taking some of them gives what a reader would lay out again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidentia.corpus import Criterion, Posts
from evidentia.corpus.posts import offsets_of, rows_of


def laid_out(nested: dict[str, list[tuple[str, str, list[bool]]]]) -> Posts:
    """Posts from a plain dictionary: id -> (uid, text, gold) of every sentence."""
    flat = [sentence for post in nested.values() for sentence in post]
    return Posts(
        post_ids=tuple(nested),
        sent_uids=tuple(uid for uid, _, _ in flat),
        texts=tuple(text for _, text, _ in flat),
        offsets=np.cumsum([0, *(len(post) for post in nested.values())]),
        criteria=(Criterion("A", "first"), Criterion("B", "second", ("another way", "a third"))),
        gold=np.array([gold for _, _, gold in flat], bool).reshape(len(flat), 2),
    )


@pytest.fixture
def posts() -> Posts:
    return laid_out(
        {
            "x": [("x0", "one", [True, False]), ("x1", "two", [False, False])],
            "y": [("y0", "three", [False, False])],
            "z": [("z0", "four", [False, True]), ("z1", "five", [False, True]), ("z2", "six", [False, False])],
        }
    )


class TestTaking:
    def test_the_last_post_before_the_first(self, posts: Posts) -> None:
        taken = posts.take(np.array([2, 0]))
        assert taken.post_ids == ("z", "x")
        assert taken.texts == ("four", "five", "six", "one", "two")
        assert taken.sent_uids == ("z0", "z1", "z2", "x0", "x1")
        assert taken.offsets.tolist() == [0, 3, 5]
        assert taken.gold is not None
        assert taken.gold[:, 1].tolist() == [True, True, False, False, False]

    def test_none(self, posts: Posts) -> None:
        taken = posts.take(np.array([], np.int64))
        assert (len(taken), taken.texts, taken.offsets.tolist()) == (0, (), [0])

    def test_without_gold_there_is_none_to_take(self, posts: Posts) -> None:
        assert posts.unlabelled().take(np.array([1])).gold is None

    @settings(deadline=None)
    @given(
        lengths=st.lists(st.integers(1, 5), min_size=1, max_size=6),
        picks=st.lists(st.integers(0, 5), max_size=8),
    )
    def test_rows_and_offsets_are_those_of_a_plain_list_of_lists(self, lengths: list[int], picks: list[int]) -> None:
        offsets = np.cumsum([0, *lengths])
        chosen = [pick % len(lengths) for pick in picks]  # the same post may be taken twice
        nested = [list(range(offsets[at], offsets[at + 1])) for at in chosen]
        assert rows_of(np.array(chosen, np.int64), offsets).tolist() == [row for post in nested for row in post]
        starts = [sum(len(post) for post in nested[:at]) for at in range(len(nested) + 1)]
        assert offsets_of(np.array(chosen, np.int64), offsets).tolist() == starts


class TestAbout:
    def test_owners_and_lengths(self, posts: Posts) -> None:
        assert posts.lengths.tolist() == [2, 1, 3]
        assert posts.owner.tolist() == [0, 0, 1, 2, 2, 2]

    def test_a_query_has_evidence_if_any_of_its_sentences_is_gold(self, posts: Posts) -> None:
        assert posts.has_evidence().tolist() == [[True, False], [False, False], [False, True]]

    def test_a_wording_holds_the_prototypes(self, posts: Posts) -> None:
        assert posts.criteria[1].wording == "second another way a third"
        assert posts.criterion_ids == ("A", "B")

    def test_arrays_cannot_be_written(self, posts: Posts) -> None:
        with pytest.raises(ValueError, match="read-only"):
            posts.offsets[0] = 1

    def test_relabelled_keeps_the_texts_and_leaves_the_first_alone(self, posts: Posts) -> None:
        other = posts.relabelled(np.zeros((6, 2), bool))
        assert other.texts == posts.texts
        assert not other.has_evidence().any()
        assert posts.has_evidence().sum() == 2
