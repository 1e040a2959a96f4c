"""The confusion table at an operating point, and everything that is read off it."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from evidentia.array_types import Floats
from evidentia.measures.core import Additive, Outcome, Statistic, ratio, ratio_of_sums, sound
from evidentia.measures.family import AVERAGE, About, Family
from evidentia.measures.populations import (
    ALL,
    NEGATIVES,
    OPERATING_POINT,
    POSITIVES,
    SAID_NO,
    SAID_YES,
    among_decided,
    decided,
    decision,
    needs_of_point,
)
from evidentia.results.measure import Args, Direction, Parameter, Population
from evidentia.tables.queries import Queries

family = Family("detection")
TUNED = Parameter("threshold", ("tuned",), None, bare=True)
NO_POSITIVES, NO_NEGATIVES = "no queries with evidence", "no queries without evidence"
FAWCETT = "Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27 (2006)"
CHICCO = "Chicco and Jurman, The advantages of MCC over F1 and accuracy, BMC Genomics 21 (2020)"


def _count(queries: Queries, args: Args) -> Floats:
    yes, label = decision(queries, args), queries.label
    no = decided(queries, args) & ~yes
    return np.column_stack([yes & label, yes & ~label, no & label, no & ~label]).astype(float)


CONFUSION = Statistic("confusion", _count, uses=("t", "threshold"), uses_cut=True)
TP, FP, FN, TN = range(4)
CELLS = ("TP", "FP", "FN", "TN")
POINT_CHOICES = {
    "t=0.5": "yes where prob >= 0.5 (any other threshold may be written the same way)",
    "t=gate": "yes where the system's gate says so: state is not NEG, else prob >= tau, else prob >= 0.5",
    "t=alert": "yes where the three-state gate raises an alert: state is POS",
    "t=returned": "yes where the system returned at least one sentence",
}
TUNED_CHOICES = {"tuned": "yes where prob >= the threshold that TUNE chose, in the same fold, for this FPR budget"}


def _at_points(
    base: str,
    kind: Additive,
    *,
    sklearn: str,
    averaged: bool = True,
    tuned: bool = False,
    **about: Unpack[About],
) -> None:
    """Define a figure of the confusion table at t and, if asked, its twin at a threshold that TUNE chose for an FPR budget."""
    defaults: About = {
        "requires": needs_of_point,
        "bounds": (0.0, 1.0),
        "reference": FAWCETT,
        "conventions": {"scikit-learn": sklearn},
        "params": (OPERATING_POINT, AVERAGE) if averaged else (OPERATING_POINT,),
        "choices": POINT_CHOICES,
    }
    whole: About = {**defaults, **about}
    family.add(base, kind, **whole)
    if tuned:
        label = f"{whole['label']}, at the TUNE threshold for an FPR budget"
        population = about["population"]
        assert isinstance(population, Population)
        twin: About = {
            **whole,
            "label": label,
            "params": (TUNED,),
            "cut": "FPR",
            "choices": TUNED_CHOICES,
            "population": among_decided(population),
        }
        family.add(base, kind, **twin)


def _define_share(
    base: str,
    top: int,
    bottom: tuple[int, int],
    parts: tuple[str, str],
    *,
    sklearn: str,
    tuned: bool = False,
    **about: Unpack[About],
) -> None:
    def fraction(sums: Floats, args: Args) -> tuple[Floats, Floats]:
        return sums[..., top], sums[..., bottom[0]] + sums[..., bottom[1]]

    about["formula"] = f"{CELLS[top]} / ({CELLS[bottom[0]]} + {CELLS[bottom[1]]})"
    kind = ratio_of_sums(CONFUSION, fraction, parts=parts, proportion=True)
    _at_points(base, kind, sklearn=sklearn, tuned=tuned, **about)


def _counts(base: str, column: int, direction: Direction, meaning: str) -> None:
    def finish(sums: Floats, args: Args) -> Outcome:
        return sound(sums[..., column])

    _at_points(
        base,
        Additive(CONFUSION, finish, sized=True),
        label=meaning,
        formula=f"the number of queries that are {base}",
        population=ALL,
        direction=direction,
        bounds=(0.0, None),
        meaning=meaning + ".",
        sklearn="confusion_matrix at the same yes/no",
        averaged=False,
    )


_counts("TP", TP, "higher", "Queries with evidence that the system answered yes")
_counts("FP", FP, "lower", "Queries without evidence that the system answered yes (false alarms)")
_counts("FN", FN, "lower", "Queries with evidence that the system answered no (misses)")
_counts("TN", TN, "higher", "Queries without evidence that the system answered no")

SAME = "the same; a zero denominator gives its zero_division setting"
YES, WITH, WITHOUT, NO = (
    "queries answered yes",
    "queries with evidence",
    "queries without evidence",
    "queries answered no",
)
_define_share(
    "Sensitivity",
    TP,
    (TP, FN),
    ("queries with evidence answered yes", WITH),
    label="Sensitivity (recall, true positive rate)",
    population=POSITIVES,
    reasons=(NO_POSITIVES,),
    direction="higher",
    meaning="Of the queries that have evidence, the share that the system says yes to.",
    sklearn=f"recall_score: {SAME}",
)
_define_share(
    "Specificity",
    TN,
    (TN, FP),
    ("queries without evidence answered no", WITHOUT),
    label="Specificity (true negative rate)",
    population=NEGATIVES,
    reasons=(NO_NEGATIVES,),
    direction="higher",
    meaning="Of the queries that have no evidence, the share that the system says no to.",
    sklearn=f"recall_score with pos_label=0: {SAME}",
)
_define_share(
    "FPR",
    FP,
    (FP, TN),
    ("queries without evidence answered yes", WITHOUT),
    label="False positive rate",
    population=NEGATIVES,
    reasons=(NO_NEGATIVES,),
    direction="lower",
    meaning="Of the queries that have no evidence, the share that raises a false alarm.",
    sklearn="1 - recall_score with pos_label=0",
    tuned=True,
)
_define_share(
    "FNR",
    FN,
    (FN, TP),
    ("queries with evidence answered no", WITH),
    label="False negative rate",
    population=POSITIVES,
    reasons=(NO_POSITIVES,),
    direction="lower",
    meaning="Of the queries that have evidence, the share that the system misses.",
    sklearn="1 - recall_score",
)
_define_share(
    "Precision",
    TP,
    (TP, FP),
    ("queries with evidence answered yes", YES),
    label="Precision (positive predictive value)",
    population=SAID_YES,
    reasons=("no query was answered yes",),
    direction="higher",
    meaning="Of the queries that the system says yes to, the share that has evidence; depends on how common evidence is.",
    sklearn=f"precision_score: {SAME}",
    tuned=True,
)
_define_share(
    "NPV",
    TN,
    (TN, FN),
    ("queries without evidence answered no", NO),
    label="Negative predictive value",
    population=SAID_NO,
    reasons=("no query was answered no",),
    direction="higher",
    meaning="Of the queries that the system says no to, the share that has no evidence.",
    sklearn="precision_score with pos_label=0",
)


def f1_score(tp: Floats, fp: Floats, fn: Floats) -> Outcome:
    """2TP / (2TP + FP + FN); 0.0, marked, where nothing is positive and nothing was said to be.

    >>> f1_score(np.array([2.0, 0.0]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    Outcome(values=array([0.66666667, 0.        ]), flaws=array([0, 1], dtype=int8))
    """
    return ratio(2 * tp, 2 * tp + fp + fn)


def f1_fraction(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    """Twice the true positives, over those plus every error.

    >>> f1_fraction(np.array([[2.0, 1.0, 1.0, 5.0]]), Args({}))
    (array([4.]), array([6.]))
    """
    return 2 * sums[..., TP], 2 * sums[..., TP] + sums[..., FP] + sums[..., FN]


F1_PARTS = ("2 TP", "2 TP + FP + FN")


def mcc(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Outcome:
    """Matthews correlation; 0.0, marked, where a row or a column of the confusion table is empty.

    >>> mcc(*np.array([[2.0, 1.0], [0.0, 1.0], [0.0, 0.0], [3.0, 0.0]]))  # a perfect table, and one that always answers yes
    Outcome(values=array([1., 0.]), flaws=array([0, 1], dtype=int8))
    """
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return ratio(tp * tn - fp * fn, np.sqrt(product))


def _finish_mcc(sums: Floats, args: Args) -> Outcome:
    return mcc(sums[..., TP], sums[..., FP], sums[..., FN], sums[..., TN])


def _finish_balanced(sums: Floats, args: Args) -> Outcome:
    sensitivity = ratio(sums[..., TP], sums[..., TP] + sums[..., FN])
    specificity = ratio(sums[..., TN], sums[..., TN] + sums[..., FP])
    flaws = np.where(sensitivity.flaws > 0, 1, np.where(specificity.flaws > 0, 2, 0)).astype(np.int8)
    return Outcome((sensitivity.values + specificity.values) / 2, flaws)


_at_points(
    "F1",
    ratio_of_sums(CONFUSION, f1_fraction, parts=F1_PARTS),
    label="F1 score",
    formula="2 TP / (2 TP + FP + FN)",
    population=ALL,
    reasons=("no evidence anywhere and no query answered yes",),
    direction="higher",
    meaning="Balance of finding evidence and not crying wolf at one operating point; blind to true negatives.",
    sklearn=f"f1_score: {SAME}",
    reference="van Rijsbergen, Information Retrieval, 2nd ed. (1979)",
    tuned=True,
)
_at_points(
    "MCC",
    Additive(CONFUSION, _finish_mcc),
    label="Matthews correlation coefficient",
    formula="(TP TN - FP FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN))",
    population=ALL,
    reasons=("a row or a column of the confusion table is empty",),
    direction="higher",
    bounds=(-1.0, 1.0),
    meaning="Correlation between the system's yes/no and the truth; 0 is chance, robust when evidence is rare.",
    sklearn="matthews_corrcoef: the same, 0.0 without a mark where undefined",
    reference=CHICCO,
    tuned=True,
)
_at_points(
    "BalancedAccuracy",
    Additive(CONFUSION, _finish_balanced),
    label="Balanced accuracy",
    formula="(TP/(TP+FN) + TN/(TN+FP)) / 2",
    population=ALL,
    reasons=(NO_POSITIVES, NO_NEGATIVES),
    direction="higher",
    meaning="Mean of sensitivity and specificity: accuracy as if evidence were as common as its absence.",
    convention="the other class's rate / 2",
    sklearn="balanced_accuracy_score: the same with both classes; it drops an absent class, we score it 0 and mark it",
)
