"""Outer folds and their TRAIN and TUNE parts: disjoint, complete, sized as the contract says, and the same for a seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import evidentia
from evidentia.errors import InputError
from evidentia.protocol import Folds, existing_folds, outer_folds
from evidentia.synth import synthetic_run

CONTRACT = [f"p{i}" for i in range(1477)]


def sizes(folds: Folds) -> list[int]:
    return np.bincount(folds.fold, minlength=len(folds.labels)).tolist()


def test_the_contracts_sizes() -> None:
    folds = outer_folds(CONTRACT, seed=7)
    assert sizes(folds) == [295, 295, 295, 295, 297]
    parts = [(len(s.train), len(s.tune), len(s.eval)) for s in folds.splits()]
    assert parts == [(827, 355, 295)] * 4 + [(826, 354, 297)]


@given(
    st.lists(st.text("abc019", min_size=1, max_size=4), min_size=12, max_size=80, unique=True),
    st.integers(2, 6),
    st.integers(0, 2**32),
    st.randoms(),
)
def test_disjoint_complete_sized_and_independent_of_the_order(posts, k, seed, random) -> None:
    folds = outer_folds(posts, seed=seed, folds=k)
    assert sizes(folds) == [len(posts) // k] * (k - 1) + [len(posts) // k + len(posts) % k]
    for split in folds.splits():
        parts = [set(split.train), set(split.tune), set(split.eval)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == len(posts)
        assert len(split.train) == 7 * (len(posts) - len(split.eval)) // 10
    shuffled = random.sample(posts, len(posts))
    again = outer_folds(shuffled, seed=seed, folds=k)
    assert again.post_ids == folds.post_ids == tuple(sorted(posts))
    assert again.fold.tolist() == folds.fold.tolist()
    assert [s.tune for s in again.splits()] == [s.tune for s in folds.splits()]


@given(st.lists(st.integers(0, 25), min_size=40, max_size=80), st.integers(0, 2**32), st.randoms())
def test_groups_stay_together_everywhere(groups, seed, random) -> None:
    posts = [f"p{i}" for i in range(len(groups))]
    largest = max(groups.count(g) for g in groups)
    assume(largest <= 8)
    folds = outer_folds(posts, seed=seed, folds=3, groups=groups)
    of = dict(zip(posts, groups, strict=True))
    for split in folds.splits():
        parts = [{of[post] for post in part} for part in (split.train, split.tune, split.eval)]
        assert sum(map(len, parts)) == len(set(groups))
    assert all(abs(size - len(posts) // 3) <= largest + 2 for size in sizes(folds))
    order = random.sample(range(len(posts)), len(posts))
    again = outer_folds([posts[i] for i in order], seed=seed, folds=3, groups=[f"g{groups[i]}" for i in order])
    assert again.fold.tolist() == folds.fold.tolist()


@given(st.lists(st.integers(0, 12), min_size=12, max_size=60), st.integers(0, 2**32))
def test_the_whole_is_divided_like_a_fold_without_eval(groups: list[int], seed: int) -> None:
    """A copy of a TRAIN post in TUNE would flatter the model for use."""
    posts = [f"p{at}" for at in range(len(groups))]
    try:
        split = outer_folds(posts, seed=seed, folds=2, groups=groups).whole("final")
    except InputError:
        return
    assert split.eval == ()
    assert set(split.train) | set(split.tune) == set(posts)
    group = dict(zip(posts, groups, strict=True))
    assert not {group[post] for post in split.train} & {group[post] for post in split.tune}


def test_another_seed_gives_other_folds_and_other_tune_posts() -> None:
    one, other = outer_folds(CONTRACT, seed=7), outer_folds(CONTRACT, seed=8)
    assert (one.fold != other.fold).mean() > 0.5
    same_outer = existing_folds(one.post_ids, one.fold.tolist(), seed=8)
    assert same_outer.fold.tolist() == one.fold.tolist()
    assert same_outer.inner("0").tune != one.inner("0").tune


def test_they_are_the_folds_of_the_synthetic_runs() -> None:
    """Two implementations of erratum 11, written apart."""
    table = synthetic_run(seed=11, posts=53, criteria=2, positives=10, splits=True, candidates=False).per_query
    folds = outer_folds(table["post_id"].unique().to_list(), seed=11)
    for split in folds.splits():
        rows = table.filter(fold=int(split.fold))
        for part in ("train", "tune", "eval"):
            assert set(rows.filter(split=part.upper())["post_id"]) == set(getattr(split, part))


def test_a_fold_column_is_read_as_it_is() -> None:
    folds = existing_folds(["b", "a", "b", "c"], ["10", "9", "10", "9"], seed=1)
    assert (folds.post_ids, folds.labels, folds.fold.tolist()) == (("a", "b", "c"), ("9", "10"), [0, 1, 0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: existing_folds(["a", "a", "b"], [0, 1, 1], seed=1), "1 post in more than one fold (first: 'a')"),
        (lambda: existing_folds(["a", "b"], [0, 1], seed=1, groups=[5, 5]), "1 group of identical or near-identical"),
        (lambda: outer_folds(["a", "a", "b"], seed=1, folds=2), "1 post id given twice"),
        (
            lambda: outer_folds(["a", "b"], seed=1, folds=1),
            "Posts cannot be dealt into 1 fold. Give 2 folds or more.",
        ),
        (
            lambda: outer_folds(list("abc"), seed=1, folds=5),
            "3 posts cannot be dealt into 5 folds. Give at most 3 folds ([protocol] folds), or more posts.",
        ),
        (lambda: outer_folds(["a"], seed=1, folds=2), "1 post cannot be dealt into 2 folds. Give more posts."),
        (
            lambda: outer_folds(list("abcdef"), seed=1, folds=3, groups=[1] * 5 + [2]),
            "6 posts in 2 groups that must not be parted (as copies of a text) cannot be dealt into 3 folds. "
            "Give at most 2 folds ([protocol] folds), or more posts.",
        ),
        (
            lambda: outer_folds(list("abcdef"), seed=1, folds=3, groups=[1] * 4 + [2, 3]),
            "the largest holds 4. Give fewer folds ([protocol] folds), or more posts.",
        ),
        (lambda: outer_folds(list("abc"), seed=1, folds=2, groups=[1]), "3 posts but 1 group ids"),
        (
            lambda: outer_folds(list("ab"), seed=1, folds=2).inner("0"),
            "Fold '0': 1 post outside it cannot be divided into TRAIN and TUNE. Give more posts.",
        ),
    ],
)
def test_what_cannot_be_divided_is_refused(call, words: str) -> None:
    with pytest.raises(evidentia.InputError) as caught:
        call()
    assert words in str(caught.value)
