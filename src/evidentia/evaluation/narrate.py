"""Computed cells become estimates: values with their names, sizes, folds and reservations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evidentia.array_types import Ints
from evidentia.evaluation.compute import Cell, Computation
from evidentia.evaluation.groups import Grouping
from evidentia.evaluation.intervals import Intervals, Resampling
from evidentia.evaluation.plan import Plan, Thresholds
from evidentia.measures import Definition, Profile
from evidentia.measures.core import Additive, Args, Macro, Sweep
from evidentia.measures.names import group_suffix
from evidentia.protocol import UNTUNABLE
from evidentia.results import Distribution, Estimate
from evidentia.results.sample_size import Kind, Sample, interval_warnings, left_out_warning
from evidentia.stats.spread import fold_summary, grouped_distributions


def simulated_kind(definition: Definition) -> Kind | None:
    """The kind whose intervals were simulated with few posts, if the definition is of one."""
    kind = definition.kind
    if isinstance(kind, Sweep):
        return "sweep"
    return "sum" if isinstance(kind, Additive) and kind.gaps is None else None


@dataclass(frozen=True)
class Narrator:
    """Puts computed cells into estimates."""

    profile: Profile
    computation: Computation
    thresholds: Thresholds
    intervals: Intervals
    resampling: Resampling

    def estimates(self, plan: Plan) -> dict[str, Estimate]:
        """Every number by its canonical name: overall ones first, then group by group, in the order of the plan."""
        cells = {(d, g.columns): (d, g, self.computation.cell(d, g)) for d, g in plan.wants}
        ordered = sorted(cells.values(), key=lambda part: bool(part[1].columns))
        found: dict[str, Estimate] = {}
        positives = {grouping.columns: self._positives(grouping) for _, grouping, _ in ordered}
        for definition, grouping, cell in ordered:
            folds = cells.get((definition, ("fold",)))
            shapes = self._shapes(definition, grouping)
            totals = self._totals(definition.population.unit, grouping)
            for index, group in enumerate(grouping.groups):
                if not plan.reports(definition, grouping, group):
                    continue
                estimate = self._estimate(definition, grouping, cell, index)
                left_out = _left_out(definition, int(totals[index]) - estimate.n)
                estimate = replace(estimate, distribution=shapes[index], left_out=left_out)
                estimate = self._with_interval(
                    estimate, definition, grouping, index, int(positives[grouping.columns][index])
                )
                if not grouping.columns and folds is not None:
                    estimate = self._with_folds(estimate, folds[2])
                found[estimate.name] = estimate
        return found

    def _shapes(self, definition: Definition, grouping: Grouping) -> list[Distribution | None]:
        behind = self.computation.per_query(definition)
        if behind is None:
            return [None] * len(grouping)
        counted = behind.counted
        codes = np.zeros(len(counted), np.int64) if grouping.codes is None else grouping.codes
        whole = definition.measure.base == "SelectedK"
        shapes = grouped_distributions(behind.values[counted], codes[counted], len(grouping), whole_numbers=whole)
        return [None if shape is None else Distribution(**shape) for shape in shapes]  # type: ignore[arg-type]

    def _estimate(self, definition: Definition, grouping: Grouping, cell: Cell, index: int) -> Estimate:
        measure, population = definition.measure, definition.population
        group = grouping.groups[index]
        flaw = int(cell.outcome.flaws[index])
        return Estimate(
            name=definition.name(self.profile) + group_suffix(group),
            value=float(cell.outcome.values[index]),
            definition=definition.expanded,
            family=measure.family,
            label=measure.label,
            n=int(cell.n[index]),
            n_clusters=int(cell.clusters[index]),
            population=population.words,
            direction=measure.direction,
            meaning=measure.meaning,
            group=group,
            degenerate=reason_of(definition, flaw),
            warnings=reservations(definition, cell, index, self.thresholds, fold=dict(group).get("fold")),
            details={**cell.details[index], **self._threshold_details(definition.args)},
        )

    def _totals(self, unit: str, grouping: Grouping) -> Ints:
        queries = self.computation.queries
        codes = np.zeros(len(queries), np.int64) if grouping.codes is None else grouping.codes
        if unit != "post":
            return np.bincount(codes, minlength=len(grouping))
        seen = np.zeros((len(queries.post_ids), len(grouping)), bool)
        seen[queries.post, codes] = True
        posts: Ints = seen.sum(axis=0)
        return posts

    def _threshold_details(self, args: Args) -> dict[str, object]:
        if args.get("threshold") != "tuned":
            return {}
        chosen = self.thresholds[str(args.cut)]
        return {
            "budget_fpr": args.level,
            "thresholds": {
                fold: {"value": t.value, "reason": t.reason, "tune_tpr": t.tpr, "tune_fpr": t.fpr}
                for fold, t in chosen.items()
            },
        }

    def _with_interval(
        self, estimate: Estimate, definition: Definition, grouping: Grouping, index: int, positives: int
    ) -> Estimate:
        found = self.intervals.get((definition, grouping.columns))
        if found is None:
            return estimate
        interval = found[index]
        effective = float(self.computation.effective(definition, grouping)[index])
        sample = Sample(estimate.n_clusters, effective, positives, simulated_kind(definition))
        notes = [
            *interval_warnings(sample, self.resampling.method, self.resampling.level),
            *left_out_warning(interval.left_out, self.resampling.resamples),
        ]
        if interval.reason is not None:
            notes.append(f"{'interval' if interval.limits else 'no interval'}: {interval.reason}")
        return replace(
            estimate,
            ci=interval.limits,
            ci_method=interval.method,
            replicates_left_out=interval.left_out,
            warnings=(*estimate.warnings, *notes),
        )

    def _positives(self, grouping: Grouping) -> Ints:
        label = self.computation.queries.label
        codes = np.zeros(len(label), np.int64) if grouping.codes is None else grouping.codes
        return np.bincount(codes[label], minlength=len(grouping))

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


def reservations(
    definition: Definition, cell: Cell, index: int, thresholds: Thresholds, *, fold: str | None = None
) -> tuple[str, ...]:
    """What a value does not cover: criteria where it is undefined, and folds (or its own) that cannot be tuned."""
    said = []
    if cell.used is not None and cell.used[index] < cell.of:
        said.append(f"{cell.of - int(cell.used[index])} of {cell.of} criteria are undefined and left out of the mean")
    if definition.args.get("threshold") == "tuned":
        said += [
            f"fold {label} {chosen.reason}: its queries are left out"
            for label, chosen in thresholds[str(definition.args.cut)].items()
            if chosen.reason is not None and chosen.reason.startswith(UNTUNABLE) and fold in {None, label}
        ]
    return tuple(said)


def _left_out(definition: Definition, count: int) -> dict[str, int]:
    return {definition.population.left_out: count} if definition.population.left_out and count > 0 else {}


def reason_of(definition: Definition, flaw: int) -> str | None:
    """Why a value is a convention rather than a measurement; None if it is one."""
    if flaw == 0:
        return None
    if isinstance(definition.kind, Macro):
        return "no criterion where it is defined and has weight"
    return definition.measure.reasons[flaw - 1]
