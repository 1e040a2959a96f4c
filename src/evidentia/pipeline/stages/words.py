"""Sparse text features that are saved as plain arrays: a vocabulary, its weights, and a matrix of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse

from evidentia.pipeline.stage import Parts

Kind = Literal["words", "characters"]
_SETTINGS: dict[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "min_df": 2, "sublinear_tf": True, "token_pattern": r"(?u)\b\w+\b|[!?]"},
    "characters": {
        "ngram_range": (3, 5),
        "analyzer": "char_wb",
        "min_df": 3,
        "sublinear_tf": True,
        "max_features": 60_000,
    },
}


def learn_vocabulary(texts: Sequence[str], kind: Kind) -> Parts:
    """The words (or runs of characters) worth counting in these texts, and how rare each is. Labels have no part in it."""
    fitted = _vectorizer(kind, texts)
    if fitted is None:
        return Parts({"kind": kind, "vocabulary": []}, {"idf": np.zeros(0)})
    vocabulary = sorted(fitted.vocabulary_, key=fitted.vocabulary_.__getitem__)
    return Parts({"kind": kind, "vocabulary": vocabulary}, {"idf": np.asarray(fitted.idf_, np.float64)})


def _vectorizer(kind: Kind, texts: Sequence[str]) -> Any:
    """A fitted vectorizer; None where the texts share no word."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        return TfidfVectorizer(**_SETTINGS[kind]).fit(texts)
    except ValueError:  # nothing is left of the vocabulary
        return None


def matrix(space: Parts, texts: Sequence[str]) -> sparse.csr_matrix:
    """Weighted counts of the vocabulary, a row of unit length for every text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vocabulary = space.document["vocabulary"]
    if not vocabulary:
        return sparse.csr_matrix((len(texts), 0))
    settings = {name: value for name, value in _SETTINGS[space.document["kind"]].items() if name != "max_features"}
    vectorizer = TfidfVectorizer(**settings, vocabulary=vocabulary)
    vectorizer.idf_ = space.arrays["idf"]
    return sparse.csr_matrix(vectorizer.transform(texts))
