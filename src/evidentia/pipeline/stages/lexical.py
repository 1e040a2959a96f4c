"""A classifier per criterion over the words of one sentence: what wording has been evidence before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from evidentia.array_types import Bools, Floats
from evidentia.pipeline.stage import Lesson, Parts, Per, Sentences, View
from evidentia.pipeline.stages.words import Kind, learn_vocabulary, matrix

FEWEST = 2  # gold sentences below which a criterion has nothing to teach
UNSEEN = -6.0  # the score of a criterion without any


@dataclass(frozen=True)
class Lexical:
    """Logistic regression over weighted words or characters, one for every criterion."""

    kind: Kind = "words"
    strength: float = 10.0
    min_posts: int = 1
    learns: ClassVar[bool] = True
    per: ClassVar[Per] = "sentence"

    def space(self, train: View) -> Parts:
        """The vocabulary of the TRAIN sentences."""
        posts = train.posts
        return learn_vocabulary(posts.texts, self.kind, offsets=posts.offsets, min_posts=self.min_posts)

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The weighted words of every sentence."""
        return Sentences(matrix(space, view.posts.texts), view.posts.offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Weights of every criterion."""
        rows = inputs.rows(lesson.posts)
        return per_criterion(inputs.features[rows], lesson.gold[rows], self.strength)

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """The log odds of every sentence for every criterion."""
        return linear(model, inputs.features)


def per_criterion(features: Any, gold: Bools, strength: float, *, solver: str = "liblinear") -> Parts:
    """A logistic regression for each criterion that has gold; the others get a constant far below zero.

    Where every sentence is gold the constant is as far above.
    """
    from sklearn.linear_model import LogisticRegression

    weights = np.zeros((features.shape[1], gold.shape[1]))
    bias = np.where(gold.all(axis=0), -UNSEEN, UNSEEN)
    for column in range(gold.shape[1]):
        labels = gold[:, column]
        if FEWEST <= labels.sum() < len(labels) and features.shape[1]:
            fitted = LogisticRegression(C=strength, solver=solver, max_iter=300).fit(features, labels)
            weights[:, column], bias[column] = fitted.coef_[0], fitted.intercept_[0]
    return Parts({}, {"weights": weights, "bias": bias})


def linear(model: Parts, features: Any) -> Floats:
    """The log odds that a set of linear classifiers gives."""
    product = features @ model.arrays["weights"]
    if sparse.issparse(product):
        product = product.toarray()
    scores: Floats = np.asarray(product, np.float64) + model.arrays["bias"]
    return scores
