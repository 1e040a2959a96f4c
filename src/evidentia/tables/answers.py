"""The answers to a questionnaire as a grid: a row per participant, a column per item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.results.questionnaire import AskedItem, Questionnaire


@dataclass(frozen=True, eq=False)
class Answers:
    """Predicted and true scores, participants x items; a prediction is NaN where the predictor abstained."""

    items: tuple[AskedItem, ...]
    pred: Floats
    gt: Floats

    @classmethod
    def of(cls, asked: Questionnaire, pred: Sequence[float] | Floats, gt: Sequence[float] | Floats) -> Answers:
        """The grid of scores that stand participant by participant, item by item."""
        shape = (-1, len(asked.items))
        return cls(asked.items, np.reshape(pred, shape), np.reshape(gt, shape))

    def item(self, at: int) -> Answers:
        """The answers to one item."""
        return Answers(self.items[at : at + 1], self.pred[:, at : at + 1], self.gt[:, at : at + 1])

    @property
    def held(self) -> Bools:
        """Where an item is answered."""
        return ~np.isnan(self.pred)

    @property
    def low(self) -> Floats:
        """The lowest score of every item."""
        return np.array([item.low for item in self.items], np.float64)

    @property
    def high(self) -> Floats:
        """The highest score of every item."""
        return np.array([item.high for item in self.items], np.float64)

    def forward(self, scores: Floats) -> Floats:
        """Scores as they enter a total: those of reversed items turned around."""
        turned = np.array([item.reversed for item in self.items], np.bool_)
        return np.where(turned, self.low + self.high - scores, scores)
