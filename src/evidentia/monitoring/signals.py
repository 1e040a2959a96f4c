"""What is observed of a batch: per post one number for every signal, so that a post counts once in every test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.pipeline.predict import Trained
from evidentia.pipeline.vocabulary import unknown_shares
from evidentia.tables.queries import NEG, POS, Frozen

Kind = Literal["rate", "shift"]
_BY_POST = ("state", "prob", "detection", "sentences", "words", "has_evidence", "labelled")


@dataclass(frozen=True, eq=False)
class Signal(Frozen):
    """A number per post. A rate is 0 or 1, and NaN in posts that it is not about; of a shift the order is tested.

    ``shown`` is what means are taken of; where nothing else is given it is ``values``.
    """

    name: str
    criterion: str | None
    kind: Kind
    values: Floats
    shown: Floats


@dataclass(frozen=True, eq=False)
class Observed(Frozen):
    """A batch as the model sees it. ``unknown`` is None where the model has no words.

    ``has_evidence`` is posts x criteria, ``labelled`` says of which posts it is known.
    """

    name: str
    post_ids: tuple[str, ...]
    criteria: tuple[str, ...]
    state: Ints
    prob: Floats
    detection: Floats
    sentences: Floats
    words: Floats
    unknown: Floats | None
    has_evidence: Bools
    labelled: Bools

    def __len__(self) -> int:
        return len(self.sentences)

    @classmethod
    def of(cls, trained: Trained, posts: Posts, name: str) -> Self:
        """Score a batch without labels; nothing of its texts is kept."""
        shape = (len(posts), len(posts.criteria))
        decisions, known = trained.decide(posts), trained.known_words
        words = np.array([len(text.split()) for text in posts.texts], np.float64)
        return cls(
            name,
            posts.post_ids,
            posts.criterion_ids,
            decisions.state.reshape(shape),
            decisions.prob.reshape(shape),
            decisions.detection.reshape(shape),
            posts.lengths.astype(np.float64),
            np.add.reduceat(words, posts.offsets[:-1]) / posts.lengths,
            unknown_shares(posts, known) if known else None,
            np.zeros(shape, bool),
            np.zeros(len(posts), bool),
        )

    def take(self, posts: Ints) -> Self:
        """Some of the posts."""
        unknown = None if self.unknown is None else self.unknown[posts]
        named = tuple(self.post_ids[post] for post in posts.tolist())
        return replace(self, post_ids=named, unknown=unknown, **{part: getattr(self, part)[posts] for part in _BY_POST})

    @classmethod
    def joined(cls, batches: Sequence[Self], name: str) -> Self:
        """Several batches of one model as one."""
        unknown = [each.unknown for each in batches if each.unknown is not None]
        named = tuple(post for each in batches for post in each.post_ids)
        stacked = {part: np.concatenate([getattr(each, part) for each in batches]) for part in _BY_POST}
        together = np.concatenate(unknown) if unknown else None
        return cls(name, named, batches[0].criteria, unknown=together, **stacked)


def signals_of(batch: Observed) -> list[Signal]:
    """Every signal of a batch: those of whole posts, those of each criterion, and those that need labels."""
    alert, passed = batch.state == POS, batch.state != NEG
    signals = [
        _rate("AlertedPosts", None, alert.any(axis=1)),
        _shift("NegRate", None, 1 - passed.mean(axis=1)),
        Signal("Probability", None, "shift", batch.detection.mean(axis=1), batch.prob.mean(axis=1)),
        _shift("Sentences", None, batch.sentences),
        _shift("WordsPerSentence", None, batch.words),
    ]
    if batch.unknown is not None:
        signals.append(_shift("UnknownWords", None, batch.unknown))
    for at, criterion in enumerate(batch.criteria):
        signals += [
            _rate("NegRate", criterion, ~passed[:, at]),
            _rate("PosRate", criterion, alert[:, at]),
            Signal("Probability", criterion, "shift", batch.detection[:, at], batch.prob[:, at]),
        ]
    if batch.labelled.any():
        signals += _labelled(batch, passed, alert)
    return signals


def _labelled(batch: Observed, passed: Bools, alert: Bools) -> list[Signal]:
    """Sensitivity and alert precision, per post (a post counts once) and per criterion."""
    has, known = batch.has_evidence, batch.labelled
    signals = [
        _rate("ScreeningSensitivity(unit=post)", None, np.all(passed | ~has, axis=1), known & has.any(axis=1)),
        _rate("AlertPrecision(unit=post)", None, np.all(has | ~alert, axis=1), known & alert.any(axis=1)),
    ]
    for at, criterion in enumerate(batch.criteria):
        signals.append(_rate("ScreeningSensitivity", criterion, passed[:, at], known & has[:, at]))
        signals.append(_rate("AlertPrecision", criterion, has[:, at], known & alert[:, at]))
    return signals


def _rate(name: str, criterion: str | None, holds: Bools, among: Bools | None = None) -> Signal:
    values = holds.astype(np.float64)
    if among is not None:
        values = np.where(among, values, np.nan)
    return Signal(name, criterion, "rate", values, values)


def _shift(name: str, criterion: str | None, values: Floats) -> Signal:
    return Signal(name, criterion, "shift", values, values)
