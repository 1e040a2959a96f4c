"""Selective prediction: evaluate predictors that may abstain, compare two of them, or compute one number from arrays.

The array functions take the loss of every item (NaN where the predictor abstained) and its confidence. Abstained items count in
the coverage, and equal confidences keep the input order.

Examples
--------
>>> import numpy as np
>>> loss, confidence = np.array([0.0, 2.0, 0.0, np.nan]), np.array([2, 2, 1, 0])
>>> round(aurc(loss, confidence), 12), augrc(loss, confidence), cmax(loss)
(0.416666666667, 0.25, 0.75)
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from evidentia.array_types import Floats, Ints
from evidentia.checks import check_items
from evidentia.errors import InputError
from evidentia.evaluation.compare_items import compare_items
from evidentia.evaluation.deltas import OnMismatch
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.files import ItemsSource
from evidentia.evaluation.intervals import Bootstrap, Resampling
from evidentia.evaluation.item_curves import against_curves
from evidentia.evaluation.questionnaire import TOTALS
from evidentia.measures import canonical
from evidentia.results import Evaluation, SelectiveComparison
from evidentia.results.profiles import SELECTIVE
from evidentia.stats.coverage import Coverage, counts_to_reach, counts_within
from evidentia.stats.resampling import Progress, part_of
from evidentia.stats.risk_coverage import Plateaus, Steps, ranking
from evidentia.tables import Items, read_items
from evidentia.workflow import named_measures

if TYPE_CHECKING:
    from evidentia.item_predictions import (
        BootstrapDeltaResult,
        BootstrapResult,
        ItemPrediction,
        bootstrap_by_participant,
        compute_augrc,
        compute_aurc,
        compute_cmax,
        compute_risk_at_coverage,
        compute_risk_coverage_curve,
        paired_bootstrap_delta_by_participant,
    )

Rule = Literal["step", "plateau"]
__all__ = [
    "BootstrapDeltaResult",
    "BootstrapResult",
    "ItemPrediction",
    "RiskCoverage",
    "augrc",
    "aurc",
    "bootstrap_by_participant",
    "cmax",
    "compare",
    "compute_augrc",
    "compute_aurc",
    "compute_cmax",
    "compute_risk_at_coverage",
    "compute_risk_coverage_curve",
    "evaluate",
    "paired_bootstrap_delta_by_participant",
    "risk_at_coverage",
    "risk_coverage_curve",
]


def __getattr__(name: str) -> Any:
    """Load what works on plain rows when it is first used: it is made of the functions here."""
    if name in __all__:
        return getattr(importlib.import_module("evidentia.item_predictions"), name)
    raise AttributeError(f"module 'evidentia.selective' has no attribute {name!r}")


def evaluate(
    items: Items | str | Path | object,
    *,
    seed: int,
    mode: str | None = None,
    confidence: str | Sequence[str] | None = None,
    loss: str | None = None,
    coverage: Iterable[Coverage | str] | None = None,
    measures: str | Sequence[str] | None = None,
    item_max: float | None = None,
    against: Items | str | Path | object | None = None,
    against_mode: str | None = None,
    names: tuple[str, str] | None = None,
    on_mismatch: OnMismatch = "error",
    alpha: float = 0.05,
    resamples: int = 10_000,
    ci: float = 0.95,
    ci_method: Literal["percentile", "bca"] = "percentile",
    bootstrap: Bootstrap = "auto",
    command: str | None = None,
    report: bool | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compute every measure of selective prediction, with intervals by participant.

    Parameters
    ----------
    items : Items, path or data frame
        The run, or a source that ``read_items`` reads.
    seed : int
        Seed of the resamples; not negative.
    mode : str, default=None
        Experiment of a questionnaire file; needed where it has several.
    confidence : str or sequence of str, default=None
        Signals that rank the items; "all" takes every signal that each predicted item has. None takes ``confidence``, or
        ``llm`` and ``total_evidence`` where there is no signal of that name.
    loss : {"abs", "abs_norm", "zero_one", "squared"}, default=None
        Loss of every measure; None takes the usual loss of each.
    coverage : iterable of float, Decimal, Fraction or str, default=None
        Coverages in (0, 1] for measures at a coverage; None takes 0.1, 0.2, ..., 1.
    measures : str or sequence of str, default=None
        Names of measures, also separated by commas; None takes all of them.
    item_max : float, default=None
        Largest possible error of an item, for normalised losses. Questionnaires have their own.
    against : Items, path or data frame, default=None
        A second run, for paired differences of this run minus that one.
    against_mode : str, default=None
        Experiment of ``against``, or of ``items`` where ``against`` is None.
    names : tuple of two str, default=None
        Names of the second run and of this one; None takes modes or file names.
    on_mismatch : {"error", "intersect"}, default="error"
        Refuse two runs with different participants, or compare those that both have.
    alpha : float, default=0.05
        Level of the tests, after Holm's correction.
    resamples : int, default=10_000
        Number of bootstrap resamples of participants; 0 gives no intervals.
    ci : float, default=0.95
        Level of the intervals, in (0, 1).
    ci_method : {"percentile", "bca"}, default="percentile"
        Kind of interval.
    bootstrap : {"auto", "exact", "poisson"}, default="auto"
        Draw as many participants as there are, or weigh each by a hash of its id; "auto" does the second above 1,000,000.
    command : str, default=None
        Command line to record in the manifest.
    report : bool, default=None
        Whether ``save`` writes the page and figures; None means yes unless EVIDENTIA_NO_REPORT is set.
    progress : callable, default=None
        Called with the number of steps done and of all steps.

    Returns
    -------
    Evaluation
        Estimates by measure name; ``save(folder)`` writes all files. With a second run, ``comparison`` is set.

    Raises
    ------
    InputError
        If an input cannot be read, an option is out of range, or no measure can be computed.

    Notes
    -----
    Where everything is abstained, areas are 0 and MAE is NaN; both carry a reason in ``degenerate``. A coverage that is not
    reached gives NaN.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({
    ...     "cluster_id": [1, 1, 2, 2], "item": ["a", "b", "a", "b"],
    ...     "pred": [2, 3, 0, None], "gt": [2, 1, 1, 2], "confidence": [0.9, 0.8, 0.5, None],
    ... })
    >>> result = evaluate(table, seed=7, resamples=0)
    >>> result["Cmax"].value, result["MAE"].value
    (0.75, 1.0)
    """
    asked = _asked(confidence, loss, coverage)
    measures = None if measures is None else named_measures(measures)
    resampling = Resampling(resamples, seed, ci, ci_method, bootstrap=bootstrap)
    run, other = _read(items, mode, item_max), _other(items, against, against_mode, item_max)
    resampling = resampling.settled(len(run.cluster_ids))
    options: dict[str, Any] = {
        "mode": run.mode,
        "against_mode": None if other is None else other.mode,
        "names": None,
        "confidence": list(asked["confidence"]) if asked["confidence"] else None,
        "loss": loss,
        "coverage": None if asked["coverage"] is None else [str(c) for c in asked["coverage"]],
        "measures": None if measures is None else [canonical(name, SELECTIVE) for name in measures],
        "instrument": None if run.questionnaire is None else run.questionnaire.to_dict(),
        **{"item_max": run.item_max, "on_mismatch": on_mismatch, "alpha": alpha, "ci": ci, "ci_method": ci_method},
        "bootstrap": resampling.bootstrap,
    }
    early, late = (None, None) if other is None else (part_of(progress, 0, 2), part_of(progress, 1, 2))
    result = evaluate_items(run, **asked, measures=measures, resampling=resampling, progress=early or progress)
    result = replace(result, checks=check_items(result, run))
    if other is not None:
        called = names or _names(other, run)
        how: Any = {"on_mismatch": on_mismatch, "alpha": alpha, "resampling": resampling, "progress": late}
        compared = compare_items(other, run, names=called, **asked, **how)
        drawn = any(curve.name != TOTALS for curve in result.curves)
        theirs = against_curves(run, other, result.dataset["signals"], resampling) if drawn else ()
        result = replace(result, comparison=compared, curves=(*result.curves, *theirs))
        options["names"] = list(called)
    runs = {"items": run} | ({} if other is None else {"against_items": other})
    return replace(result, source=ItemsSource(runs, options=options, command=command, report=report))


