"""Checks of predictors that may abstain: complete items, curves that agree with themselves, areas above their optimum."""

from __future__ import annotations

import numpy as np

from evidentia.checks.registry import Verdict, check, looked_at, not_applicable
from evidentia.checks.subject import Subject
from evidentia.results import Curve

PHQ8_ITEMS = 8  # of a result that keeps no instrument
STEPS = ("coverage", "risk", "joint_risk")


@check("SEL001", title="Every participant has all items", about="items")
def every_participant_is_complete(subject: Subject) -> Verdict:
    """All items of the questionnaire for every participant, so that nobody weighs more than another."""
    if subject.evaluation.dataset.get("unit") != "participant":
        return not_applicable("a generic table says itself which items there are")
    if subject.items is None:
        return Verdict("failed", "the items cannot be read")
    sizes = np.bincount(subject.items.cluster, minlength=len(subject.items.cluster_ids))
    asked = subject.evaluation.dataset.get("instrument")
    wrong = int(np.count_nonzero(sizes != (PHQ8_ITEMS if asked is None else len(asked["items"]))))
    return looked_at(len(sizes), "participant", wrong=wrong, fault="have another number of items")


@check("SEL002", title="Joint risk is coverage times risk at every point of every curve", about="items")
def joint_risk_is_coverage_times_risk(subject: Subject) -> Verdict:
    """The loss so far over N, against k / N times the mean of the k losses."""
    curves = [c for c in subject.evaluation.curves if {*STEPS} <= {*c.columns} and "risk_low" not in c.columns]
    looked = sum(len(curve.columns["coverage"]) for curve in curves)
    if not looked:
        return not_applicable("no curve has a point")
    return looked_at(looked, "point", wrong=sum(map(_differing, curves)), fault="differ")


def _differing(curve: Curve) -> int:
    coverage, risk, joint = (np.array(curve.columns[name], np.float64) for name in STEPS)
    # a missing number differs too
    return int(np.count_nonzero(~(np.abs(joint - coverage * risk) <= 1e-9 * np.maximum(joint, 1.0))))


@check("SEL003", title="No area is smaller than the best that its predictions allow", about="items")
def no_area_is_below_its_optimum(subject: Subject) -> Verdict:
    """Areas in the order of a confidence, against those in the order of the oracle."""
    estimates = list(subject.evaluation.measures.values())
    optimum = {e.definition: e.value for e in estimates if "(order=oracle," in e.definition}
    pairs = [
        (e.value, optimum[twin])
        for e in estimates
        if (twin := e.definition.replace("(order=confidence,", "(order=oracle,")) != e.definition and twin in optimum
    ]
    if not pairs:
        return not_applicable("no area was computed beside its optimum")
    return looked_at(len(pairs), "area", wrong=sum(own < best - 1e-12 for own, best in pairs), fault="are smaller")
