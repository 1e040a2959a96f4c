"""What a pipeline must offer to be put through the canaries: three methods, over posts that carry their annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats


@dataclass(frozen=True)
class Post:
    """A post as it lies on a disk: with its annotations, one label per criterion. ``content`` is anything you need.

    A pipeline must not read ``labels``; the canaries change them and watch.
    """

    post_id: str
    content: object
    labels: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Features:
    """What a model is given: a row for every post and criterion (criteria of a post beside each other), and the names."""

    names: tuple[str, ...]
    values: NDArray[np.float64]


class Pipeline(Protocol):
    """Anything that is trained on posts and says how likely each (post, criterion) holds evidence.

    ``fit`` starts afresh every time. Randomness inside is seeded: the canaries compare bytes.
    """

    def fit(self, posts: Sequence[Post], labels: Bools) -> None:
        """Learn from posts and their labels (posts x criteria)."""

    def features(self, posts: Sequence[Post]) -> Features:
        """The features of posts, as the model sees them."""

    def predict(self, posts: Sequence[Post]) -> Floats:
        """The scores of posts (posts x criteria); larger means evidence is likelier."""


def labels_of(posts: Sequence[Post]) -> Bools:
    """The annotations as a matrix, posts x criteria."""
    return np.array([post.labels for post in posts], bool)


def relabelled(posts: Sequence[Post], labels: Bools) -> list[Post]:
    """The same posts with other annotations."""
    return [replace(post, labels=tuple(row)) for post, row in zip(posts, labels.tolist(), strict=True)]
