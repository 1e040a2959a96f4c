"""ROC, precision-recall and reliability as data, with bands from the same resampling plan as every interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evidentia.evaluation.compute import Computation
from evidentia.results import Curve, Estimate
from evidentia.stats.bands import precision_on_grid, tpr_on_grid
from evidentia.stats.intervals import clopper_pearson, percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.stats.segments import Segments, segments
from evidentia.stats.sweeps import Counts
from evidentia.stats.threads import in_threads
from evidentia.tables.queries import Floats, Queries

GRID = np.arange(101) / 100


@dataclass(frozen=True)
class Shape:
    """A curve that is read off a sweep at a grid."""

    name: str
    title: str
    x: str
    y: str
    read: Callable[[Counts, Floats], Floats]
    grid: Floats


ROC = Shape("roc", "ROC", "fpr", "tpr", tpr_on_grid, GRID)
PR = Shape("pr", "Precision-recall", "recall", "precision", precision_on_grid, GRID[1:])


def curves(computation: Computation, ece: Estimate | None, level: float, plan: ResamplingPlan) -> tuple[Curve, ...]:
    """The curves that the run's scores allow; without resamples they have no bands."""
    made: list[Curve] = []
    if computation.queries.scores is not None:
        made += [_swept(computation.queries, level, plan, shape) for shape in (ROC, PR)]
    if ece is not None and ece.degenerate is None:
        made.append(reliability_curve(ece, level))
    return tuple(made)


def _swept(queries: Queries, level: float, plan: ResamplingPlan, shape: Shape) -> Curve:
    assert queries.scores is not None
    whole = segments(queries.scores, queries.label, queries.post, len(queries.post_ids))
    columns = {shape.x: tuple(shape.grid.tolist()), shape.y: _column(_point(queries, whole, shape))}
    if plan.resamples:
        replicates = np.empty((len(shape.grid), plan.resamples))

        def work(rows: slice, weights: Floats) -> None:
            replicates[:, rows] = shape.read(whole.counts(weights), shape.grid).T

        for _ in in_threads(work, plan.blocks()):
            pass
        limits = percentile_limits(replicates, level)
        columns |= {"low": _column(limits.low), "high": _column(limits.high)}
    if queries.fold is not None:
        for code, label in enumerate(queries.fold.labels):
            rows_of = np.flatnonzero(queries.fold.codes == code)
            part = segments(
                queries.scores[rows_of], queries.label[rows_of], queries.post[rows_of], len(queries.post_ids)
            )
            columns[f"fold {label}"] = _column(_point(queries, part, shape))
    if shape is PR:
        columns["prevalence"] = (float(queries.label.mean()),) * len(shape.grid)
    return Curve(shape.name, shape.title, columns)


def _point(queries: Queries, part: Segments, shape: Shape) -> Floats:
    counts = part.counts(np.ones((len(queries.post_ids), 1)))
    values: Floats = shape.read(counts, shape.grid)[0]
    return values


def reliability_curve(ece: Estimate, level: float) -> Curve:
    """Stated probability against observed share per bin, with exact binomial limits (a resampled band dies on pure bins)."""
    bins = ece.details["bins"]
    limits = [
        clopper_pearson(round(b["positive_share"] * b["n"]), b["n"], level) if b["n"] else (None, None) for b in bins
    ]
    columns: dict[str, tuple[float | None, ...]] = {
        key: tuple(b[key] for b in bins) for key in ("low", "high", "n", "mean_prob", "positive_share")
    }
    columns["share_low"] = tuple(low for low, _ in limits)
    columns["share_high"] = tuple(high for _, high in limits)
    return Curve("reliability", "Reliability", columns)


def _column(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in values)
