"""Weights of the mergeable bootstrap: worked by hand, Poisson by every test, and the same in any order and any part."""

from __future__ import annotations

import hashlib
import math
from decimal import ROUND_CEILING, Decimal, localcontext

import numpy as np
import pytest

from evidentia.stats import poisson
from evidentia.stats.poisson import THRESHOLDS, Words, cluster_keys, poisson_weights, scale_to

MASK = 2**64 - 1
PINNED = [[3, 2, 1, 3, 0], [0, 0, 1, 1, 1], [1, 3, 2, 1, 1]]
CLASSES = np.array([1.0, 1.0, 0.5, 1 / 6]) / math.e  # of weights 0, 1, 2 and 3; the rest is 4 or more
SHARES = np.append(CLASSES, 1 - CLASSES.sum())


def mixed(word: int) -> int:
    word &= MASK
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


def by_hand(name: str, seed: int, replicate: int) -> int:
    """The definition in plain Python, one number at a time."""
    golden = 0x9E3779B97F4A7C15
    key = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    stream = mixed(mixed(seed + golden) + (replicate + 1) * golden)
    word, weight, total = mixed(key + stream), 0, Decimal(0)
    with localcontext() as context:
        context.prec = 60
        while Decimal(word) >= (total := total + 1 / (Decimal(1).exp() * math.factorial(weight))) * 2**64:
            weight += 1
    return weight


def test_weights_are_pinned() -> None:
    """The very numbers, so that no change here can move every interval unseen."""
    assert poisson_weights(cluster_keys(["p1", "p2", "p3"]), 7, range(5)).tolist() == PINNED


@pytest.mark.parametrize("seed", [0, 7, 2**63 + 5, 2**64 - 1])
def test_weights_are_those_of_the_definition(seed: int) -> None:
    names = [f"post {i}" for i in range(12)] + ["", "Ä", "日本"]
    weights = poisson_weights(cluster_keys(names), seed, range(98, 103))
    assert weights.tolist() == [[by_hand(name, seed, b) for b in range(98, 103)] for name in names]


def test_mixing_is_that_of_published_splitmix64() -> None:
    """The first numbers of SplitMix64 from 1234567, as its author's reference gives them."""
    words = poisson._mixed([1234567 + i * poisson.GOLDEN for i in (1, 2, 3)])
    assert words.tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_thresholds_are_the_distribution_function_to_the_last_bit() -> None:
    with localcontext() as context:
        context.prec = 80
        inverse = 1 / Decimal(1).exp()
        shares = [sum(inverse / math.factorial(k) for k in range(weight)) for weight in range(1, 22)]
        words = [int((share * 2**64).to_integral_value(ROUND_CEILING)) for share in shares]
    assert list(THRESHOLDS) == words[:20]
    assert words[20] == 2**64  # no word reaches a weight of 21


def test_words_at_the_thresholds() -> None:
    edges = np.array([[0, *THRESHOLDS], [*(word - 1 for word in THRESHOLDS), MASK]], np.uint64)
    assert poisson._quantiles(edges).tolist() == [list(range(21)), [*range(20), 20]]


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """The probability of a fit as bad as this."""
    from scipy.stats import chi2

    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1))


def classes(weights: np.ndarray) -> np.ndarray:
    return np.minimum(weights, 4).astype(np.int64)


NEIGHBOURS = {
    "names": lambda: cluster_keys([f"post_{i}" for i in range(50_000)]),
    "numbers": lambda: np.arange(50_000, dtype=np.uint64),
    "high bits": lambda: np.arange(50_000, dtype=np.uint64) << np.uint64(44),
}


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_weights_are_poisson(kind: str) -> None:
    weights = poisson_weights(NEIGHBOURS[kind](), 7, range(8))
    for column in weights.T:
        assert abs(column.mean() - 1) < 4 / math.sqrt(50_000)
        assert abs(column.var() - 1) < 4 * math.sqrt(3 / 50_000)  # a Poisson(1) weight has a fourth central moment of 4
    counts = np.bincount(classes(weights).ravel(), minlength=5)
    assert chi_square(counts, SHARES * weights.size) > 1e-3


def pairs(keys: Words) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    weights = poisson_weights(keys, 7, range(3))
    return {
        "replicates": (weights[:, 0], weights[:, 1]),
        "seeds": (weights[:, 0], poisson_weights(keys, 8, range(1))[:, 0]),
        "seed and replicate": (weights[:, 1], poisson_weights(keys, 8, range(1))[:, 0]),
        "far replicates": (weights[:, 2], poisson_weights(keys, 7, range(2**32 + 2, 2**32 + 3))[:, 0]),
        "neighbouring keys": (weights[:-1, 0], weights[1:, 0]),
    }


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_neighbours_are_independent(kind: str) -> None:
    for name, (first, second) in pairs(NEIGHBOURS[kind]()).items():
        together = np.bincount(classes(first) * 5 + classes(second), minlength=25)
        assert chi_square(together, np.outer(SHARES, SHARES).ravel() * len(first)) > 1e-4, name


def test_replicates_of_two_clusters_are_independent() -> None:
    first, second = poisson_weights(np.array([1, 2], np.uint64), 7, range(50_000))
    together = np.bincount(classes(first) * 5 + classes(second), minlength=25)
    assert chi_square(together, np.outer(SHARES, SHARES).ravel() * 50_000) > 1e-3
    lagged = np.bincount(classes(first[:-1]) * 5 + classes(first[1:]), minlength=25)
    assert chi_square(lagged, np.outer(SHARES, SHARES).ravel() * 49_999) > 1e-3


def test_any_part_in_any_order_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = cluster_keys([f"post_{i}" for i in range(101)])
    whole = poisson_weights(keys, 7, range(300))
    order = np.random.default_rng(1).permutation(101)
    assert np.array_equal(poisson_weights(keys[order], 7, range(300)), whole[order])
    assert np.array_equal(poisson_weights(keys[40:41], 7, range(17, 23)), whole[40:41, 17:23])
    for cells in (1, 7, 64, 1 << 20):
        monkeypatch.setattr(poisson, "CELLS", cells)
        assert np.array_equal(poisson_weights(keys[:20], 7, range(50)), whole[:20, :50])


def test_nothing_has_no_weights() -> None:
    assert poisson_weights(cluster_keys([]), 7, range(5)).shape == (0, 5)
    assert poisson_weights(cluster_keys(["p1"]), 7, range(0)).shape == (1, 0)


def test_keys_of_many_ids_are_distinct_and_follow_the_bytes() -> None:
    keys = cluster_keys([*(f"post_{i}" for i in range(1000)), "post_0", "post_0 "])
    assert len(np.unique(keys)) == 1001
    assert keys[1000] == keys[0] != keys[1001]
    assert int(keys[0]) == int.from_bytes(hashlib.blake2b(b"post_0", digest_size=8).digest(), "little")


def test_sums_are_scaled_to_the_number_of_clusters() -> None:
    assert scale_to(4, np.array([4.0, 5.0, 2.0])).tolist() == [1.0, 0.8, 2.0]
    assert np.isnan(scale_to(4, np.array([0.0]))).all()
