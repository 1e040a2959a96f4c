"""Sparse text features that are saved as plain arrays: a vocabulary, its weights, and a matrix of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse

from evidentia.array_types import Ints
from evidentia.corpus.posts import owner_of
from evidentia.pipeline.stage import Parts

Kind = Literal["words", "characters"]
_SETTINGS: dict[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "min_df": 2, "token_pattern": r"(?u)\b\w+\b|[!?]"},
    "characters": {
        "ngram_range": (3, 5),
        "analyzer": "char_wb",
        "min_df": 3,
        "max_features": 60_000,
    },
}


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
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    counter, nothing = CountVectorizer(**_SETTINGS[kind], dtype=np.float64), sparse.csr_matrix((len(texts), 0))
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # nothing is left of the vocabulary
        return Parts({"kind": kind, "vocabulary": []}, {"idf": np.zeros(0)}), nothing
    starts = np.arange(len(texts) + 1) if offsets is None else offsets
    enough = np.flatnonzero(post_frequency(counts, starts) >= min_posts)
    if not len(enough):
        return Parts({"kind": kind, "vocabulary": []}, {"idf": np.zeros(0)}), nothing
    counts = counts[:, enough]
    counts.sort_indices()  # as ``matrix`` has them, so that both round alike
    weights = TfidfTransformer(sublinear_tf=True).fit(counts)
    vocabulary = counter.get_feature_names_out()[enough].tolist()
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
    vectorizer = space.derived("vectorizer", _vectorizer)
    if space.document["kind"] == "words":
        return sparse.csr_matrix(vectorizer.transform(texts))
    return sparse.csr_matrix(vectorizer._tfidf.transform(_counted_by_word(vectorizer, texts), copy=False))


def _vectorizer(space: Parts) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    settings = {name: value for name, value in _SETTINGS[space.document["kind"]].items() if name != "max_features"}
    vectorizer = TfidfVectorizer(
        **settings, sublinear_tf=True, vocabulary=space.document["vocabulary"], dtype=np.float64
    )
    vectorizer.idf_ = space.arrays["idf"]
    return vectorizer


def _counted_by_word(vectorizer: Any, texts: Sequence[str]) -> sparse.csr_matrix:
    """Counts of runs of characters. None crosses the end of a word, so each different word is taken apart once."""
    runs_of, places = vectorizer.build_analyzer(), vectorizer.vocabulary_
    known: dict[str, list[int]] = {}
    columns: list[int] = []
    ends = [0]
    for text in texts:
        for word in text.lower().split():
            if word not in known:
                known[word] = [places[run] for run in runs_of(word) if run in places]
            columns += known[word]
        ends.append(len(columns))
    counts = sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(texts), len(places)))
    counts.sum_duplicates()
    return counts
