"""What is true in a synthetic corpus: posts, folds, queries with evidence, and their gold sentences, as the settings ask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from statistics import NormalDist
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError, shown

MOST_CANDIDATES = 2_000_000_000  # of all queries together; more would fill the memory of any machine
MOST_FOLDS = 10_000
POSITIVE_RATE = 0.0934  # 1,379 of 14,770, the dataset that the contract describes
COMMUNITIES = ("nightowls", "slowmornings", "restlessminds", "openwindow")
BANDS = ("short", "medium", "long")

_COMMUNITY_SHARE = (0.4, 0.3, 0.2, 0.1)
_COMMUNITY_SHIFT = np.array([-0.1, 0.0, 0.1, 0.2])  # so that a slice by community shows different base rates
_LOWEST_RATE, _HIGHEST_RATE = 0.035, 0.22
_POST_SHARE = 0.25  # of the variance of the latent evidence that all queries of a post have in common
_LENGTH_SIGMA = 0.75
_LONGEST = 6  # times the mean length
_GOLD_COUNT_SHARE = (0.74, 0.17, 0.06, 0.03)  # 1, 2, 3 or 4 gold sentences


def whole_number_problems(**limits: tuple[Any, int, int | None]) -> list[str]:
    """What is wrong with numbers that come with the least and, if there is one, the most they may be."""
    return [
        f"{name} is {shown(value)}. Give a whole number of at least {least}{'' if most is None else f', at most {most:,}'}."
        for name, (value, least, most) in limits.items()
        if not isinstance(value, Integral) or int(value) < least or (most is not None and int(value) > most)
    ]


@dataclass(frozen=True)
class Knobs:
    """The settings of a run; everything that is wrong with them is told at once.

    Every post is asked about every criterion, and exactly ``positives`` queries have evidence (None: about 9.34 % of them).
    ``difficulty`` runs from 0 (a perfect system) to 1 (a guessing one); the truth does not depend on it. ``ties`` is the share
    of queries whose probability and scores are rounded, so that they tie. Without any ties probabilities still meet at their
    ends, 0.001 and 0.999. With fewer posts than folds all posts are in the last fold.

    >>> Knobs(seed=1, posts=10, positives=None).count
    9
    """

    seed: int
    posts: int = 1477
    criteria: int = 10
    positives: int | None = 1379
    mean_candidates: float = 20
    folds: int = 5
    difficulty: float = 0.5
    ties: float = 0.1

    def __post_init__(self) -> None:
        names = {"seed": 0, "posts": 1, "criteria": 1, "folds": 1}
        problems = whole_number_problems(**{name: (getattr(self, name), least, None) for name, least in names.items()})
        problems += [
            f"{name} is {shown(value)}. Give a number from 0 to 1."
            for name, value in (("difficulty", self.difficulty), ("ties", self.ties))
            if not 0 <= value <= 1
        ]
        if not (math.isfinite(self.mean_candidates) and self.mean_candidates >= 1):
            problems.append(f"mean_candidates is {shown(self.mean_candidates)}. Give at least 1 sentence per post.")
        positives, queries = self.positives, self.queries
        if positives is not None and not (isinstance(positives, Integral) and 0 <= positives <= queries):
            problems.append(
                f"positives is {shown(positives)}, but {self.posts} posts x {self.criteria} criteria are {queries} queries."
                f" Give a whole number from 0 to {queries}, or None for about 9.34 % of them."
            )
        if problems := problems or self._too_large():
            raise InputError(*problems)

    def _too_large(self) -> list[str]:
        problems, candidates = [], self.queries * self.mean_candidates
        if candidates > MOST_CANDIDATES:
            problems.append(
                f"{self.queries:,} queries with mean_candidates {self.mean_candidates:g} are {candidates:.3g} "
                f"candidates, more than {MOST_CANDIDATES:,}. Give fewer posts, criteria or mean_candidates."
            )
        if self.folds > MOST_FOLDS:
            problems.append(f"folds is {shown(self.folds)}. Give at most {MOST_FOLDS:,}.")
        return problems

    @property
    def queries(self) -> int:
        """Every post is asked about every criterion."""
        return self.posts * self.criteria

    @property
    def count(self) -> int:
        """How many queries have evidence."""
        return round(POSITIVE_RATE * self.queries) if self.positives is None else self.positives


@dataclass(frozen=True, eq=False)
class PostTable:
    """One row per post, in the order of the sorted ids."""

    length: Ints
    fold: Ints
    community: Ints
    band: Ints


@dataclass(frozen=True, eq=False)
class LatentEvidence:
    """One row per query, post by post: the latent strength of evidence (mean 0, spread 1) and the label."""

    strength: Floats
    threshold: float  # a query has evidence where its strength is above
    label: Bools


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some posts of a larger run: how many go before, how many the run has, and the taus of all of it."""

    before: int
    posts: int
    tau_neg: Floats
    tau_pos: Floats


