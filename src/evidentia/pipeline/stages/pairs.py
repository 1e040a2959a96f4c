"""Rerankers that read criterion and sentence together: a model as it is, or MiniLM fine-tuned on the TRAIN posts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError
from evidentia.pipeline.encoders.fine_tuning import CrossEncoder, fine_tune
from evidentia.pipeline.encoders.interface import Cache
from evidentia.pipeline.graphs import query_nodes
from evidentia.pipeline.stage import (
    CandidateTable,
    Lesson,
    Parts,
    Sentences,
    Supervised,
    Unsupervised,
    View,
    fill_others,
)
from evidentia.pipeline.stages.models import Settings, pair_scorer, same_model

_CERTAIN = 6.0  # log odds where TRAIN knows one answer only


def _pairs_of(view: View) -> CandidateTable:
    """The texts of the posts in view, under the wordings of the criteria that they are asked about."""
    wordings = tuple(criterion.wording for criterion in view.posts.criteria)
    return CandidateTable(np.array(view.posts.texts, object), view.posts.offsets, view.kept, wordings)


def _written(pairs: CandidateTable, sentence: Ints, criterion: Ints) -> tuple[list[str], list[str]]:
    """The wordings and the sentences of some candidates."""
    return [pairs.names[at] for at in criterion.tolist()], pairs.features[sentence].tolist()


def _spread(pairs: CandidateTable, sentence: Ints, criterion: Ints, values: Floats) -> Floats:
    """Scores of all candidates as a matrix sentences x criteria."""
    scores = np.zeros(pairs.kept.shape)
    scores[sentence, criterion] = values
    return fill_others(scores, pairs.kept, pairs.offsets)


@dataclass(frozen=True)
class PairReranker(Unsupervised):
    """A cross-encoder or a rerank server, asked about every candidate with the wording of the criterion."""

    spec: str
    settings: Settings = ()
    cache: Cache = True

    def space(self, train: View) -> Parts:
        """Which model it was."""
        return Parts({"scorer": pair_scorer(self.spec, self.settings, self.cache).key})

    def inputs(self, space: Parts, view: View) -> Sentences:
        """What the model says of every candidate: there is nothing more to learn."""
        model, pairs = pair_scorer(self.spec, self.settings, self.cache), _pairs_of(view)
        same_model(model, space.document["scorer"])
        ends, sentence, criterion = query_nodes(view.kept, view.posts.offsets)
        values = np.zeros(len(sentence))
        for piece in _pieces(pairs.names, ends):
            values[piece] = model.score(*_written(pairs, sentence[piece], criterion[piece]))
        return Sentences(_spread(pairs, sentence, criterion, values), view.posts.offsets)


def _pieces(wordings: tuple[str, ...], ends: Ints) -> Iterator[slice]:
    """All candidates at once; post by post where a model might take the last query of a post and the next for one.

    >>> list(_pieces(("a", "b"), np.array([0, 2, 3, 5, 9]))), list(_pieces(("a",), np.array([0, 2, 5])))
    ([slice(0, 9, None)], [slice(0, 2, None), slice(2, 5, None)])
    """
    posts = ends[:: len(wordings)] if wordings[0] == wordings[-1] else ends[[0, -1]]
    return (slice(start, stop) for start, stop in zip(posts[:-1].tolist(), posts[1:].tolist(), strict=True))


@dataclass(frozen=True)
class FineTuned(Supervised):
    """MiniLM as a cross-encoder, fine-tuned on the candidates of the TRAIN posts. On a CPU this takes long."""

    epochs: int = 2
    max_pairs: int = 20_000
    learning_rate: float = 3e-5
    batch_size: int = 32

    def __post_init__(self) -> None:
        if min(self.epochs, self.max_pairs, self.batch_size) < 1 or not self.learning_rate > 0:
            raise InputError(
                "Fine-tuning needs an epoch, a pair and a batch of 1 or more, and a learning rate above 0."
            )

    def inputs(self, space: Parts, view: View) -> CandidateTable:
        """The texts and the candidates."""
        return _pairs_of(view)

    def fit(self, inputs: CandidateTable, lesson: Lesson, *, seed: int) -> Parts:
        """All weights; TRAIN without both kinds of candidates gives a constant."""
        at = inputs.candidates(lesson.posts)
        labels = lesson.gold[at]
        if labels.all() or not labels.any():
            return Parts({"constant": _CERTAIN if labels.any() else -_CERTAIN})
        fitted = fine_tune(
            *_written(inputs, *at),
            labels,
            seed=seed,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            max_pairs=self.max_pairs,
        )
        return fitted.to_parts()

    def score(self, space: Parts, model: Parts, inputs: CandidateTable) -> Floats:
        """The log odds of every candidate."""
        if "constant" in model.document:
            return np.full(inputs.kept.shape, float(model.document["constant"]))
        _, sentence, criterion = query_nodes(inputs.kept, inputs.offsets)
        values = CrossEncoder.from_parts(model).score(*_written(inputs, sentence, criterion))
        return _spread(inputs, sentence, criterion, values.astype(np.float64))
