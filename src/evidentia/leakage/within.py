"""AUROC within criteria, with an interval that knows that the queries of a post belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Floats

LEVEL = 0.999


@dataclass(frozen=True)
class WithinCriteria:
    """The share of (positive, negative) pairs of the same criterion in the right order, and its interval."""

    value: float
    low: float
    high: float
    pairs: int

    def holds(self, value: float) -> bool:
        """Whether the interval contains a value."""
        return self.low <= value <= self.high


def auroc_within_criteria(labels: Bools, scores: Floats, *, level: float = LEVEL) -> WithinCriteria | None:
    """Pool the pairs of all criteria; ties count one half. None where no criterion has both classes.

    Base rates of criteria can be learnt without seeing anything of a post, so pairs across criteria say nothing. The
    interval is normal, from the influence of every post on the pooled share (a DeLong interval, clustered by post).

    >>> labels = np.array([[True], [False], [True], [False]])
    >>> auroc_within_criteria(labels, np.array([[0.9], [0.1], [0.8], [0.8]])).value
    0.875
    """
    from scipy.special import ndtri

    wins, pairs = np.zeros(labels.shape), 0
    opponents = np.zeros(labels.shape)
    for column in range(labels.shape[1]):
        truth = labels[:, column]
        wins[:, column] = _wins(truth, scores[:, column])
        opponents[:, column] = np.where(truth, np.count_nonzero(~truth), np.count_nonzero(truth))
        pairs += int(np.count_nonzero(truth) * np.count_nonzero(~truth))
    if pairs == 0:
        return None
    value = float(wins.sum() / 2 / pairs)
    influence = ((wins - value * opponents) / pairs).sum(axis=1)
    n = len(influence)
    half = float(ndtri((1 + level) / 2) * np.sqrt((influence**2).sum() * n / max(n - 1, 1)))
    return WithinCriteria(value, value - half, value + half, pairs)


def _wins(truth: Bools, scores: Floats) -> Floats:
    """For each query of a criterion, how many queries of the other class it is on the right side of; ties one half."""
    from scipy.stats import rankdata  # slow to import, and most commands look at no canary

    everyone = rankdata(scores)
    wins = np.empty(len(truth))
    wins[truth] = everyone[truth] - rankdata(scores[truth])  # negatives below
    wins[~truth] = np.count_nonzero(truth) - (everyone[~truth] - rankdata(scores[~truth]))  # positives above
    return wins
