"""A classifier per criterion over the vector of one sentence: what meaning has been evidence before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evidentia.pipeline.stage import Lesson, Parts, Per, Sentences, View
from evidentia.pipeline.stages.lexical import per_criterion
from evidentia.pipeline.stages.models import Cache, Settings, encoder, encoder_space, products, sentence_vectors
from evidentia.tables.queries import Floats


@dataclass(frozen=True)
class Vectors:
    """Logistic regression over the vectors of an encoder, one for every criterion."""

    spec: str = "minilm"
    settings: Settings = ()
    cache: Cache = True
    strength: float = 10.0
    learns: ClassVar[bool] = True
    per: ClassVar[Per] = "sentence"

    def space(self, train: View) -> Parts:
        """Which encoder it was."""
        return encoder_space(encoder(self.spec, self.settings, self.cache), train.posts.criteria)

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The vector of every sentence."""
        model = encoder(self.spec, self.settings, self.cache)
        return Sentences(sentence_vectors(model, view.posts.texts, space), view.posts.offsets)