def compare(
    a: Items | str | Path | object,
    b: Items | str | Path | object,
    *,
    seed: int,
    modes: tuple[str | None, str | None] = (None, None),
    names: tuple[str, str] | None = None,
    confidence: str | Sequence[str] | None = None,
    loss: str | None = None,
    coverage: Iterable[Coverage | str] | None = None,
    on_mismatch: OnMismatch = "error",
    alpha: float = 0.05,
    resamples: int = 10_000,
    ci: float = 0.95,
    bootstrap: Bootstrap = "auto",
    progress: Progress | None = None,
) -> SelectiveComparison:
    """Compute paired differences b - a on the same participants and resamples.

    Parameters
    ----------
    a : Items, Evaluation, path or data frame
        The baseline, or a source that ``read_items`` reads.
    b : Items, Evaluation, path or data frame
        The system that is compared with it.
    seed : int
        Seed of the resamples; not negative.
    modes : tuple of two str or None, default=(None, None)
        The experiments to read from a and b, where they are files that hold several.
    names : tuple of two str, default=None
        Names of a and b; None takes modes or file names.
    confidence : str or sequence of str, default=None
        Signals that rank the items; "all" takes every signal that each predicted item has. None takes ``confidence``, or
        ``llm`` and ``total_evidence`` where there is no signal of that name.
    loss : {"abs", "abs_norm", "zero_one", "squared"}, default=None
        Loss of every measure; None takes the usual loss of each.
    coverage : iterable of float, Decimal, Fraction or str, default=None
        Coverages in (0, 1] for measures at a coverage; None takes 0.1, 0.2, ..., 1.
    on_mismatch : {"error", "intersect"}, default="error"
        Refuse two runs with different participants, or compare those that both have.
    alpha : float, default=0.05
        Level of the tests, after Holm's correction.
    resamples : int, default=10_000
        Number of bootstrap resamples of participants.
    ci : float, default=0.95
        Level of the percentile intervals, in (0, 1).
    bootstrap : {"auto", "exact", "poisson"}, default="auto"
        As in ``evaluate``.
    progress : callable, default=None
        Called with the number of steps done and of all steps.

    Returns
    -------
    SelectiveComparison
        Deltas by measure name: over all items, at each coverage, and up to the common coverage.

    Raises
    ------
    InputError
        If participants or true scores differ, one run abstains everywhere, or an option is out of range.

    Notes
    -----
    MAE is not compared where the two predict different shares of the items, and nothing is compared at a coverage that one of them
    does not reach; such a delta is None, with the reason in ``warnings``.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({
    ...     "cluster_id": [1, 1, 2, 2], "item": ["a", "b", "a", "b"],
    ...     "pred": [2, 3, 0, None], "gt": [2, 1, 1, 2], "confidence": [0.9, 0.8, 0.5, None],
    ... })
    >>> better = table.with_columns(pred=pl.Series([2, 2, 1, None]))
    >>> compare(table, better, seed=7, resamples=50)["MAE"].delta
    -0.6666666666666667
    """
    if len(modes) != 2:
        raise InputError("modes are two: that of the baseline, and that of the system.")
    first, second = (_read(source, mode) for source, mode in zip((a, b), modes, strict=True))
    return compare_items(
        first,
        second,
        names=names or _names(first, second),
        **_asked(confidence, loss, coverage),
        resampling=Resampling(resamples, seed, ci, "percentile", bootstrap=bootstrap),
        alpha=alpha,
        on_mismatch=on_mismatch,
        progress=progress,
    )


