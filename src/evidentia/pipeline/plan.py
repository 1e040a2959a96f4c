"""What is to be run: which posts each fold learns from, tunes on and is judged by, and whether there are enough of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Ints
from evidentia.corpus import Posts
from evidentia.errors import InputError, counted, shown
from evidentia.pipeline.system import System
from evidentia.protocol import Choices, outer_folds
from evidentia.protocol.calibration import ALWAYS_FITS, Shortage, shortage
from evidentia.protocol.folds import Folds, InnerSplit
from evidentia.protocol.near_duplicates import text_groups
from evidentia.tables.queries import Frozen

FINAL = "final"


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
class Plan:
    """What is to be run: the system, the posts with their gold, the folds, and whether a model for use is wanted too.

    Without ``outer`` that model is all that is wanted: nothing is judged.
    """

    system: System
    posts: Posts
    folds: Folds
    final: bool = True
    outer: bool = True

    @classmethod
    def of(
        cls,
        system: System,
        posts: Posts,
        *,
        folds: int,
        group_copies: bool = True,
        final: bool = True,
        outer: bool = True,
    ) -> Plan:
        """Deal the posts into folds; posts of the same or nearly the same text are never parted."""
        texts = [
            " ".join(posts.texts[start:stop]) for start, stop in zip(posts.offsets, posts.offsets[1:], strict=False)
        ]
        groups = text_groups(texts) if group_copies else None
        dealt = outer_folds(posts.post_ids, seed=system.seed, folds=folds, groups=groups)
        return cls(system, posts, dealt, final, outer)

    def divisions(self) -> list[Division]:
        """The posts of every fold, and of the model for use."""
        splits = self.folds.splits()
        if self.final:
            splits += (self.folds.whole(FINAL),)
        return [self._division(split, code) for code, split in enumerate(splits) if self.outer or split.fold == FINAL]

    def _division(self, split: InnerSplit, code: int) -> Division:
        groups = dict(zip(self.folds.post_ids, self.folds.group.tolist(), strict=True))
        seed = [self.system.seed, code, 1]
        return Division.of(split, self.posts, parts=self.system.cross_fit, seed=seed, groups=groups)


def identity(plan: Plan, config: Mapping[str, Any], means: Sequence[Any]) -> str:
    """A hash of everything that decides the outcome: configuration, posts, labels, and by what means."""
    encoded = json.dumps([means, config, plan.folds.seed, plan.final], sort_keys=True)
    digest = hashlib.sha256(encoded.encode())
    for part in (*texts_of(plan.posts), *labels_of(plan.posts)):
        digest.update(part)
    return digest.hexdigest()


def texts_of(posts: Posts) -> Iterator[bytes]:
    """Posts and criteria without labels, for a hash."""
    for part in (posts.post_ids, posts.sent_uids, posts.texts, [str(criterion) for criterion in posts.criteria]):
        yield json.dumps(part).encode()
    yield posts.offsets.tobytes()


def labels_of(posts: Posts) -> Iterator[bytes]:
    """The labels, for a hash."""
    assert posts.gold is not None
    yield np.packbits(posts.gold).tobytes()


def refuse_too_few(plan: Plan) -> None:
    """Refuse a plan whose posts cannot be divided, cross-fitted or calibrated on as its system wants to."""
    divisions = plan.divisions()
    if any(step.stage.learns for step in plan.system.steps):
        _refuse_one_part(divisions)
    shortages = {division.fold: tune_shortage(plan.posts, division, plan.system.choices) for division in divisions}
    short = {fold: lack for fold, lack in shortages.items() if lack is not None}
    if short:
        raise InputError(_said(short, len(plan.folds.labels)))


def tune_shortage(posts: Posts, division: Division, choices: Choices) -> Shortage | None:
    """What the TUNE posts of a fold lack for calibrators and thresholds to be chosen on them, if anything."""
    labels = posts.has_evidence()[division.tune]
    post = np.repeat(np.arange(len(labels)), labels.shape[1])
    named = [posts.post_ids[place] for place in division.tune.tolist()]
    return shortage(labels.ravel(), post, named, method=choices.calibrate, seed=choices.seed)


def _refuse_one_part(divisions: list[Division]) -> None:
    """A stage that is cross-fitted on one part alone would learn from nothing."""
    for division in divisions:
        if len(np.unique(division.part)) < 2:
            raise InputError(
                f"Fold {division.fold}: the {counted(len(division.train), 'TRAIN post')} are copies of one text and must "
                "not be parted, and cross-fitting needs 2 texts. Give more posts."
            )


def _said(short: Mapping[str, Shortage], folds: int) -> str:
    """Which folds lack what, and what can be done about it."""
    first, lack = next(iter(short.items()))
    of_folds = [fold for fold in short if fold != FINAL]
    where = f"in {len(of_folds)} of {folds} folds (first: fold {first})" if of_folds else "of the model for use"
    remedies = ["Give the corpus more such posts"]
    if all(each.comparing for each in short.values()):
        remedies.append(f'set [gate] calibrate = "{ALWAYS_FITS}", which compares nothing')
    if not of_folds:
        remedies.append("set [run] final_model = false")
    message = f"Scores {where} cannot be made probabilities: TUNE has {lack.counts}."
    return f"{message} {', or '.join(remedies)}."
