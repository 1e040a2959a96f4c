"""How many of the words of new posts a model has never met; no word leaves this module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from evidentia.array_types import Floats
from evidentia.corpus import Posts
from evidentia.errors import counted
from evidentia.pipeline.stage import Parts

_WORD = re.compile(r"\w+")
_MOST = 0.5  # of the words of a post
_MARGIN = 1.25  # beyond 99 % of the posts that the model was tuned on
_SHARE = 0.2  # of the posts that may be beyond


def known_words(learnt: Mapping[str, Mapping[str, Parts]]) -> frozenset[str]:
    """The single words of every vocabulary that a pipeline learnt; empty where it learnt none."""
    spaces = (parts["space"].document for parts in learnt.values() if "space" in parts)
    return frozenset(word for space in spaces for word in _words_in(space))


def _words_in(space: Mapping[str, object]) -> Iterator[str]:
    for name, vocabulary in space.items():
        start = name.removesuffix("vocabulary")
        if start != name and space.get(f"{start}kind") == "words" and isinstance(vocabulary, list | tuple):
            yield from (str(term) for term in vocabulary if " " not in str(term))


def unknown_shares(posts: Posts, known: frozenset[str]) -> Floats:
    """The share of unknown words in each post; 0 for one without a word."""
    counts = np.array([_counts(text, known) for text in posts.texts], np.float64).reshape(-1, 2)
    words, unknown = np.add.reduceat(counts, posts.offsets[:-1], axis=0).T
    shares: Floats = np.divide(unknown, words, out=np.zeros(len(words)), where=words > 0)
    return shares


def usual_share(posts: Posts, known: frozenset[str]) -> float | None:
    """The share of unknown words that 99 % of posts stay below; None where the model knows no words."""
    return round(float(np.quantile(unknown_shares(posts, known), 0.99)), 4) if known else None


def unknown_words(posts: Posts, known: frozenset[str], usual: float | None) -> Iterator[str]:
    """What looks as if posts were about something else, or in another language, in a sentence to be printed."""
    if not known:
        return
    shares = unknown_shares(posts, known)
    strange = int((shares > max(_MOST, _MARGIN * (usual or 0.0))).sum())
    if strange > _SHARE * len(posts):
        yield (
            f"{strange:,} of {counted(len(posts), 'post')} consist mostly of words that the model has never met (median "
            f"{100 * np.median(shares):.0f} %). Their answers mean little: train on posts like these."
        )


def _counts(text: str, known: frozenset[str]) -> tuple[int, int]:
    words = _WORD.findall(text.lower())
    return len(words), len(words) - sum(map(known.__contains__, words))
