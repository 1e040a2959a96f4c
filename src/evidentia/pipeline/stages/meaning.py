"""Where sentences are alike, as it can be chosen: latent semantic analysis of the TRAIN posts, or an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Ints
from evidentia.corpus.posts import Criterion
from evidentia.pipeline.encoders.interface import Encoder
from evidentia.pipeline.stage import Parts, View
from evidentia.pipeline.stages.models import Cache, Settings, encoder, encoder_space, products, sentence_vectors
from evidentia.pipeline.stages.spaces import DIMENSIONS, LSA, learn_lsa, lsa_vectors, unit

Single = NDArray[np.float32]


@dataclass(frozen=True)
class Meaning:
    """Vectors of unit length, of sentences and of criteria alike."""

    spec: str = LSA
    settings: Settings = ()
    cache: Cache = True
    min_posts: int = 1

    def learn(self, train: View) -> Parts:
        """What the vectors need to know, and the directions in which those of an encoder differ most; labels have no part in it."""
        if self.spec == LSA:
            return learn_lsa(train.posts.texts, offsets=train.posts.offsets, min_posts=self.min_posts)
        space = encoder_space(self._encoder, train.posts.criteria)
        return space.joined(_directions(sentence_vectors(self._encoder, train.posts.texts, space)))

    def of_sentences(self, learnt: Parts, texts: Sequence[str]) -> Single:
        """A vector for every sentence."""
        if self.spec == LSA:
            return lsa_vectors(learnt, texts)
        return sentence_vectors(self._encoder, texts, learnt)

    def of_criteria(self, learnt: Parts, criteria: Sequence[Criterion]) -> Single:
        """A vector for every criterion, of all that is known about it."""
        wordings = [criterion.wording for criterion in criteria]
        if self.spec == LSA:
            return lsa_vectors(learnt, wordings)
        return unit(self._encoder.encode(wordings, kind="query"))

    def brief(self, learnt: Parts, vectors: Single, offsets: Ints) -> Single:
        """The same in few numbers: a network that reads hundreds of them learns the TRAIN sentences by heart."""
        if self.spec == LSA:
            return vectors
        return unit(products(vectors - learnt.arrays["mean"], learnt.arrays["axes"], offsets).astype(np.float32))

    @property
    def _encoder(self) -> Encoder:
        return encoder(self.spec, self.settings, self.cache)


def _directions(vectors: Single) -> Parts:
    """Mean and principal axes, the largest first and each with its largest number positive."""
    mean = vectors.astype(np.float64).mean(0)
    away = vectors - mean
    _, axes = np.linalg.eigh(away.T @ away)
    axes = axes[:, ::-1][:, :DIMENSIONS]
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    return Parts({}, {"mean": mean.astype(np.float32), "axes": np.ascontiguousarray(axes, np.float32)})
