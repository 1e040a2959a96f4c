"""What an invented system says about a synthetic corpus: probabilities, states, scores, selections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.synth.truth import Knobs, LatentEvidence, PostTable, training_posts

STATES = ("NEG", "UNCERTAIN", "POS")
GAMMA, K_MIN, HARD_CAP, UNCERTAIN_CAP, RATIO = 0.9, 2, 10, 5, 0.5

_BLUR = (0.5, 1.25)  # beta distribution of how badly the system sees a query at difficulty 0.5
_POST_NOISE_SHARE = 0.3
_MISCALIBRATION = 0.2
_FOLD_NOISE = 0.1
_SCREENING_TARGET, _ALERT_TARGET = 0.975, 0.8
_UNTUNED = (0.02, 0.5)
_SEPARATION = 2.0  # of gold from other sentences, in units of the noise, at difficulty 0.5
_GRID = 0.5


@dataclass(frozen=True, eq=False)
class Scores:
    """One row per candidate."""

    score: Floats
    node_prob: Floats


def detection_prob(evidence: LatentEvidence, knobs: Knobs, coarse: Bools, *, rng: np.random.Generator) -> Floats:
    """Probability that each query has evidence, from a blurred view of its latent strength.

    Some queries are seen well and some badly. For each, the probability is that of the strength being above
    the threshold given the view, so it is nearly calibrated whatever the difficulty; a little noise keeps it
    from being perfectly so. All queries of a post share a part of the blur. Coarse queries are rounded: ties.
    """
    power = knobs.difficulty / max(1 - knobs.difficulty, 1e-9)
    clarity = (1 - rng.beta(*_BLUR, size=knobs.queries)) ** power
    of_post = np.repeat(rng.standard_normal(knobs.posts), knobs.criteria)
    own = rng.standard_normal(knobs.queries)
    noise = np.sqrt(_POST_NOISE_SHARE) * of_post + np.sqrt(1 - _POST_NOISE_SHARE) * own
    unseen = np.sqrt(np.maximum(1 - clarity**2, 1e-12))
    view = clarity * evidence.strength + unseen * noise
    slip = _MISCALIBRATION * knobs.difficulty * rng.standard_normal(knobs.queries)
    prob = 0.001 + 0.998 * normal_cdf((clarity * view - evidence.threshold) / unseen + slip)
    return np.where(coarse, np.round(prob, 3), prob)


def prob_in_fold(prob: Floats, in_fold: Bools, *, seed: int, fold: int) -> Floats:
    """What the model of one outer fold says: its EVAL queries as they are, all others with a little noise."""
    noise = np.random.default_rng([seed, fold, 1]).standard_normal(len(prob))
    inside = np.clip(prob, 1e-6, 1 - 1e-6)
    moved = logistic(np.log(inside) - np.log1p(-inside) + _FOLD_NOISE * noise)
    return np.where(in_fold, prob, moved)


def tuned_taus(prob: Floats, label: Bools, posts: PostTable, knobs: Knobs) -> tuple[Floats, Floats]:
    """tau_neg and tau_pos of every fold, tuned on its TUNE posts to reach their targets there."""
    taus = np.empty((knobs.folds, 2))
    for fold in range(knobs.folds):
        train = training_posts(posts.fold, fold, seed=knobs.seed)
        tune = np.repeat(~train & (posts.fold != fold), knobs.criteria)
        in_fold = np.repeat(posts.fold == fold, knobs.criteria)
        probabilities = prob_in_fold(prob, in_fold, seed=knobs.seed, fold=fold)
        taus[fold] = _taus(probabilities[tune], label[tune])
    return taus[:, 0], taus[:, 1]


def states(prob: Floats, tau_neg: Floats, tau_pos: Floats) -> Ints:
    """0 = NEG below tau_neg, 2 = POS from tau_pos on, 1 = UNCERTAIN between (erratum 2: inclusive).

    >>> states(np.array([0.1, 0.2, 0.5]), np.full(3, 0.2), np.full(3, 0.5)).tolist()
    [0, 1, 2]
    """
    return (prob >= tau_neg).astype(np.int64) + (prob >= tau_pos)


def candidate_scores(
    is_gold: Bools, length: Ints, prob: Floats, coarse: Bools, knobs: Knobs, *, rng: np.random.Generator
) -> Scores:
    """Scores that put gold sentences higher by a multiple of the noise, and the node probability they imply.

    The scores of coarse queries are rounded to a grid, so that candidates tie. Within a query node_prob never
    falls as the score grows; between queries it follows prob.
    """
    separation = _separation(knobs)
    score = rng.standard_normal(len(is_gold))
    score[is_gold] += separation
    on_grid = np.repeat(coarse, length)
    score[on_grid] = np.round(score[on_grid] / _GRID) * _GRID
    prior = np.clip(1.3 * prob / length, 1e-6, 0.95)
    logit = np.repeat(np.log(prior) - np.log1p(-prior), length)
    logit += separation * (score - separation / 2)
    return Scores(score, logistic(logit))


def stage_scores(score: Floats, is_gold: Bools, knobs: Knobs, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Retriever and reranker scores: less signal than the final score, more noise; the retriever is worse."""
    separation = _separation(knobs)
    stages = []
    for kept, signal in ((0.4, 0.5), (0.8, 0.85)):
        stage = rng.standard_normal(len(score))
        stage *= np.sqrt(1 - kept**2)
        stage += kept * score
        stage[is_gold] += (signal - kept) * separation
        stages.append(stage)
    return stages[0], stages[1]


