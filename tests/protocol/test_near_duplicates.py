"""Near-identical texts are found, others are not, and similarity is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidentia.protocol import outer_folds, text_groups
from growth import growth


def plain_groups(texts: list[str], similarity: float) -> set[frozenset[int]]:
    """Every pair compared, sets of word triples as Python has them."""
    sets = []
    for text in texts:
        words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
        sets.append({tuple(words[i : i + 3]) for i in range(max(len(words) - 2, 1))} if words else set())
    group = list(range(len(texts)))
    for i, a in enumerate(sets):
        for j, b in enumerate(sets[:i]):
            if a and b and len(a & b) / len(a | b) >= similarity:
                group = [group[j] if g == group[i] else g for g in group]
    return {frozenset(i for i, g in enumerate(group) if g == name) for name in group}


def as_sets(groups: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(groups == name).tolist()) for name in groups}


def test_a_hand_worked_pair() -> None:
    """8 words, 6 triples each; one word at the end changed: 5 shared of 7, a similarity of 0.714."""
    texts = ["a b c d e f g h", "a b c d e f g x"]
    assert text_groups(texts, similarity=0.71).tolist() == [0, 0]
    assert text_groups(texts, similarity=0.72).tolist() == [0, 1]


def test_short_empty_and_bordering_texts() -> None:
    assert text_groups(["", "", "yes", "Yes!", "no", "?"]).tolist() == [0, 1, 2, 2, 3, 4]
    assert text_groups(["a b c", "d e f", "c d"]).tolist() == [0, 1, 2]  # no shingle reaches into the next text
    assert text_groups([]).tolist() == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join), max_size=12), st.randoms())
def test_groups_are_those_of_comparing_every_pair(texts: list[str], random) -> None:
    assert as_sets(text_groups(texts)) == plain_groups(texts, 0.8)
    order = random.sample(range(len(texts)), len(texts))
    shuffled = text_groups([texts[i] for i in order])
    back = {frozenset(order[i] for i in group) for group in as_sets(shuffled)}
    assert back == plain_groups(texts, 0.8)


@pytest.mark.slow
def test_the_cost_grows_with_the_posts_and_copies_share_a_fold() -> None:
    random = np.random.default_rng(5)
    words = np.array([f"w{i}" for i in range(5000)])
    texts = [" ".join(words[random.zipf(1.3, size=250) % 5000]) for _ in range(1400)]
    edited = [f"{text} thanks" for text in texts[:77]]
    groups = text_groups([*texts, *edited])
    assert growth(text_groups, texts[:350], texts) < 12  # near 4; every pair of posts compared would be 16
    assert (groups[:77] == groups[1400:]).all()
    assert len(set(groups.tolist())) == 1400
    posts = [f"p{i:04d}" for i in range(1477)]
    fold = outer_folds(posts, seed=7, groups=groups).fold
    assert (fold[:77] == fold[1400:]).all()
    assert (outer_folds(posts, seed=7).fold[:77] != outer_folds(posts, seed=7).fold[1400:]).sum() > 40
