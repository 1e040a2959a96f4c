"""The retriever that adapts: rankings weighed by what they say of gold in TRAIN, and a cut that keeps enough of that of TUNE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError
from evidentia.pipeline.stage import CandidateTable, Lesson, Parts, Stage, Supervised, View, ranks
from evidentia.pipeline.stages.ltr import fit_logistic, predict_logistic
from evidentia.pipeline.stages.retrievers import NOTHING_TO_FUSE, joint_space, scores_of


@dataclass(frozen=True)
class AutoCut:
    """The share of the gold of TUNE that the cut must keep, and between what it lies: below the least hardly anything is saved."""

    share: float = 0.99
    least: int = 24
    most: int = 64

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or not 1 <= self.least <= self.most:
            raise InputError("A cut keeps a share above 0 and at most 1, and 1 candidate or more.")

    def chosen(self, place: Ints) -> dict[str, Any]:
        """The smallest cut that keeps the share, and what it keeps; ``place`` has the rank of every gold sentence, from 0.

        >>> AutoCut(0.5, least=1).chosen(np.array([0, 2, 7, 9]))
        {'keep': 3, 'tune_recall': 0.5, 'tune_gold': 4}
        """
        if not len(place):
            return {"keep": self.most, "tune_recall": None, "tune_gold": 0}
        wanted = np.sort(place)[math.ceil(self.share * len(place)) - 1] + 1
        keep = int(np.clip(wanted, self.least, self.most))
        return {"keep": keep, "tune_recall": float((place < keep).mean()), "tune_gold": len(place)}


@dataclass(frozen=True)
class Adaptive(Supervised):
    """Retrievers weighed by a logistic regression over their scores; one alone counts as it is. The cut is chosen on TUNE."""

    parts: tuple[Stage, ...]
    cut: AutoCut | None = None

    def __post_init__(self) -> None:
        if not self.parts or any(part.learns or part.per != "sentence" for part in self.parts):
            raise InputError(NOTHING_TO_FUSE)

    def space(self, train: View) -> Parts:
        """What every part learns without labels."""
        return joint_space(self.parts, train)

    def inputs(self, space: Parts, view: View) -> CandidateTable:
        """What every part says of every sentence, sentences x criteria x parts."""
        return CandidateTable(np.stack(scores_of(self.parts, space, view), axis=2), view.posts.offsets, view.kept)

    def fit(self, inputs: CandidateTable, lesson: Lesson, *, seed: int) -> Parts:
        """Weights from TRAIN, and the cut from TUNE."""
        model = Parts()
        if len(self.parts) > 1:
            at = inputs.candidates(lesson.posts)
            model = fit_logistic(inputs.features[at], lesson.gold[at])
        if self.cut is None:
            return model
        tune = inputs.take(lesson.tune)
        place = ranks(self.score(Parts(), model, tune), tune.kept, tune.offsets)
        return model.joined(Parts(self.cut.chosen(place[lesson.gold[inputs.rows(lesson.tune)]])))

    def score(self, space: Parts, model: Parts, inputs: CandidateTable) -> Floats:
        """The log odds of every sentence; of one part alone what it says."""
        if len(self.parts) == 1:
            alone: Floats = inputs.features[:, :, 0]
            return alone
        flat = inputs.features.reshape(-1, len(self.parts))
        return predict_logistic(model, flat).reshape(inputs.kept.shape)
