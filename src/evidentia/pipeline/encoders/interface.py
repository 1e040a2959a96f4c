"""What the stages ask of a model: vectors of texts, or scores of pairs, and what these numbers must be.

Everything else about a model stays behind this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidentia.errors import InputError, counted

Vectors = NDArray[np.float32]
States = NDArray[np.float16]
Kind = Literal["query", "passage"]
Progress = Callable[[int, int], None]
Cache = Path | str | bool  # the folder where answers are kept; True is the usual one, False none


class Encoder(Protocol):
    """Makes a vector of unit length of every text."""

    @property
    def key(self) -> str:
        """A hash of all that decides the vectors (weights, prompts, settings): it names their place in the cache."""

    def encode(self, texts: Sequence[str], *, kind: Kind, progress: Progress | None = None) -> Vectors:
        """One row per text."""


class TokenEncoder(Protocol):
    """Makes a vector of every token of every text, as the text around it has made it."""

    @property
    def key(self) -> str:
        """A hash of all that decides the vectors."""

    @property
    def width(self) -> int:
        """How many numbers a vector has."""

    def states(self, texts: Sequence[str], *, progress: Progress | None = None) -> list[States]:
        """One matrix per text, tokens x width; at least one token each."""


class PairScorer(Protocol):
    """Says how well each passage answers its query; larger is better."""

    @property
    def key(self) -> str:
        """A hash of all that decides the scores."""

    def score(
        self, queries: Sequence[str], passages: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """One score per pair; both sequences have the same length."""


def tell(progress: Progress | None, done: int, total: int) -> None:
    """Say how far it is, where somebody watches."""
    if progress is not None:
        progress(done, total)


def unit_vectors(values: ArrayLike, *, model: str, normalize: bool = True) -> Vectors:
    """The rows at unit length (a row of zeros stays one); numbers that are not finite are refused.

    >>> unit_vectors([[3.0, 4.0], [0.0, 0.0]], model="m").tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    vectors = finite(np.asarray(values, np.float32), model)
    return unit(vectors) if normalize else vectors


def unit(vectors: Vectors) -> Vectors:
    """The same directions, at length one; zeros stay zeros."""
    wide = vectors.astype(np.float64)
    lengths = np.sqrt((wide**2).sum(axis=1, keepdims=True))
    return (wide / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def finite(values: NDArray[np.float32], model: str) -> NDArray[np.float32]:
    """The same numbers, if they are numbers."""
    rows = values.reshape(len(values), -1) if len(values) else values.reshape(0, 1)
    if bad := int((~np.isfinite(rows).all(axis=1)).sum()):
        raise InputError(
            f"{model} gave NaN or infinity for {counted(bad, 'text')} of {len(values):,}. With float16 weights try "
            "dtype = 'float32' or 'bfloat16'."
        )
    return values