def rank(score: Floats, node_prob: Floats, offsets: Ints) -> tuple[NDArray[np.int32], Ints]:
    """Order each query's candidates by score, best first, stable; and find the K whose share reaches gamma.

    Queries of the same length form one matrix, so the loop is over lengths, not over queries.
    Returns the positions within the query, query by query, and K before clipping (erratum 10).
    """
    order = np.empty(len(score), dtype=np.int32)
    k = np.empty(len(offsets) - 1, dtype=np.int64)
    lengths = np.diff(offsets)
    by_length = np.argsort(lengths, kind="stable")
    for queries in np.split(by_length, np.flatnonzero(np.diff(lengths[by_length])) + 1):
        cells = offsets[queries][:, None] + np.arange(lengths[queries[0]])
        ranked = np.argsort(-score[cells], axis=1, kind="stable")
        order[cells] = ranked
        share = -np.sort(-node_prob[cells], axis=1)
        share /= share.sum(axis=1, keepdims=True)
        reached = np.cumsum(share, axis=1) >= GAMMA
        k[queries] = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, reached.shape[1])
    return order, k


def selected_count(k: Ints, length: Ints, state: Ints) -> Ints:
    """How many sentences are returned: none where NEG, else K within erratum 9's bounds, fewer if UNCERTAIN.

    >>> selected_count(np.array([9, 9, 9, 9]), np.array([30, 30, 30, 1]), np.array([0, 1, 2, 2])).tolist()
    [0, 5, 9, 1]
    """
    cap = np.where(state == STATES.index("UNCERTAIN"), UNCERTAIN_CAP, HARD_CAP)
    least = np.minimum(K_MIN, length)
    most = np.maximum(np.minimum(cap, np.floor(length * RATIO).astype(np.int64)), least)
    return np.where(state == STATES.index("NEG"), 0, np.clip(k, least, most))


def logistic(x: Floats) -> Floats:
    """1 / (1 + exp(-x)), never quite 0 or 1."""
    bounded = np.clip(x, -30.0, 30.0)
    np.negative(bounded, out=bounded)
    np.exp(bounded, out=bounded)
    bounded += 1.0
    return np.divide(1.0, bounded, out=bounded)


def normal_cdf(x: Floats) -> Floats:
    """Normal distribution function, right to 2e-4 (Page 1977), so that numpy suffices."""
    bounded = np.clip(x, -8.0, 8.0)
    return logistic(1.5976 * bounded + 0.070566 * bounded**3)


def _separation(knobs: Knobs) -> float:
    return _SEPARATION * (1 - knobs.difficulty) / max(knobs.difficulty, 0.02)


def _taus(prob: Floats, label: Bools) -> tuple[float, float]:
    """The largest tau_neg and the smallest tau_pos that reach their targets; else a fixed pair."""
    if not label.any():
        return _UNTUNED
    positive = np.sort(prob[label])
    tau_neg = float(positive[int((1 - _SCREENING_TARGET) * len(positive))])
    order = np.argsort(-prob, kind="stable")
    precision = np.cumsum(label[order]) / np.arange(1, len(order) + 1)
    last_of_tie = np.append(np.diff(prob[order]) < 0, True)
    reached = np.flatnonzero((precision >= _ALERT_TARGET) & last_of_tie)
    tau_pos = float(prob[order[reached[-1]]]) if len(reached) else 1.0
    return tau_neg, max(tau_pos, tau_neg)
