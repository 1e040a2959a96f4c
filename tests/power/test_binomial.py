"""How many posts a certificate takes, against exact fractions and simulation."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import beta

from evidentia.stats.power import certificate, certifies, chance, most_misses, posts_for_power, posts_needed

SMALL = [("0.9", "0.95"), ("0.9", "0.8"), ("0.8", "0.99"), ("0.5", "0.9"), ("0.95", "0.95")]
RATES = (0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 1.0)


def exact_tail(misses: int, posts: int, target: Fraction) -> Fraction:
    """The chance of this many misses or fewer when the share is exactly the target."""
    return sum(
        (comb(posts, m) * (1 - target) ** m * target ** (posts - m) for m in range(min(misses, posts) + 1)), Fraction(0)
    )


def exactly_certified(posts: int, misses: int, target: str, confidence: str) -> bool:
    return exact_tail(misses, posts, Fraction(target)) <= 1 - Fraction(confidence)


def test_the_target_of_the_contract_takes_598_posts_without_a_miss() -> None:
    needs = certificate(0.995, 0.95)
    assert needs.without_a_miss == 598
    assert 0.995**598 <= 0.05 < 0.995**597
    assert needs.with_misses[0] == (0, 598)
    assert [misses for misses, _ in needs.with_misses] == [0, 1, 2, 3, 4, 5]


def test_every_entry_of_that_certificate_is_the_fewest() -> None:
    for misses, posts in certificate(0.995, 0.95).with_misses:
        assert exactly_certified(posts, misses, "0.995", "0.95")
        assert not exactly_certified(posts - 1, misses, "0.995", "0.95")


@pytest.mark.parametrize(("target", "confidence"), SMALL)
def test_posts_needed_equals_brute_force(target: str, confidence: str) -> None:
    for misses in range(6):
        brute = next(n for n in range(misses, 1000) if exactly_certified(n, misses, target, confidence))
        assert posts_needed(float(target), float(confidence), misses) == brute


def test_more_misses_a_higher_target_and_more_confidence_need_more_posts() -> None:
    assert [posts_needed(0.9, 0.95, m) for m in range(6)] == [29, 46, 61, 76, 89, 103]
    assert posts_needed(0.8, 0.95, 1) < posts_needed(0.9, 0.95, 1) < posts_needed(0.99, 0.95, 1)
    assert posts_needed(0.9, 0.8, 1) < posts_needed(0.9, 0.95, 1) < posts_needed(0.9, 0.999, 1)


@pytest.mark.parametrize("misses", [0, 1, 3])
def test_a_certificate_is_the_exact_lower_bound_at_the_target(misses: int) -> None:
    for posts in range(misses + 1, 150):
        bound = beta.ppf(0.05, posts - misses, misses + 1)
        assert certifies(posts, misses, 0.9, 0.95) == (bound >= 0.9)


@pytest.mark.parametrize(("target", "confidence"), SMALL)
def test_most_misses_equals_brute_force(target: str, confidence: str) -> None:
    for posts in (1, 5, 20, 29, 46, 60, 100):
        fine = [m for m in range(posts + 1) if exactly_certified(posts, m, target, confidence)]
        assert most_misses(posts, float(target), float(confidence)) == max(fine, default=-1)


@pytest.mark.parametrize("rate", [0.9, 0.93, 0.99, 1.0])
@pytest.mark.parametrize("posts", [28, 29, 60, 150])
def test_chance_equals_the_sum_over_all_outcomes(posts: int, rate: float) -> None:
    share = Fraction(str(rate))
    expected = sum(
        comb(posts, m) * (1 - share) ** m * share ** (posts - m)
        for m in range(posts + 1)
        if exactly_certified(posts, m, "0.9", "0.95")
    )
    assert chance(posts, rate, 0.9, 0.95) == pytest.approx(float(expected), abs=1e-12)


def test_chance_equals_a_simulation() -> None:
    random = np.random.default_rng(8)
    draws = 20_000
    misses = (random.random((draws, 150)) >= 0.96).sum(axis=1)
    share = np.mean([certifies(150, m, 0.9, 0.95) for m in range(151)] @ np.eye(151)[misses].T)
    expected = chance(150, 0.96, 0.9, 0.95)
    assert 0.2 < expected < 0.95
    assert share == pytest.approx(expected, abs=4 * (0.25 / draws) ** 0.5)


def test_at_the_target_itself_a_certificate_is_as_rare_as_the_confidence_promises() -> None:
    chances = [chance(posts, 0.9, 0.9, 0.95) for posts in range(1, 400)]
    assert max(chances) <= 0.05
    assert max(chances) > 0.04


@pytest.mark.parametrize("target", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.9])
def test_a_better_system_needs_no_more_posts(target: float, power: float) -> None:
    needed = [posts_for_power(rate, target, 0.95, power) for rate in RATES]
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] == posts_needed(target, 0.95, 0)
    for rate, posts in zip(RATES, needed, strict=True):
        assert chance(posts, rate, target, 0.95) >= power
        assert posts >= posts_needed(target, 0.95, 0)


def test_more_power_more_confidence_and_a_higher_target_need_no_fewer_posts() -> None:
    by_power = [posts_for_power(0.97, 0.9, 0.95, power) for power in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)]
    by_confidence = [posts_for_power(0.97, 0.9, confidence, 0.8) for confidence in (0.5, 0.8, 0.9, 0.95, 0.99)]
    by_target = [posts_for_power(0.97, target, 0.95, 0.8) for target in (0.5, 0.7, 0.8, 0.9, 0.95)]
    for needed in (by_power, by_confidence, by_target):
        assert needed == sorted(needed)
        assert needed[0] < needed[-1]


def test_a_share_at_or_below_the_target_is_never_certified() -> None:
    assert posts_for_power(0.9, 0.9, 0.95, 0.8) is None
    assert posts_for_power(0.5, 0.9, 0.95, 0.8) is None
    assert posts_for_power(0.9001, 0.9, 0.95, 0.8) is None


@pytest.mark.parametrize(
    ("rate", "target"),
    [(0.97, 0.9), (0.99, 0.95), (0.95, 0.9), (0.93, 0.9)],
)
def test_it_is_the_fewest_posts_or_the_fewest_from_which_on_the_power_holds(rate: float, target: float) -> None:
    """The chance goes up and down with the number of posts (a saw), so "the fewest" has these two readings."""
    enough = [chance(posts, rate, target, 0.95) >= 0.8 for posts in range(1, 1200)]
    first = enough.index(True) + 1
    from_there_on = len(enough) - enough[::-1].index(False) + 1
    assert posts_for_power(rate, target, 0.95, 0.8) in {first, from_there_on}
