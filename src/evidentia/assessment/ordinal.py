"""Ordinal regression: one direction through the features, and cuts between the scores (proportional odds, ridge)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Floats, Ints

SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class OrdinalModel:
    """P(score <= k) = logistic(cuts[k] - features @ weights), for scores counted from 0."""

    cuts: Floats
    weights: Floats

    def probabilities(self, features: Floats) -> Floats:
        """The probability of every score (rows x scores)."""
        from scipy.special import expit

        below = expit(self.cuts - (features @ self.weights)[:, None])
        ends = np.zeros((len(features), 1)), np.ones((len(features), 1))
        return np.diff(np.hstack([ends[0], below, ends[1]]), axis=1)


def fit_ordinal(features: Floats, scores: Ints, count: int, ridge: float) -> OrdinalModel:
    """Fit cuts and weights to scores from 0 to ``count`` - 1 by penalised maximum likelihood.

    The first cut and the logarithms of the steps between cuts are free, so that the cuts always rise.

    >>> model = fit_ordinal(np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1]), 2, 1.0)
    >>> bool(model.probabilities(np.array([[1.0]]))[0, 1] > 0.5)
    True
    """
    from scipy.optimize import minimize

    steps = count - 2

    def objective(values: Floats) -> tuple[float, Floats]:
        return _loss(values, features, scores, count, ridge)

    start = np.concatenate([_starting_cuts(scores, count), np.zeros(features.shape[1])])
    best = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    cuts = np.concatenate([best.x[:1], best.x[0] + np.cumsum(np.exp(best.x[1 : steps + 1]))])
    return OrdinalModel(cuts, best.x[steps + 1 :])


def _starting_cuts(scores: Ints, count: int) -> Floats:
    """Cuts that give the scores their own frequencies, half a row added to each."""
    frequencies = (np.bincount(scores, minlength=count) + 0.5) / (len(scores) + 0.5 * count)
    below = np.cumsum(frequencies)[:-1]
    cuts = np.log(below / (1 - below))
    return np.concatenate([cuts[:1], np.log(np.diff(cuts))])


def _loss(values: Floats, features: Floats, scores: Ints, count: int, ridge: float) -> tuple[float, Floats]:
    """Negative log likelihood with its penalty, and its gradient."""
    from scipy.special import expit

    steps = np.exp(values[1 : count - 1])
    weights = values[count - 1 :]
    cuts = np.concatenate([values[:1], values[0] + np.cumsum(steps)])
    line = features @ weights
    upper = expit(np.append(cuts, np.inf)[scores] - line)
    lower = expit(np.insert(cuts, 0, -np.inf)[scores] - line)
    likelihood = np.maximum(upper - lower, SMALLEST)
    by_upper, by_lower = upper * (1 - upper) / likelihood, lower * (1 - lower) / likelihood
    of_cuts = np.bincount(scores, -by_upper, count)[:-1] + np.bincount(scores, by_lower, count)[1:]
    behind = np.cumsum(of_cuts[::-1])[::-1]  # a step moves every cut behind it
    of_weights = features.T @ (by_upper - by_lower) + ridge * weights
    gradient = np.concatenate([behind[:1], behind[1:] * steps, of_weights])
    return float(-np.log(likelihood).sum() + 0.5 * ridge * weights @ weights), gradient


def median_scores(probabilities: Floats) -> Ints:
    """The median of every row's distribution, which has the least expected absolute error."""
    medians: Ints = (np.cumsum(probabilities, axis=1) < 0.5 - 1e-12).sum(axis=1)
    return medians


def expected_loss(probabilities: Floats, scores: Ints) -> Floats:
    """The expected absolute error of a score under every row's distribution."""
    distance = np.abs(np.arange(probabilities.shape[1])[None, :] - scores[:, None])
    loss: Floats = (probabilities * distance).sum(axis=1)
    return loss
