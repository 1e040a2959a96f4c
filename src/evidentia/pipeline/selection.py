"""Which sentences are returned: how probable each candidate is, how many of them a policy wants, within the limits of K."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.pipeline.graphs import ranked_nodes
from evidentia.protocol.calibrators import Calibrator, fit_calibrator
from evidentia.protocol.dynamic_k import KPolicy, wanted_k
from evidentia.protocol.provenance import Provenance
from evidentia.tables.queries import NEG, POS, Candidates, Frozen

PolicyName = Literal["mass", "threshold", "fixed", "score_gap", "elbow"]
GAMMAS = (*(round(0.30 + 0.05 * step, 2) for step in range(14)), 0.97, 0.99)


@dataclass(frozen=True)
class Policy:
    """How many candidates a query wants, before any limit; each policy reads the one setting that concerns it."""

    name: PolicyName = "mass"
    gamma: float = 0.9
    threshold: float = 0.5
    k: int = 3

    def to_dict(self) -> dict[str, Any]:
        """The form that is written: the policy, and the setting that it reads."""
        read = {"mass": "gamma", "threshold": "threshold", "fixed": "k"}.get(self.name)
        return {"policy": self.name, **({} if read is None else {read: getattr(self, read)})}


@dataclass(frozen=True)
class Selection:
    """A policy for queries that are surely positive, a more careful one for those that are not, and the limits of both."""

    standard: Policy = field(default_factory=Policy)
    uncertain: Policy = field(default_factory=lambda: Policy(gamma=0.5))
    limits: KPolicy = field(default_factory=KPolicy)


@dataclass(frozen=True, eq=False)
class CandidateRanking(Frozen):
    """The candidates of all queries, best first, query by query; post by post, and within one by criterion."""

    offsets: Ints
    sentence: Ints
    criterion: Ints
    score: Floats
    node_prob: Floats

    @classmethod
    def of(cls, score: Floats, kept: Bools, offsets: Ints, nodes: Calibrator) -> CandidateRanking:
        """Rank by score; equal scores keep the order of the post."""
        ends, sentence, criterion = ranked_nodes(score, kept, offsets)
        values = score[sentence, criterion]
        return cls(ends, sentence, criterion, values, nodes.apply(values))

    def candidates(self, gold: Bools | None = None) -> Candidates:
        """In the form that the protocol reads."""
        is_gold = np.zeros(len(self.score), bool) if gold is None else gold[self.sentence, self.criterion]
        return Candidates(self.offsets, self.score, is_gold, self.node_prob)


def calibrate_nodes(score: Floats, kept: Bools, gold: Bools) -> Calibrator:
    """Make probabilities of the candidates' scores, on TUNE. Where that cannot be done the score counts as log odds."""
    labels = gold[kept]
    fitted = None
    if labels.any() and not labels.all():
        fitted = fit_calibrator("platt", score[kept], labels, score="detection_score")
    if fitted is None or fitted.parameters["coefficients"][0] <= 0:  # a ranking that is worse than none
        plain, origin = {"coefficients": (1.0, 0.0)}, Provenance(None, "detection_score")
        return Calibrator("platt", plain, reason="scores are taken as log odds", tuned_on=origin)
    return fitted


def choose_k(policy: Policy, limits: KPolicy, ranking: CandidateRanking) -> Ints:
    """K of every query: what the policy wants, held within the limits of erratum 9."""
    floor, cap = limits.limits(np.diff(ranking.offsets))
    return np.clip(wanted(policy, ranking), floor, cap)


def wanted(policy: Policy, ranking: CandidateRanking) -> Ints:
    """What a policy wants, before any limit.

    ``mass``: the fewest that hold a share gamma of the probability. ``threshold``: those at or above it. ``fixed``: always k.
    ``score_gap``: up to the largest drop of probability from one to the next. ``elbow``: up to the point farthest below the
    line from the first to the last.
    """
    sizes = np.diff(ranking.offsets)
    if policy.name == "mass":
        return wanted_k(ranking.candidates(), policy.gamma)
    if policy.name == "fixed":
        return np.full(len(sizes), policy.k)
    table = _padded(ranking)
    if policy.name == "threshold":
        return np.asarray((table >= policy.threshold).sum(1), np.int64)
    return _largest_gap(table) if policy.name == "score_gap" else _elbow(table, sizes)


def _padded(ranking: CandidateRanking) -> Floats:
    """Probabilities as a rectangle, a row per query; nothing is NaN."""
    sizes = np.diff(ranking.offsets)
    table = np.full((len(sizes), int(sizes.max(initial=0))), np.nan)
    query = np.repeat(np.arange(len(sizes)), sizes)
    table[query, np.arange(len(query)) - ranking.offsets[:-1][query]] = ranking.node_prob
    return table


def _largest_gap(table: Floats) -> Ints:
    if table.shape[1] < 2:
        return np.asarray((~np.isnan(table)).sum(1), np.int64)
    drops = np.nan_to_num(table[:, :-1] - table[:, 1:], nan=-1.0)
    return np.asarray(np.argmax(drops, axis=1) + 1, np.int64)


def _elbow(table: Floats, sizes: Ints) -> Ints:
    if table.shape[1] < 2:
        return np.asarray((~np.isnan(table)).sum(1), np.int64)
    last = np.maximum(sizes - 1, 0)
    first, end = table[:, 0], table[np.arange(len(table)), last]
    line = first[:, None] + (end - first)[:, None] * np.arange(table.shape[1]) / np.maximum(last, 1)[:, None]
    below = np.nan_to_num(line - table, nan=-1.0)
    return np.asarray(np.maximum(np.argmax(below, axis=1), 1), np.int64)


def select(selection: Selection, ranking: CandidateRanking, state: Ints) -> Ints:
    """K of every query under its state: nothing for NEG, the careful policy for UNCERTAIN, the standard one for POS."""
    standard = choose_k(selection.standard, selection.limits, ranking)
    careful = choose_k(selection.uncertain, selection.limits, ranking)
    return np.where(state == NEG, 0, np.where(state == POS, standard, careful))


def tune_gamma(limits: KPolicy, ranking: CandidateRanking, decided: Bools, *, mean_k_at_most: float) -> float:
    """The largest gamma whose mean K stays within the limit, over the queries that it decides; else the smallest.

    Evidence recall only grows with gamma, so this is the gamma of best recall that the workload allows.
    """
    best = GAMMAS[0]
    for gamma in GAMMAS:
        chosen = choose_k(Policy(gamma=gamma), limits, ranking)[decided]
        if len(chosen) and chosen.mean() > mean_k_at_most:
            break
        best = gamma
    return best
