"""One outer fold: every stage learns on TRAIN, later stages from cross-fitted scores of earlier ones, TUNE and EVAL are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.corpus import Posts
from evidentia.corpus.posts import rows_of
from evidentia.pipeline.stage import Lesson, Parts, Stage, View
from evidentia.protocol.folds import InnerSplit
from evidentia.tables.queries import Bools, Floats, Frozen, Ints


@dataclass(frozen=True)
class Step:
    """A stage at its place: under which name its scores are known, and how many candidates it lets through."""

    name: str
    stage: Stage
    keep: int | None = None


@dataclass(frozen=True, eq=False)
class Division(Frozen):
    """The posts of one fold, as places in the corpus. ``part`` numbers the parts of TRAIN that stages are cross-fitted on."""

    fold: str
    train: Ints
    tune: Ints
    eval: Ints
    part: Ints

    @classmethod
    def of(cls, split: InnerSplit, posts: Posts, *, parts: int, seed: Sequence[int]) -> Division:
        """Find the posts of a split, and deal TRAIN into parts."""
        at = {post: place for place, post in enumerate(posts.post_ids)}
        train, tune, judged = (
            np.array([at[post] for post in named], np.int64) for named in (split.train, split.tune, split.eval)
        )
        part = np.random.default_rng(list(seed)).permutation(len(train)) % parts
        return cls(split.fold, train, tune, judged, part)

    @property
    def others(self) -> Ints:
        """Every post that nothing is learnt from."""
        return np.concatenate([self.tune, self.eval])


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a step learnt, and what it says of all posts: of TRAIN posts by models that had not seen them."""

    space: Parts
    model: Parts
    scores: Floats


def run_step(step: Step, view: View, division: Division, gold: Bools, *, seed: int) -> Outcome:
    """Learn a step on TRAIN and ask it about everything."""
    stage = step.stage
    space = stage.space(view.take(division.train))
    inputs = stage.inputs(space, view)
    taught = _Taught(stage, space, inputs, division, _visible(gold, division, view.posts.offsets))
    model = taught.fit(division.train, seed)
    if not stage.learns:
        return Outcome(space, model, stage.score(space, model, inputs))
    asked = {-1: division.others, **{part: division.train[division.part == part] for part in np.unique(division.part)}}
    scores: Floats | None = None
    offsets = view.posts.offsets
    for part, posts in asked.items():
        used = model if part < 0 else taught.fit(division.train[division.part != part], seed + 1 + part)
        said = stage.score(space, used, inputs.take(posts))
        by_post = len(said) == len(posts) != len(rows_of(posts, offsets))
        if scores is None:
            scores = np.zeros((len(view.posts) if by_post else len(view.posts.texts), said.shape[1]))
        scores[posts if by_post else rows_of(posts, offsets)] = said
    assert scores is not None
    return Outcome(space, model, scores)


@dataclass(frozen=True, eq=False)
class _Taught:
    stage: Stage
    space: Parts
    inputs: Any
    division: Division
    gold: Bools

    def fit(self, posts: Ints, seed: int) -> Parts:
        return self.stage.fit(self.inputs, Lesson(posts, self.division.tune, self.gold), seed=seed)


def _visible(gold: Bools, division: Division, offsets: Ints) -> Bools:
    """Gold of TRAIN and TUNE; that of EVAL posts is not even handed over."""
    seen = gold.copy()
    seen[rows_of(division.eval, offsets)] = False
    return seen