def post_ids(count: int, stretch: Stretch | None = None) -> list[str]:
    """Ids whose order as strings is their order as numbers.

    >>> post_ids(2)
    ['post-00001', 'post-00002']
    """
    before, posts = (0, count) if stretch is None else (stretch.before, stretch.posts)
    width = max(5, len(str(posts)))
    return [f"post-{number:0{width}d}" for number in range(before + 1, before + count + 1)]


def outer_folds(count: int, folds: int, *, seed: int) -> Ints:
    """The fold of each post, ids in string order: floor(n/k) per fold, the rest in the last (erratum 11).

    >>> np.bincount(outer_folds(1477, 5, seed=7)).tolist()
    [295, 295, 295, 295, 297]
    """
    size = count // folds
    place = np.arange(count) // size if size else np.full(count, folds - 1)
    fold = np.empty(count, dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(count)] = np.minimum(place, folds - 1)
    return fold


def training_posts(fold_of_post: Ints, fold: int, *, seed: int) -> Bools:
    """Which posts are TRAIN in this outer fold: 7 n // 10 of the n posts outside it; the rest are TUNE."""
    outside = np.flatnonzero(fold_of_post != fold)
    shuffled = outside[np.random.default_rng([seed, fold]).permutation(len(outside))]
    train = np.zeros(len(fold_of_post), dtype=np.bool_)
    train[shuffled[: 7 * len(outside) // 10]] = True
    return train


def draw_posts(knobs: Knobs, *, rng: np.random.Generator) -> PostTable:
    """PostTable with skewed lengths (log-normal, from 1 to six times the mean) and an invented community."""
    mean = knobs.mean_candidates
    raw = rng.lognormal(np.log(mean) - _LENGTH_SIGMA**2 / 2, _LENGTH_SIGMA, knobs.posts)
    length = np.clip(np.rint(raw), 1, np.floor(_LONGEST * mean)).astype(np.int64)
    community = rng.choice(len(COMMUNITIES), size=knobs.posts, p=_COMMUNITY_SHARE).astype(np.int64)
    band = np.digitize(length, [mean / 2, 1.5 * mean], right=True).astype(np.int64)
    return PostTable(length, outer_folds(knobs.posts, knobs.folds, seed=knobs.seed), community, band)


def draw_evidence(posts: PostTable, knobs: Knobs, *, rng: np.random.Generator) -> LatentEvidence:
    """Give exactly the asked number of queries evidence: those with the greatest latent strength.

    The strength has a part of the criterion (unequal base rates), one of the post (some posts have many, many
    have none) and one of its own.
    """
    spread = np.array([NormalDist().inv_cdf(rate) for rate in _base_rates(knobs.criteria)])
    of_post = rng.standard_normal(knobs.posts) + _COMMUNITY_SHIFT[posts.community]
    own = rng.standard_normal((knobs.posts, knobs.criteria))
    latent = (spread + np.sqrt(_POST_SHARE) * of_post[:, None] + np.sqrt(1 - _POST_SHARE) * own).ravel()
    scale = float(latent.std()) or 1.0
    strength = (latent - latent.mean()) / scale
    label = np.zeros(knobs.queries, dtype=np.bool_)
    label[np.argsort(-strength, kind="stable")[: knobs.count]] = True
    lowest_with = strength[label].min() if label.any() else strength.max() + 1.0
    highest_without = strength[~label].max() if not label.all() else strength.min() - 1.0
    return LatentEvidence(strength, float(lowest_with + highest_without) / 2, label)


def draw_gold(posts: PostTable, label: Bools, offsets: Ints, *, rng: np.random.Generator) -> Bools:
    """Mark 1 to 4 sentences of every query with evidence; salient sentences serve more than one criterion."""
    is_gold = np.zeros(offsets[-1], dtype=np.bool_)
    salience = rng.standard_normal(posts.length.sum())
    queries = np.flatnonzero(label)
    if not len(queries):
        return is_gold
    post = queries // (len(label) // len(posts.length))
    length = posts.length[post]
    wanted = np.minimum(rng.choice(4, size=len(queries), p=_GOLD_COUNT_SHARE) + 1, length)
    starts = np.cumsum(length) - length
    within = np.arange(length.sum()) - np.repeat(starts, length)
    sentence = np.repeat((np.cumsum(posts.length) - posts.length)[post], length) + within
    # The smallest of exponential / weight is a draw without replacement in proportion to the weight.
    key = np.log(rng.standard_exponential(len(sentence))) - salience[sentence]
    order = np.lexsort((key, np.repeat(np.arange(len(queries)), length)))
    chosen = order[within < np.repeat(wanted, length)]
    is_gold[np.repeat(offsets[queries], length)[chosen] + within[chosen]] = True
    return is_gold


def _base_rates(criteria: int) -> list[float]:
    if criteria == 1:
        return [float(np.sqrt(_LOWEST_RATE * _HIGHEST_RATE))]
    ladder = np.geomspace(_LOWEST_RATE, _HIGHEST_RATE, criteria)
    # A fixed shuffle: the criterion's number should not give its rate away.
    return [float(rate) for rate in np.random.default_rng(criteria).permutation(ladder)]