def _asked(
    confidence: str | Sequence[str] | None, loss: str | None, coverage: Iterable[Coverage | str] | None
) -> dict[str, Any]:
    """What both a run alone and a comparison are made with."""
    return {
        "confidence": (confidence,) if isinstance(confidence, str) else confidence,
        "loss": loss,
        "coverage": None if coverage is None else tuple(_decimal(c) for c in coverage),
    }


def _read(source: Items | object, mode: str | None, item_max: float | None = None) -> Items:
    if isinstance(source, Evaluation) and isinstance(source.source, ItemsSource):
        source = source.source.runs["items"]
    if not isinstance(source, Items):
        return read_items(source, mode=mode, item_max=item_max)
    if mode not in (None, source.mode) or item_max not in (None, source.item_max):
        raise InputError(
            "These items were read already, with another mode or item_max. "
            "Give mode and item_max to read_items, or a file instead of the items."
        )
    return source


def _other(items: object, against: object | None, mode: str | None, item_max: float | None) -> Items | None:
    """The second run: a file of its own, or another mode of the same file."""
    if against is not None:
        return _read(against, mode, item_max)
    if mode is None:
        return None
    if isinstance(items, Items):
        raise InputError("against_mode needs a file to read the other mode from: give it as against.")
    return read_items(items, mode=mode, item_max=item_max)


