"""Where sentences are alike, as it can be chosen: latent semantic analysis of the TRAIN posts, or an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Ints
from evidentia.corpus.posts import Criterion
from evidentia.pipeline.encoders.interface import unit
from evidentia.pipeline.stage import Parts, View
from evidentia.pipeline.stages.models import UsesEncoder, products, sentence_vectors
from evidentia.pipeline.stages.words import learn_matrix, matrix

LSA = "lsa"
DIMENSIONS = 64
Single = NDArray[np.float32]


@dataclass(frozen=True)
class Meaning(UsesEncoder):
    """Vectors of unit length, of sentences and of criteria alike."""

    spec: str = LSA
    min_posts: int = 1

    def learn(self, train: View) -> Parts:
        """What the vectors need to know, and the directions in which those of an encoder differ most; labels have no part in it."""
        if self.spec == LSA:
            return learn_lsa(train.posts.texts, offsets=train.posts.offsets, min_posts=self.min_posts)
        space = self.space(train)
        return space.joined(_directions(sentence_vectors(self.encoder, train.posts.texts, space)))

    def of_sentences(self, learnt: Parts, texts: Sequence[str]) -> Single:
        """A vector for every sentence."""
        if self.spec == LSA:
            return lsa_vectors(learnt, texts)
        return sentence_vectors(self.encoder, texts, learnt)

    def of_criteria(self, learnt: Parts, criteria: Sequence[Criterion]) -> Single:
        """A vector for every criterion, of all that is known about it."""
        wordings = [criterion.wording for criterion in criteria]
        if self.spec == LSA:
            return lsa_vectors(learnt, wordings)
        return unit(self.encoder.encode(wordings, kind="query"))

    def brief(self, learnt: Parts, vectors: Single, offsets: Ints) -> Single:
        """The same in few numbers: a network that reads hundreds of them learns the TRAIN sentences by heart."""
        if self.spec == LSA:
            return vectors
        return unit(products(vectors - learnt.arrays["mean"], learnt.arrays["axes"], offsets).astype(np.float32))


def _directions(vectors: Single) -> Parts:
    """Mean and principal axes, the largest first and each with its largest number positive."""
    mean = vectors.astype(np.float64).mean(0)
    away = vectors - mean
    _, axes = np.linalg.eigh(away.T @ away)
    axes = axes[:, ::-1][:, :DIMENSIONS]
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    return Parts({}, {"mean": mean.astype(np.float32), "axes": np.ascontiguousarray(axes, np.float32)})


def learn_lsa(
    texts: Sequence[str], *, dimensions: int = DIMENSIONS, offsets: Ints | None = None, min_posts: int = 1
) -> Parts:
    """Latent semantic analysis of the words of some texts; labels have no part in it."""
    from scipy.sparse.linalg import svds

    words, counts = learn_matrix(texts, "words", offsets=offsets, min_posts=min_posts)
    size = min(dimensions, *(side - 1 for side in counts.shape))
    if size < 1:
        return Parts(words.document, {**words.arrays, "axes": np.zeros((counts.shape[1], 0), np.float32)})
    start = np.ones(min(counts.shape)) / np.sqrt(min(counts.shape))  # a fixed start: the same bytes every time
    _, _, right = svds(counts, k=size, v0=start, random_state=0)
    signs = np.sign(right[np.arange(size), np.abs(right).argmax(1)])
    axes = (right * signs[:, None])[::-1].T
    return Parts(words.document, {**words.arrays, "axes": np.ascontiguousarray(axes, np.float32)})


def lsa_vectors(space: Parts, texts: Sequence[str]) -> Single:
    """A vector of unit length for every text; zeros where it has no known word."""
    return unit(np.asarray(matrix(space, texts) @ space.arrays["axes"], np.float32))
