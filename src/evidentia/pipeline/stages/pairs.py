"""Rerankers that read criterion and sentence together: a model as it is, or MiniLM fine-tuned on the TRAIN posts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus.posts import offsets_of, rows_of
from evidentia.errors import InputError
from evidentia.pipeline.encoders.fine_tuning import FineTuned as CrossEncoder
from evidentia.pipeline.encoders.fine_tuning import fine_tune
from evidentia.pipeline.graphs import query_nodes
from evidentia.pipeline.stage import Lesson, Parts, Per, Sentences, View, candidates_of, worst
from evidentia.pipeline.stages.models import Cache, Settings, pair_scorer, same_model
from evidentia.tables.queries import Frozen

_CERTAIN = 6.0  # log odds where TRAIN knows one answer only


@dataclass(frozen=True, eq=False)
class Pairs(Frozen):
    """The texts of some posts, what is asked about them, and which sentences are candidates for what."""

    texts: tuple[str, ...]
    wordings: tuple[str, ...]
    kept: Bools
    offsets: Ints

    @classmethod
    def of(cls, view: View) -> Pairs:
        """Of the posts in view."""
        wordings = tuple(criterion.wording for criterion in view.posts.criteria)
        return cls(view.posts.texts, wordings, view.kept, view.posts.offsets)

    def take(self, posts: Ints) -> Pairs:
        """The same about some of the posts."""
        rows = rows_of(posts, self.offsets)
        texts = tuple(self.texts[row] for row in rows.tolist())
        return Pairs(texts, self.wordings, self.kept[rows], offsets_of(posts, self.offsets))

    def written(self, sentence: Ints, criterion: Ints) -> tuple[list[str], list[str]]:
        """The wordings and the sentences of some candidates."""
        return [self.wordings[at] for at in criterion.tolist()], [self.texts[at] for at in sentence.tolist()]

    def spread(self, sentence: Ints, criterion: Ints, values: Floats) -> Floats:
        """Scores of all candidates as a matrix sentences x criteria; the others score as the lowest of their query."""
        scores = np.zeros(self.kept.shape)
        scores[sentence, criterion] = values
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return np.where(self.kept, scores, worst(scores, self.kept, self.offsets)[owner])


@dataclass(frozen=True)
class PairReranker:
    """A cross-encoder or a rerank server, asked about every candidate with the wording of the criterion."""

    spec: str
    settings: Settings = ()
    cache: Cache = True
    learns: ClassVar[bool] = False
    per: ClassVar[Per] = "sentence"

    def space(self, train: View) -> Parts:
        """Which model it was."""
        return Parts({"scorer": pair_scorer(self.spec, self.settings, self.cache).key})

    def inputs(self, space: Parts, view: View) -> Sentences:
        """What the model says of every candidate: there is nothing more to learn."""
        model, pairs = pair_scorer(self.spec, self.settings, self.cache), Pairs.of(view)
        same_model(model, space.document["scorer"])
        ends, sentence, criterion = query_nodes(view.kept, view.posts.offsets)
        values = np.zeros(len(sentence))
        for piece in _pieces(pairs.wordings, ends):
            values[piece] = model.score(*pairs.written(sentence[piece], criterion[piece]))
        return Sentences(pairs.spread(sentence, criterion, values), view.posts.offsets)

    def fit(self, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        """Nothing to learn from labels."""
        return Parts()

    def score(self, space: Parts, model: Parts, inputs: Sentences) -> Floats:
        """The scores."""
        scores: Floats = inputs.features
        return scores


def _pieces(wordings: tuple[str, ...], ends: Ints) -> Iterator[slice]:
    """All candidates at once; post by post where a model might take the last query of a post and the next for one.

    >>> list(_pieces(("a", "b"), np.array([0, 2, 3, 5, 9]))), list(_pieces(("a",), np.array([0, 2, 5])))
    ([slice(0, 9, None)], [slice(0, 2, None), slice(2, 5, None)])
    """
    posts = ends[:: len(wordings)] if wordings[0] == wordings[-1] else ends[[0, -1]]
    return (slice(start, stop) for start, stop in zip(posts[:-1].tolist(), posts[1:].tolist(), strict=True))


@dataclass(frozen=True)
class FineTuned:
    """MiniLM as a cross-encoder, fine-tuned on the candidates of the TRAIN posts. On a CPU this takes long."""

    epochs: int = 2
    max_pairs: int = 20_000
    learning_rate: float = 3e-5
    batch_size: int = 32
    learns: ClassVar[bool] = True
    per: ClassVar[Per] = "sentence"

    def __post_init__(self) -> None:
        if min(self.epochs, self.max_pairs, self.batch_size) < 1 or not self.learning_rate > 0:
            raise InputError(
                "Fine-tuning needs an epoch, a pair and a batch of 1 or more, and a learning rate above 0."
            )

    def space(self, train: View) -> Parts:
        """Nothing: the words are those of MiniLM."""
        return Parts()

    def inputs(self, space: Parts, view: View) -> Pairs:
        """The texts and the candidates."""
        return Pairs.of(view)

    def fit(self, inputs: Pairs, lesson: Lesson, *, seed: int) -> Parts:
        """All weights; TRAIN without both kinds of candidates gives a constant."""
        at = candidates_of(lesson.posts, inputs.kept, inputs.offsets)
        labels = lesson.gold[at]
        if labels.all() or not labels.any():
            return Parts({"constant": _CERTAIN if labels.any() else -_CERTAIN})
        fitted = fine_tune(
            *inputs.written(*at),
            labels,
            seed=seed,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            max_pairs=self.max_pairs,
        )
        return fitted.to_parts()

    def score(self, space: Parts, model: Parts, inputs: Pairs) -> Floats:
        """The log odds of every candidate."""
        if "constant" in model.document:
            return np.full(inputs.kept.shape, float(model.document["constant"]))
        _, sentence, criterion = query_nodes(inputs.kept, inputs.offsets)
        values = CrossEncoder.from_parts(model).score(*inputs.written(sentence, criterion))
        return inputs.spread(sentence, criterion, values.astype(np.float64))
