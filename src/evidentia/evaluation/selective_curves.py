"""Risk-coverage curves as data: every step, and bands on a grid of coverages from the run's own resampling plan."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from evidentia.evaluation.intervals import Resampling
from evidentia.results import Curve
from evidentia.stats.coverage import counts_to_reach
from evidentia.stats.intervals import percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.stats.risk_coverage import Ranking, ranking
from evidentia.stats.threads import in_threads
from evidentia.tables.items import Items
from evidentia.tables.queries import Floats

GRID = tuple(f"{step / 50:g}" for step in range(1, 51))
Column = tuple[float | None, ...]


def risk_coverage_curves(
    items: Items, signals: Sequence[str], resampling: Resampling, plan: ResamplingPlan
) -> tuple[Curve, ...]:
    """For every confidence the steps of the curve, and where there are resamples its bands."""
    rows = np.flatnonzero(items.predicted)
    made: list[Curve] = []
    for place, signal in enumerate(signals, 1):
        loss = np.abs(items.pred[rows] - items.gt[rows])
        order = ranking(items.confidence(signal)[rows], items.cluster[rows], loss)
        stem = f"{place}_{re.sub(r'[^A-Za-z0-9]+', '_', signal)[:40]}"
        made.append(_steps(items, order, f"risk_coverage_{stem}", f"Risk and coverage by {signal}"))
        if plan.resamples and len(rows):
            bands = _bands(items, order, resampling.level, plan)
            made.append(Curve(f"risk_coverage_band_{stem}", f"Risk and coverage by {signal}, with bands", bands))
    return tuple(made)


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


def _bands(items: Items, order: Ranking, level: float, plan: ResamplingPlan) -> dict[str, Column]:
    """Risk and joint risk where each coverage of the grid is first reached; a resample that stops short is left out."""
    sizes = np.bincount(items.cluster, minlength=len(items.cluster_ids)).astype(float)
    values = np.full((2, len(GRID), plan.resamples), np.nan)

    def work(rows: slice, weights: Floats) -> None:
        values[:, :, rows] = _on_grid(order, weights, sizes @ weights)

    for _ in in_threads(work, plan.blocks()):
        pass
    point = _on_grid(order, np.ones((len(sizes), 1)), np.array([sizes.sum()]))[:, :, 0]
    columns: dict[str, Column] = {"coverage": tuple(float(c) for c in GRID)}
    for what, one, many in zip(("risk", "joint_risk"), point, values, strict=True):
        limits = percentile_limits(many, level)
        columns |= {what: _column(one), f"{what}_low": _column(limits.low), f"{what}_high": _column(limits.high)}
    columns["left_out"] = tuple(np.isnan(values[0]).sum(axis=1).astype(float).tolist())
    return columns


def _on_grid(order: Ranking, weights: Floats, total: Floats) -> Floats:
    """Risk and joint risk at every coverage of the grid: 2 x grid x weightings."""
    steps, totals = order.under(weights), np.rint(total).astype(np.int64)
    found = np.full((2, len(GRID), weights.shape[1]), np.nan)
    for place, coverage in enumerate(GRID):
        count = counts_to_reach(float(coverage), totals)
        there = count <= steps.predicted
        risk = np.where(there, steps.mean_loss(np.where(there, count, 1)), np.nan)
        found[0, place], found[1, place] = risk, risk * count / np.maximum(totals, 1)
    return found


def _column(values: Floats) -> Column:
    return tuple(None if np.isnan(value) else float(value) for value in values)
