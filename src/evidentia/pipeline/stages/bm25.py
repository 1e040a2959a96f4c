"""BM25 with the criterion's wording as the query: the retriever that needs neither labels nor a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError
from evidentia.pipeline.stage import Lesson, Parts, Per, Sentences, View
from evidentia.pipeline.stages.words import post_frequency


@dataclass(frozen=True)
class Bm25:
    """Okapi BM25 over words as they are written; document frequencies and the mean length come from the TRAIN sentences."""

    k1: float = 1.2
    b: float = 0.75
    min_posts: int = 1
    learns: ClassVar[bool] = False
    per: ClassVar[Per] = "sentence"

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise InputError("BM25 needs k1 from 0 on and b from 0 to 1.")

    def space(self, train: View) -> Parts:
        """Words, their inverse document frequencies, and the mean length of a sentence.

        Words of fewer than ``min_posts`` posts are not named: they all count as words of one sentence less than that.
        """
        words = _words_of(criterion.wording for criterion in train.posts.criteria)
        counts = _counted(words, train.posts.texts)
        enough = np.flatnonzero(post_frequency(counts, train.posts.offsets) >= self.min_posts)
        frequency = np.bincount(counts.indices, minlength=len(words))[enough]
        document = {
            "words": [words[place] for place in enough.tolist()],
            "other_idf": float(_rarity(np.array([self.min_posts - 1]), counts.shape[0])[0]),
            "mean_length": float(_lengths(train.posts.texts).mean()),
        }
        return Parts(document, {"idf": _rarity(frequency, counts.shape[0])})

    def inputs(self, space: Parts, view: View) -> Sentences:
        """BM25 of every sentence for every criterion: there is nothing more to learn."""
        words = _words_of(criterion.wording for criterion in view.posts.criteria)
        known = dict(zip(space.document["words"], space.arrays["idf"].tolist(), strict=True))
        rarity = np.array([known.get(word, space.document["other_idf"]) for word in words])
        counts = _counted(words, view.posts.texts)
        relative = _lengths(view.posts.texts) / max(space.document["mean_length"], 1.0)
        owner = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        damping = self.k1 * (1 - self.b + self.b * relative[owner])
        counts.data = counts.data * (self.k1 + 1) / (counts.data + damping) * rarity[counts.indices]
        asked = _counted(words, [criterion.wording for criterion in view.posts.criteria])
        asked.data[:] = 1  # a word asked twice counts once
        return Sentences((counts @ asked.T).toarray(), view.posts.offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Nothing to learn from labels."""
        return Parts()

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """BM25."""
        scores: Floats = inputs.features
        return scores


def _rarity(frequency: Ints, sentences: int) -> Floats:
    rarity: Floats = np.log1p((np.maximum(sentences - frequency, 0) + 0.5) / (frequency + 0.5))
    return rarity


def _words_of(wordings: Iterable[str]) -> list[str]:
    """The words that the criteria ask for, without those that say nothing; other words score nothing."""
    from sklearn.feature_extraction.text import CountVectorizer

    analyse = CountVectorizer(stop_words="english").build_analyzer()
    return sorted({word for wording in wordings for word in analyse(wording)})


def _counted(words: list[str], texts: Sequence[str]) -> sparse.csr_matrix:
    """How often each word occurs in each text."""
    from sklearn.feature_extraction.text import CountVectorizer

    if not words:
        return sparse.csr_matrix((len(texts), 0))
    return sparse.csr_matrix(CountVectorizer(vocabulary=words).transform(texts), dtype=np.float64)


def _lengths(texts: Sequence[str]) -> Floats:
    return np.array([len(text.split()) for text in texts], np.float64)
