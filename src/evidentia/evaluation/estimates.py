"""Computed cells become estimates: values with their names, sizes, intervals, folds and reservations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evidentia.evaluation.compute import Cell, Computed
from evidentia.evaluation.intervals import Intervals, Resampling
from evidentia.evaluation.plan import Grouping, MeasurePlan
from evidentia.measures import Definition, Profile
from evidentia.measures.core import Macro
from evidentia.results import Estimate
from evidentia.results.measure import CROSS_FIT
from evidentia.results.names import group_suffix
from evidentia.results.sample_size import interval_reason, left_out_warning
from evidentia.stats.spread import fold_summary


@dataclass(frozen=True)
class EstimateBuilder:
    """Puts computed cells into estimates."""

    profile: Profile
    computed: Computed
    intervals: Intervals
    resampling: Resampling
    cross_fit: bool = False

    def estimates(self, plan: MeasurePlan) -> dict[str, Estimate]:
        """Every number by its canonical name, in the order of the plan."""
        columns = {(d, g.columns): g for d, g in plan.wants}
        estimates: dict[str, Estimate] = {}
        for definition, grouping in plan.wants:
            by_fold = columns.get((definition, ("fold",)))
            distributions = self.computed.distributions(definition, grouping)
            for index, group in enumerate(grouping.groups):
                if not plan.reports(definition, grouping, group):
                    continue
                estimate = self._estimate(definition, grouping, index)
                estimate = replace(estimate, distribution=distributions[index])
                estimate = self._with_interval(estimate, definition, grouping, index)
                if not grouping.columns and by_fold is not None:
                    estimate = self._with_folds(estimate, self.computed.cell(definition, by_fold))
                estimates[estimate.name] = estimate
        return estimates

    def _estimate(self, definition: Definition, grouping: Grouping, index: int) -> Estimate:
        measure, population = definition.measure, definition.population
        cell, group = self.computed.cell(definition, grouping), grouping.groups[index]
        n = int(cell.n[index])
        left_out = 0 if cell.totals is None else int(cell.totals[index]) - n
        return Estimate(
            name=definition.name(self.profile) + group_suffix(group),
            value=float(cell.outcome.values[index]),
            definition=definition.expanded,
            family=measure.family,
            label=measure.label,
            n=n,
            n_clusters=int(cell.clusters[index]),
            population=population.words,
            direction=measure.direction,
            meaning=measure.meaning,
            group=group,
            left_out={population.left_out: left_out} if population.left_out and left_out > 0 else {},
            degenerate=reason_of(definition, int(cell.outcome.flaws[index])),
            warnings=(*self.computed.reservations(definition, grouping, index), *self._origin(definition)),
            details=cell.details[index],
        )

    def _origin(self, definition: Definition) -> tuple[str, ...]:
        """A number that reads the yes or no of thresholds says where they come from, unless that is TUNE."""
        decided = {"gate", "state", "selection"} & set(definition.measure.requires(definition.args))
        return (CROSS_FIT,) if self.cross_fit and decided else ()

    def _with_interval(self, estimate: Estimate, definition: Definition, grouping: Grouping, index: int) -> Estimate:
        intervals = self.intervals.get((definition, grouping.columns))
        if intervals is None:
            return estimate
        interval, resampling = intervals[index], self.resampling
        notes = [
            *self.computed.sample_warnings(definition, grouping, index, resampling.method, resampling.level),
            *left_out_warning(interval.left_out, resampling.resamples),
            *interval_reason(interval.reason, given=interval.limits is not None),
        ]
        return replace(
            estimate,
            ci=interval.limits,
            ci_method=interval.method,
            replicates_left_out=interval.left_out,
            warnings=(*estimate.warnings, *notes),
        )

    def _with_folds(self, estimate: Estimate, cell: Cell) -> Estimate:
        defined = cell.outcome.flaws == 0
        summary = fold_summary(cell.outcome.values[defined], ddof=self.profile.ddof)
        dropped = int(np.count_nonzero(~defined))
        note = (f"{dropped} of {len(defined)} folds are undefined and left out of mean and std",) if dropped else ()
        return replace(
            estimate,
            fold_mean=summary.mean,
            fold_std=summary.std,
            folds_used=summary.used,
            warnings=(*estimate.warnings, *note),
        )


def reason_of(definition: Definition, flaw: int) -> str | None:
    """Why a value is a convention rather than a measurement; None if it is one."""
    if flaw == 0:
        return None
    if isinstance(definition.kind, Macro):
        return "no criterion where it is defined and has weight"
    return definition.measure.reasons[flaw - 1]
