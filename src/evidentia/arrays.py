"""Measures on plain arrays, for people who only want one number and have no run.

Rankings are given flat: ``scores`` and ``is_gold`` of all candidates, and ``offsets`` such that the candidates of query i are
``[offsets[i]:offsets[i + 1]]``. Equal scores keep the input order. Every function returns one value per query; average them over
the population that you mean.

>>> import numpy as np
>>> scores, is_gold = np.array([0.9, 0.8, 0.1]), np.array([False, True, False])
>>> float(ndcg(scores, is_gold, np.array([0, 3]), k=10)[0].round(4))
0.6309
>>> auroc(np.array([1, 1, 0, 0, 1]), np.array([0.9, 0.7, 0.4, 0.2, 0.8]))
1.0
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError
from evidentia.measures import calibration, detection, kernels
from evidentia.results.measure import Args
from evidentia.stats.exact import add_up
from evidentia.stats.sweeps import Counts, best_within_budget, sweep_counts
from evidentia.tables.queries import Ragged

Norm = Literal["gold", "found", "min", "min_eff"]
__all__ = [
    "auprc",
    "auroc",
    "average_precision",
    "brier",
    "ece",
    "gold_ranks",
    "hit_rate",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
    "tpr_at_fpr",
]
_NONE = Args({})


def gold_ranks(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike) -> tuple[Ragged, Ints, Ints]:
    """Where the gold candidates stand (1-based, ascending), how many there are, and how many candidates, per query."""
    values, gold, ends = np.asarray(scores, np.float64), _binary(is_gold, "is_gold"), np.asarray(offsets, np.int64)
    if values.ndim != 1 or values.shape != gold.shape:
        raise InputError(f"scores and is_gold must be flat and of one length, not {values.shape} and {gold.shape}.")
    if ends.ndim != 1 or len(ends) == 0 or ends[0] != 0 or ends[-1] != len(values) or np.any(np.diff(ends) < 0):
        raise InputError("offsets must rise from 0 to the number of candidates.")
    if np.isnan(values).any():
        raise InputError(
            f"{int(np.isnan(values).sum()):,} scores are NaN. A candidate without a score cannot be ranked."
        )
    ranks = kernels.gold_ranks(values, gold, ends)
    return ranks, ranks.lengths, np.diff(ends)


def ndcg(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = 10) -> Floats:
    """Normalised discounted cumulative gain of every query; 0 without gold."""
    ranks, n_gold, _ = gold_ranks(scores, is_gold, offsets)
    return kernels.ndcg(ranks, n_gold, _depth(k))


def recall(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = 10) -> Floats:
    """Share of the gold candidates in the top k of every query; 0 without gold."""
    ranks, n_gold, _ = gold_ranks(scores, is_gold, offsets)
    return kernels.recall(ranks, n_gold, _depth(k))


def precision(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int = 10) -> Floats:
    """Share of gold in the top k of every query, divided by k also where the ranking is shorter."""
    ranks, _, _ = gold_ranks(scores, is_gold, offsets)
    depth = _depth(k)
    if depth is None:
        raise InputError("Precision divides by k, so k must be a whole number above 0.")
    return kernels.precision(ranks, depth)


def hit_rate(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = 10) -> Floats:
    """Whether the top k of every query holds a gold candidate, as 0 or 1."""
    ranks, _, _ = gold_ranks(scores, is_gold, offsets)
    return (kernels.hits(ranks, _depth(k)) > 0).astype(np.float64)


def reciprocal_rank(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = None) -> Floats:
    """One over the rank of the first gold candidate of every query; 0 if there is none (in the top k)."""
    ranks, _, _ = gold_ranks(scores, is_gold, offsets)
    return kernels.reciprocal_rank(ranks, _depth(k))


def average_precision(
    scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = 10, norm: Norm = "gold"
) -> Floats:
    """Average precision of every query; ``norm`` says what the sum of precisions is divided by."""
    ranks, n_gold, n_ranked = gold_ranks(scores, is_gold, offsets)
    if norm not in {"gold", "found", "min", "min_eff"}:
        raise InputError("norm must be gold, found, min or min_eff.")
    return kernels.average_precision(ranks, n_gold, n_ranked, _depth(k), norm)


def auroc(labels: ArrayLike, scores: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """Area under the ROC curve, ties one half; 0.5 with one class."""
    counts = _swept(labels, scores, weights)
    return float(detection.auroc(counts, _NONE).values)


def auprc(labels: ArrayLike, scores: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """Average precision over tie groups; the class prior with one class."""
    counts = _swept(labels, scores, weights)
    return float(detection.auprc(counts, _NONE).values)


def tpr_at_fpr(labels: ArrayLike, scores: ArrayLike, *, budget: float) -> tuple[float, float | None]:
    """The best true positive rate with a false positive rate within budget, and its threshold (None: reject all).

    With one class there is nothing to trade: the rate is 0 and the threshold None.
    """
    if not 0 <= budget <= 1:
        raise InputError("budget must lie in [0, 1].")
    counts = _swept(labels, scores, None)
    if not counts.tp[-1] or not counts.fp[-1]:
        return 0.0, None
    at = best_within_budget(counts.tp, counts.fp, budget)
    return float(counts.tp[at] / counts.tp[-1]), float(
        counts.scores[at - 1]
    ) if at and counts.scores is not None else None


def brier(labels: ArrayLike, prob: ArrayLike) -> float:
    """Mean squared difference between probability and label; 0 for no labels at all."""
    truth, values = _probable(labels, prob)
    return float(np.mean((values - truth) ** 2)) if len(values) else 0.0


def ece(labels: ArrayLike, prob: ArrayLike, *, bins: int = 10) -> float:
    """Expected calibration error over equal-width bins, the last one closed; 0 for no labels at all."""
    if not _is_whole(bins):
        raise InputError("bins must be a whole number above 0.")
    truth, values = _probable(labels, prob)
    at = calibration.bin_of(values, bins)
    gaps = np.abs(add_up(at, values, bins) - add_up(at, truth, bins)).sum()
    return float(gaps / len(values)) if len(values) else 0.0


def _swept(labels: ArrayLike, scores: ArrayLike, weights: ArrayLike | None) -> Counts:
    truth, values = _labelled(labels, scores)
    times = None if weights is None else np.asarray(weights, np.float64)
    if times is not None and (times.shape != values.shape or not np.all((times >= 0) & np.isfinite(times))):
        raise InputError("weights must be one finite number, not negative, for every label.")
    return sweep_counts(values, truth, times, None, 1)[0]


def _depth(k: int | None) -> int | None:
    if k is not None and not _is_whole(k):
        raise InputError("k must be a whole number above 0, or None for the whole ranking.")
    return k


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) > 0


def _binary(values: ArrayLike, name: str) -> Bools:
    """Labels as truth values; other numbers, missing ones and texts are refused rather than taken for true."""
    truth = np.asarray(values)
    if truth.dtype.kind not in "biuf" or not np.isin(truth, (0, 1)).all():
        raise InputError(f"{name} must be 0 or 1.")
    return truth.astype(bool)


def _probable(labels: ArrayLike, prob: ArrayLike) -> tuple[Bools, Floats]:
    truth, values = _labelled(labels, prob)
    if len(values) and not (values.min() >= 0 and values.max() <= 1):
        raise InputError("Probabilities must lie in [0, 1].")
    return truth, values


def _labelled(labels: ArrayLike, scores: ArrayLike) -> tuple[Bools, Floats]:
    truth, values = _binary(labels, "labels"), np.asarray(scores, np.float64)
    if truth.ndim != 1 or truth.shape != values.shape:
        raise InputError(f"labels and scores must be flat and of one length, not {truth.shape} and {values.shape}.")
    if np.isnan(values).any():
        raise InputError(f"{int(np.isnan(values).sum()):,} scores are NaN.")
    return truth, values
