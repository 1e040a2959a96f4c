"""Measures on plain arrays, for one number without a run.

Rankings are flat: ``scores`` and ``is_gold`` of all candidates, and ``offsets`` such that the candidates of query i are
``[offsets[i]:offsets[i + 1]]``. Ranking functions return one value per query; average them over the population that you mean.

Examples
--------
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
    """Ranks of the gold candidates of every query.

    Parameters
    ----------
    scores : array-like of float, shape (n_candidates,)
        Score of each candidate; higher is better. Equal scores keep the input order.
    is_gold : array-like of {0, 1}, shape (n_candidates,)
        Whether each candidate is gold.
    offsets : array-like of int, shape (n_queries + 1,)
        The candidates of query i are ``[offsets[i]:offsets[i + 1]]``.

    Returns
    -------
    ranks : Ragged
        1-based ranks, ascending: those of query i are ``ranks.values[ranks.offsets[i]:ranks.offsets[i + 1]]``.
    n_gold : ndarray of int, shape (n_queries,)
        Number of gold candidates of each query.
    n_ranked : ndarray of int, shape (n_queries,)
        Number of candidates of each query.

    Raises
    ------
    InputError
        If shapes or offsets do not fit, a score is NaN, or a label is not 0 or 1.

    Notes
    -----
    A query without gold has an empty list of ranks.

    Examples
    --------
    >>> ranks, n_gold, n_ranked = gold_ranks([0.1, 0.9, 0.5], [1, 0, 1], [0, 2, 3])
    >>> ranks.values.tolist(), n_gold.tolist(), n_ranked.tolist()
    ([2, 1], [1, 1], [2, 1])
    """
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
    """Normalised discounted cumulative gain of every query.

    Parameters
    ----------
    scores : array-like of float, shape (n_candidates,)
        Score of each candidate; higher is better. Equal scores keep the input order.
    is_gold : array-like of {0, 1}, shape (n_candidates,)
        Whether each candidate is gold.
    offsets : array-like of int, shape (n_queries + 1,)
        The candidates of query i are ``[offsets[i]:offsets[i + 1]]``.
    k : int or None, default=10
        Depth of the cut; None takes the whole ranking.

    Returns
    -------
    ndarray of float, shape (n_queries,)
        nDCG in [0, 1].

    Raises
    ------
    InputError
        If shapes or offsets do not fit, a score is NaN, a label is not 0 or 1, or ``k`` is out of range.

    Notes
    -----
    A query without gold scores 0. The ideal ranking has min(gold, k) gold candidates on top; the gain at rank r is 1 / log2(r + 1).

    Examples
    --------
    >>> ndcg([0.9, 0.8, 0.1], [0, 1, 1], [0, 3], k=2).round(4)
    array([0.3869])
    """
    ranks, n_gold, _ = gold_ranks(scores, is_gold, offsets)
    return kernels.ndcg(ranks, n_gold, _depth(k))


def recall(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = 10) -> Floats:
    """Share of the gold candidates in the top k of every query.

    Parameters
    ----------
    scores : array-like of float, shape (n_candidates,)
        Score of each candidate; higher is better. Equal scores keep the input order.
    is_gold : array-like of {0, 1}, shape (n_candidates,)
        Whether each candidate is gold.
    offsets : array-like of int, shape (n_queries + 1,)
        The candidates of query i are ``[offsets[i]:offsets[i + 1]]``.
    k : int or None, default=10
        Depth of the cut; None takes the whole ranking.

    Returns
    -------
    ndarray of float, shape (n_queries,)
        Recall in [0, 1].

    Raises
    ------
    InputError
        If shapes or offsets do not fit, a score is NaN, a label is not 0 or 1, or ``k`` is out of range.

    Notes
    -----
    A query without gold scores 0.

    Examples
    --------
    >>> recall([0.9, 0.8, 0.1], [0, 1, 1], [0, 3], k=2)
    array([0.5])
    """
    ranks, n_gold, _ = gold_ranks(scores, is_gold, offsets)
    return kernels.recall(ranks, n_gold, _depth(k))


def precision(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int = 10) -> Floats:
    """Share of gold among the top k of every query.

    Parameters
    ----------
    scores : array-like of float, shape (n_candidates,)
        Score of each candidate; higher is better. Equal scores keep the input order.
    is_gold : array-like of {0, 1}, shape (n_candidates,)
        Whether each candidate is gold.
    offsets : array-like of int, shape (n_queries + 1,)
        The candidates of query i are ``[offsets[i]:offsets[i + 1]]``.
    k : int, default=10
        Depth of the cut.

    Returns
    -------
    ndarray of float, shape (n_queries,)
        Precision in [0, 1].

    Raises
    ------
    InputError
        If shapes or offsets do not fit, a score is NaN, a label is not 0 or 1, or ``k`` is out of range.

    Notes
    -----
    The divisor is k also where the ranking is shorter.

    Examples
    --------
    >>> precision([0.9, 0.8, 0.1], [0, 1, 1], [0, 3], k=2)
    array([0.5])
    """
    ranks, _, _ = gold_ranks(scores, is_gold, offsets)
    depth = _depth(k)
    if depth is None:
        raise InputError("Precision divides by k, so k must be a whole number above 0.")
    return kernels.precision(ranks, depth)


def hit_rate(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = 10) -> Floats:
    """Whether the top k of every query holds a gold candidate.

    Parameters
    ----------
    scores : array-like of float, shape (n_candidates,)
        Score of each candidate; higher is better. Equal scores keep the input order.
    is_gold : array-like of {0, 1}, shape (n_candidates,)
        Whether each candidate is gold.
    offsets : array-like of int, shape (n_queries + 1,)
        The candidates of query i are ``[offsets[i]:offsets[i + 1]]``.
    k : int or None, default=10
        Depth of the cut; None takes the whole ranking.

    Returns
    -------
    ndarray of float, shape (n_queries,)
        1 where it does, else 0.

    Raises
    ------
    InputError
        If shapes or offsets do not fit, a score is NaN, a label is not 0 or 1, or ``k`` is out of range.

    Notes
    -----
    A query without gold scores 0.

    Examples
    --------
    >>> hit_rate([0.9, 0.8, 0.1], [0, 1, 1], [0, 3], k=1)
    array([0.])
    """
    ranks, _, _ = gold_ranks(scores, is_gold, offsets)
    return (kernels.hits(ranks, _depth(k)) > 0).astype(np.float64)


def reciprocal_rank(scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = None) -> Floats:
    """One over the rank of the first gold candidate of every query.

    Parameters
    ----------
    scores : array-like of float, shape (n_candidates,)
        Score of each candidate; higher is better. Equal scores keep the input order.
    is_gold : array-like of {0, 1}, shape (n_candidates,)
        Whether each candidate is gold.
    offsets : array-like of int, shape (n_queries + 1,)
        The candidates of query i are ``[offsets[i]:offsets[i + 1]]``.
    k : int or None, default=None
        Depth of the cut; None takes the whole ranking.

    Returns
    -------
    ndarray of float, shape (n_queries,)
        Reciprocal rank in [0, 1].

    Raises
    ------
    InputError
        If shapes or offsets do not fit, a score is NaN, a label is not 0 or 1, or ``k`` is out of range.

    Notes
    -----
    A query without gold in the top k scores 0.

    Examples
    --------
    >>> reciprocal_rank([0.9, 0.8, 0.1], [0, 1, 1], [0, 3])
    array([0.5])
    """
    ranks, _, _ = gold_ranks(scores, is_gold, offsets)
    return kernels.reciprocal_rank(ranks, _depth(k))


def average_precision(
    scores: ArrayLike, is_gold: ArrayLike, offsets: ArrayLike, *, k: int | None = 10, norm: Norm = "gold"
) -> Floats:
    """Average precision of every query: the precisions at the ranks of its gold candidates, summed and divided.

    Parameters
    ----------
    scores : array-like of float, shape (n_candidates,)
        Score of each candidate; higher is better. Equal scores keep the input order.
    is_gold : array-like of {0, 1}, shape (n_candidates,)
        Whether each candidate is gold.
    offsets : array-like of int, shape (n_queries + 1,)
        The candidates of query i are ``[offsets[i]:offsets[i + 1]]``.
    k : int or None, default=10
        Depth of the cut; None takes the whole ranking.
    norm : {"gold", "found", "min", "min_eff"}, default="gold"
        The divisor: the number of gold candidates; those in the top k; min(gold, k); or min(gold, k, candidates).

    Returns
    -------
    ndarray of float, shape (n_queries,)
        Average precision.

    Raises
    ------
    InputError
        If shapes or offsets do not fit, a score is NaN, a label is not 0 or 1, or ``k`` or ``norm`` is out of range.

    Notes
    -----
    A query without gold in the top k scores 0.

    Examples
    --------
    >>> average_precision([0.9, 0.8, 0.1], [0, 1, 1], [0, 3], k=2)
    array([0.25])
    >>> average_precision([0.9, 0.8, 0.1], [0, 1, 1], [0, 3], k=2, norm="found")
    array([0.5])
    """
    ranks, n_gold, n_ranked = gold_ranks(scores, is_gold, offsets)
    if norm not in {"gold", "found", "min", "min_eff"}:
        raise InputError("norm must be gold, found, min or min_eff.")
    return kernels.average_precision(ranks, n_gold, n_ranked, _depth(k), norm)


def auroc(labels: ArrayLike, scores: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """Area under the ROC curve; tied scores count one half.

    Parameters
    ----------
    labels : array-like of {0, 1}, shape (n_samples,)
        True classes.
    scores : array-like of float, shape (n_samples,)
        Score of each sample; higher means more likely positive.
    weights : array-like of float, shape (n_samples,), default=None
        Weight of each sample, finite and not negative; None weighs all alike.

    Returns
    -------
    float
        Area in [0, 1].

    Raises
    ------
    InputError
        If shapes do not fit, a label is not 0 or 1, a score is NaN, or a weight is negative or not finite.

    Notes
    -----
    With one class, or no samples, the area is 0.5.

    Examples
    --------
    >>> auroc([1, 0, 1, 0], [0.9, 0.6, 0.6, 0.1])
    0.875
    """
    counts = _swept(labels, scores, weights)
    return float(detection.auroc(counts, _NONE).values)


def auprc(labels: ArrayLike, scores: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """Average precision over distinct scores (area under the precision-recall curve).

    Parameters
    ----------
    labels : array-like of {0, 1}, shape (n_samples,)
        True classes.
    scores : array-like of float, shape (n_samples,)
        Score of each sample; higher means more likely positive.
    weights : array-like of float, shape (n_samples,), default=None
        Weight of each sample, finite and not negative; None weighs all alike.

    Returns
    -------
    float
        Area in [0, 1].

    Raises
    ------
    InputError
        If shapes do not fit, a label is not 0 or 1, a score is NaN, or a weight is negative or not finite.

    Notes
    -----
    With one class it is the share of positives: 0 or 1. Without samples it is 0.

    Examples
    --------
    >>> round(auprc([1, 0, 1, 0], [0.9, 0.6, 0.6, 0.1]), 4)
    0.8333
    """
    counts = _swept(labels, scores, weights)
    return float(detection.auprc(counts, _NONE).values)


def tpr_at_fpr(labels: ArrayLike, scores: ArrayLike, *, budget: float) -> tuple[float, float | None]:
    """Best true positive rate with a false positive rate within a budget.

    Parameters
    ----------
    labels : array-like of {0, 1}, shape (n_samples,)
        True classes.
    scores : array-like of float, shape (n_samples,)
        Score of each sample; higher means more likely positive.
    budget : float
        Largest false positive rate, in [0, 1].

    Returns
    -------
    tpr : float
        True positive rate.
    threshold : float or None
        Samples with at least this score are positive; None rejects all of them.

    Raises
    ------
    InputError
        If shapes do not fit, a label is not 0 or 1, a score is NaN, or ``budget`` is outside [0, 1].

    Notes
    -----
    With one class the rate is 0 and the threshold None.

    Examples
    --------
    >>> tpr_at_fpr([1, 0, 1, 0], [0.9, 0.6, 0.5, 0.1], budget=0.0)
    (0.5, 0.9)
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
    """Mean squared difference between probability and label.

    Parameters
    ----------
    labels : array-like of {0, 1}, shape (n_samples,)
        True classes.
    prob : array-like of float, shape (n_samples,)
        Probability of the positive class, in [0, 1].

    Returns
    -------
    float
        Score in [0, 1]; 0 is best.

    Raises
    ------
    InputError
        If shapes do not fit, a label is not 0 or 1, or a probability is outside [0, 1].

    Notes
    -----
    Without samples it is 0.

    Examples
    --------
    >>> brier([1, 0], [0.5, 0.5])
    0.25
    """
    truth, values = _probable(labels, prob)
    return float(np.mean((values - truth) ** 2)) if len(values) else 0.0


def ece(labels: ArrayLike, prob: ArrayLike, *, bins: int = 10) -> float:
    """Expected calibration error over bins of equal width.

    Parameters
    ----------
    labels : array-like of {0, 1}, shape (n_samples,)
        True classes.
    prob : array-like of float, shape (n_samples,)
        Probability of the positive class, in [0, 1].
    bins : int, default=10
        Number of bins on [0, 1]. A bin includes its lower edge; the last one also includes 1.

    Returns
    -------
    float
        Error in [0, 1]; 0 is best.

    Raises
    ------
    InputError
        If shapes do not fit, a label is not 0 or 1, a probability is outside [0, 1], or ``bins`` is not a whole number above 0.

    Notes
    -----
    Without samples it is 0.

    Examples
    --------
    >>> ece([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5])
    0.0
    >>> ece([0, 0], [1.0, 1.0])
    1.0
    """
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
    labels = np.asarray(values)
    if labels.dtype == bool:
        return labels
    if labels.dtype.kind not in "iuf" or not ((labels == 0) | (labels == 1)).all():
        raise InputError(f"{name} must be 0 or 1.")
    return labels.astype(bool)


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
