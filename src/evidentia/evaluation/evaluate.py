"""From a run of queries, or of items, to every number of a profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.evaluation.attribution import attribute
from evidentia.evaluation.compute import Computation, compute
from evidentia.evaluation.curves import curves, gamma_curves
from evidentia.evaluation.estimates import EstimateBuilder, reason_of
from evidentia.evaluation.intervals import Resampling, intervals
from evidentia.evaluation.item_curves import risk_coverage_curves, stems
from evidentia.evaluation.items import ItemComputation, plan_for_items, unit_of
from evidentia.evaluation.operating_points import operating_curves
from evidentia.evaluation.plan import OVERALL, MeasurePlan, Thresholds, plan_for, unmet, with_tuned_decisions
from evidentia.evaluation.questionnaire import TOTALS, totals_of
from evidentia.evaluation.replicates import replicate
from evidentia.measures import PROFILES, Definition, Profile, canonical, profile_named, resolve
from evidentia.results import Estimate, Evaluation, OtherDefinition
from evidentia.results.curve import EVERY_CURVE
from evidentia.results.profiles import SELECTIVE
from evidentia.stats.resampling import Progress
from evidentia.tables import Items, Run
from evidentia.tables.queries import read_only


def evaluate_run(
    run: Run,
    *,
    profile: str = "contract",
    measures: Iterable[str] | None = None,
    by: Sequence[str] = (),
    k: Sequence[int | str] | None = None,
    dual: bool = False,
    resampling: Resampling | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compute every measure of a profile, or the named ones, over the run and its groups; the options of ``evidentia.evaluate``."""
    resampling = (resampling or Resampling(resamples=0)).settled(len(run.queries.post_ids))
    chosen = profile_named(profile)
    names = chosen.names(ks=None if k is None else tuple(str(depth) for depth in k), dual=dual)
    requested = tuple(measures) if measures is not None else names
    plan = plan_for(run, chosen, requested, by)
    plan.ensure_possible(chosen, hints=[note for note in run.notes if "--map " in note])
    curves_asked = EVERY_CURVE if measures is None else plan.curves
    run, thresholds = with_tuned_decisions(run, plan.definitions)
    computation = compute(run.queries, plan.wants, thresholds=thresholds)
    draws = resampling.plan(run.queries)
    replicates = replicate(run.queries, plan.wants, draws, progress, jackknife=resampling.method == "bca", gaps=True)
    limits = intervals(computation, replicates, resampling) if resampling.resamples else {}
    estimates = EstimateBuilder(chosen, computation, limits, resampling, run.cross_fit).estimates(plan)
    return Evaluation(
        profile=chosen.name,
        seed=resampling.seed,
        resamples=resampling.resamples,
        interval=resampling.to_dict(),
        measures=MappingProxyType(estimates),
        not_computed=plan.not_computed(chosen),
        other_definitions=_other_definitions(run, chosen, plan, estimates),
        notes=run.notes,
        dataset=_dataset(run),
        curves=(
            *curves(run.queries, curves_asked, estimates.get("ECE"), resampling.level, draws),
            *(operating_curves(run, resampling, draws) if "operating" in curves_asked else ()),
            *(gamma_curves(run.queries) if "gamma" in curves_asked else ()),
        ),
        thresholds=_threshold_records(thresholds),
        attribution=attribute(run) if "attribution" in curves_asked else None,
        per_query=_per_query(computation, plan, chosen),
        resolve=partial(canonical, profile=chosen),
    )


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
    """Compute every measure of selective prediction, or the named ones, over a run and for every confidence."""
    plan = plan_for_items(items, confidence=confidence, loss=loss, coverage=coverage, measures=measures)
    computation = ItemComputation(items, plan.wants, plan.signals)
    resampling = resampling.settled(len(items.cluster_ids))
    draws = computation.plan(resampling)
    replicates = computation.replicate(draws, progress, jackknife=resampling.method == "bca")
    limits = intervals(computation, replicates, resampling, unit=unit_of(items)) if resampling.resamples else {}
    estimates = EstimateBuilder(SELECTIVE, computation, limits, resampling).estimates(plan)
    signals = stems(plan.signals) if "risk_coverage" in plan.curves else {}
    totals = (totals_of(items.answers),) if TOTALS in plan.curves else ()
    return Evaluation(
        profile=SELECTIVE.name,
        seed=resampling.seed,
        resamples=resampling.resamples,
        interval=resampling.to_dict(),
        measures=MappingProxyType(estimates),
        not_computed=plan.not_computed(SELECTIVE),
        notes=(*items.notes, *plan.notes),
        dataset=_item_dataset(items, plan.signals),
        curves=(*risk_coverage_curves(items, signals, resampling, draws), *totals),
        resolve=partial(canonical, profile=SELECTIVE),
    )


