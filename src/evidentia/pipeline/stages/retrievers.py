"""Retrievers that learn nothing from labels: BM25, the cosine of meanings, and several fused into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus.posts import owner_of
from evidentia.errors import InputError, counted
from evidentia.pipeline.stage import Parts, Sentences, Stage, Unsupervised, View
from evidentia.pipeline.stages.models import UsesEncoder, criterion_vectors, products, sentence_vectors
from evidentia.pipeline.stages.words import post_frequency

NOTHING_TO_FUSE = "Only retrievers that learn nothing from labels can be fused, and there must be one."


@dataclass(frozen=True)
class Bm25(Unsupervised):
    """Okapi BM25 over words as they are written; document frequencies and the mean length come from the TRAIN sentences."""

    k1: float = 1.2
    b: float = 0.75
    min_posts: int = 1

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


@dataclass(frozen=True)
class Dense(UsesEncoder, Unsupervised):
    """The cosine of every sentence with the criterion, or with the nearest of its prototypes where it has some."""

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The cosines: there is nothing more to learn."""
        vectors = sentence_vectors(self.encoder, view.posts.texts, space)
        asked = criterion_vectors(self.encoder, view.posts.criteria)
        cosine = products(vectors, np.concatenate(asked).T, view.posts.offsets)
        starts = np.cumsum([0, *(len(ways) for ways in asked[:-1])])
        return Sentences(np.maximum.reduceat(cosine, starts, axis=1), view.posts.offsets)


@dataclass(frozen=True)
class Heard(Unsupervised):
    """What an earlier step said, of TRAIN posts by models that had not seen them."""

    step: str

    def inputs(self, space: Parts, view: View) -> Sentences:
        """Its scores: there is nothing more to learn."""
        return Sentences(view.scores[self.step], view.posts.offsets)


def joint_space(parts: Sequence[Stage], train: View) -> Parts:
    """What every part learns without labels, under names that begin with its number."""
    together = Parts()
    for at, part in enumerate(parts):
        together = together.joined(part.space(train).under(str(at)))
    return together


def scores_of(parts: Sequence[Stage], space: Parts, view: View) -> list[Floats]:
    """What every part says of every sentence."""
    own = [space.within(str(at)) for at in range(len(parts))]
    return [part.score(each, Parts(), part.inputs(each, view)) for part, each in zip(parts, own, strict=True)]


@dataclass(frozen=True)
class Fused(Unsupervised):
    """Several retrievers as one: their ranks within a query (Cormack et al. 2009), or a weighted sum of standardised scores."""

    parts: tuple[Stage, ...]
    how: Literal["rrf", "weights"] = "rrf"
    weights: tuple[float, ...] | None = None
    rrf_k: int = 60

    def __post_init__(self) -> None:
        if not self.parts or any(part.learns or part.per != "sentence" for part in self.parts):
            raise InputError(NOTHING_TO_FUSE)
        if self.weights is not None and len(self.weights) != len(self.parts):
            raise InputError(
                f"{counted(len(self.weights), 'weight')} cannot belong to {counted(len(self.parts), 'retriever')}."
            )

    def space(self, train: View) -> Parts:
        """What every part has learnt without labels, under names that begin with its number."""
        return joint_space(self.parts, train)

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The fused scores of every sentence."""
        offsets, fused = view.posts.offsets, np.zeros(view.kept.shape)
        each = zip(scores_of(self.parts, space, view), self.weights or (1.0,) * len(self.parts), strict=True)
        for score, weight in each:
            if self.how == "rrf":
                fused += weight / (self.rrf_k + shared_ranks(score, view.kept, offsets))
            else:
                fused += weight * standardised(score, view.kept, offsets)
        return Sentences(fused, offsets)


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


def shared_ranks(score: Floats, kept: Bools, offsets: Ints) -> Floats:
    """The place of every candidate in its query, from 1; equal scores share the mean of their places.

    Then sentences that a retriever knows nothing about are not preferred for standing first in the post.

    >>> shared_ranks(np.array([[2.0], [0.0], [0.0]]), np.ones((3, 1), bool), np.array([0, 3])).T.tolist()
    [[1.0, 2.5, 2.5]]
    """
    from scipy.stats import rankdata

    last_are_others = np.where(kept, -score, np.inf)
    pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    return np.concatenate([rankdata(last_are_others[start:stop], axis=0) for start, stop in pairs])


def standardised(score: Floats, kept: Bools, offsets: Ints) -> Floats:
    """Scores of mean 0 and deviation 1 over the candidates of each query; 0 where all are equal.

    >>> standardised(np.array([[1.0], [3.0], [5.0]]), np.ones((3, 1), bool), np.array([0, 2, 3])).T.tolist()
    [[-1.0, 1.0, 0.0]]
    """
    owner, starts = owner_of(offsets), offsets[:-1]
    count = np.add.reduceat(kept.astype(np.float64), starts, axis=0)
    mean = np.add.reduceat(np.where(kept, score, 0.0), starts, axis=0) / count
    away = np.where(kept, score - mean[owner], 0.0)
    spread = np.sqrt(np.add.reduceat(away**2, starts, axis=0) / count)[owner]
    return np.where(spread > 1e-12, (score - mean[owner]) / np.where(spread > 1e-12, spread, 1.0), 0.0)
