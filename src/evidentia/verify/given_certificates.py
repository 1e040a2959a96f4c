"""Certificates again: counts of posts, the exact binomial bound summed term by term, and one test after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evidentia.verify.given_rows import TuneRow

SCREENING = "ScreeningSensitivity(unit=post)"
ALERTS = "AlertPrecision(unit=post)"
Content = dict[str, Any]


def chance_of_at_most(misses: int, posts: int, rate: float) -> float:
    """The probability of at most so many misses among the posts, each at the rate.

    >>> chance_of_at_most(1, 2, 0.5)
    0.75
    """
    if misses >= posts or rate <= 0:
        return 1.0
    if rate >= 1:
        return 0.0
    yes, no = math.log(rate), math.log1p(-rate)
    terms = (math.log(math.comb(posts, k)) + k * yes + (posts - k) * no for k in range(misses + 1))
    return math.fsum(math.exp(term) for term in terms)


def shown(posts: int, misses: int, target: float, delta: float) -> bool:
    """Whether a share below the target would have as few misses with a chance of at most delta."""
    return chance_of_at_most(misses, posts, 1 - target) <= delta


def posts_needed(misses: int, target: float, delta: float) -> int:
    """The fewest posts that show the target with so many misses: more posts never show less."""
    step = 1
    while not shown(misses + step, misses, target, delta):
        step *= 2
    enough = misses + step
    while step:
        if enough - step > misses and shown(enough - step, misses, target, delta):
            enough -= step
        else:
            step //= 2
    return enough


def lower_limit(posts: int, misses: int, delta: float) -> float:
    """The share at which as few misses have a chance of exactly delta: halving until nothing is between."""
    if posts == misses:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        rises = chance_of_at_most(misses, posts, 1 - middle) <= delta
        low, high = (middle, high) if rises else (low, middle)
    return (low + high) / 2


def screening_certificate(rows: Sequence[TuneRow], taus: Sequence[float], target: float, delta: float) -> Content:
    """tau_neg ascends from 0 as long as enough posts with evidence keep all of it."""
    lowest: dict[str, float] = {}
    for row in rows:
        if row.label:
            lowest[row.post] = min(row.prob, lowest.get(row.post, math.inf))
    order = [(tau, len(lowest), sum(score < tau for score in lowest.values())) for tau in sorted({0.0, *taus})]
    certificate = _in_sequence(order, target, delta)
    if certificate["value"] is None:
        certificate["posts_needed"] = posts_needed(order[0][2], target, delta)
        certificate["reason"] = (
            f"{_posts(len(lowest))} with evidence; {certificate['posts_needed']:,} without a miss are needed"
        )
    return {"name": SCREENING, "target": target, "delta": delta} | certificate


def alert_certificate(rows: Sequence[TuneRow], taus: Sequence[float], target: float, delta: float) -> Content:
    """tau_pos descends, from the first with enough alerting posts, as long as enough of them have only right alerts."""
    highest: dict[str, float] = {}
    wrong: dict[str, float] = {}
    for row in rows:
        highest[row.post] = max(row.prob, highest.get(row.post, -math.inf))
        if not row.label:
            wrong[row.post] = max(row.prob, wrong.get(row.post, -math.inf))
    everything = [(tau, _from(highest, tau), _from(wrong, tau)) for tau in sorted(set(taus), reverse=True)]
    enough = posts_needed(0, target, delta)
    order = [point for point in everything if point[1] >= enough]
    certificate = _in_sequence(order or everything[-1:], target, delta)
    if not order:
        certificate |= {"tested": 0, "posts_needed": enough}
        certificate["reason"] = (
            f"{_posts(certificate['posts'])} alert at most; {enough:,} without a wrong alert are needed"
        )
    elif certificate["value"] is None:
        needed = posts_needed(certificate["misses"], target, delta)
        counts = f"{certificate['misses']} of {certificate['posts']} alerting posts have a wrong alert at the first threshold"
        certificate |= {"posts_needed": needed, "reason": f"{counts}; with as many wrong, {needed:,} posts are needed"}
    return {"name": ALERTS, "target": target, "delta": delta} | certificate


def _in_sequence(order: Sequence[tuple[float, int, int]], target: float, delta: float) -> Content:
    """Test (threshold, posts, misses) in turn up to the first failure; the last before it is certified."""
    passed = 0
    while passed < len(order) and shown(*order[passed][1:], target, delta):
        passed += 1
    tau, posts, misses = order[max(passed - 1, 0)]
    return {
        "value": tau if passed else None,
        "posts": posts,
        "misses": misses,
        "bound": lower_limit(posts, misses, delta),
        "tested": min(passed + 1, len(order)),
        "posts_needed": None,
        "reason": None,
    }


def _from(scores: dict[str, float], tau: float) -> int:
    return sum(score >= tau for score in scores.values())


def _posts(count: int) -> str:
    return f"{count:,} post{'' if count == 1 else 's'}"
