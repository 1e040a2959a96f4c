"""Where sentences are alike, as it can be chosen: latent semantic analysis of the TRAIN posts, or an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evidentia.corpus.posts import Criterion
from evidentia.pipeline.stage import Parts, View
from evidentia.pipeline.stages.models import Cache, Settings, encoder, encoder_space, sentence_vectors
from evidentia.pipeline.stages.spaces import LSA, learn_lsa, lsa_vectors, unit


@dataclass(frozen=True)
class Meaning:
    """Vectors of unit length, of sentences and of criteria alike."""

    spec: str = LSA
    settings: Settings = ()
    cache: Cache = True

    def learn(self, train: View) -> Parts:
        """What the vectors need to know; labels have no part in it."""
        if self.spec == LSA:
            return learn_lsa(train.posts.texts)
        return encoder_space(encoder(self.spec, self.settings, self.cache), train.posts.criteria)

    def of_sentences(self, learnt: Parts, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector for every sentence."""
        if self.spec == LSA:
            return lsa_vectors(learnt, texts)
        return sentence_vectors(encoder(self.spec, self.settings, self.cache), texts, learnt)

    def of_criteria(self, learnt: Parts, criteria: Sequence[Criterion]) -> NDArray[np.float32]:
        """A vector for every criterion, of all that is known about it."""
        wordings = [criterion.wording for criterion in criteria]
        if self.spec == LSA:
            return lsa_vectors(learnt, wordings)
        return unit(encoder(self.spec, self.settings, self.cache).encode(wordings, kind="query"))
