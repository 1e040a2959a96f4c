"""Risk-coverage curves of items as data: every step, and bands on a grid of coverages from a run's resampling plan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from evidentia.array_types import Floats
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.items import plan_over
from evidentia.results import Curve
from evidentia.stats.coverage import counts_to_reach
from evidentia.stats.intervals import percentile_limits
from evidentia.stats.resampling import BootstrapPlan, over_replicates
from evidentia.stats.risk_coverage import Ranking, ranking
from evidentia.tables.items import Items

GRID = tuple(f"{step / 50:g}" for step in range(1, 51))
AGAINST = "against_"  # how the files of the other run's curves begin
Column = tuple[float | None, ...]


def stems(signals: Sequence[str]) -> dict[str, str]:
    """What the files of each confidence are called: its place, and what of its name a file name can hold.

    >>> stems(["llm", "a/b"])
    {'llm': '1_llm', 'a/b': '2_a_b'}
    """
    return {signal: f"{place}_{re.sub(r'[^A-Za-z0-9]+', '_', signal)[:40]}" for place, signal in enumerate(signals, 1)}


def risk_coverage_curves(
    items: Items, names: Mapping[str, str], resampling: Resampling, plan: BootstrapPlan, prefix: str = ""
) -> tuple[Curve, ...]:
    """For every confidence, under the name of its files, the steps of the curve, and where there are resamples its bands."""
    rows = np.flatnonzero(items.predicted)
    curves: list[Curve] = []
    for signal, stem in names.items():
        loss = np.abs(items.pred[rows] - items.gt[rows])
        order = ranking(items.confidence(signal)[rows], items.cluster[rows], loss)
        title = f"Risk and coverage by {signal}"
        curves.append(_steps(items, order, f"{prefix}risk_coverage_{stem}", title))
        if plan.resamples and len(rows):
            bands = _bands(items, order, resampling.level, plan)
            curves.append(Curve(f"{prefix}risk_coverage_band_{stem}", f"{title}, with bands", bands))
    return tuple(curves)


def against_curves(run: Items, other: Items, signals: Sequence[str], resampling: Resampling) -> tuple[Curve, ...]:
    """The curves of the run that ``run`` is compared with, over the participants that both have and on their draws.

    A confidence that predicted items of the other run lack is not compared, and has no curve.
    """
    shared = other.restricted_to(run.cluster_ids)
    names = {signal: stem for signal, stem in stems(signals).items() if _has(shared, signal)}
    return risk_coverage_curves(shared, names, resampling, plan_over(shared, resampling), AGAINST)


def _has(items: Items, signal: str) -> bool:
    return signal in items.signals and not np.isnan(items.signals[signal][items.predicted]).any()


def _steps(items: Items, order: Ranking, name: str, title: str) -> Curve:
    total = len(items)
    taken, lost = np.arange(1, len(order.loss) + 1), np.cumsum(order.loss)
    columns: dict[str, Column] = {
        "coverage": tuple((taken / total).tolist()),
        "risk": tuple((lost / taken).tolist()),
        "joint_risk": tuple((lost / total).tolist()),
    }
    if items.item_max is not None:
        columns["risk_norm"] = tuple((lost / taken / items.item_max).tolist())
        columns["joint_risk_norm"] = tuple((lost / total / items.item_max).tolist())
    return Curve(name, title, columns)


def _bands(items: Items, order: Ranking, level: float, plan: BootstrapPlan) -> dict[str, Column]:
    """Risk and joint risk where each coverage of the grid is first reached; a resample that stops short is left out."""
    sizes = np.bincount(items.cluster, minlength=len(items.cluster_ids)).astype(float)

    def on_grid(weights: Floats) -> dict[str, Floats]:
        return _on_grid(order, weights, sizes @ weights)

    values = over_replicates(on_grid, plan)
    points = on_grid(np.ones((len(sizes), 1)))
    columns: dict[str, Column] = {"coverage": tuple(float(c) for c in GRID)}
    for name, replicates in values.items():
        limits = percentile_limits(replicates, level)
        columns |= {name: _column(points[name][:, 0])}
        columns |= {f"{name}_low": _column(limits.low), f"{name}_high": _column(limits.high)}
    columns["left_out"] = tuple(np.isnan(values["risk"]).sum(axis=1).astype(float).tolist())
    return columns


def _on_grid(order: Ranking, weights: Floats, total: Floats) -> dict[str, Floats]:
    """Risk and joint risk at every coverage of the grid: grid x weightings."""
    steps, totals = order.under(weights), np.rint(total).astype(np.int64)
    risk, joint = (np.full((len(GRID), weights.shape[1]), np.nan) for _ in range(2))
    for place, coverage in enumerate(GRID):
        count = counts_to_reach(float(coverage), totals)
        there = (count <= steps.predicted) & (count > 0)
        risk[place] = np.where(there, steps.mean_loss(np.where(there, count, 1)), np.nan)
        joint[place] = risk[place] * count / np.maximum(totals, 1)
    return {"risk": risk, "joint_risk": joint}


def _column(values: Floats) -> Column:
    return tuple(None if np.isnan(value) else float(value) for value in values)
