"""Texts to be searched: posts cut into sentences, the criteria they are asked about, and gold where it is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evidentia.array_types import Bools, Ints
from evidentia.tables.queries import Frozen


def offsets_of(posts: Ints, offsets: Ints) -> Ints:
    """Where each of some posts starts once only they are laid out.

    >>> offsets_of(np.array([2, 0]), np.array([0, 3, 4, 6])).tolist()
    [0, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(np.diff(offsets)[posts])])


def rows_of(posts: Ints, offsets: Ints) -> Ints:
    """The places of the sentences of some posts, in the order of the posts.

    >>> rows_of(np.array([2, 0]), np.array([0, 3, 4, 6])).tolist()
    [4, 5, 0, 1, 2]
    """
    lengths = np.diff(offsets)[posts]
    rows: Ints = np.arange(lengths.sum()) + np.repeat(offsets[:-1][posts] - (np.cumsum(lengths) - lengths), lengths)
    return rows


def owner_of(offsets: Ints) -> Ints:
    """The post of every sentence.

    >>> owner_of(np.array([0, 3, 4])).tolist()
    [0, 0, 0, 1]
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


@dataclass(frozen=True)
class Criterion:
    """One thing that a post may hold evidence for; ``prototypes`` are further ways to say it."""

    criterion_id: str
    text: str
    prototypes: tuple[str, ...] = ()

    @property
    def wording(self) -> str:
        """All that is known about it, as one text."""
        return " ".join((self.text, *self.prototypes))


@dataclass(frozen=True, eq=False)
class Posts(Frozen):
    """Posts with their sentences, laid out flat: ``offsets`` says where the sentences of each post start.

    A query is a post and a criterion, so everything about all queries fits a matrix sentences x criteria. ``gold`` is one;
    None where labels are unknown or may not be seen.
    """

    post_ids: tuple[str, ...]
    sent_uids: tuple[str, ...]
    texts: tuple[str, ...]
    offsets: Ints
    criteria: tuple[Criterion, ...]
    gold: Bools | None = None

    def __len__(self) -> int:
        return len(self.post_ids)

    @property
    def lengths(self) -> Ints:
        """How many sentences each post has."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> Ints:
        """The post of every sentence, as its place in ``post_ids``."""
        return owner_of(self.offsets)

    @property
    def criterion_ids(self) -> tuple[str, ...]:
        """The ids of the criteria, in their order."""
        return tuple(criterion.criterion_id for criterion in self.criteria)

    def unlabelled(self) -> Posts:
        """The same posts without gold: what a stage may see when it is asked, not taught."""
        return replace(self, gold=None)

    def relabelled(self, gold: Bools) -> Posts:
        """The same posts under other labels."""
        return replace(self, gold=gold)

    def sentences_of(self, posts: Ints) -> Ints:
        """The places of the sentences of some posts, in the order of the posts."""
        return rows_of(posts, self.offsets)

    def take(self, posts: Ints) -> Posts:
        """Some of the posts, in the order that is given."""
        rows = self.sentences_of(posts)
        return replace(
            self,
            post_ids=tuple(self.post_ids[post] for post in posts.tolist()),
            sent_uids=tuple(self.sent_uids[row] for row in rows.tolist()),
            texts=tuple(self.texts[row] for row in rows.tolist()),
            offsets=offsets_of(posts, self.offsets),
            gold=None if self.gold is None else self.gold[rows],
        )

    def has_evidence(self) -> Bools:
        """Whether each query has gold, posts x criteria."""
        assert self.gold is not None
        counts = np.zeros((len(self), len(self.criteria)), np.int64)
        np.add.at(counts, self.owner, self.gold.astype(np.int64))
        return counts > 0
