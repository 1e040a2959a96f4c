"""A synthetic run as flat arrays: what benchmarks read, and what the frames are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.synth.knobs import Knobs, checked_knobs
from evidentia.synth.system import (
    candidate_scores,
    detection_prob,
    rank,
    selected_count,
    stage_scores,
    states,
    tuned_taus,
)
from evidentia.synth.truth import Posts, draw_evidence, draw_gold, draw_posts


@dataclass(frozen=True, eq=False)
class SyntheticArrays:
    """A run as arrays. Queries go post by post, criteria within; candidates query by query, sentences within.

    The candidates of query q are ``offsets[q]:offsets[q + 1]``. ``post`` codes posts in the order of their
    sorted ids; ``state`` is 0 NEG, 1 UNCERTAIN, 2 POS; the taus are one per fold.
    """

    knobs: Knobs
    posts: Posts
    offsets: Ints
    post: Ints
    criterion: Ints
    fold: Ints
    label: Bools
    prob: Floats
    tau_neg: Floats
    tau_pos: Floats
    state: Ints
    k: Ints  # smallest K with a cumulative share of node_prob >= gamma, before state and bounds
    n_selected: Ints
    n_gold: Ints
    score: Floats
    is_gold: Bools
    node_prob: Floats
    order: NDArray[np.int32]  # sentence positions within the query, best first
    retriever_score: Floats | None = None
    reranker_score: Floats | None = None

    @property
    def length(self) -> Ints:
        """How many candidates each query has."""
        return np.diff(self.offsets)


def synthetic_arrays(
    *,
    seed: int,
    posts: int = 1477,
    criteria: int = 10,
    positives: int | None = 1379,
    mean_candidates: float = 20,
    folds: int = 5,
    difficulty: float = 0.5,
    ties: float = 0.1,
    stages: bool = True,
) -> SyntheticArrays:
    """Draw a run: every post asked about every criterion, exactly ``positives`` queries with evidence.

    ``positives=None`` takes about 9.34 % of the queries. ``difficulty`` runs from 0 (a perfect system) to 1
    (a guessing one); the truth does not depend on it. ``ties`` is the share of queries whose probability and
    scores are rounded, so that they tie. ``stages=False`` leaves out retriever and reranker scores.
    Without any ties probabilities still meet at their ends, 0.001 and 0.999.
    With fewer posts than folds all posts are in the last fold.

    >>> run = synthetic_arrays(seed=7, posts=50, positives=40)
    >>> len(run.label), int(run.label.sum())
    (500, 40)
    """
    knobs = checked_knobs(
        seed=seed,
        posts=posts,
        criteria=criteria,
        positives=positives,
        mean_candidates=mean_candidates,
        folds=folds,
        difficulty=difficulty,
        ties=ties,
    )
    # One stream per subject: a knob of one part leaves the others as they were.
    of_posts, of_labels, of_gold, of_ties, of_prob, of_scores, of_stages = np.random.default_rng(seed).spawn(7)
    corpus = draw_posts(knobs, rng=of_posts)
    evidence = draw_evidence(corpus, knobs, rng=of_labels)
    post = np.repeat(np.arange(posts), criteria)
    length = corpus.length[post]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(length)])
    is_gold = draw_gold(corpus, evidence.label, offsets, rng=of_gold)
    coarse = of_ties.random(knobs.queries) < ties
    prob = detection_prob(evidence, knobs, coarse, rng=of_prob)
    tau_neg, tau_pos = tuned_taus(prob, evidence.label, corpus, knobs)
    fold = corpus.fold[post]
    state = states(prob, tau_neg[fold], tau_pos[fold])
    scores = candidate_scores(is_gold, length, prob, coarse, knobs, rng=of_scores)
    order, k = rank(scores.score, scores.node_prob, offsets)
    staged = stage_scores(scores.score, is_gold, knobs, rng=of_stages) if stages else (None, None)
    return SyntheticArrays(
        knobs=knobs,
        posts=corpus,
        offsets=offsets,
        post=post,
        criterion=np.tile(np.arange(criteria), posts),
        fold=fold,
        label=evidence.label,
        prob=prob,
        tau_neg=tau_neg,
        tau_pos=tau_pos,
        state=state,
        k=k,
        n_selected=selected_count(k, length, state),
        n_gold=np.add.reduceat(is_gold, offsets[:-1], dtype=np.int64),
        score=scores.score,
        is_gold=is_gold,
        node_prob=scores.node_prob,
        order=order,
        retriever_score=staged[0],
        reranker_score=staged[1],
    )
