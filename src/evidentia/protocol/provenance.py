"""Where a tuned value comes from: the fold, the score column, and the posts that it was chosen on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from evidentia.array_types import Bools
from evidentia.errors import InputError, counted, shown
from evidentia.protocol.plain import Plain
from evidentia.tables.queries import Queries

SCORES = ("prob", "detection_score")


def posts_sha256(posts: Iterable[str]) -> str:
    """The SHA-256 of post ids: sorted as strings, a line feed between them, UTF-8."""
    return hashlib.sha256("\n".join(sorted(posts)).encode()).hexdigest()


@dataclass(frozen=True)
class Provenance(Plain):
    """What a value was tuned on. ``fold`` None stands for a run without folds."""

    fold: str | None = None
    score: str | None = None
    posts: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """The hash of the post ids."""
        return posts_sha256(self.posts)

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        return {**super().to_dict(), "posts_sha256": self.sha256}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], place: str = "") -> Self:
        """Read it back; ids that do not fit their hash have been edited, and are refused."""
        read = super().from_dict(content, place)
        if read.score not in SCORES:
            raise ValueError("the score column is neither prob nor detection_score")
        if read.sha256 != content["posts_sha256"] or len(set(read.posts)) != len(read.posts):
            fold = "" if read.fold is None else f" of fold {shown(read.fold)}"
            raise InputError(f"The tuning posts{fold} do not fit their SHA-256: they were changed. Tune again.")
        return read


def tuned_on(tune: Queries, rows: Bools, fold: str | None, score: str) -> Provenance:
    """The provenance of what is chosen on the given rows."""
    posts = tuple(tune.post_ids[post] for post in np.unique(tune.post[rows]))
    return Provenance(fold, score, posts)


def rows_sha256(tune: Queries, rows: Bools, score: str) -> str:
    """The SHA-256 of what a fold is tuned on: [post, criterion, label, score] of every row as JSON, the lines sorted.

    It says whether other rows are the same, whatever file they are in.
    """
    scores = getattr(tune, score)
    lines = [
        json.dumps(
            [
                tune.post_ids[tune.post[at]],
                tune.criterion_ids[tune.criterion[at]],
                bool(tune.label[at]),
                float(scores[at]),
            ],
            ensure_ascii=False,
        )
        for at in np.flatnonzero(rows)
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def refuse_overlap(posts: Iterable[str], used: Iterable[str], use: str) -> None:
    """Refuse posts that served another choice before; ``what`` says what they would serve now."""
    shared = set(posts) & set(used)
    if shared:
        raise InputError(
            f"{counted(len(shared), 'post')} (first: {shown(min(shared))}) {use}, but served another choice before "
            "(calibrator, gamma, mixing or early stopping). Use posts that nothing was chosen on."
        )
