"""Logistic regressions for many questions about the same rows, solved together.

Truncated Newton (Lin, Weng and Keerthi, JMLR 9, 2008): conjugate gradients find each step, and one product of the features with a
block of vectors serves all questions at once. A question that is solved is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from evidentia.array_types import Bools, Floats, Ints

_STEPS = 100  # of Newton; ten are usual
_PRODUCTS = 500  # of conjugate gradients within a step
_RESIDUE = 0.1  # of the gradient, at which they stop
_HALVINGS = 40
_SUFFICIENT = 1e-4  # share of the decrease that the slope promises, which a step must bring
_ROUNDING = 1e-14  # of the objective
_CLOSE = 1e-5  # promised decrease, as a share of the objective: what is left after that step is smaller by far


def solve(features: Any, labels: Bools, strength: float) -> tuple[Floats, Floats]:
    """Weights (a column per question) and biases: least half their squares plus ``strength`` times the log loss.

    The bias is penalised like any weight, as liblinear does. The solution is exact to about 1e-7 of the objective, and the
    same bytes on any machine that multiplies in the same order: nothing is drawn and nothing depends on threads.
    """
    design = _Design.of(features)
    solution = np.zeros((design.forward.shape[1], labels.shape[1]))
    state = _State.start(design, labels, strength)
    for _ in range(_STEPS):
        state, solved = state.stepped(design)
        solution[:, state.question] = state.weights
        state = state.only(~solved)
        if not len(state.question):
            break
    return solution[:-1], solution[-1]


@dataclass(frozen=True, eq=False)
class _Design:
    """The features with a column of ones, as they are multiplied: forward, and turned; in single precision for curvatures."""

    forward: Any
    turned: Any
    rough: Any
    rough_turned: Any

    @classmethod
    def of(cls, features: Any) -> _Design:
        ones = np.ones((features.shape[0], 1))
        if sparse.issparse(features):
            forward = sparse.csr_matrix(sparse.hstack([features, ones]), dtype=np.float64)
            turned = forward.T.tocsr()
        else:
            forward = np.hstack([np.asarray(features, np.float64), ones])
            turned = np.ascontiguousarray(forward.T)
        return cls(forward, turned, forward.astype(np.float32), turned.astype(np.float32))


@dataclass(frozen=True, eq=False)
class _State:
    """The questions that are not solved yet: their weights, the odds of every row, and the objective."""

    question: Ints
    weights: Floats
    odds: Floats
    labels: Floats
    loss: Floats
    strength: float

    @classmethod
    def start(cls, design: _Design, labels: Bools, strength: float) -> _State:
        """No weights yet, and the bias at the log odds of the labels."""
        share = (labels.sum(0) + 0.5) / (len(labels) + 1)
        weights = np.zeros((design.forward.shape[1], labels.shape[1]))
        weights[-1] = np.log(share / (1 - share))
        odds, wanted = np.tile(weights[-1], (len(labels), 1)), labels.astype(np.float64)
        loss = _objective(weights, odds, wanted, strength)
        return cls(np.arange(labels.shape[1]), weights, odds, wanted, loss, strength)

    def only(self, those: Bools) -> Self:
        """The same about some of the questions."""
        if those.all():
            return self
        columns = {name: getattr(self, name)[:, those] for name in ("weights", "odds", "labels")}
        return replace(self, question=self.question[those], loss=self.loss[those], **columns)

    def stepped(self, design: _Design) -> tuple[Self, Bools]:
        """After one step of Newton, and which questions are solved: a whole step promised little, or none lowers the loss."""
        chance = 1 / (1 + np.exp(-np.clip(self.odds, -500, 500)))
        slope = self.weights + self.strength * (design.turned @ (chance - self.labels))
        curvature = self.strength * chance * (1 - chance)
        step = _newton_step(design, slope, curvature)
        promised = -(slope * step).sum(0)
        moved = design.forward @ step
        length, loss = self._length(step, moved, promised)
        ahead = replace(self, weights=self.weights + length * step, odds=self.odds + length * moved, loss=loss)
        return ahead, ((length == 1) & (promised / 2 <= _CLOSE * loss)) | (length == 0)

    def _length(self, step: Floats, moved: Floats, promised: Floats) -> tuple[Floats, Floats]:
        """How far to go: halved until the objective falls; where it cannot, no step at all."""
        length = np.ones(len(promised))
        for _ in range(_HALVINGS):
            loss = _objective(self.weights + length * step, self.odds + length * moved, self.labels, self.strength)
            short = loss > self.loss * (1 + _ROUNDING) - _SUFFICIENT * length * promised
            if not short.any():
                return length, loss
            length[short] /= 2
        length[short], loss[short] = 0.0, self.loss[short]
        return length, loss


def _objective(weights: Floats, odds: Floats, labels: Floats, strength: float) -> Floats:
    loss: Floats = (weights**2).sum(0) / 2 + strength * (np.logaddexp(0, odds) - labels * odds).sum(0)
    return loss


def _newton_step(design: _Design, slope: Floats, curvature: Floats) -> Floats:
    """The step at whose end the slope would be a tenth, by conjugate gradients in single precision."""
    steps = np.zeros(slope.shape, np.float32)
    left, bent = -slope.astype(np.float32), curvature.astype(np.float32)
    rest, towards, step = left, left.copy(), np.zeros_like(left)
    size = (rest**2).sum(0)
    goal, column = _RESIDUE**2 * size, np.arange(slope.shape[1])
    for _ in range(_PRODUCTS):
        going = size > goal
        if not going.all():
            steps[:, column] = step
            column, size, goal = column[going], size[going], goal[going]
            rest, towards, step, bent = (block[:, going] for block in (rest, towards, step, bent))
        if not len(column):
            break
        image = design.rough_turned @ (bent * (design.rough @ towards)) + towards
        length = size / (towards * image).sum(0)
        step += length * towards
        rest = rest - length * image
        before, size = size, (rest**2).sum(0)
        towards = rest + size / before * towards
    steps[:, column] = step
    return steps.astype(np.float64)
