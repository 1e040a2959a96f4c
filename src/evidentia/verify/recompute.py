"""From a definition and a group to its number, with its size, its reservations and what stands beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evidentia.verify import calibration, detection, triage
from evidentia.verify.catalogue import Definition, define
from evidentia.verify.names import level_of
from evidentia.verify.outcome import Outcome, mean, share
from evidentia.verify.populations import members, sizes
from evidentia.verify.ranking import flaw_of, has_values, value_of
from evidentia.verify.study import Scope, Study

NO_CRITERION = "no criterion where it is defined and has weight"
Reference = Callable[[Study, Definition, Scope], Outcome]
SINGLE: dict[str, Reference] = {
    "AUROC": detection.auroc,
    "AUPRC": detection.auprc,
    "ECE": calibration.ece,
    "NetBenefit": calibration.net_benefit,
    "CalibrationSlope": calibration.slope,
    "CalibrationIntercept": calibration.intercept,
    "ExactMatch": triage.whole_posts,
    "HammingScore": triage.whole_posts,
    "HammingLoss": triage.whole_posts,
    "EvidenceRecall": triage.pooled_recall,
}
BY_FAMILY: dict[str, Reference] = {
    "counts": triage.counts,
    "detection": detection.confusion,
    "gate": triage.gate,
    "multi-label": triage.f1_of_criteria,
}


@dataclass(frozen=True)
class Found:
    """A recomputed number."""

    value: float
    flaw: str | None
    n: int
    clusters: int
    details: dict[str, Any] = field(default_factory=dict)
    undefined: tuple[int, int] = (0, 0)  # criteria that a mean over them leaves out, and how many there are


def recompute(study: Study, definition: Definition, scope: Scope) -> Found:
    """The number of a definition in a group."""
    n, clusters = sizes(study, definition, scope)
    if definition.averaged:
        outcome, left, of = _over_criteria(study, definition, scope)
        return Found(outcome.value, outcome.flaw, n, clusters, undefined=(left, of))
    outcome = outcome_of(study, definition, scope)
    details = {**outcome.details, **_tuned_details(study, definition)}
    return Found(outcome.value, outcome.flaw, n, clusters, details)


def outcome_of(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """The value and its flaw, without sizes; every definition and group is computed once."""
    key = ("outcome", definition.expanded)
    return scope.once(key, lambda: _outcome(study, definition, scope))


def _outcome(study: Study, definition: Definition, scope: Scope) -> Outcome:
    if has_values(definition):
        values = own_values(study, definition)
        return mean([value for row in scope.rows if (value := values[row]) is not None], flaw_of(definition))
    if definition.base == "TPR" and definition.get("threshold") == "same":
        return detection.tpr_within_budget(study, definition, scope)
    reference = SINGLE.get(definition.base) or BY_FAMILY[definition.measure.family]
    return reference(study, definition, scope)


def own_values(study: Study, definition: Definition) -> list[float | None]:
    """The value of every query; None for those outside of the population."""

    def make() -> list[float | None]:
        inside = members(study, definition)
        return [value_of(q, definition) if held else None for q, held in zip(study.queries, inside, strict=True)]

    return study.once(("values", definition.expanded), make)


def _over_criteria(study: Study, definition: Definition, scope: Scope) -> tuple[Outcome, int, int]:
    """The mean over the criteria where the plain definition is defined, each weighing the same or by its positives."""
    plain = _of_one_criterion(definition)
    defined, tops, weights = 0, [], []
    for criterion in study.criteria:
        part = study.scope((*scope.group, ("criterion", criterion)))
        outcome = outcome_of(study, plain, part)
        if outcome.flaw is not None:
            continue
        defined += 1
        weighted = definition.get("avg") == "label_weighted"
        weight = study.positives(part) if weighted else 1
        tops.append(outcome.value * weight)
        weights.append(weight)
    found = share(math.fsum(tops), sum(weights), NO_CRITERION)
    return found, len(study.criteria) - defined, len(study.criteria)


def _of_one_criterion(definition: Definition) -> Definition:
    if definition.measure.family == "multi-label":
        return define("F1(t=gate,avg=pooled)")
    return define(definition.expanded.replace("avg=criterion", "avg=pooled"))


def _tuned_details(study: Study, definition: Definition) -> dict[str, Any]:
    if definition.get("threshold") != "tuned":
        return {}
    chosen = study.thresholds(str(definition.cut))
    return {
        "budget_fpr": float(level_of(str(definition.cut))),
        "thresholds": {
            fold: {"value": t.value, "reason": t.reason, "tune_tpr": t.tpr, "tune_fpr": t.fpr}
            for fold, t in chosen.items()
        },
    }