def _names(first: Items, second: Items) -> tuple[str, str]:
    """What tells the two apart: their modes, else their file names, else their order."""
    if first.mode and second.mode and first.mode != second.mode:
        return first.mode, second.mode
    if first.name != second.name:
        return first.name, second.name
    return f"{first.name} (A)", f"{second.name} (B)"


def _decimal(coverage: Coverage | str) -> Decimal:
    """A coverage as its shortest decimal."""
    try:
        value = Decimal(repr(float(coverage)) if isinstance(coverage, float | Fraction) else str(coverage).strip())
    except ArithmeticError:
        value = Decimal(0)
    if not value.is_finite() or not 0 < value <= 1 or float(value) == 0:
        raise InputError("A coverage must be a number above 0 and at most 1, for example 0.5.")
    return value.normalize()


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """A risk-coverage curve, with one point per predicted item, most confident first.

    Attributes
    ----------
    coverage : ndarray of float, shape (n_predicted,)
        Share of all items taken so far.
    risk : ndarray of float, shape (n_predicted,)
        Mean loss of the items taken so far.
    joint_risk : ndarray of float, shape (n_predicted,)
        Coverage times risk.

    Examples
    --------
    >>> curve = risk_coverage_curve([0.0, 2.0], [3.0, 1.0])
    >>> curve.coverage.tolist(), curve.joint_risk.tolist()
    ([0.5, 1.0], [0.0, 1.0])
    """

    coverage: Floats
    risk: Floats
    joint_risk: Floats


def risk_coverage_curve(loss: ArrayLike, confidence: ArrayLike) -> RiskCoverage:
    """Risk at every coverage that the predictor reaches, most confident items first.

    Parameters
    ----------
    loss : array-like of float, shape (n_items,)
        Loss of each item; NaN where the predictor abstained.
    confidence : array-like of float, shape (n_items,)
        Confidence in each item; higher is surer. Equal values keep the input order. Abstained items may have any value.

    Returns
    -------
    RiskCoverage
        One point per predicted item.

    Raises
    ------
    InputError
        If shapes do not fit, there are no items or a predicted item has no finite loss or confidence.

    Notes
    -----
    If everything is abstained, the arrays are empty.

    Examples
    --------
    >>> risk_coverage_curve([0.0, 2.0], [1.0, 3.0]).risk.tolist()
    [2.0, 1.0]
    """
    steps, total = _steps(loss, confidence)
    taken, lost = np.arange(1, int(steps.predicted[0]) + 1), steps.lost[1:, 0]
    return RiskCoverage(taken / total, lost / taken, lost / total)


def _shape(steps: Steps, ties: Rule) -> Steps | Plateaus:
    if ties not in {"step", "plateau"}:
        raise InputError("ties must be step or plateau.")
    return steps.plateaus if ties == "plateau" else steps


def aurc(loss: ArrayLike, confidence: ArrayLike, *, ties: Rule = "step", up_to: Coverage | None = None) -> float:
    """Area under the risk-coverage curve.

    Parameters
    ----------
    loss : array-like of float, shape (n_items,)
        Loss of each item; NaN where the predictor abstained.
    confidence : array-like of float, shape (n_items,)
        Confidence in each item; higher is surer. Equal values keep the input order. Abstained items may have any value.
    ties : {"step", "plateau"}, default="step"
        Take items one by one, or all items of equal confidence together with straight lines between their points.
    up_to : float, Decimal or Fraction, default=None
        Coverage in (0, 1] at which the area ends; None takes the whole curve.

    Returns
    -------
    float
        The area; lower is better.

    Raises
    ------
    InputError
        If shapes do not fit, there are no items, a predicted item lacks a finite loss or confidence,
        or ``ties`` or ``up_to`` is out of range.

    Notes
    -----
    If everything is abstained, the area is 0. It ends at the coverage that is reached (Geifman, Uziel, El-Yaniv, ICLR (2019)).

    Examples
    --------
    >>> aurc([0.0, 1.0, np.nan, np.nan], [2, 1, 0, 0])
    0.125
    """
    steps, total = _steps(loss, confidence)
    shape = _shape(steps, ties)
    return float((shape.whole("risks") if up_to is None else shape.risks_to(*_cut(up_to, steps, total)))[0] / total)


