"""One outer fold: every stage learns on TRAIN, later stages from cross-fitted scores of earlier ones, TUNE and EVAL are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.corpus.posts import rows_of
from evidentia.errors import InputError, counted, shown
from evidentia.pipeline.stage import Lesson, Parts, Stage, View
from evidentia.protocol.folds import InnerSplit
from evidentia.tables.queries import Frozen


@dataclass(frozen=True)
class Step:
    """A stage at its place: under which name its scores are known, and how many candidates it lets through."""

    name: str
    stage: Stage
    keep: int | None = None

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep < 1:
            raise InputError(f"Step {self.name} must keep 1 candidate or more, not {self.keep}.")


@dataclass(frozen=True, eq=False)
class Division(Frozen):
    """The posts of one fold, as places in the corpus. ``part`` numbers the parts of TRAIN that stages are cross-fitted on."""

    fold: str
    train: Ints
    tune: Ints
    eval: Ints
    part: Ints

    @classmethod
    def of(
        cls,
        split: InnerSplit,
        posts: Posts,
        *,
        parts: int,
        seed: Sequence[int],
        groups: Mapping[str, int] | None = None,
    ) -> Division:
        """Find the posts of a split, and deal TRAIN into parts; posts of one group stay together."""
        if parts < 2 or len(split.train) < 2:
            raise InputError(
                f"Fold {shown(split.fold)}: {counted(len(split.train), 'TRAIN post')} cannot be dealt into "
                f"{counted(parts, 'part')} for cross-fitting. 2 posts and 2 parts are the least: give more."
            )
        at = {post: place for place, post in enumerate(posts.post_ids)}
        train, tune, judged = (
            np.array([at[post] for post in named], np.int64) for named in (split.train, split.tune, split.eval)
        )
        own = np.arange(len(train)) if groups is None else np.array([groups[post] for post in split.train])
        _, group = np.unique(own, return_inverse=True)
        part = (np.random.default_rng(list(seed)).permutation(int(group.max()) + 1) % parts)[group]
        return cls(split.fold, train, tune, judged, part)

    @property
    def others(self) -> Ints:
        """Every post that nothing is learnt from."""
        return np.concatenate([self.tune, self.eval])


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a step learnt, and what it says of all posts: of TRAIN posts by models that had not seen them.

    ``scores`` has a row per sentence or per post, as the stage says. Where the stage learns, posts outside the division score
    0, and so do TRAIN posts before a gate: no stage comes after it that would learn from them.
    """

    space: Parts
    model: Parts
    scores: Floats


def run_step(step: Step, view: View, division: Division, gold: Bools, *, seed: int) -> Outcome:
    """Learn a step on TRAIN and ask it about everything."""
    stage = step.stage
    space = stage.space(view.take(division.train))
    inputs = stage.inputs(space, view)
    taught = _Taught(stage, space, inputs, division, gold, view.posts.offsets)
    model = taught.fit(division.train, seed)
    if not stage.learns:
        return Outcome(space, model, stage.score(space, model, inputs))
    scores = np.zeros((len(view.posts) if stage.per == "post" else len(view.posts.texts), len(view.posts.criteria)))
    taught.ask(model, division.others, scores)
    if stage.per == "post":
        return Outcome(space, model, scores)
    for part in np.unique(division.part).tolist():
        unseen = division.part == part
        taught.ask(taught.fit(division.train[~unseen], seed + 1 + part), division.train[unseen], scores)
    return Outcome(space, model, scores)


@dataclass(frozen=True, eq=False)
class _Taught:
    """A stage before its posts: taught about some of them, asked about others."""

    stage: Stage
    space: Parts
    inputs: Any
    division: Division
    gold: Bools
    offsets: Ints

    def fit(self, posts: Ints, seed: int) -> Parts:
        """Learn from some posts. Only their gold and that of TUNE is handed over."""
        seen = rows_of(np.concatenate([posts, self.division.tune]), self.offsets)
        visible = np.zeros_like(self.gold)
        visible[seen] = self.gold[seen]
        return self.stage.fit(self.inputs, Lesson(posts, self.division.tune, visible), seed=seed)

    def ask(self, model: Parts, posts: Ints, scores: Floats) -> None:
        """Write down what a model says of some posts."""
        rows = posts if self.stage.per == "post" else rows_of(posts, self.offsets)
        answer = self.stage.score(self.space, model, self.inputs.take(posts))
        assert answer.shape == (len(rows), scores.shape[1])
        scores[rows] = answer
