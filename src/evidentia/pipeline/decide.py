"""From scores to decisions: node probabilities, gamma, calibration and taus of a fold, all chosen on its TUNE posts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.pipeline.plan import Division
from evidentia.pipeline.selection import (
    CandidateRanking,
    Policy,
    Selection,
    calibrate_nodes,
    choose_k,
    select,
    tune_gamma,
)
from evidentia.pipeline.stage import View, best
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import AUTO, GATE, Scope, System, Variant
from evidentia.pipeline.work import after, cut_of
from evidentia.protocol.calibrators import Calibrator
from evidentia.protocol.provenance import posts_sha256
from evidentia.protocol.tuning import FoldTuning
from evidentia.tables.queries import NEG, POS


@dataclass(frozen=True, eq=False)
class Scored:
    """What the steps said about all posts of one fold, up to the step that ranks."""

    division: Division
    view: View
    detection: Floats
    cuts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, posts: Posts, division: Division, system: System, store: Checkpoints, variant: Variant) -> Scored:
        """Read the kept scores of a fold, and cut as its steps do."""
        view, cuts = View.of(posts), {}
        for step in system.steps:
            keep = cut_of(step, store, division.fold) if variant.cuts else None
            view = after(view, step.name, store.scores(division.fold, step.name), keep)
            if keep is not None and step.keep == AUTO:
                cuts[step.name] = keep
            if step.name == variant.ranked_by:
                break
        if variant.detects == GATE:
            detection = store.scores(division.fold, GATE)
        else:
            detection = best(view.scores[variant.ranked_by], view.kept, posts.offsets)
        return cls(division, view, detection, cuts)


@dataclass(frozen=True, eq=False)
class Decider:
    """Everything of a fold that was chosen on TUNE."""

    nodes: Calibrator
    tuning: FoldTuning
    selection: Selection
    selects: Scope
    tune_posts: tuple[str, ...]
    cuts: Mapping[str, int] = field(default_factory=dict)

    def states(self, detection: Floats) -> tuple[Floats, Ints]:
        """The calibrated probability and the state of every query; with a single threshold there is no UNCERTAIN."""
        prob = detection if self.tuning.calibrator is None else self.tuning.calibrator.apply(detection)
        above = [np.zeros(len(prob), bool) if tau is None else prob >= tau for tau in self.tuning.taus.values()]
        if len(above) == 1:
            return prob, np.where(above[0], POS, NEG)
        return prob, above[0].astype(np.int64) + above[1]

    def chosen(self, ranking: CandidateRanking, state: Ints) -> Ints:
        """K of every query."""
        if self.selects == "all":
            return choose_k(self.selection.standard, self.selection.limits, ranking)
        return select(self.selection, ranking, state)

    def to_dict(self) -> dict[str, Any]:
        """What was chosen beside the thresholds, and on which posts."""
        return {
            "fold": self.tuning.fold,
            "node_calibrator": {
                "method": self.nodes.method,
                "parameters": {name: list(values) for name, values in self.nodes.parameters.items()},
                "reason": self.nodes.reason,
            },
            "selection": {
                "applies_to": self.selects,
                "standard": self.selection.standard.to_dict(),
                "uncertain": self.selection.uncertain.to_dict(),
            },
            **({"keep": dict(self.cuts)} if self.cuts else {}),
            "tuned_on": {"posts": list(self.tune_posts), "posts_sha256": posts_sha256(self.tune_posts)},
        }


def decider(scored: Scored, gold: Bools, system: System, variant: Variant, tuning: FoldTuning) -> Decider:
    """Choose node probabilities and gamma on the TUNE posts of a fold, under thresholds that were tuned on them as well."""
    posts, tune = scored.view.posts, scored.division.tune
    rows = posts.sentences_of(tune)
    score, kept = scored.view.scores[variant.ranked_by], scored.view.kept
    nodes = calibrate_nodes(score[rows], kept[rows], gold[rows])
    named = tuple(sorted(posts.post_ids[post] for post in tune.tolist()))
    untuned = Decider(nodes, tuning, system.selection, variant.selects, named, scored.cuts)
    if system.mean_k_at_most is None or variant.selects == "nothing":
        return untuned
    ranking = CandidateRanking.of(score[rows], kept[rows], posts.take(tune).offsets, nodes)
    _, state = untuned.states(scored.detection[tune].ravel())
    decided = np.ones(len(state), bool) if variant.selects == "all" else state == POS
    gamma = tune_gamma(system.selection.limits, ranking, decided, mean_k_at_most=system.mean_k_at_most)
    return replace(untuned, selection=replace(system.selection, standard=Policy(gamma=gamma)))
