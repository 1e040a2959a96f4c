"""Poisson weights of the mergeable bootstrap: how often a replicate counts a cluster follows from their names alone.

The weight is the Poisson(1) quantile of a 64-bit hash of (seed, replicate, cluster id). No weight depends on another cluster, so
parts of a table in other files or on other machines are weighted apart, in any order, and their sums add up. The weights of a
replicate add up to n only on average: its sums are multiplied by n over the sum of its weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate
from math import factorial

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats

Words = NDArray[np.uint64]
Weights = NDArray[np.uint8]

WORD = 1 << 64
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, as in SplitMix64
STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))  # Stafford's thirteenth mixer
CELLS = 1 << 14  # words in work at once: they stay in the cache of a core
COMMON = 4  # weights from here on are rare enough to be looked up one by one


def _thresholds() -> tuple[int, ...]:
    """The least words that reach a weight of 1, 2, 3, ...: 2^64 times the distribution function, rounded up.

    It ends with the weight of 20: one of 21 has a probability of 7e-21, which is less than one word in 2^64.
    """
    terms, scale = 40, 1 << 160  # exact to far more digits than a word has
    e = sum(scale // factorial(k) for k in range(terms))
    below = accumulate(scale * scale // (factorial(k) * e) for k in range(terms))
    words = (-(-share * WORD // scale) for share in below)
    return tuple(word for word in words if word < WORD)


THRESHOLDS = _thresholds()
_LIMITS = np.array(THRESHOLDS, np.uint64)


def cluster_keys(ids: Sequence[str]) -> Words:
    """The names of clusters as words: BLAKE2b with a digest of 8 bytes over their UTF-8 text, the lowest byte first.

    Parameters
    ----------
    ids : sequence of str
        The ids of the clusters, in any order.

    Returns
    -------
    numpy.ndarray of uint64
        One word for each id; equal ids have equal words everywhere.

    Raises
    ------
    UnicodeEncodeError
        If an id is no text that UTF-8 can write, as a lone surrogate.

    Examples
    --------
    >>> [f"{word:016x}" for word in cluster_keys(["p1", "p2"])]
    ['91ce9478c96516e8', '44dd312427c1c34c']
    """
    digests = b"".join(blake2b(name.encode(), digest_size=8).digest() for name in ids)
    return np.frombuffer(digests, "<u8").astype(np.uint64, copy=False)


def poisson_weights(keys: Words, seed: int, replicates: range) -> Weights:
    """How often replicates count clusters.

    Parameters
    ----------
    keys : numpy.ndarray of uint64
        The words of the clusters (see ``cluster_keys``).
    seed : int
        The seed, from 0 on; its lowest 64 bits count.
    replicates : range
        The numbers of the replicates; each is the same whichever others are asked for.

    Returns
    -------
    numpy.ndarray of uint8
        Clusters x replicates: independent Poisson(1) weights, none larger than 20.

    Examples
    --------
    >>> poisson_weights(cluster_keys(["p1", "p2", "p3"]), 7, range(5)).tolist()
    [[3, 2, 1, 3, 0], [0, 0, 1, 1, 1], [1, 3, 2, 1, 1]]
    """
    streams = _streams(seed, replicates)
    weights = np.empty((len(keys), len(replicates)), np.uint8)
    wide = max(1, min(CELLS, len(replicates)))
    tall = CELLS // wide
    spare = np.empty((2, CELLS), np.uint64)
    for left in range(0, len(replicates), wide):
        for top in range(0, len(keys), tall):
            part = weights[top : top + tall, left : left + wide]
            words, shifted = (row[: part.size].reshape(part.shape) for row in spare)
            np.add(keys[top : top + tall, None], streams[left : left + wide], out=words)
            _mix(words, shifted)
            part[:] = _quantiles(words)
    return weights


def scale_to(clusters: int, totals: Floats) -> Floats:
    """What the sums of replicates are multiplied by: n over the sum of their weights; NaN where no cluster counts.

    Parameters
    ----------
    clusters : int
        The number n of clusters.
    totals : numpy.ndarray of float64
        The sum of the weights of each replicate.

    Returns
    -------
    numpy.ndarray of float64
        One factor for each replicate.

    Examples
    --------
    >>> scale_to(3, np.array([4.0, 3.0, 0.0])).tolist()
    [0.75, 1.0, nan]
    """
    factors: Floats = np.divide(clusters, totals, out=np.full(len(totals), np.nan), where=totals > 0)
    return factors


def scrambled(words: Words) -> Words:
    """Words of which every bit depends on every bit; no two become the same.

    Parameters
    ----------
    words : numpy.ndarray of uint64
        Any words, for example sums of ``cluster_keys``.

    Returns
    -------
    numpy.ndarray of uint64
        One word for each.

    Examples
    --------
    >>> scrambled(np.array([0, 1], np.uint64)).tolist()
    [0, 6238072747940578789]
    """
    changed = words.copy()
    _mix(changed, np.empty_like(changed))
    return changed


def _streams(seed: int, replicates: range) -> Words:
    """A word for each replicate of a seed: mixed twice, so that neighbours of either have nothing in common."""
    origin = int(_mixed([seed + GOLDEN])[0])
    return _mixed([origin + (replicate + 1) * GOLDEN for replicate in replicates])


def _mixed(numbers: Sequence[int]) -> Words:
    words = np.array([number % WORD for number in numbers], np.uint64)
    _mix(words, np.empty_like(words))
    return words


def _mix(words: Words, shifted: Words) -> None:
    """Change words in place, such that every bit depends on every bit; no two words become the same."""
    for shift, factor in STEPS:
        np.right_shift(words, np.uint64(shift), out=shifted)
        np.bitwise_xor(words, shifted, out=words)
        if factor != 1:
            np.multiply(words, np.uint64(factor), out=words)


def _quantiles(words: Words) -> Weights:
    """How many thresholds each word reaches: the first few by comparing, the rest only where the last of these is reached."""
    weights: Weights = (words >= _LIMITS[0]).view(np.uint8)
    for limit in _LIMITS[1:COMMON]:
        reached = words >= limit
        weights += reached.view(np.uint8)
    rare = np.flatnonzero(reached)
    weights.flat[rare] = np.searchsorted(_LIMITS, words.ravel()[rare], side="right")
    return weights
