"""What every post of the synthetic corpus is to hold: its length, its evidence and its traps, before a word is written."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from evidentia.array_types import Bools, Floats, Ints

SHORTEST = 3
_LONGEST = 3.0  # times the mean length
_LENGTH_SIGMA = 0.62
_POST_SHARE = 0.35  # of the variance of the latent evidence that all queries of a post have in common
_GOLD_COUNT_SHARE = (0.66, 0.22, 0.08, 0.04)  # 1, 2, 3 or 4 pieces of evidence
_TRAPS = 0.27  # per query, on average
_OWN_TRAPS = 1.0  # more of them about a criterion that the post has evidence for
_TRAP_TONE = 0.35  # how much more a post with a troubled tone has of them
_TRAP_ROOM = 0.45  # of the sentences that are not evidence


@dataclass(frozen=True, eq=False)
class CorpusPlan:
    """Posts x criteria: how many pieces of evidence and how many traps; and how many sentences a post has at least."""

    lengths: Ints
    evidence: Ints
    traps: Ints


def draw_plan(
    rates: Floats, *, posts: int, positives: int, mean_sentences: float, rng: np.random.Generator
) -> CorpusPlan:
    """Exactly ``positives`` queries get evidence: those of the greatest latent strength, of the criterion, post and query."""
    tone = rng.standard_normal(posts)
    strength = np.sqrt(_POST_SHARE) * tone[:, None] + np.sqrt(1 - _POST_SHARE) * rng.standard_normal(
        (posts, len(rates))
    )
    strength = strength + np.array([NormalDist().inv_cdf(rate) for rate in rates.tolist()])
    label = np.zeros(strength.size, np.bool_)
    label[np.argsort(-strength.ravel(), kind="stable")[:positives]] = True
    label = label.reshape(strength.shape)
    pieces = np.where(label, 1 + rng.choice(len(_GOLD_COUNT_SHARE), size=label.shape, p=_GOLD_COUNT_SHARE), 0)
    lengths = _draw_lengths(posts, mean_sentences, rng=rng)
    pieces = np.where(pieces.sum(axis=1, keepdims=True) > lengths[:, None] // 2, label, pieces).astype(np.int64)
    return CorpusPlan(lengths, pieces, _draw_traps(rates, tone, label, lengths - pieces.sum(axis=1), rng=rng))


def _draw_lengths(posts: int, mean: float, *, rng: np.random.Generator) -> Ints:
    raw = rng.lognormal(np.log(mean) - _LENGTH_SIGMA**2 / 2, _LENGTH_SIGMA, posts)
    lengths: Ints = np.clip(np.rint(raw), SHORTEST, max(SHORTEST, int(_LONGEST * mean))).astype(np.int64)
    return lengths


def _draw_traps(rates: Floats, tone: Floats, label: Bools, room: Ints, *, rng: np.random.Generator) -> Ints:
    """Traps are about common criteria more than about rare ones, in troubled posts more than in others."""
    of_criterion = _TRAPS * (0.5 + 0.5 * rates / rates.mean())
    of_post = np.exp(_TRAP_TONE * tone - _TRAP_TONE**2 / 2) * np.sqrt(
        np.maximum(room, 0) / max(float(room.mean()), 1.0)
    )
    traps = rng.poisson(of_post[:, None] * (of_criterion + _OWN_TRAPS * label))
    order = rng.permuted(np.tile(np.arange(traps.shape[1]), (len(traps), 1)), axis=1)
    shuffled = np.take_along_axis(traps, order, axis=1)
    most = np.maximum(room * _TRAP_ROOM, 0)[:, None] - (np.cumsum(shuffled, axis=1) - shuffled)
    kept = np.minimum(shuffled, np.maximum(np.floor(most), 0)).astype(np.int64)
    result = np.zeros(traps.shape, np.int64)
    np.put_along_axis(result, order, kept, axis=1)
    return result
