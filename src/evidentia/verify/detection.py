"""Twins of the detection measures: sweeps over every threshold, and the confusion table at an operating point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.results.measure import Args
from evidentia.verify.recipes import over
from evidentia.verify.study import Study
from evidentia.verify.sweeps import Passed
from evidentia.verify.tuning import best_point
from evidentia.verify.twins import COUNT, Column, SumTwin, SweepTwin, TwinFamily, first

family = TwinFamily("detection", {**dict.fromkeys(("TP", "FP", "FN", "TN"), COUNT), "MCC": (-1.0, 1.0)})


def auroc(passed: Passed, args: Args) -> Floats:
    """Pairs of a positive and a negative in the right order, ties one half; each pair is counted twice."""
    wrong = np.einsum("tr,tr->r", passed.gained, 2 * passed.alarms - passed.tied, dtype=np.float64)
    pairs = 2 * passed.positives * passed.negatives
    return over(pairs - wrong, pairs)


def auprc(passed: Passed, args: Args) -> Floats:
    """The precision at every threshold, by the recall gained there; undefined with one class."""
    precision = passed.hits / np.maximum(passed.hits + passed.alarms, 1)
    return over(np.einsum("tr,tr->r", passed.gained, precision), _positives_of_two_classes(passed))


def best_rate(passed: Passed, args: Args) -> Floats:
    """The most that is found with a false positive rate within budget; undefined with one class."""
    most = passed.hits.max(axis=0, where=passed.rate <= args.level, initial=0)
    return over(most, _positives_of_two_classes(passed))


def _positives_of_two_classes(passed: Passed) -> Floats:
    return np.where(passed.negatives > 0, passed.positives, 0)


def _prevalence(study: Study, args: Args, rows: Bools) -> dict[str, Any]:
    positives, units = study.classes(args.get("level"), rows)
    return {"prevalence": positives / max(units, 1)}


def _one_class(study: Study, args: Args, rows: Bools, value: float) -> tuple[float, int]:
    """The conventional value, and which class is missing."""
    return value, 2 if study.classes(args.get("level"), rows)[0] else 1


def _at_budget(study: Study, args: Args, rows: Bools) -> dict[str, Any]:
    """The threshold of most true positives within the budget, and the false positive rate there."""
    assert args.cut is not None
    assert args.cut.value is not None
    points = study.operating_points(rows)
    best, negatives = best_point(points, args.cut.value), points[-1].fp if points else 0
    return {
        "threshold": None if best is None else best.value,
        "threshold_reason": "reject_all" if best is None else None,
        "achieved_fpr": best.fp / negatives if best is not None and negatives else 0.0,
    }


family.add("AUROC", SweepTwin(read=auroc, undefined=lambda study, args, rows: _one_class(study, args, rows, 0.5)))
family.add(
    "AUPRC",
    SweepTwin(
        read=auprc,
        details=_prevalence,
        undefined=lambda study, args, rows: _one_class(study, args, rows, _prevalence(study, args, rows)["prevalence"]),
    ),
)
family.add(
    "TPR",
    SweepTwin(
        read=best_rate, details=_at_budget, undefined=lambda study, args, rows: _one_class(study, args, rows, 0.0)
    ),
    when={"threshold": "same"},
)

CELLS = ("TP", "FP", "FN", "TN")
SHARES = {  # numerator, and what is added to it below
    **{"Sensitivity": ("TP", "FN"), "TPR": ("TP", "FN"), "Specificity": ("TN", "FP"), "FPR": ("FP", "TN")},
    **{"FNR": ("FN", "TP"), "Precision": ("TP", "FP"), "NPV": ("TN", "FN")},
}


def cells(study: Study, args: Args) -> Sequence[Bools]:
    """The four cells of the confusion table at the operating point; queries without an answer are in none."""
    answer, label = study.decisions(args), study.label
    yes, no = answer == 1, answer == 0
    return yes & label, yes & ~label, no & label, no & ~label


def _answered(study: Study, args: Args) -> Bools:
    return study.decisions(args) >= 0


def f1(sums: Floats, args: Args) -> Floats:
    """Twice the true positives, over those and every error."""
    tp, fp, fn, _ = sums
    return over(2 * tp, 2 * tp + fp + fn)


def mcc(sums: Floats, args: Args) -> Floats:
    """Matthews correlation; undefined where a row or a column of the table is empty."""
    tp, fp, fn, tn = sums
    return over(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def balanced_accuracy(sums: Floats, args: Args) -> Floats:
    """The mean of sensitivity and specificity."""
    tp, fp, fn, tn = sums
    return (over(tp, tp + fn) + over(tn, tn + fp)) / 2


def _half_of_one_class(study: Study, args: Args, rows: Bools) -> tuple[float, int]:
    """With one class its rate counts, and the other's is 0."""
    tp, fp, fn, tn = (float(cell[rows].sum()) for cell in cells(study, args))
    if tp + fn:
        return tp / (tp + fn) / 2, 2
    return (tn / (tn + fp) / 2 if tn + fp else 0.0), 1


def _define_share(base: str, top: int, other: int) -> None:
    @family.share(base)
    def share(study: Study, args: Args) -> tuple[Column, Bools]:
        table = cells(study, args)
        return table[top], table[top] | table[other]


def _define_cell(base: str, at: int) -> None:
    def columns(study: Study, args: Args) -> Sequence[Bools]:
        return [cells(study, args)[at]]

    family.add(base, SumTwin(columns=columns, finish=first, population=_answered, count=True))


for base, (top, other) in SHARES.items():
    _define_share(base, CELLS.index(top), CELLS.index(other))
for at, base in enumerate(CELLS):
    _define_cell(base, at)
family.add("F1", SumTwin(columns=cells, finish=f1, population=_answered))
family.add("MCC", SumTwin(columns=cells, finish=mcc, population=_answered))
family.add(
    "BalancedAccuracy",
    SumTwin(columns=cells, finish=balanced_accuracy, population=_answered, undefined=_half_of_one_class),
)