def augrc(loss: ArrayLike, confidence: ArrayLike, *, ties: Rule = "step", up_to: Coverage | None = None) -> float:
    """Area under the generalised risk-coverage curve, that of coverage times risk.

    Parameters
    ----------
    loss : array-like of float, shape (n_items,)
        Loss of each item; NaN where the predictor abstained.
    confidence : array-like of float, shape (n_items,)
        Confidence in each item; higher is surer. Equal values keep the input order. Abstained items may have any value.
    ties : {"step", "plateau"}, default="step"
        Take items one by one, or all items of equal confidence together with straight lines between their points.
    up_to : float, Decimal or Fraction, default=None
        Coverage in (0, 1] at which the area ends; None takes the whole curve.

    Returns
    -------
    float
        The area; lower is better.

    Raises
    ------
    InputError
        If shapes do not fit, there are no items, a predicted item lacks a finite loss or confidence,
        or ``ties`` or ``up_to`` is out of range.

    Notes
    -----
    If everything is abstained, the area is 0. Losses enter unscaled (Traub et al., NeurIPS (2024)).

    Examples
    --------
    >>> augrc([0.0, 1.0, np.nan, np.nan], [2, 1, 0, 0])
    0.0625
    """
    steps, total = _steps(loss, confidence)
    shape = _shape(steps, ties)
    return float((shape.whole("joint") if up_to is None else shape.joint_to(*_cut(up_to, steps, total)))[0] / total**2)


def risk_at_coverage(loss: ArrayLike, confidence: ArrayLike, coverage: Coverage) -> float | None:
    """Mean loss of the first ceil(coverage x n_items) items, most confident first.

    Parameters
    ----------
    loss : array-like of float, shape (n_items,)
        Loss of each item; NaN where the predictor abstained.
    confidence : array-like of float, shape (n_items,)
        Confidence in each item; higher is surer. Equal values keep the input order. Abstained items may have any value.
    coverage : float, Decimal or Fraction
        Coverage in (0, 1].

    Returns
    -------
    float or None
        The mean loss; None where fewer items are predicted.

    Raises
    ------
    InputError
        If shapes do not fit, there are no items, a predicted item lacks a finite loss or confidence,
        or ``coverage`` is out of range.

    Examples
    --------
    >>> risk_at_coverage([0.0, 1.0, np.nan], [2, 1, 0], 0.5)
    0.5
    """
    steps, total = _steps(loss, confidence)
    _checked(coverage)
    count = counts_to_reach(coverage, np.array([total]))
    return None if count[0] > steps.predicted[0] else float(steps.mean_loss(count)[0])


def cmax(loss: ArrayLike) -> float:
    """Share of items that are predicted, the largest coverage.

    Parameters
    ----------
    loss : array-like of float, shape (n_items,)
        Loss of each item; NaN where the predictor abstained.

    Returns
    -------
    float
        Share in [0, 1].

    Notes
    -----
    Without items it is 0.

    Examples
    --------
    >>> cmax([0.0, np.nan])
    0.5
    """
    losses = np.asarray(loss, np.float64)
    return float(np.count_nonzero(~np.isnan(losses)) / max(len(losses), 1))


def _steps(loss: ArrayLike, confidence: ArrayLike) -> tuple[Steps, int]:
    losses, sure = np.asarray(loss, np.float64), np.asarray(confidence, np.float64)
    if losses.ndim != 1 or losses.shape != sure.shape:
        raise InputError(f"loss and confidence must be flat and of one length, not {losses.shape} and {sure.shape}.")
    if not len(losses):
        raise InputError("There are no items.")
    held = ~np.isnan(losses)
    if not np.isfinite(sure[held]).all() or not np.isfinite(losses[held]).all():
        raise InputError("Every predicted item needs a finite loss and a finite confidence.")
    order = ranking(sure[held], np.zeros(int(held.sum()), np.int64), losses[held])
    return order.under(np.ones((1, 1))), len(losses)


def _cut(coverage: Coverage, steps: Steps, total: int) -> tuple[Ints, Floats]:
    _checked(coverage)
    count, rest = counts_within(coverage, np.array([total]))
    predicted = steps.predicted.astype(np.int64)
    return np.minimum(count, predicted), np.where(count < predicted, rest, 0.0)


def _checked(coverage: Coverage) -> None:
    if not 0 < coverage <= 1:
        raise InputError("A coverage must lie above 0 and be at most 1.")
