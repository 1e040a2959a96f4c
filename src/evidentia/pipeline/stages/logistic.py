"""Logistic regressions for many questions about the same rows, solved together.

Truncated Newton (Lin, Weng and Keerthi, JMLR 9, 2008): conjugate gradients find each step, and one product of the features with a
block of vectors serves all questions at once. A question that is solved is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from evidentia.array_types import Bools, Floats, Ints
from evidentia.workers import side_by_side

_TOGETHER = 48  # questions: the memory of a processor holds no more
_STEPS = 100  # of Newton; ten are usual
_PRODUCTS = 500  # of conjugate gradients within a step
_RESIDUE = 0.1  # of the gradient, at which they stop
_HALVINGS = 40
_SUFFICIENT = 1e-4  # share of the decrease that the slope promises, which a step must bring
_ROUNDING = 1e-14  # of the objective
_CLOSE = 1e-5  # promised decrease, as a share of the objective: what is left after that step is smaller by far


def solve(
    features: Any, labels: Bools, strength: float, heard: Bools | None = None, threads: int = 1
) -> tuple[Floats, Floats]:
    """Weights (a column per question) and biases: least half their squares plus ``strength`` times the log loss.

    ``heard`` marks the rows that count for each question, all unless it is given. The bias is penalised like any weight, as
    liblinear does. The solution is exact to about 1e-7 of the objective, and the same bytes on any machine that multiplies
    in the same order: nothing is drawn, and nothing depends on threads, nor, with sparse features, on rows that do not count
    and on other questions.
    """
    design = _Design.of(features)
    heard = np.ones_like(labels) if heard is None else heard
    size = min(_TOGETHER, -(-labels.shape[1] // threads))
    blocks = [slice(start, start + size) for start in range(0, labels.shape[1], size)]
    tasks = [partial(_solved, design, labels[:, block], heard[:, block], strength) for block in blocks]
    solution = np.concatenate(side_by_side(tasks, threads), axis=1)
    return solution[:-1], solution[-1]


def _solved(design: _Design, labels: Bools, heard: Bools, strength: float) -> Floats:
    """The weights of some questions, and behind them the biases."""
    solution = np.zeros((design.forward.shape[1], labels.shape[1]))
    state = _State.start(design, labels, heard, strength)
    for _ in range(_STEPS):
        state, solved = state.stepped(design)
        solution[:, state.question] = state.weights
        state = state.only(~solved)
        if not len(state.question):
            break
    return solution


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
    strength: Floats  # of every row: 0 where it does not count
    loss: Floats

    @classmethod
    def start(cls, design: _Design, labels: Bools, heard: Bools, strength: float) -> _State:
        """No weights yet, and the bias at the log odds of the labels."""
        share = ((labels & heard).sum(0) + 0.5) / (heard.sum(0) + 1)
        weights = np.zeros((design.forward.shape[1], labels.shape[1]))
        weights[-1] = np.log(share / (1 - share))
        odds, wanted = np.tile(weights[-1], (len(labels), 1)), labels.astype(np.float64)
        strengths = np.where(heard, float(strength), 0.0)
        loss = _objective(weights, odds, wanted, strengths)
        return cls(np.arange(labels.shape[1]), weights, odds, wanted, strengths, loss)

    def only(self, those: Bools) -> Self:
        """The same about some of the questions."""
        if those.all():
            return self
        columns = {name: getattr(self, name)[:, those] for name in ("weights", "odds", "labels", "strength")}
        return replace(self, question=self.question[those], loss=self.loss[those], **columns)

    def stepped(self, design: _Design) -> tuple[Self, Bools]:
        """After one step of Newton, and which questions are solved: a whole step promised little, or none lowers the loss."""
        chance = 1 / (1 + np.exp(-np.clip(self.odds, -500, 500)))
        slope = self.weights + design.turned @ (self.strength * (chance - self.labels))
        curvature = self.strength * chance * (1 - chance)
        step = _newton_step(design, slope, curvature)
        promised = -_sums(slope * step)
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


def _objective(weights: Floats, odds: Floats, labels: Floats, strength: Floats) -> Floats:
    loss: Floats = _sums(weights**2) / 2 + _sums(strength * (np.logaddexp(0, odds) - labels * odds))
    return loss


def _sums(block: Any) -> Any:
    """The sum of every column, row after row. numpy would add those of a single column in another order."""
    return block.sum(0) if block.shape[1] > 1 else np.cumsum(block, axis=0)[-1]


def _newton_step(design: _Design, slope: Floats, curvature: Floats) -> Floats:
    """The step at whose end the slope would be a tenth, by conjugate gradients in single precision."""
    steps = np.zeros(slope.shape, np.float32)
    left, bent = -slope.astype(np.float32), curvature.astype(np.float32)
    rest, towards, step = left, left.copy(), np.zeros_like(left)
    size = _sums(rest**2)
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
        length = size / _sums(towards * image)
        step += length * towards
        rest = rest - length * image
        before, size = size, _sums(rest**2)
        towards = rest + size / before * towards
    steps[:, column] = step
    return steps.astype(np.float64)
