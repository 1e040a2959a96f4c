"""The settings of a synthetic run, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

from evidentia.errors import InputError, shown

MOST_CANDIDATES = 2_000_000_000  # of all queries together; more would fill the memory of any machine
MOST_FOLDS = 10_000
POSITIVE_RATE = 0.0934  # 1,379 of 14,770, the dataset that the contract describes


@dataclass(frozen=True)
class Knobs:
    """What was asked for; ``positives`` is already a count."""

    seed: int
    posts: int
    criteria: int
    positives: int
    mean_candidates: float
    folds: int
    difficulty: float
    ties: float

    @property
    def queries(self) -> int:
        """Every post is asked about every criterion."""
        return self.posts * self.criteria


def checked_knobs(
    *,
    seed: int,
    posts: int,
    criteria: int,
    positives: int | None,
    mean_candidates: float,
    folds: int,
    difficulty: float,
    ties: float,
) -> Knobs:
    """Check every setting and report everything that is wrong at once.

    >>> size = {"posts": 10, "criteria": 10, "mean_candidates": 20, "folds": 5}
    >>> checked_knobs(seed=1, positives=None, difficulty=0.5, ties=0.1, **size).positives
    9
    """
    problems = [
        f"{name} is {shown(value)}. Give a whole number of at least {least}."
        for name, value, least in (
            ("seed", seed, 0),
            ("posts", posts, 1),
            ("criteria", criteria, 1),
            ("folds", folds, 1),
        )
        if not _whole(value) or value < least
    ]
    problems += [
        f"{name} is {shown(value)}. Give a number from 0 to 1."
        for name, value in (("difficulty", difficulty), ("ties", ties))
        if not 0 <= value <= 1
    ]
    if not (math.isfinite(mean_candidates) and mean_candidates >= 1):
        problems.append(f"mean_candidates is {shown(mean_candidates)}. Give at least 1 sentence per post.")
    queries = posts * criteria
    if positives is not None and not (_whole(positives) and 0 <= positives <= queries):
        problems.append(
            f"positives is {shown(positives)}, but {posts} posts x {criteria} criteria are {queries} queries."
            f" Give a whole number from 0 to {queries}, or None for about 9.34 % of them."
        )
    if not problems:
        problems = _too_large(queries, mean_candidates, folds)
    if problems:
        raise InputError(*problems)
    count = round(POSITIVE_RATE * queries) if positives is None else positives
    return Knobs(seed, posts, criteria, count, mean_candidates, folds, difficulty, ties)


def _too_large(queries: int, mean_candidates: float, folds: int) -> list[str]:
    problems = []
    if queries * mean_candidates > MOST_CANDIDATES:
        problems.append(
            f"{queries:,} queries with mean_candidates {mean_candidates:g} are {queries * mean_candidates:.3g} "
            f"candidates, more than {MOST_CANDIDATES:,}. Give fewer posts, criteria or mean_candidates."
        )
    if folds > MOST_FOLDS:
        problems.append(f"folds is {shown(folds)}. Give at most {MOST_FOLDS:,}.")
    return problems


def _whole(value: object) -> bool:
    return isinstance(value, Integral)
