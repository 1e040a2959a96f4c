"""From replicate values to intervals, with the reservations that belong to each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError
from evidentia.evaluation.compute import Cell, Computed
from evidentia.evaluation.plan import Key
from evidentia.evaluation.replicates import Replicated
from evidentia.measures.core import Additive, Outcome, Selective, Tallied
from evidentia.results.sample_size import CONVENTION, NEVER, SAME, exact_limits
from evidentia.stats.gaps import gap_limits
from evidentia.stats.intervals import (
    Bounds,
    Limits,
    bca_limits,
    clopper_pearson,
    percentile_limits,
    scale_of,
    transformed_limits,
)
from evidentia.stats.poisson import cluster_keys
from evidentia.stats.resampling import BootstrapPlan, PoissonPlan, ResamplingPlan
from evidentia.tables.queries import Queries

Method = Literal["auto", "percentile", "bca"]
Bootstrap = Literal["auto", "exact", "poisson"]
MOST_EXACT = 1_000_000  # clusters up to which draws of exactly so many are made where nobody chooses
INVERSION = "test inversion"


@dataclass(frozen=True)
class Interval:
    """Limits, how they were made, how many replicates were undefined; or the reason why there are none."""

    limits: tuple[float, float] | None
    method: str | None
    left_out: int
    reason: str | None = None


@dataclass(frozen=True)
class Resampling:
    """How intervals are made: resamples of posts, level, method, whether folds are kept apart, and which bootstrap."""

    resamples: int = 10_000
    seed: int = 7
    level: float = 0.95
    method: Method = "auto"
    stratify: bool = False
    block: int | None = None
    bootstrap: Bootstrap = "auto"
    record: Callable[[Replicated, Floats], None] | None = field(
        default=None, compare=False, repr=False
    )  # gets replicate values, and the effective number of posts behind them

    def __post_init__(self) -> None:
        if self.resamples < 0 or self.resamples == 1:
            raise InputError("The number of resamples must be 0 (no intervals) or at least 2; 10,000 is usual.")
        if not 0 < self.level < 1:
            raise InputError("The level of an interval must lie between 0 and 1, for example 0.95.")
        if self.seed < 0:
            raise InputError("The seed must not be negative.")
        if self.method not in {"auto", "percentile", "bca"}:
            raise InputError("The interval method must be auto, percentile or bca.")
        if self.bootstrap not in {"auto", "exact", "poisson"}:
            raise InputError("The bootstrap must be auto, exact or poisson.")
        if self.bootstrap == "poisson" and self._needs_exact:
            asked = "Resampling within folds" if self.stratify else "A BCa interval"
            raise InputError(
                f"{asked} needs the exact bootstrap. Leave it out, or the choice of the Poisson bootstrap."
            )

    @property
    def _needs_exact(self) -> bool:
        """Folds drawn apart, and clusters left out one by one, need all clusters together."""
        return self.stratify or self.method == "bca"

    def settled(self, clusters: int) -> Resampling:
        """The same with the bootstrap that it means for so many clusters."""
        if self.bootstrap != "auto":
            return self
        exact = self._needs_exact or clusters <= MOST_EXACT
        return replace(self, bootstrap="exact" if exact else "poisson")

    def to_dict(self) -> dict[str, object]:
        """The ``interval`` of ``summary.json``, once the bootstrap is settled."""
        return {
            "level": self.level,
            "method": self.method,
            "stratified_by_fold": self.stratify,
            "bootstrap": self.bootstrap,
        }

    def plan(self, queries: Queries) -> BootstrapPlan:
        """The draws over the posts of these queries."""
        return self.plan_of(queries.post_ids, self._strata(queries), self.block)

    def plan_of(
        self, ids: Sequence[str], strata: tuple[Ints, ...] | None = None, block: int | None = None
    ) -> BootstrapPlan:
        """The draws over clusters, which the exact bootstrap knows by their places and the other by their names."""
        if self.settled(len(ids)).bootstrap == "poisson":
            return PoissonPlan(cluster_keys(ids), self.resamples, self.seed, block)
        return ResamplingPlan(len(ids), self.resamples, self.seed, strata, block)

    def _strata(self, queries: Queries) -> tuple[Ints, ...] | None:
        if not self.stratify:
            return None
        if queries.fold is None:
            raise InputError("Stratified resampling needs a fold column.")
        fold = np.zeros(len(queries.post_ids), np.int64)
        fold[queries.post] = queries.fold.codes
        parts = [np.flatnonzero(fold == code) for code in range(len(queries.fold.labels))]
        return tuple(part for part in parts if len(part))


Intervals = Mapping[Key, Sequence[Interval]]


def intervals(
    points: Computed, replicates: Iterable[Replicated], resampling: Resampling, *, unit: str = "post"
) -> Intervals:
    """An interval for every number that was replicated; ``unit`` is what a cluster is called."""
    by_key: dict[Key, Sequence[Interval]] = {}
    for replicated in replicates:
        definition, grouping = replicated.definition, replicated.grouping
        cell, effective = points.cell(definition, grouping), points.effective(definition, grouping)
        if resampling.record is not None:
            resampling.record(replicated, effective)
        kind, bounds = definition.kind, definition.measure.bounds
        limits = _limits(replicated, cell, effective, bounds, resampling)
        by_key[definition, grouping.columns] = [
            interval_of(
                cell.outcome,
                limits,
                i,
                resampling,
                clusters=int(cell.clusters[i]),
                proportion=isinstance(kind, Additive | Selective | Tallied) and kind.proportion,
                bounds=bounds,
                unit=unit,
            )
            for i in range(len(grouping))
        ]
    return by_key


def _limits(
    replicated: Replicated, cell: Cell, effective: Floats, bounds: Bounds, resampling: Resampling
) -> MethodLimits:
    if replicated.gaps is not None:
        assert cell.gaps is not None
        inverted = gap_limits(cell.gaps, replicated.gaps, effective, resampling.level)
        low, high = np.minimum(inverted.low, cell.outcome.values), np.maximum(inverted.high, cell.outcome.values)
        if bounds[1] is not None:  # with a handful of posts the noise alone may reach beyond what can be
            high = np.minimum(high, bounds[1])
        return MethodLimits(Limits(low, high, inverted.left_out), INVERSION)
    return value_limits(
        replicated.values,
        cell.outcome.values,
        resampling,
        effective=effective,
        bounds=bounds,
        jackknife=replicated.jackknife,
    )


@dataclass(frozen=True, eq=False)
class MethodLimits:
    """Limits with the name of the method; in the rows of ``percentile`` those limits stand in for the method's."""

    limits: Limits
    method: str
    percentile: Ints | None = None


