"""Retrievers by meaning: the cosine of a sentence with a criterion, and several retrievers fused into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError, counted
from evidentia.pipeline.stage import Lesson, Parts, Per, Sentences, Stage, View
from evidentia.pipeline.stages.models import (
    Cache,
    Settings,
    criterion_vectors,
    encoder,
    encoder_space,
    products,
    sentence_vectors,
)


@dataclass(frozen=True)
class Dense:
    """The cosine of every sentence with the criterion, or with the nearest of its prototypes where it has some."""

    spec: str = "minilm"
    settings: Settings = ()
    cache: Cache = True
    learns: ClassVar[bool] = False
    per: ClassVar[Per] = "sentence"

    def space(self, train: View) -> Parts:
        """Which encoder it was."""
        return encoder_space(encoder(self.spec, self.settings, self.cache), train.posts.criteria)

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The cosines: there is nothing more to learn."""
        model = encoder(self.spec, self.settings, self.cache)
        vectors = sentence_vectors(model, view.posts.texts, space)
        asked = criterion_vectors(model, view.posts.criteria)
        cosine = products(vectors, np.concatenate(asked).T, view.posts.offsets)
        starts = np.cumsum([0, *(len(ways) for ways in asked[:-1])])
        return Sentences(np.maximum.reduceat(cosine, starts, axis=1), view.posts.offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Nothing to learn from labels."""
        return Parts()

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """The cosine."""
        scores: Floats = inputs.features
        return scores


@dataclass(frozen=True)
class Fused:
    """Several retrievers as one: their ranks within a query (Cormack et al. 2009), or a weighted sum of standardised scores."""

    parts: tuple[Stage, ...]
    how: Literal["rrf", "weights"] = "rrf"
    weights: tuple[float, ...] | None = None
    rrf_k: int = 60
    learns: ClassVar[bool] = False
    per: ClassVar[Per] = "sentence"

    def __post_init__(self) -> None:
        if not self.parts or any(part.learns or part.per != "sentence" for part in self.parts):
            raise InputError("Only retrievers that learn nothing from labels can be fused, and there must be one.")
        if self.weights is not None and len(self.weights) != len(self.parts):
            raise InputError(
                f"{counted(len(self.weights), 'weight')} cannot belong to {counted(len(self.parts), 'retriever')}."
            )

    def space(self, train: View) -> Parts:
        """What every part has learnt without labels, under names that begin with its number."""
        together = Parts()
        for at, part in enumerate(self.parts):
            together = together.joined(part.space(train).under(str(at)))
        return together

    def inputs(self, space: Parts, view: View) -> Sentences:
        """The fused scores of every sentence."""
        offsets, fused = view.posts.offsets, np.zeros(view.kept.shape)
        for at, (part, weight) in enumerate(zip(self.parts, self.weights or (1.0,) * len(self.parts), strict=True)):
            own = space.within(str(at))
            score = part.score(own, Parts(), part.inputs(own, view))
            if self.how == "rrf":
                fused += weight / (self.rrf_k + shared_ranks(score, view.kept, offsets))
            else:
                fused += weight * standardised(score, view.kept, offsets)
        return Sentences(fused, offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Nothing to learn from labels."""
        return Parts()

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """The fused scores."""
        scores: Floats = inputs.features
        return scores


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
    owner, starts = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), offsets[:-1]
    count = np.add.reduceat(kept.astype(np.float64), starts, axis=0)
    mean = np.add.reduceat(np.where(kept, score, 0.0), starts, axis=0) / count
    away = np.where(kept, score - mean[owner], 0.0)
    spread = np.sqrt(np.add.reduceat(away**2, starts, axis=0) / count)[owner]
    return np.where(spread > 1e-12, (score - mean[owner]) / np.where(spread > 1e-12, spread, 1.0), 0.0)
