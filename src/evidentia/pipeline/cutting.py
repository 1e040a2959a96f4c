"""How the posts of a model were cut into sentences: one that learnt from sentences says little about whole paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Floats
from evidentia.corpus import Posts
from evidentia.corpus.splitter import described
from evidentia.errors import counted

_MARGIN = 1.25  # beyond the middle 98 % of the posts of training
_SHARE = 0.2  # of the posts that may be beyond: people write differently
_SHIFT = 1.6  # of the median of many posts, which training may have a wide range around
ENOUGH = 10  # posts that have a median worth the name
_FEWEST = 5  # sentences below which a post of short ones is just short
_HALF = 0.5  # more posts of one sentence than in training, as a share of all


@dataclass(frozen=True)
class SentenceCut:
    """The splitter of the posts (None where sentences were given), and their characters per sentence: 1 %, median, 99 %.

    ``single`` is the share of posts that are one sentence; None in models that were written before it was looked at.
    """

    splitter: str | None
    low: float
    median: float
    high: float
    single: float | None = None

    def __post_init__(self) -> None:
        for value in (self.low, self.median, self.high, 0.0 if self.single is None else self.single):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError("not a number")

    @classmethod
    def of(cls, posts: Posts, splitter: str | None) -> SentenceCut:
        """As these posts are cut."""
        low, median, high = np.quantile(_lengths(posts), (0.01, 0.5, 0.99)).round(1).tolist()
        single = round(float((posts.lengths == 1).mean()), 4)
        return cls(None if splitter is None else described(splitter), low, median, high, single)

    def differences(self, posts: Posts, splitter: str | None = None) -> Iterator[str]:
        """What looks as if other posts were cut differently, in sentences to be printed."""
        here = None if splitter is None else described(splitter)
        if None not in (here, self.splitter) and here != self.splitter:
            yield f"the posts are cut by {here}, those of training were by {self.splitter}: the answers will differ."
        lengths = _lengths(posts)
        ratio = np.median(lengths) / self.median if len(posts) >= ENOUGH else 1.0
        long = lengths > (self.median if ratio > _SHIFT else self.high) * _MARGIN
        short = (lengths < (self.median if ratio < 1 / _SHIFT else self.low) / _MARGIN) & (posts.lengths >= _FEWEST)
        cut = False
        for which, beyond, spared in (
            ("longer", long, 0),
            ("shorter", short, 1),
        ):  # one writer of short sentences may be
            if beyond.sum() > max(_SHARE * len(posts), spared):
                cut = True
                yield (
                    f"{beyond.sum():,} of {counted(len(posts), 'post')} seem to be cut differently: their sentences are much "
                    f"{which} (median {np.median(lengths[beyond]):.0f} characters) than those of training "
                    f"(median {self.median:.0f}, from {self.low:.0f} to {self.high:.0f}). Their answers mean little: "
                    "cut them as the posts of training were."
                )
        if not cut:
            yield from self._single(posts)

    def _single(self, posts: Posts) -> Iterator[str]:
        """Posts that are one sentence each, of ordinary length: a file of sentences, or texts that were cut off."""
        alone = int((posts.lengths == 1).sum())
        if self.single is not None and len(posts) >= ENOUGH and alone / len(posts) > self.single + _HALF:
            yield (
                f"{alone:,} of {counted(len(posts), 'post')} are one sentence each, of those of training "
                f"{100 * self.single:.0f} %. Their answers mean little: give whole posts."
            )


def _lengths(posts: Posts) -> Floats:
    """Characters per sentence, for every post."""
    characters = np.array([len(text) for text in posts.texts], np.float64)
    means: Floats = np.add.reduceat(characters, posts.offsets[:-1]) / posts.lengths
    return means
