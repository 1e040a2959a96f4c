"""Sparse text features that are saved as plain arrays: a vocabulary, its weights, and a matrix of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
from scipy import sparse

from evidentia.array_types import Ints
from evidentia.corpus.posts import owner_of
from evidentia.pipeline.stage import Parts

Kind = Literal["words", "characters"]
_WORDS: dict[str, Any] = {"ngram_range": (1, 2), "min_df": 2, "token_pattern": r"(?u)\b\w+\b|[!?]"}
_SHORTEST, _LONGEST = 3, 5  # runs of characters
_FEWEST_TEXTS = 3  # in which a run must occur
_MOST_RUNS = 60_000


def learn_vocabulary(texts: Sequence[str], kind: Kind, *, offsets: Ints | None = None, min_posts: int = 1) -> Parts:
    """The words (or runs of characters) worth counting in these texts, and how rare each is. Labels have no part in it."""
    return learn_matrix(texts, kind, offsets=offsets, min_posts=min_posts)[0]


def learn_matrix(
    texts: Sequence[str], kind: Kind, *, offsets: Ints | None = None, min_posts: int = 1
) -> tuple[Parts, sparse.csr_matrix]:
    """The vocabulary of some texts, and their matrix from the same reading.

    A term of fewer than ``min_posts`` posts is left out: a model must not repeat what one person wrote. ``offsets`` says
    where each post starts; without it every text is a post.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    counts, terms = _counts_of_characters(texts) if kind == "characters" else _counts_of_words(texts)
    starts = np.arange(len(texts) + 1) if offsets is None else offsets
    enough = np.flatnonzero(post_frequency(counts, starts) >= min_posts)
    if not len(enough):
        return Parts({"kind": kind, "vocabulary": []}, {"idf": np.zeros(0)}), sparse.csr_matrix((len(texts), 0))
    counts = counts[:, enough]
    counts.sort_indices()  # as ``matrix`` has them, so that both round alike
    weights = TfidfTransformer(sublinear_tf=True).fit(counts)
    vocabulary = [terms[place] for place in enough.tolist()]
    space = Parts({"kind": kind, "vocabulary": vocabulary}, {"idf": np.asarray(weights.idf_, np.float64)})
    return space, sparse.csr_matrix(weights.transform(counts))


def post_frequency(counts: sparse.csr_matrix, offsets: Ints) -> Ints:
    """In how many posts each term occurs; ``counts`` has a row for every sentence."""
    owner = owner_of(offsets)
    places = (owner, np.arange(len(owner)))
    posts = sparse.csr_matrix((np.ones(len(owner)), places), shape=(len(offsets) - 1, len(owner))) @ counts
    return np.bincount(posts.tocsr().nonzero()[1], minlength=counts.shape[1])


def matrix(space: Parts, texts: Sequence[str]) -> sparse.csr_matrix:
    """Weighted counts of the vocabulary, a row of unit length for every text."""
    if not space.document["vocabulary"]:
        return sparse.csr_matrix((len(texts), 0))
    if space.document["kind"] == "words":
        counts = space.derived("counter", _word_counter).transform(texts)
    else:
        counts = _counts_by_word(texts, space.derived("places", _places))
    return sparse.csr_matrix(space.derived("weights", _weights).transform(counts, copy=False))


def _word_counter(space: Parts) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(**_WORDS, vocabulary=space.document["vocabulary"], dtype=np.float64)


def _places(space: Parts) -> dict[str, int]:
    return {run: place for place, run in enumerate(space.document["vocabulary"])}


def _weights(space: Parts) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer

    weights = TfidfTransformer(sublinear_tf=True)
    weights.idf_ = space.arrays["idf"]
    return weights


def _counts_of_words(texts: Sequence[str]) -> tuple[sparse.csr_matrix, list[str]]:
    """How often each term occurs in each text, and the terms; those in a single text are left out."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(**_WORDS, dtype=np.float64)
    try:
        return counter.fit_transform(texts), counter.get_feature_names_out().tolist()
    except ValueError:  # nothing is left of the vocabulary
        return sparse.csr_matrix((len(texts), 0)), []


def _counts_of_characters(texts: Sequence[str]) -> tuple[sparse.csr_matrix, list[str]]:
    """The same of runs of characters in three texts or more, the most frequent ones where they are too many."""
    runs = sorted({run for word in {word for text in texts for word in text.lower().split()} for run in _runs(word)})
    counts = _counts_by_word(texts, {run: place for place, run in enumerate(runs)})
    common = np.flatnonzero(np.bincount(counts.indices, minlength=len(runs)) >= _FEWEST_TEXTS)
    frequency = np.asarray(counts.sum(0)).ravel()[common]
    kept = np.sort(common[np.argsort(-frequency, kind="stable")[:_MOST_RUNS]])
    return counts[:, kept], [runs[place] for place in kept.tolist()]


def _counts_by_word(texts: Sequence[str], places: Mapping[str, int]) -> sparse.csr_matrix:
    """Counts of runs of characters at their places. None crosses the end of a word, so each word is taken apart once."""
    words: dict[str, int] = {}
    split = [[words.setdefault(word, len(words)) for word in text.lower().split()] for text in texts]
    runs = [[places[run] for run in _runs(word) if run in places] for word in words]
    counts = sparse.csr_matrix(_rows_of(split, len(words)) @ _rows_of(runs, len(places)))
    counts.sort_indices()  # a row is rounded in the same order whatever texts are beside it
    return counts


def _runs(word: str) -> Iterator[str]:
    """All runs of three to five characters of a word between two spaces.

    >>> list(_runs("of")), list(_runs("a"))
    ([' of', 'of ', ' of '], [' a '])
    """
    spaced = f" {word} "
    for size in range(_SHORTEST, min(_LONGEST, len(spaced)) + 1):
        for start in range(len(spaced) - size + 1):
            yield spaced[start : start + size]


def _rows_of(columns: Sequence[Sequence[int]], width: int) -> sparse.csr_matrix:
    """A row of counts for every list of columns."""
    flat = np.fromiter(chain.from_iterable(columns), np.int32)
    ends = np.cumsum([0, *map(len, columns)])
    counts = sparse.csr_matrix((np.ones(len(flat)), flat, ends), shape=(len(columns), width))
    counts.sum_duplicates()
    return counts
