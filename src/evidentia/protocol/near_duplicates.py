"""Identical and near-identical texts, found by MinHash over word shingles and confirmed by their exact Jaccard similarity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Ints

WORD = re.compile(r"\w+")
BANDS, ROWS = 24, 4  # a pair with Jaccard 0.8 shares no band with a chance of 3 in a million
Words = NDArray[np.uint64]


def text_groups(texts: Sequence[str], *, similarity: float = 0.8, shingle: int = 3, seed: int = 7) -> Ints:
    """One group id per text: texts that are linked by a chain of near-identical ones have the same id.

    Two texts are near-identical where their sets of ``shingle`` consecutive words (lower case, punctuation aside) have a
    Jaccard similarity of at least ``similarity``. A text of fewer words counts as one shingle; a text without words
    stays alone, since it has nothing to give away.

    Examples
    --------
    >>> text_groups(["I cannot sleep at all", "i cannot sleep, at all!", "All is well here today"]).tolist()
    [0, 0, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sets = _shingles(texts, shingle)
    first: dict[bytes, int] = {}
    alike = [(first.setdefault(codes.tobytes(), at), at) for at, codes in enumerate(sets) if len(codes)]
    candidates = _candidates(sets, list(first.values()), seed)
    alike += [(one, other) for one, other in candidates if _jaccard(sets[one], sets[other]) >= similarity]
    rows, columns = np.array(alike, np.int64).reshape(-1, 2).T
    links = coo_array((np.ones(len(alike)), (rows, columns)), shape=(len(texts), len(texts)))
    _, group = connected_components(links, directed=False)  # numbered in the order of their first texts
    return np.asarray(group, np.int64)


def _shingles(texts: Sequence[str], shingle: int) -> list[Ints]:
    """The set of shingles of every text as sorted codes; equal codes mean equal words, without any hashing."""
    words = [WORD.findall(text.lower()) for text in texts]
    known = {word: code for code, word in enumerate(sorted({word for text in words for word in text}), 1)}
    # texts lie end to end, short ones padded; only the shingles that start early enough to stay inside are read below
    padded = [[known[word] for word in text] + [0] * max(shingle - len(text), 0) for text in words]
    lengths = np.array([len(text) for text in padded], np.int64)
    flat = np.fromiter((code for text in padded for code in text), np.int64, int(lengths.sum()))
    codes = flat
    for step in range(1, shingle):
        ahead = np.pad(flat, (0, step))[step:]
        _, codes = np.unique(codes * (len(known) + 1) + ahead, return_inverse=True)
    starts = np.cumsum(lengths) - lengths
    return [
        np.unique(codes[start : start + length - shingle + 1]) if text else np.empty(0, np.int64)
        for start, length, text in zip(starts, lengths, words, strict=True)
    ]


def _candidates(sets: list[Ints], kept: list[int], seed: int) -> Iterator[tuple[int, int]]:
    """Pairs that share a band of their MinHash signatures, each once."""
    if not kept:
        return
    signatures = _signatures([sets[at] for at in kept], seed)
    seen: set[tuple[int, int]] = set()
    for band in signatures.reshape(len(kept), BANDS, ROWS).swapaxes(0, 1):
        _, bucket = np.unique(band, axis=0, return_inverse=True)
        order, sizes = np.argsort(bucket, kind="stable"), np.bincount(bucket)
        for last, size in zip(np.cumsum(sizes)[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
            fresh = set(combinations([kept[at] for at in order[last - size : last].tolist()], 2)) - seen
            seen |= fresh
            yield from sorted(fresh)


def _signatures(sets: list[Ints], seed: int) -> Words:
    """The smallest hash of every set under each of the hash functions."""
    starts = np.cumsum([0, *(len(codes) for codes in sets[:-1])])
    codes = np.concatenate(sets).astype(np.uint64)
    keys = np.random.default_rng(seed).integers(2**63, size=BANDS * ROWS, dtype=np.uint64)
    return np.column_stack([np.minimum.reduceat(_mixed(codes + key), starts) for key in keys])


def _mixed(codes: Words) -> Words:
    """Scatter integers over 64 bits (the finish of splitmix64); overflow wraps, as it should."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))


def _jaccard(first: Ints, other: Ints) -> float:
    shared = len(np.intersect1d(first, other, assume_unique=True))
    return shared / (len(first) + len(other) - shared)
