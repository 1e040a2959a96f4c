"""How many posts it takes to certify a share, by the exact binomial bound."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """What it takes to show, with a confidence, that at least ``target`` of all posts are good."""

    target: float
    confidence: float
    without_a_miss: int
    with_misses: tuple[tuple[int, int], ...]  # (misses allowed, posts needed)


def certificate(target: float, confidence: float, *, misses: int = 5) -> Certificate:
    """Posts needed for a lower bound at the target, without a miss and with a few.

    >>> certificate(0.995, 0.95).without_a_miss
    598
    """
    needed = tuple((allowed, posts_needed(target, confidence, allowed)) for allowed in range(misses + 1))
    return Certificate(target, confidence, needed[0][1], needed)


def posts_needed(target: float, confidence: float, misses: int) -> int:
    """The fewest posts of which ``misses`` may be bad while the exact lower bound still reaches the target."""
    low, high = misses, max(2 * misses + 2, math.ceil(math.log(1 - confidence) / math.log(target)))
    while not certifies(high, misses, target, confidence):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if certifies(middle, misses, target, confidence) else (middle, high)
    return high


def certifies(posts: int, misses: int, target: float, confidence: float) -> bool:
    """Whether seeing this many misses among the posts rejects "the share is below the target"."""
    from scipy.stats import binom

    return bool(binom.cdf(misses, posts, 1 - target) <= 1 - confidence)


def chance(posts: int, rate: float, target: float, confidence: float) -> float:
    """The probability that a sample of this size certifies the target when the true share is ``rate``."""
    from scipy.stats import binom

    allowed = most_misses(posts, target, confidence)
    return 0.0 if allowed < 0 else float(binom.cdf(allowed, posts, 1 - rate))


def most_misses(posts: int, target: float, confidence: float) -> int:
    """The most misses with which this many posts still certify the target; -1 if not even none will do."""
    from scipy.stats import binom

    guess = int(binom.ppf(1 - confidence, posts, 1 - target))
    while guess >= 0 and not certifies(posts, guess, target, confidence):
        guess -= 1
    return guess


def posts_for_power(rate: float, target: float, confidence: float, power: float, *, misses: int = 2000) -> int | None:
    """The fewest posts with which a system of true share ``rate`` is certified with probability ``power``; None if too many.

    The chance falls with the number of posts until one more miss is allowed, so only those numbers have to be tried.
    """
    if rate <= target:
        return None
    low, high = 0, 1
    while chance(posts_needed(target, confidence, high), rate, target, confidence) < power:
        low, high = high, 2 * high
        if high > misses:
            return None
    for allowed in range(low, high + 1):
        posts = posts_needed(target, confidence, allowed)
        if chance(posts, rate, target, confidence) >= power:
            return posts
    return None
