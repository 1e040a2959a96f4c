"""The result of a selective run: estimates with intervals, tie sensitivity, and curves with bands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from evidentia.array_types import Floats
from evidentia.evaluation.intervals import Interval, MethodLimits, Resampling, interval_of
from evidentia.evaluation.narrate import reason_of
from evidentia.evaluation.replicates import Progress
from evidentia.evaluation.selective import Readings, Task, Want, kernel_of, outcome_of, task_for
from evidentia.evaluation.selective_curves import risk_coverage_curves, stems
from evidentia.measures.core import Outcome, Selective
from evidentia.measures.names import group_suffix
from evidentia.measures.profiles import SELECTIVE
from evidentia.measures.registry import canonical
from evidentia.results import Estimate, Evaluation
from evidentia.results.sample_size import cluster_warnings, left_out_warning
from evidentia.stats.intervals import Limits, bca_limits, percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.stats.risk_coverage import Curves, Ranking, within_ties
from evidentia.tables.items import PHQ8_ROLE, Items


def evaluate_items(
    items: Items,
    *,
    confidence: Sequence[str] | None = None,
    loss: str | None = None,
    coverage: Iterable[object] | None = None,
    measures: Sequence[str] | None = None,
    resampling: Resampling,
    progress: Progress | None = None,
) -> Evaluation:
    """Every measure of selective prediction for every confidence, over the whole run."""
    task = task_for(items, confidence=confidence, loss=loss, coverage=coverage, measures=measures)
    readings = Readings(items, task.wants)
    found = readings.points()
    plan = readings.plan(resampling)
    limits = _limits(readings, found, resampling, plan, progress)
    narrator = _Narrator(items, task, readings, resampling)
    estimates = {e.name: e for want in task.wants for e in [narrator.estimate(want, found[want], limits.get(want))]}
    return Evaluation(
        profile=SELECTIVE.name,
        seed=resampling.seed,
        resamples=resampling.resamples,
        interval={"level": resampling.level, "method": resampling.method, "stratified_by_fold": False},
        measures=MappingProxyType(estimates),
        not_computed=task.gaps,
        notes=(*items.notes, *task.notes),
        dataset=dataset_of(items, task.signals),
        curves=risk_coverage_curves(items, stems(task.signals), resampling, plan),
        resolve=partial(canonical, profile=SELECTIVE),
    )


def unit_of(items: Items) -> str:
    """What a cluster is called."""
    return "participant" if any(source.role == PHQ8_ROLE for source in items.sources) else "cluster"


def dataset_of(items: Items, signals: Sequence[str]) -> dict[str, object]:
    """What was evaluated, and how many participants gave no result at all."""
    return {
        "mode": items.mode,
        "unit": unit_of(items),
        "participants": len(items.cluster_ids),
        "failed": len(items.failed),
        "items": len(items),
        "predicted": int(items.predicted.sum()),
        "item_max": items.item_max,
        "signals": list(signals),
    }


def _limits(
    readings: Readings,
    found: Mapping[Want, Outcome],
    resampling: Resampling,
    plan: ResamplingPlan,
    progress: Progress | None,
) -> dict[Want, Limits]:
    if not resampling.resamples:
        return {}
    values = readings.run(plan, progress)
    if resampling.method == "percentile":
        return {want: percentile_limits(one[None], resampling.level) for want, one in values.items()}
    without = readings.run(readings.left_out())
    return {
        want: bca_limits(one[None], found[want].values, without[want][None], resampling.level)
        for want, one in values.items()
    }


@dataclass(frozen=True)
class _Narrator:
    """Puts numbers into estimates."""

    items: Items
    task: Task
    readings: Readings
    resampling: Resampling

    def estimate(self, want: Want, outcome: Outcome, limits: Limits | None) -> Estimate:
        definition, signal = want
        measure, unit = definition.measure, unit_of(self.items)
        clusters, predicted = len(self.items.cluster_ids), int(self.items.predicted.sum())
        group = self._group(signal)
        interval = None if limits is None else self._interval(want, outcome, limits)
        of_predicted = definition.population.left_out != ""
        return Estimate(
            name=definition.name(SELECTIVE) + group_suffix(group),
            value=float(outcome.values[0]),
            definition=definition.expanded,
            family=measure.family,
            label=measure.label,
            n=predicted if of_predicted else len(self.items),
            n_clusters=clusters,
            population=definition.population.words,
            direction=measure.direction,
            meaning=measure.meaning,
            group=group,
            ci=None if interval is None else interval.limits,
            ci_method=None if interval is None else interval.method,
            replicates_left_out=None if interval is None else interval.left_out,
            left_out={definition.population.left_out: len(self.items) - predicted}
            if of_predicted and predicted < len(self.items)
            else {},
            degenerate=reason_of(definition, int(outcome.flaws[0])),
            warnings=(*self._short(want), *self._reserved(interval, clusters, unit)),
            details=self._details(want),
        )

    def _group(self, signal: str | None) -> tuple[tuple[str, str], ...]:
        return (("confidence", signal),) if signal is not None and len(self.task.signals) > 1 else ()

    def _interval(self, want: Want, outcome: Outcome, limits: Limits) -> Interval:
        kind = want[0].kind
        assert isinstance(kind, Selective)
        clusters, unit = len(self.items.cluster_ids), unit_of(self.items)
        made = MethodLimits(limits, self.resampling.method)
        return interval_of(outcome, made, 0, self.resampling, clusters=clusters, proportion=kind.proportion, unit=unit)

    def _reserved(self, interval: Interval | None, clusters: int, unit: str) -> list[str]:
        if interval is None:
            return []
        said = [
            *cluster_warnings(clusters, unit),
            *left_out_warning(interval.left_out, self.resampling.resamples),
        ]
        if interval.reason is not None:
            said.append(f"{'interval' if interval.limits else 'no interval'}: {interval.reason}")
        return said

    def _short(self, want: Want) -> list[str]:
        """A truncated area that cannot go as far as it should."""
        cut = want[0].args.cut
        reached = self.items.predicted.mean() if len(self.items) else 0.0
        if cut is None or cut.kind != "C" or cut.value is None or float(cut.value) <= reached:
            return []
        return [f"Cmax is {reached:.4g}: the area ends there, before the coverage that was asked for"]

    def _details(self, want: Want) -> dict[str, object]:
        """Which confidence orders the items, at which coverage, and for a step area its plateau twin and what ties do to it."""
        definition, signal = want
        args = definition.args
        details: dict[str, object] = {} if signal is None else {"confidence": signal}
        if args.cut is not None and args.cut.value is not None:
            details["coverage"] = float(args.cut.value)
        if args.get("ties") == "step":
            twin = definition.with_params(ties="plateau").name(SELECTIVE) + group_suffix(self._group(signal))
            details["plateau"] = twin
            if signal is not None and args.cut is None and definition.measure.base in {"AURC", "AUGRC"}:
                details["tie_sensitivity"] = tie_sensitivity(self.readings, want)
        return details


def tie_sensitivity(readings: Readings, want: Want) -> dict[str, float]:
    """The area with tied items in the best order, in expectation over orders, and in the worst."""
    ones = np.ones((readings.clusters, 1))
    own = readings.curves(ones)(want, None)
    ranked = readings.orders[str(want[1]), kernel_of(want[0].args)]
    best, expected, worst = (_reread(own, order, want, ones) for order in within_ties(ranked))
    runs = np.diff(np.concatenate([[-1], ranked.ends]))
    tied = int(runs[runs > 1].sum())
    return {"best": best, "expected": expected, "worst": worst, "tied_items": tied}


def _reread(own: Curves, order: Ranking, want: Want, weights: Floats) -> float:
    curves = Curves(order.under(weights), own.best, own.total, own.scale)
    return float(outcome_of(want, curves).values[0])