def value_limits(
    values: Floats,
    points: Floats,
    resampling: Resampling,
    *,
    effective: Floats,
    bounds: Bounds,
    jackknife: Floats | None = None,
) -> MethodLimits:
    """Limits of every row of replicate values, by the method that was asked for."""
    if resampling.method == "bca" and jackknife is not None:
        return MethodLimits(bca_limits(values, points, jackknife, resampling.level), "bca")
    if resampling.method != "auto":
        return MethodLimits(percentile_limits(values, resampling.level), "percentile")
    limits = transformed_limits(values, points, effective, bounds, resampling.level)
    rows = np.flatnonzero(np.isnan(limits.low) | np.isnan(limits.high))
    usual = percentile_limits(values[rows], resampling.level)
    low, high = limits.low.copy(), limits.high.copy()
    low[rows], high[rows] = usual.low, usual.high
    return MethodLimits(Limits(low, high, limits.left_out), scale_of(bounds), rows)


def interval_of(
    outcome: Outcome,
    method_limits: MethodLimits,
    index: int,
    resampling: Resampling,
    *,
    clusters: int,
    proportion: bool,
    bounds: Bounds = (0.0, 1.0),
    unit: str = "post",
) -> Interval:
    """The interval of one value; exact binomial limits where a proportion collapses, and a reason where there are none."""
    limits = method_limits.limits
    left_out = int(limits.left_out[index])
    if outcome.flaws[index] > 0:
        return Interval(None, None, left_out, CONVENTION)
    if left_out >= resampling.resamples:
        return Interval(None, None, left_out, NEVER)
    low, high = float(limits.low[index]), float(limits.high[index])
    if spread_out(low, high):
        stands_in = method_limits.percentile is not None and index in method_limits.percentile
        return Interval((low, high), "percentile" if stands_in else method_limits.method, left_out)
    value = float(outcome.values[index])
    if proportion and value in bounds:
        exact = _exact(value, bounds, clusters, resampling.level)
        return Interval(exact, "clopper-pearson", left_out, exact_limits(clusters, unit))
    return Interval(None, None, left_out, SAME)


def _exact(value: float, bounds: Bounds, clusters: int, level: float) -> tuple[float, float]:
    """Clopper-Pearson limits over clusters of a proportion that is none or all of its range."""
    least, most = bounds
    assert least is not None
    assert most is not None
    low, high = clopper_pearson(clusters if value == most else 0, clusters, level)
    return least + (most - least) * low, least + (most - least) * high


def spread_out(low: float, high: float) -> bool:
    """Whether two limits differ by more than rounding; not by a round decimal, which squared errors would meet exactly."""
    return high - low > 2.0**-40 * max(1.0, abs(low), abs(high))
