"""A classifier per criterion over the vectors of a sentence and of what stands around it: what meaning has been evidence before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError
from evidentia.pipeline.stage import Lesson, Parts, Per, Sentences, View
from evidentia.pipeline.stages.lexical import per_criterion
from evidentia.pipeline.stages.models import Cache, Settings, encoder, encoder_space, products, sentence_vectors

AROUND = 4  # itself, the sentence before, the one after, and the mean of the post

Matrix = NDArray[Any]  # of single or double precision


@dataclass(frozen=True)
class Vectors:
    """Logistic regression over the vectors of an encoder, one for every criterion.

    The sentences before and after and the mean of the post are heard too, as loud as ``context`` says.
    """

    spec: str = "minilm"
    settings: Settings = ()
    cache: Cache = True
    strength: float = 5.0
    context: float = 0.5
    learns: ClassVar[bool] = True
    per: ClassVar[Per] = "sentence"

    def __post_init__(self) -> None:
        if not self.strength > 0 or self.context < 0:
            raise InputError("Vectors need a strength above 0, and a context from 0 on.")

    def space(self, train: View) -> Parts:
        """Which encoder it was."""
        return encoder_space(encoder(self.spec, self.settings, self.cache), train.posts.criteria)

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The vector of every sentence."""
        model = encoder(self.spec, self.settings, self.cache)
        return Sentences(sentence_vectors(model, view.posts.texts, space), view.posts.offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Weights of every criterion."""
        taught = inputs.take(lesson.posts)
        columns = np.concatenate(around(taught.features, taught.offsets, self.context), axis=1)
        gold = lesson.gold[inputs.rows(lesson.posts)]
        return per_criterion(columns, gold, self.strength, solver="lbfgs")

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """The log odds of every sentence for every criterion."""
        bias: Floats = model.arrays["bias"]
        # the classifiers are linear, so what stands around a sentence is weighed before it is moved: 10 numbers, not 384
        weighed = products(inputs.features, np.hstack(np.split(model.arrays["weights"], AROUND)), inputs.offsets)
        columns = np.split(weighed, AROUND, axis=1)
        moved = (around(each, inputs.offsets, self.context)[at] for at, each in enumerate(columns))
        scores: Floats = np.sum(list(moved), axis=0) + bias
        return scores


def around(values: Matrix, offsets: Ints, loudness: float) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """The rows themselves, those before and after in the same post (zeros where there is none), and the mean of the post.

    >>> [part.ravel().tolist() for part in around(np.array([[1.0], [3.0], [9.0]]), np.array([0, 2, 3]), 0.5)]
    [[1.0, 3.0, 9.0], [0.0, 0.5, 0.0], [1.5, 0.0, 0.0], [1.0, 1.0, 4.5]]
    """
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    same = owner[1:] == owner[:-1]
    before, after = np.zeros_like(values), np.zeros_like(values)
    before[1:][same] = values[:-1][same]
    after[:-1][same] = values[1:][same]
    mean = np.add.reduceat(values, offsets[:-1], axis=0) / np.diff(offsets)[:, None]
    return values, before * loudness, after * loudness, (mean * loudness)[owner].astype(values.dtype)
