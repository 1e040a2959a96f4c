"""Selective prediction over plain rows, one per item of a participant.

Losses, areas, resamples and limits are those of `evidentia.selective`. Equal confidences are ordered by participant and item.

Examples
--------
>>> rows = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(1, 1, 3, 1, 0.5), ItemPrediction(2, 0, None, 1, 0.0)]
>>> round(compute_aurc(rows, loss="abs"), 6), round(compute_cmax(rows), 6)
(0.333333, 0.666667)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evidentia import selective
from evidentia.array_types import Floats
from evidentia.errors import InputError, counted
from evidentia.evaluation.intervals import Resampling
from evidentia.selective import RiskCoverage
from evidentia.stats.coverage import Coverage
from evidentia.stats.intervals import percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.tables.phq8_results import HIGHEST_SCORE

ITEM_MAX = float(HIGHEST_SCORE)  # the largest error of a PHQ-8 item; other instruments give their own
Loss = Literal["abs", "abs_norm"]


@dataclass(frozen=True, slots=True)
class ItemPrediction:
    """One item of one participant.

    Attributes
    ----------
    participant_id : int
        Participant; resampling draws participants whole.
    item_index : int
        Item, unique within a participant.
    pred : int or None
        Predicted score; None where the predictor abstained.
    gt : int
        True score.
    confidence : float
        Confidence in the prediction; higher is surer.

    Examples
    --------
    >>> ItemPrediction(participant_id=1, item_index=0, pred=None, gt=2, confidence=0.0).pred is None
    True
    """

    participant_id: int
    item_index: int
    pred: int | None
    gt: int
    confidence: float


Metric = Callable[[Sequence[ItemPrediction]], float | None]


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    """A metric with its percentile interval.

    Attributes
    ----------
    estimate : float or None
        Metric over all items; None where there is no value.
    ci : tuple of (float, float) or None
        Percentile interval; None where no resample has a value.
    n_resamples : int
        Number of resamples.
    seed : int
        Seed of the resamples.
    excluded : int
        Number of resamples without a value, for example below a coverage.

    Examples
    --------
    >>> BootstrapResult(0.4, (0.2, 0.6), n_resamples=100, seed=7, excluded=5).exclusion_rate
    0.05
    """

    estimate: float | None
    ci: tuple[float, float] | None
    n_resamples: int
    seed: int
    excluded: int

    @property
    def exclusion_rate(self) -> float:
        """Share of resamples without a value."""
        return self.excluded / self.n_resamples


@dataclass(frozen=True, slots=True)
class BootstrapDeltaResult(BootstrapResult):
    """The difference b - a of a metric, with its percentile interval.

    Attributes
    ----------
    estimate : float or None
        The difference; None where there is no value.
    ci : tuple of (float, float) or None
        Percentile interval; None where no resample has a value.
    n_resamples : int
        Number of resamples.
    seed : int
        Seed of the resamples.
    excluded : int
        Number of resamples without a value, for example below a coverage.
    a : float or None
        Metric of the first run.
    b : float or None
        Metric of the second run.

    Examples
    --------
    >>> BootstrapDeltaResult(0.25, (0.0, 0.5), n_resamples=100, seed=7, excluded=0, a=0.5, b=0.75).estimate
    0.25
    """

    a: float | None
    b: float | None


def compute_risk_coverage_curve(
    items: Sequence[ItemPrediction], *, loss: Loss, item_max: float = ITEM_MAX
) -> RiskCoverage:
    """Risk at every coverage that the predictor reaches, most confident items first.

    Parameters
    ----------
    items : sequence of ItemPrediction, length n_items
        Items of all participants.
    loss : {"abs", "abs_norm"}
        |pred - gt|, or the same divided by ``item_max``.
    item_max : float, default=3.0
        Largest possible error: the highest minus the lowest score of an item.

    Returns
    -------
    RiskCoverage
        One point per predicted item.

    Raises
    ------
    InputError
        If there are no items, a confidence of a predicted item is not finite, or ``loss`` is unknown.

    Notes
    -----
    If everything is abstained, the arrays are empty.

    Examples
    --------
    >>> rows = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(1, 1, 3, 1, 0.5)]
    >>> compute_risk_coverage_curve(rows, loss="abs").risk.tolist()
    [0.0, 1.0]
    """
    return selective.risk_coverage_curve(*_arrays(items, loss, item_max))


def compute_aurc(items: Sequence[ItemPrediction], *, loss: Loss, item_max: float = ITEM_MAX) -> float:
    """Area under the risk-coverage curve, as steps.

    Parameters
    ----------
    items : sequence of ItemPrediction, length n_items
        Items of all participants.
    loss : {"abs", "abs_norm"}
        |pred - gt|, or the same divided by ``item_max``.
    item_max : float, default=3.0
        Largest possible error: the highest minus the lowest score of an item.

    Returns
    -------
    float
        The area; lower is better.

    Raises
    ------
    InputError
        If there are no items, a confidence of a predicted item is not finite, or ``loss`` is unknown.

    Notes
    -----
    If everything is abstained, the area is 0.

    Examples
    --------
    >>> rows = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(1, 1, 3, 1, 0.5), ItemPrediction(2, 0, None, 1, 0.0)]
    >>> round(compute_aurc(rows, loss="abs"), 6)
    0.333333
    """
    return selective.aurc(*_arrays(items, loss, item_max))


def compute_augrc(items: Sequence[ItemPrediction], *, loss: Loss, item_max: float = ITEM_MAX) -> float:
    """Area under the curve of coverage times risk, as steps.

    Parameters
    ----------
    items : sequence of ItemPrediction, length n_items
        Items of all participants.
    loss : {"abs", "abs_norm"}
        |pred - gt|, or the same divided by ``item_max``.
    item_max : float, default=3.0
        Largest possible error: the highest minus the lowest score of an item.

    Returns
    -------
    float
        The area; lower is better.

    Raises
    ------
    InputError
        If there are no items, a confidence of a predicted item is not finite, or ``loss`` is unknown.

    Notes
    -----
    If everything is abstained, the area is 0.

    Examples
    --------
    >>> rows = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(1, 1, 3, 1, 0.5), ItemPrediction(2, 0, None, 1, 0.0)]
    >>> round(compute_augrc(rows, loss="abs"), 6)
    0.222222
    """
    return selective.augrc(*_arrays(items, loss, item_max))


def compute_risk_at_coverage(
    items: Sequence[ItemPrediction], *, target_coverage: Coverage, loss: Loss, item_max: float = ITEM_MAX
) -> float | None:
    """Mean loss of the first ceil(coverage x n_items) items, most confident first.

    Parameters
    ----------
    items : sequence of ItemPrediction, length n_items
        Items of all participants.
    target_coverage : float, Decimal or Fraction
        Coverage in (0, 1].
    loss : {"abs", "abs_norm"}
        |pred - gt|, or the same divided by ``item_max``.
    item_max : float, default=3.0
        Largest possible error: the highest minus the lowest score of an item.

    Returns
    -------
    float or None
        The mean loss; None where fewer items are predicted.

    Raises
    ------
    InputError
        If there are no items, a confidence of a predicted item is not finite, or ``loss`` or ``target_coverage`` is out of range.

    Examples
    --------
    >>> rows = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(1, 1, 3, 1, 0.5), ItemPrediction(2, 0, None, 1, 0.0)]
    >>> compute_risk_at_coverage(rows, target_coverage=0.5, loss="abs")
    1.0
    """
    return selective.risk_at_coverage(*_arrays(items, loss, item_max), target_coverage)


def compute_cmax(items: Sequence[ItemPrediction]) -> float:
    """Share of items that are predicted, the largest coverage.

    Parameters
    ----------
    items : sequence of ItemPrediction, length n_items
        Items of all participants.

    Returns
    -------
    float
        Share in [0, 1].

    Notes
    -----
    Without items it is 0.

    Examples
    --------
    >>> rows = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(1, 1, 3, 1, 0.5), ItemPrediction(2, 0, None, 1, 0.0)]
    >>> round(compute_cmax(rows), 6)
    0.666667
    """
    return selective.cmax(_arrays(items, "abs", ITEM_MAX)[0])


def bootstrap_by_participant(
    items: Sequence[ItemPrediction], metric: Metric, *, seed: int, n_resamples: int = 10_000, ci: float = 0.95
) -> BootstrapResult:
    """Percentile interval of a metric; participants are drawn whole, with all their items.

    Parameters
    ----------
    items : sequence of ItemPrediction, length n_items
        Items of all participants.
    metric : callable
        Takes a sequence of items and returns a float, or None for no value; for example ``partial(compute_aurc, loss="abs")``.
    seed : int
        Seed of the resamples; not negative.
    n_resamples : int, default=10_000
        Number of resamples, at least 2.
    ci : float, default=0.95
        Level of the interval, in (0, 1).

    Returns
    -------
    BootstrapResult
        The metric, its interval, and the number of resamples without a value.

    Raises
    ------
    InputError
        If there are no items, an item occurs twice, or an option is out of range.

    Notes
    -----
    With one participant every resample is the same, and the interval has no width.

    Examples
    --------
    >>> rows = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(1, 1, 3, 1, 0.5), ItemPrediction(2, 0, None, 1, 0.0)]
    >>> bootstrap_by_participant(rows, compute_cmax, seed=7, n_resamples=100).ci
    (0.0, 1.0)
    """
    values = _replicates([items], metric, Resampling(n_resamples, seed, ci))
    limits, excluded = _limits(values[0], ci)
    return BootstrapResult(metric(items), limits, n_resamples, seed, excluded)


def paired_bootstrap_delta_by_participant(
    items_a: Sequence[ItemPrediction],
    items_b: Sequence[ItemPrediction],
    metric: Metric,
    *,
    seed: int,
    n_resamples: int = 10_000,
    ci: float = 0.95,
) -> BootstrapDeltaResult:
    """Difference b - a of a metric with its percentile interval, on the same participants and resamples.

    Parameters
    ----------
    items_a : sequence of ItemPrediction, length n_items
        Items of the first run.
    items_b : sequence of ItemPrediction, length n_items
        The same items in the second run.
    metric : callable
        Takes a sequence of items and returns a float, or None for no value; for example ``partial(compute_aurc, loss="abs")``.
    seed : int
        Seed of the resamples; not negative.
    n_resamples : int, default=10_000
        Number of resamples, at least 2.
    ci : float, default=0.95
        Level of the interval, in (0, 1).

    Returns
    -------
    BootstrapDeltaResult
        The difference, its interval, and the metric of both runs.

    Raises
    ------
    InputError
        If the two differ in items or true scores, an item occurs twice, or an option is out of range.

    Notes
    -----
    The difference is None where one of the two has no value.

    Examples
    --------
    >>> rows = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(2, 0, None, 1, 0.0)]
    >>> more = [ItemPrediction(1, 0, 2, 2, 0.9), ItemPrediction(2, 0, 1, 1, 0.5)]
    >>> paired_bootstrap_delta_by_participant(rows, more, compute_cmax, seed=7, n_resamples=100).estimate
    0.5
    """
    if _truth(items_a) != _truth(items_b):
        raise InputError("The two must have the same items and ground truth for the same participants.")
    first, second = _replicates([items_a, items_b], metric, Resampling(n_resamples, seed, ci))
    limits, excluded = _limits(second - first, ci)
    a, b = metric(items_a), metric(items_b)
    return BootstrapDeltaResult(
        None if a is None or b is None else b - a, limits, n_resamples, seed, excluded, a=a, b=b
    )


def _arrays(items: Sequence[ItemPrediction], loss: Loss, item_max: float) -> tuple[Floats, Floats]:
    """Losses (NaN where abstained) and confidences, ties in the order of participants and items."""
    if loss not in ("abs", "abs_norm"):
        raise InputError('loss must be "abs" or "abs_norm".')
    ordered = sorted(items, key=lambda item: (item.participant_id, item.item_index))
    losses = np.array([np.nan if item.pred is None else abs(item.pred - item.gt) for item in ordered], np.float64)
    if loss == "abs_norm":
        losses = _normalised(losses, item_max)
    return losses, np.array([item.confidence for item in ordered], np.float64)


def _normalised(losses: Floats, item_max: float) -> Floats:
    """Losses over the largest possible one, which none may exceed."""
    if not 0 < item_max < np.inf:
        raise InputError("item_max must be a number above 0: the highest minus the lowest score of an item.")
    larger = int(np.count_nonzero(losses > item_max))
    if larger:
        raise InputError(
            f"{counted(larger, 'item')} off by more than item_max ({item_max:g}). It is the highest minus the lowest score of an "
            'item: 3 for PHQ-8. Give that of your instrument, or take the loss "abs".'
        )
    return losses / item_max


def _truth(items: Sequence[ItemPrediction]) -> dict[tuple[int, int], int]:
    truth = {(item.participant_id, item.item_index): item.gt for item in items}
    if len(truth) < len(items):
        raise InputError(f"{counted(len(items) - len(truth), 'item')} of a participant occur twice. Keep one of each.")
    return truth


def _replicates(runs: Sequence[Sequence[ItemPrediction]], metric: Metric, resampling: Resampling) -> list[Floats]:
    """The metric of every run in every resample, NaN where it has no value."""
    if not resampling.resamples:
        raise InputError("A bootstrap needs resamples; 10,000 is usual.")
    people = sorted({participant for participant, _ in _truth(runs[0])})
    if not people:
        raise InputError("There are no items.")
    parts = [[[item for item in run if item.participant_id == person] for person in people] for run in runs]
    plan = ResamplingPlan(len(people), resampling.resamples, resampling.seed)
    values_of_runs = [np.empty(resampling.resamples) for _ in runs]
    for rows, counts in plan.blocks():
        for at, times in zip(range(rows.start, rows.stop), counts.T.astype(np.int64).tolist(), strict=True):
            for values, part in zip(values_of_runs, parts, strict=True):
                drawn = [item for owned, count in zip(part, times, strict=True) for item in owned * count]
                value = metric(drawn)
                values[at] = np.nan if value is None else value
    return values_of_runs


def _limits(values: Floats, level: float) -> tuple[tuple[float, float] | None, int]:
    excluded = int(np.isnan(values).sum())
    if excluded == len(values):
        return None, excluded
    limits = percentile_limits(values[None, :], level)
    return (float(limits.low[0]), float(limits.high[0])), excluded
