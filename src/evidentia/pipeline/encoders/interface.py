"""What the stages ask of a model: vectors of texts, or scores of pairs. Everything else about a model stays behind this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
States = NDArray[np.float16]
Kind = Literal["query", "passage"]
Progress = Callable[[int, int], None]


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
