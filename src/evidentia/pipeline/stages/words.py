"""Sparse text features that are saved as plain arrays: a vocabulary, its weights, and a matrix of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse

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


def learn_vocabulary(texts: Sequence[str], kind: Kind) -> Parts:
    """The words (or runs of characters) worth counting in these texts, and how rare each is. Labels have no part in it."""
    return learn_matrix(texts, kind)[0]


def learn_matrix(texts: Sequence[str], kind: Kind) -> tuple[Parts, sparse.csr_matrix]:
    """The vocabulary of some texts, and their matrix from the same reading."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    counter = CountVectorizer(**_SETTINGS[kind], dtype=np.float64)
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # nothing is left of the vocabulary
        return Parts({"kind": kind, "vocabulary": []}, {"idf": np.zeros(0)}), sparse.csr_matrix((len(texts), 0))
    counts.sort_indices()  # as ``matrix`` has them, so that both round alike
    weights = TfidfTransformer(sublinear_tf=True).fit(counts)
    vocabulary = sorted(counter.vocabulary_, key=counter.vocabulary_.__getitem__)
    space = Parts({"kind": kind, "vocabulary": vocabulary}, {"idf": np.asarray(weights.idf_, np.float64)})
    return space, sparse.csr_matrix(weights.transform(counts))


def matrix(space: Parts, texts: Sequence[str]) -> sparse.csr_matrix:
    """Weighted counts of the vocabulary, a row of unit length for every text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vocabulary = space.document["vocabulary"]
    if not vocabulary:
        return sparse.csr_matrix((len(texts), 0))
    settings = {name: value for name, value in _SETTINGS[space.document["kind"]].items() if name != "max_features"}
    vectorizer = TfidfVectorizer(**settings, sublinear_tf=True, vocabulary=vocabulary)
    vectorizer.idf_ = space.arrays["idf"]
    return sparse.csr_matrix(vectorizer.transform(texts))
