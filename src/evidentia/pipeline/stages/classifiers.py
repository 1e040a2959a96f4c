"""A classifier per criterion over one sentence: over its words, or over its meaning and what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus.posts import owner_of
from evidentia.errors import InputError
from evidentia.pipeline.stage import Lesson, Parts, Sentences, Supervised, View
from evidentia.pipeline.stages.logistic import solve
from evidentia.pipeline.stages.models import UsesEncoder, products, sentence_vectors
from evidentia.pipeline.stages.words import Kind, learn_vocabulary, matrix

FEWEST = 2  # gold sentences below which a criterion has nothing to teach
UNSEEN = -6.0  # the score of a criterion without any
AROUND = 4  # itself, the sentence before, the one after, and the mean of the post

Matrix = NDArray[Any]  # of single or double precision


@dataclass(frozen=True)
class Lexical(Supervised):
    """Logistic regression over weighted words or characters, one for every criterion."""

    kind: Kind = "words"
    strength: float = 10.0
    min_posts: int = 1

    def space(self, train: View) -> Parts:
        """The vocabulary of the TRAIN sentences."""
        posts = train.posts
        return learn_vocabulary(posts.texts, self.kind, offsets=posts.offsets, min_posts=self.min_posts)

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The weighted words of every sentence."""
        return Sentences(matrix(space, view.posts.texts), view.posts.offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Weights of every criterion."""
        return self.fit_each(inputs, [lesson], seed=seed)[0]

    def fit_each(self, inputs: Sentences, lessons: Sequence[Lesson], *, seed: int, threads: int = 1) -> list[Parts]:
        """Weights from every lesson, as if it were alone: one product of the features serves all."""
        posts = np.array(list(dict.fromkeys(np.concatenate([lesson.posts for lesson in lessons]).tolist())))
        rows, sizes = inputs.rows(posts), np.diff(inputs.offsets)[posts]
        gold = np.stack([lesson.gold[rows] for lesson in lessons], axis=1)
        heard = np.stack([np.repeat(np.isin(posts, lesson.posts), sizes) for lesson in lessons], axis=1)
        return per_lesson(inputs.features[rows], gold, heard, self.strength, threads)

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """The log odds of every sentence for every criterion."""
        return linear(model, inputs.features)


@dataclass(frozen=True)
class Vectors(UsesEncoder, Supervised):
    """Logistic regression over the vectors of an encoder, one for every criterion.

    The sentences before and after and the mean of the post are heard too, as loud as ``context`` says.
    """

    strength: float = 5.0
    context: float = 0.5

    def __post_init__(self) -> None:
        if not self.strength > 0 or self.context < 0:
            raise InputError("Vectors need a strength above 0, and a context from 0 on.")

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The vector of every sentence."""
        return Sentences(sentence_vectors(self.encoder, view.posts.texts, space), view.posts.offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Weights of every criterion."""
        taught = inputs.take(lesson.posts)
        columns = np.concatenate(around(taught.features, taught.offsets, self.context), axis=1)
        gold = lesson.gold[inputs.rows(lesson.posts)]
        return per_criterion(columns, gold, self.strength)

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """The log odds of every sentence for every criterion."""
        bias: Floats = model.arrays["bias"]
        # the classifiers are linear, so what stands around a sentence is weighed before it is moved: 10 numbers, not 384
        weighed = products(inputs.features, np.hstack(np.split(model.arrays["weights"], AROUND)), inputs.offsets)
        columns = np.split(weighed, AROUND, axis=1)
        moved = (around(each, inputs.offsets, self.context)[at] for at, each in enumerate(columns))
        scores: Floats = np.sum(list(moved), axis=0) + bias
        return scores


def per_criterion(features: Any, gold: Bools, strength: float) -> Parts:
    """A logistic regression for each criterion that has gold; the others get a constant far below zero.

    Where every sentence is gold the constant is as far above.
    """
    return per_lesson(features, gold[:, None], np.ones((len(gold), 1), bool), strength)[0]


def per_lesson(features: Any, gold: Bools, heard: Bools, strength: float, threads: int = 1) -> list[Parts]:
    """The same for several lessons: ``gold`` is sentences x lessons x criteria, and ``heard`` says whose a sentence is."""
    heard = np.broadcast_to(heard[:, :, None], gold.shape)
    gold = gold & heard
    count, size = gold.sum(axis=0), heard.sum(axis=0)
    weights = np.zeros((features.shape[1], *count.shape))
    bias = np.where(count == size, -UNSEEN, UNSEEN)
    learnt = (count >= FEWEST) & (count < size)
    if learnt.any() and features.shape[1]:
        weights[:, learnt], bias[learnt] = solve(features, gold[:, learnt], strength, heard[:, learnt], threads)
    return [
        Parts({}, {"weights": np.ascontiguousarray(weights[:, lesson]), "bias": bias[lesson]})
        for lesson in range(len(count))
    ]


def linear(model: Parts, features: Any) -> Floats:
    """The log odds that a set of linear classifiers gives."""
    product = features @ model.arrays["weights"]
    if sparse.issparse(product):
        product = product.toarray()
    scores: Floats = np.asarray(product, np.float64) + model.arrays["bias"]
    return scores


def around(values: Matrix, offsets: Ints, loudness: float) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """The rows themselves, those before and after in the same post (zeros where there is none), and the mean of the post.

    >>> [part.ravel().tolist() for part in around(np.array([[1.0], [3.0], [9.0]]), np.array([0, 2, 3]), 0.5)]
    [[1.0, 3.0, 9.0], [0.0, 0.5, 0.0], [1.5, 0.0, 0.0], [1.0, 1.0, 4.5]]
    """
    owner = owner_of(offsets)
    same = owner[1:] == owner[:-1]
    before, after = np.zeros_like(values), np.zeros_like(values)
    before[1:][same] = values[:-1][same]
    after[:-1][same] = values[1:][same]
    mean = np.add.reduceat(values, offsets[:-1], axis=0) / np.diff(offsets)[:, None]
    return values, before * loudness, after * loudness, (mean * loudness)[owner].astype(values.dtype)
