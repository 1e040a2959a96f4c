"""Corpora of a few words, for claims that a reader can check by hand, and random ones for second implementations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Criterion, Posts
from evidentia.corpus.posts import rows_of
from evidentia.pipeline.plan import Division
from evidentia.pipeline.stage import Lesson, Parts, Stage, View
from evidentia.protocol.folds import outer_folds

SLEEP = Criterion("SLEEP", "Sleeps badly at night")
MOOD = Criterion("MOOD", "Sad mood", ("crying",))


def posts_of(*texts: Sequence[str], criteria: tuple[Criterion, ...] = (SLEEP, MOOD), gold: object = None) -> Posts:
    """Posts p0, p1, ... with the sentences that are given; gold is a row per sentence."""
    flat = [sentence for post in texts for sentence in post]
    ids = tuple(f"p{at}" for at in range(len(texts)))
    return Posts(
        post_ids=ids,
        sent_uids=tuple(f"{post}_{at}" for post, given in zip(ids, texts, strict=True) for at in range(len(given))),
        texts=tuple(flat),
        offsets=ends([len(post) for post in texts]),
        criteria=criteria,
        gold=None if gold is None else np.array(gold, bool),
    )


def ends(lengths: Sequence[int]) -> Ints:
    """Where posts of these lengths start, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))])


def spans(offsets: Ints) -> list[range]:
    """The sentences of each post."""
    return [range(start, stop) for start, stop in pairwise(offsets.tolist())]


def permuted(posts: Posts, seed: int) -> tuple[Posts, Ints]:
    """The same posts in another order, and the place that each of them had."""
    order = np.random.default_rng(seed).permutation(len(posts))
    return posts.take(order), order


def divided(posts: Posts, *, parts: int = 3, seed: int = 7, folds: int = 4) -> Division:
    """The first fold of a corpus, dealt by the names of the posts alone."""
    split = outer_folds(posts.post_ids, seed=seed, folds=folds).splits()[0]
    return Division.of(split, posts, parts=parts, seed=[seed])


def lesson_on(posts: Posts, learn: Ints, tune: Ints | None = None) -> Lesson:
    """All that a lesson may hold about these posts."""
    tuned = np.array([], np.int64) if tune is None else tune
    assert posts.gold is not None
    seen = rows_of(np.concatenate([learn, tuned]), posts.offsets)
    gold = np.zeros_like(posts.gold)
    gold[seen] = posts.gold[seen]
    return Lesson(learn, tuned, gold)


def taught(
    stage: Stage, posts: Posts, view: View | None = None, tune: Ints | None = None
) -> tuple[Parts, Parts, Floats]:
    """Teach a stage all posts and ask it about the same: its space, its model, and what it says."""
    view = View.of(posts) if view is None else view
    space = stage.space(view)
    inputs = stage.inputs(space, view)
    every = np.arange(len(posts))
    model = stage.fit(inputs, lesson_on(posts, every, every if tune is None else tune), seed=0)
    return space, model, stage.score(space, model, inputs)


@st.composite
def scored(
    draw: st.DrawFn, *, most_posts: int = 4, most_sentences: int = 6, most_criteria: int = 3
) -> tuple[Floats, Bools, Bools, Ints]:
    """Scores full of ties, candidates (at least one of every query), gold, and offsets."""
    lengths = draw(st.lists(st.integers(1, most_sentences), min_size=1, max_size=most_posts))
    criteria = draw(st.integers(1, most_criteria))
    offsets, size = ends(lengths), sum(lengths) * criteria

    def table(values: st.SearchStrategy[float]) -> Floats:
        return np.array(draw(st.lists(values, min_size=size, max_size=size))).reshape(sum(lengths), criteria)

    kept = table(st.sampled_from([0.0, 1.0])) > 0
    for span in spans(offsets):
        kept[draw(st.integers(span.start, span.stop - 1))] = True
    score = table(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]))
    return score, kept, table(st.sampled_from([0.0, 0.0, 1.0])) > 0, offsets
