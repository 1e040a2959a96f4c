"""The graph reranker without torch: scores travel along the edges, and a logistic regression weighs what arrives.

This is simple graph convolution (Wu et al. 2019) on scores: powers of the graph take the place of layers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from evidentia.array_types import Bools, Floats
from evidentia.pipeline.graphs import adjacency, likeness
from evidentia.pipeline.stage import CandidateTable, Lesson, Parts, Supervised, View, best, worst
from evidentia.pipeline.stages.ltr import fit_logistic, predict_logistic
from evidentia.pipeline.stages.meaning import Meaning
from evidentia.pipeline.stages.mixing import choose_weight, mixed

ARRIVALS = ("own", "alike", "alike twice", "alike best", "beside", "beside best", "post")


@dataclass(frozen=True)
class Propagation(Supervised):
    """Scores of neighbours, of sentences alike and of theirs; mixed with the input by a weight chosen on TUNE."""

    source: str = "reranker"
    neighbours: int = 3
    meaning: Meaning = field(default_factory=Meaning)

    def space(self, train: View) -> Parts:
        """Where sentences are alike."""
        return self.meaning.learn(train)

    def inputs(self, space: Parts, view: View) -> CandidateTable:
        """What arrives at every candidate, sentences x criteria x arrivals; the first is its own score."""
        alike = likeness(self.meaning.of_sentences(space, view.posts.texts), view.posts.offsets, self.neighbours)
        beside = adjacency(view.posts.offsets)
        own = view.scores[self.source]
        values = np.empty((*own.shape, len(ARRIVALS)))
        once = _mean_of(alike, own, view.kept)
        lowest, highest = (of_query(own, view.kept, view.posts.offsets)[view.posts.owner] for of_query in (worst, best))
        arrived = (
            *(own, once, _mean_of(alike, once, view.kept), _best_of(alike, own, view.kept, lowest)),
            *(_mean_of(beside, own, view.kept), _best_of(beside, own, view.kept, lowest), highest),
        )
        for at, column in enumerate(arrived):
            values[:, :, at] = column
        return CandidateTable(values, view.posts.offsets, view.kept, ARRIVALS)

    def fit(self, inputs: CandidateTable, lesson: Lesson, *, seed: int) -> Parts:
        """Weights of what arrives, and how much the result counts beside the score that came in."""
        at = inputs.candidates(lesson.posts)
        learnt = fit_logistic(inputs.features[at], lesson.gold[at])
        tune = inputs.take(lesson.tune)
        gold = lesson.gold[inputs.rows(lesson.tune)]
        weight = choose_weight(
            tune.features[:, :, 0], _said(learnt, tune), kept=tune.kept, gold=gold, offsets=tune.offsets
        )
        return Parts({**learnt.document, "arrivals": list(ARRIVALS), **weight.to_dict()}, learnt.arrays)

    def score(self, space: Parts, model: Parts, inputs: CandidateTable) -> Floats:
        """The mixture."""
        return mixed(inputs.features[:, :, 0], _said(model, inputs), model.document["weight"])


def _said(model: Parts, inputs: CandidateTable) -> Floats:
    shape = inputs.kept.shape
    return predict_logistic(model, inputs.features.reshape(-1, len(ARRIVALS))).reshape(shape)


def _mean_of(graph: sparse.csr_matrix, score: Floats, kept: Bools) -> Floats:
    """The weighted mean over the neighbours that are candidates; its own score where there is none."""
    total = graph @ kept.astype(np.float64)
    arrived = graph @ np.where(kept, score, 0.0)
    mean: Floats = np.where(total > 0, arrived / np.where(total > 0, total, 1.0), score)
    return mean


def _best_of(graph: sparse.csr_matrix, score: Floats, kept: Bools, lowest: Floats) -> Floats:
    """The best score among the neighbours that are candidates; the lowest of the query where there is none."""
    sent = np.where(kept, score, lowest)
    has = np.diff(graph.indptr) > 0
    highest = lowest.copy()
    if has.any():
        highest[has] = np.maximum.reduceat(sent[graph.indices], graph.indptr[:-1][has], axis=0)
    return highest