def _item_dataset(items: Items, signals: Sequence[str]) -> dict[str, object]:
    """What was evaluated, and how many participants gave no result at all."""
    return {
        "mode": items.mode,
        "unit": unit_of(items),
        "participants": len(items.cluster_ids),
        "failed": len(items.failed),
        "items": len(items),
        "predicted": int(items.predicted.sum()),
        "item_max": items.item_max,
        "instrument": None if items.questionnaire is None else items.questionnaire.to_dict(),
        "signals": list(signals),
    }


def _other_definitions(
    run: Run, profile: Profile, plan: MeasurePlan, estimates: Mapping[str, Estimate]
) -> tuple[OtherDefinition, ...]:
    """What the same names mean, and give, under the other profiles, wherever the value differs."""
    asked = defined_otherwise(run, profile, plan)
    wants = tuple((definition, OVERALL) for _, definition in asked)
    run, _ = with_tuned_decisions(run, (definition for definition, _ in wants))
    return other_definitions(asked, compute(run.queries, wants), estimates)


def defined_otherwise(run: Run, profile: Profile, plan: MeasurePlan) -> dict[tuple[str, Definition], list[str]]:
    """The names of a plan with what they mean under other profiles, where that is something else, and those profiles."""
    asked: dict[tuple[str, Definition], list[str]] = {}
    for definition in plan.overall:
        name = definition.name(profile)
        for other in PROFILES.values():
            meant = resolve(name, other).definition
            if meant != definition and unmet(meant, run) is None:
                asked.setdefault((name, meant), []).append(other.name)
    return asked


def other_definitions(
    asked: Mapping[tuple[str, Definition], Sequence[str]], computation: Computation, estimates: Mapping[str, Estimate]
) -> tuple[OtherDefinition, ...]:
    """The values of other definitions of the same names, where they differ from the estimates."""
    others = []
    for (name, definition), profiles in asked.items():
        cell = computation.cell(definition, OVERALL)
        value = float(cell.outcome.values[0])
        if value != estimates[name].value:
            reason = reason_of(definition, int(cell.outcome.flaws[0]))
            others.append(OtherDefinition(name, tuple(profiles), definition.expanded, value, reason))
    return tuple(others)


def _dataset(run: Run) -> dict[str, object]:
    queries = run.queries
    return {
        "card": None if run.card is None else run.card.name,
        "queries": len(queries),
        "positives": int(queries.label.sum()),
        "posts": len(np.unique(queries.post)),
        "criteria": len(queries.criterion_ids),
        "folds": None if queries.fold is None else len(queries.fold.labels),
        "left_out": dict(run.left_out),
    }


def _threshold_records(thresholds: Thresholds) -> tuple[dict[str, object], ...]:
    return tuple(
        {
            "rule": "fpr_budget",
            "target": cut,
            "fold": fold,
            "value": chosen.value,
            "reason": chosen.reason,
            "tune_tpr": chosen.tpr,
            "tune_fpr": chosen.fpr,
            "tuned_on_posts": list(chosen.tuned_on.posts),
        }
        for cut, folds in thresholds.items()
        for fold, chosen in folds.items()
    )


def _per_query(computation: Computation, plan: MeasurePlan, profile: Profile) -> dict[str, tuple[Floats, Bools]]:
    by_name = {definition.name(profile): computation.per_query(definition) for definition in plan.overall}
    return {name: (read_only(q.values), read_only(q.counted)) for name, q in by_name.items() if q is not None}
