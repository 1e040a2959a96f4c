"""What is true in a synthetic corpus: posts, folds, queries with evidence, and their gold sentences."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.synth.knobs import Knobs

COMMUNITIES = ("nightowls", "slowmornings", "restlessminds", "openwindow")
BANDS = ("short", "medium", "long")

_COMMUNITY_SHARE = (0.4, 0.3, 0.2, 0.1)
_COMMUNITY_SHIFT = np.array([-0.1, 0.0, 0.1, 0.2])  # so that a slice by community shows different base rates
_LOWEST_RATE, _HIGHEST_RATE = 0.035, 0.22
_POST_SHARE = 0.25  # of the variance of the latent evidence that all queries of a post have in common
_LENGTH_SIGMA = 0.75
_LONGEST = 6  # times the mean length
_GOLD_COUNT_SHARE = (0.74, 0.17, 0.06, 0.03)  # 1, 2, 3 or 4 gold sentences


@dataclass(frozen=True, eq=False)
class Posts:
    """One row per post, in the order of the sorted ids."""

    length: Ints
    fold: Ints
    community: Ints
    band: Ints


@dataclass(frozen=True, eq=False)
class Evidence:
    """One row per query, post by post: the latent strength of evidence (mean 0, spread 1) and the label."""

    strength: Floats
    threshold: float  # a query has evidence where its strength is above
    label: Bools


def post_ids(count: int) -> list[str]:
    """Ids whose order as strings is their order as numbers.

    >>> post_ids(2)
    ['post-00001', 'post-00002']
    """
    width = max(5, len(str(count)))
    return [f"post-{number:0{width}d}" for number in range(1, count + 1)]


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


def draw_posts(knobs: Knobs, *, rng: np.random.Generator) -> Posts:
    """Posts with skewed lengths (log-normal, from 1 to six times the mean) and an invented community."""
    mean = knobs.mean_candidates
    raw = rng.lognormal(np.log(mean) - _LENGTH_SIGMA**2 / 2, _LENGTH_SIGMA, knobs.posts)
    length = np.clip(np.rint(raw), 1, np.floor(_LONGEST * mean)).astype(np.int64)
    community = rng.choice(len(COMMUNITIES), size=knobs.posts, p=_COMMUNITY_SHARE).astype(np.int64)
    band = np.digitize(length, [mean / 2, 1.5 * mean], right=True).astype(np.int64)
    return Posts(length, outer_folds(knobs.posts, knobs.folds, seed=knobs.seed), community, band)


def draw_evidence(posts: Posts, knobs: Knobs, *, rng: np.random.Generator) -> Evidence:
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
    label[np.argsort(-strength, kind="stable")[: knobs.positives]] = True
    lowest_with = strength[label].min() if label.any() else strength.max() + 1.0
    highest_without = strength[~label].max() if not label.all() else strength.min() - 1.0
    return Evidence(strength, float(lowest_with + highest_without) / 2, label)


def draw_gold(posts: Posts, label: Bools, offsets: Ints, *, rng: np.random.Generator) -> Bools:
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
