"""The models that stages name but do not hold: made on first use, once in a process, so that a stage stays plain settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats, Ints
from evidentia.corpus.posts import Criterion
from evidentia.errors import InputError
from evidentia.pipeline.encoders import make
from evidentia.pipeline.encoders.interface import Cache, Encoder, PairScorer, TokenEncoder, unit
from evidentia.pipeline.stage import Parts, View

Settings = tuple[tuple[str, object], ...]  # what is set about a model, in a form that can be compared
_AT_HAND = 8  # models that a process keeps


@lru_cache(maxsize=_AT_HAND)
def encoder(spec: str, settings: Settings, cache: Cache) -> Encoder:
    """The encoder of these words and settings."""
    return make.make_encoder(spec, dict(settings), cache=cache)


@lru_cache(maxsize=_AT_HAND)
def pair_scorer(spec: str, settings: Settings, cache: Cache) -> PairScorer:
    """The scorer of pairs of these words and settings."""
    return make.make_pair_scorer(spec, dict(settings), cache=cache)


@lru_cache(maxsize=_AT_HAND)
def token_encoder(layer: int, cache: Cache) -> TokenEncoder:
    """MiniLM, asked for its tokens behind a layer."""
    return make.make_token_encoder(layer, cache=cache)


@dataclass(frozen=True)
class UsesEncoder:
    """A stage over the vectors of an encoder, which it names but does not hold."""

    spec: str = "minilm"
    settings: Settings = ()
    cache: Cache = True

    @property
    def encoder(self) -> Encoder:
        """The encoder itself."""
        return encoder(self.spec, self.settings, self.cache)

    def space(self, train: View) -> Parts:
        """Which encoder it was."""
        return encoder_space(self.encoder, train.posts.criteria)


def same_model(model: Encoder | TokenEncoder | PairScorer, known: str) -> None:
    """Refuse a model that is not the one of TRAIN: what was learnt from one says nothing about another."""
    if model.key != known:
        raise InputError(
            "The model that answers is not the one this stage was fitted with: its weights or settings are others. "
            "Use that one, or train again."
        )


def sentence_vectors(model: Encoder, texts: Sequence[str], space: Parts) -> NDArray[np.float32]:
    """A vector of unit length for every sentence; another encoder than the one of TRAIN is refused."""
    same_model(model, space.document["encoder"])
    vectors = unit(model.encode(texts, kind="passage"))
    wanted = space.document["width"]
    if len(texts) and vectors.shape[1] != wanted:
        raise InputError(
            f"The encoder gives {vectors.shape[1]} numbers per text; this stage was fitted to {wanted}. "
            "Use the encoder it was fitted with."
        )
    return vectors


def criterion_vectors(model: Encoder, criteria: Sequence[Criterion]) -> list[NDArray[np.float32]]:
    """For each criterion the vectors of its text and of its prototypes."""
    wordings = [(criterion.text, *criterion.prototypes) for criterion in criteria]
    vectors = unit(model.encode([text for texts in wordings for text in texts], kind="query"))
    return np.split(vectors, np.cumsum([len(texts) for texts in wordings])[:-1])


def encoder_space(model: Encoder, criteria: Sequence[Criterion]) -> Parts:
    """Which encoder was used, by its hash, and how wide its vectors are."""
    width = int(criterion_vectors(model, criteria[:1])[0].shape[1])
    return Parts({"encoder": model.key, "width": width})


def products(vectors: NDArray[np.float32], weights: NDArray[np.float32] | Floats, offsets: Ints) -> Floats:
    """Every row times a matrix, post by post: then not even the last bit of a row depends on the posts beside it.

    >>> products(np.eye(3, dtype=np.float32), np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 3])).T.tolist()
    [[1.0, 2.0, 3.0]]
    """
    wide = weights.astype(np.float64)
    scores = np.empty((len(vectors), wide.shape[1]))
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        scores[start:stop] = vectors[start:stop].astype(np.float64) @ wide
    return scores
