"""Models that are asked once: whatever they said before comes from the cache, the rest is kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import groupby
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from evidentia.errors import InputError
from evidentia.pipeline.encoders.cache import Row, Store, pair_hash, text_hash
from evidentia.pipeline.encoders.interface import (
    Encoder,
    Kind,
    PairScorer,
    Progress,
    States,
    TokenEncoder,
    Vectors,
    tell,
)
from evidentia.pipeline.settings import same_length

Ask = Callable[[list[int]], Sequence[Row] | Vectors]


@dataclass(frozen=True)
class CacheReport:
    """How many different texts or pairs came from the cache, how many the model was asked for, and what went wrong."""

    hits: int
    misses: int
    notes: tuple[str, ...]


M = TypeVar("M", bound=Encoder | TokenEncoder | PairScorer)


class _Remembering(Generic[M]):
    """What all models with a memory share: looking up, asking for the rest piece by piece, and counting.

    ``piece`` texts are asked for at a time; if the model fails, earlier pieces are kept.
    """

    def __init__(self, model: M, store: Store, *, piece: int = 512) -> None:
        self.store = store
        self._model: M = model
        self._piece = piece
        self._hits = 0
        self._misses = 0

    @property
    def key(self) -> str:
        """The key of the model itself."""
        return self._model.key

    @property
    def cache(self) -> CacheReport:
        """Hits, misses and notes so far."""
        return CacheReport(self._hits, self._misses, self.store.notes)

    def look_up(
        self,
        hashes: Sequence[bytes],
        pieces: Callable[[list[int]], list[list[int]]],
        ask: Ask,
        progress: Progress | None,
    ) -> list[Row]:
        """One row per hash. ``pieces`` cuts the places of what is missing; each piece is kept before the next is asked."""
        first: dict[bytes, int] = {}
        for place, key in enumerate(hashes):
            first.setdefault(key, place)
        known = self.store.get(list(first))
        missing = [place for key, place in first.items() if key not in known]
        self._hits += len(known)
        self._misses += len(missing)
        tell(progress, len(known), len(first))
        for piece in pieces(missing):
            rows = ask(piece)
            if self.store.width is None:
                _same_width(known, rows)
            keys = [hashes[place] for place in piece]
            self.store.put(keys, rows)
            known |= dict(zip(keys, rows, strict=True))
            tell(progress, len(known), len(first))
        return [known[key] for key in hashes]


class CachedEncoder(_Remembering[Encoder]):
    """An encoder with a memory."""

    def encode(self, texts: Sequence[str], *, kind: Kind, progress: Progress | None = None) -> Vectors:
        """One row per text; every different text is asked for once."""

        def ask(piece: list[int]) -> Vectors:
            return self._model.encode([texts[place] for place in piece], kind=kind)

        if not texts:
            return ask([])
        pieces = partial(_longest_first, [len(text) for text in texts], self._piece)
        return np.stack(self.look_up([text_hash(text, kind) for text in texts], pieces, ask, progress))


class CachedTokens(_Remembering[TokenEncoder]):
    """An encoder of tokens with a memory: 300 megabytes for ten thousand sentences of 40 tokens."""

    @property
    def width(self) -> int:
        """The width of the encoder itself."""
        return self._model.width

    def states(self, texts: Sequence[str], *, progress: Progress | None = None) -> list[States]:
        """One matrix per text; every different text is asked for once."""

        def ask(piece: list[int]) -> list[States]:
            return [rows.ravel() for rows in self._model.states([texts[place] for place in piece])]

        pieces = partial(_longest_first, [len(text) for text in texts], self._piece)
        kept = self.look_up([text_hash(text, "passage") for text in texts], pieces, ask, progress)
        return [row.astype(np.float16, copy=False).reshape(-1, self.width) for row in kept]


class CachedPairScorer(_Remembering[PairScorer]):
    """A scorer of pairs with a memory.

    A ``listwise`` scorer reads neighbouring pairs of one query together, so their scores are kept for this very list of
    passages and asked for as a whole. With ``by_query`` a piece never mixes queries, for servers that take one at a time.
    """

    def __init__(
        self, scorer: PairScorer, store: Store, *, piece: int = 512, by_query: bool = False, listwise: bool = False
    ) -> None:
        super().__init__(scorer, store, piece=piece)
        self._by_query = by_query
        self._listwise = listwise

    def score(
        self, queries: Sequence[str], passages: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """One score per pair; every different pair is asked for once."""
        same_length(len(queries), len(passages))

        def pieces(missing: list[int]) -> list[list[int]]:
            if self._listwise:
                runs = {place: number for number, run in enumerate(runs_of(queries)) for place in run}
                return _groups(missing, lambda place: runs[place])
            if self._by_query:
                groups = _groups(sorted(missing, key=lambda place: queries[place]), lambda place: queries[place])
                return [piece for group in groups for piece in _cut(group, self._piece)]
            lengths = [len(query) + len(passage) for query, passage in zip(queries, passages, strict=True)]
            return _longest_first(lengths, self._piece, missing)

        def ask(piece: list[int]) -> Vectors:
            scores = self._model.score([queries[place] for place in piece], [passages[place] for place in piece])
            return scores[:, None]

        kept = self.look_up(self._hashes(queries, passages), pieces, ask, progress)
        return np.concatenate([np.zeros(0, np.float32), *kept])

    def _hashes(self, queries: Sequence[str], passages: Sequence[str]) -> list[bytes]:
        among = [b""] * len(queries)
        if self._listwise:
            for run in runs_of(queries):
                listed = sha256(b"".join(text_hash(passages[place], "passage") for place in run)).digest()
                for place in run:
                    among[place] = listed
        return [pair_hash(*pair) for pair in zip(queries, passages, among, strict=True)]


def runs_of(queries: Sequence[str]) -> list[list[int]]:
    """The places of neighbours that are the same query, which a listwise scorer reads together.

    >>> runs_of(["a", "a", "b", "a"])
    [[0, 1], [2], [3]]
    """
    return _groups(range(len(queries)), lambda place: queries[place])


def _groups(places: Iterable[int], by: Callable[[int], str | int]) -> list[list[int]]:
    return [list(group) for _, group in groupby(places, key=by)]


def _longest_first(lengths: Sequence[int], size: int, places: list[int]) -> list[list[int]]:
    return _cut(sorted(places, key=lambda place: -lengths[place]), size)


def _cut(places: list[int], size: int) -> list[list[int]]:
    return [places[start : start + size] for start in range(0, len(places), size)]


def _same_width(known: dict[bytes, Row], rows: Sequence[Row] | Vectors) -> None:
    """Refuse vectors of another length than those in the cache: another model answers under the same name."""
    if known and len(rows) and (before := len(next(iter(known.values())))) != len(rows[0]):
        raise InputError(
            f"The model gives {len(rows[0])} numbers per text, the cache has {before}: another model answers under the "
            "same name. Set its version, or delete the cache."
        )
