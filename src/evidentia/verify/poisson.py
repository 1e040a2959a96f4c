"""Poisson weights by name, worked out a second time: SplitMix64 over hashed names, and Poisson(1) by its distribution function."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats

Words = NDArray[np.uint64]

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
ROWS = 1 << 16  # words in work at once


def hashed(names: Iterable[str]) -> Words:
    """A word for each name: the eight bytes of its BLAKE2b hash, the lowest first.

    >>> hashed(["p1"]).tolist() == [0x91CE9478C96516E8]
    True
    """
    words = (int.from_bytes(hashlib.blake2b(name.encode("utf-8"), digest_size=8).digest(), "little") for name in names)
    return np.fromiter(words, np.uint64)


def limits() -> Words:
    """2^64 P(weight < k), rounded up, for k = 1, 2, ... as long as a word can reach it."""
    with localcontext() as context:
        context.prec = 100
        share, term, words = Decimal(0), Decimal(-1).exp(), list[int]()
        for k in range(1, 40):
            share, term = share + term, term / k
            words.append(math.ceil(share * 2**64))
    return np.array([word for word in words if word < 2**64], np.uint64)


LIMITS = limits()


def scrambled(words: Words) -> Words:
    """The words after the last three steps of SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * FIRST
    words = (words ^ (words >> np.uint64(27))) * SECOND
    return words ^ (words >> np.uint64(31))


def weights_by_name(names: Words, seed: int, replicates: Sequence[int]) -> Floats:
    """How often replicates count each of the hashed names: names x replicates.

    >>> weights_by_name(hashed(["p1", "p2", "p3"]), 7, range(5)).tolist()[0]
    [3.0, 2.0, 1.0, 3.0, 0.0]
    """
    start = scrambled(np.array([seed % 2**64], np.uint64) + STEP)
    streams = scrambled(start + (np.array(replicates, np.uint64) + np.uint64(1)) * STEP)
    weights = np.empty((len(names), len(streams)))
    size = max(1, ROWS // max(len(streams), 1))
    for at in range(0, len(names), size):
        words = scrambled(names[at : at + size, None] + streams)
        weights[at : at + size] = np.searchsorted(LIMITS, words, side="right")
    return weights
