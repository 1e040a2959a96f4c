"""BM25 with the criterion's wording as the query: the retriever that needs neither labels nor a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from evidentia.errors import InputError
from evidentia.pipeline.stage import Lesson, Parts, Per, Sentences, View
from evidentia.tables.queries import Floats


@dataclass(frozen=True)
class Bm25:
    """Okapi BM25 over stemless words; document frequencies and the mean length come from the TRAIN sentences."""

    k1: float = 1.2
    b: float = 0.75
    learns: ClassVar[bool] = False
    per: ClassVar[Per] = "sentence"

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise InputError("BM25 needs k1 from 0 on and b from 0 to 1.")

    def space(self, train: View) -> Parts:
        """Words, their inverse document frequencies, and the mean length of a sentence."""
        counter = _counter()
        wording = [criterion.wording for criterion in train.posts.criteria]
        counts = counter.fit(wording).transform(train.posts.texts)  # other words score nothing
        words = sorted(counter.vocabulary_, key=counter.vocabulary_.__getitem__)
        frequency = np.bincount(counts.indices, minlength=len(words))
        rarity = np.log1p((counts.shape[0] - frequency + 0.5) / (frequency + 0.5))
        return Parts({"words": words, "mean_length": _lengths(train.posts.texts).mean()}, {"idf": rarity})

    def inputs(self, space: Parts, view: View) -> Sentences:
        """BM25 of every sentence for every criterion: there is nothing more to learn."""
        counter = _counter(space.document["words"])
        counts = sparse.csr_matrix(counter.transform(view.posts.texts), dtype=np.float64)
        relative = _lengths(view.posts.texts) / max(space.document["mean_length"], 1.0)
        owner = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        damping = self.k1 * (1 - self.b + self.b * relative[owner])
        counts.data = counts.data * (self.k1 + 1) / (counts.data + damping) * space.arrays["idf"][counts.indices]
        asked = counter.transform([criterion.wording for criterion in view.posts.criteria])
        asked.data[:] = 1
        return Sentences(np.asarray((counts @ asked.T).todense(), np.float64), view.posts.offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Nothing to learn from labels."""
        return Parts()

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """BM25."""
        scores: Floats = inputs.features
        return scores


def _counter(words: list[str] | None = None) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(stop_words="english" if words is None else None, vocabulary=words)


def _lengths(texts: tuple[str, ...]) -> Floats:
    return np.array([text.count(" ") + 1 for text in texts], np.float64)
