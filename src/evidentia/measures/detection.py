"""Detection: does the system know whether evidence exists? Sweeps over every threshold of its score."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats
from evidentia.measures.confusion import CONFUSION, FAWCETT, FN, NO_NEGATIVES, NO_POSITIVES, TP
from evidentia.measures.core import Outcome, Ranked, ratio, ratio_of_sums
from evidentia.measures.family import AVERAGE, Family
from evidentia.measures.populations import ALL, CANDIDATES, POSITIVES, among_decided
from evidentia.results.measure import Args, Parameter, Population
from evidentia.stats.sweeps import Counts, best_within_budget, column_sums, last_within_budget
from evidentia.tables.queries import Queries

family = Family("detection")
LEVEL = Parameter("level", ("query", "candidate"), "query")
READING = Parameter("threshold", ("same", "tuned"), "same", bare=True)
SAITO = "Saito and Rehmsmeier, The precision-recall plot is more informative, PLOS ONE 10 (2015)"
LEVEL_CHOICES = {
    "level=query": "one score per query: the probability that evidence exists",
    "level=candidate": "one score per (query, candidate) pair: node_prob, else score; asks which sentences, not whether",
}


def scored(queries: Queries, args: Args) -> Ranked:
    """The scores and labels that a sweep runs over: of queries, or of (query, candidate) pairs."""
    if args.get("level") == "candidate":
        pool = queries.candidates
        assert pool is not None
        rows = np.repeat(np.arange(len(queries)), np.diff(pool.offsets))
        return Ranked(pool.score if pool.node_prob is None else pool.node_prob, pool.is_gold, rows)
    assert queries.scores is not None
    return Ranked(queries.scores, queries.label, np.arange(len(queries)))


def _scored_population(args: Args) -> Population:
    return CANDIDATES if args["level"] == "candidate" else ALL


def _scored_needs(args: Args) -> tuple[str, ...]:
    return ("candidates",) if args["level"] == "candidate" else ("score",)


def _pairs(counts: Counts, args: Args) -> tuple[Floats, Floats]:
    right = column_sums(counts.passed * counts.tp[:-1])
    if counts.tied is not None:
        right = right + column_sums(counts.tied * counts.gained) / 2
    return right, counts.tp[-1] * counts.fp[-1]


@family.sweep(
    "AUROC",
    scored,
    fraction=_pairs,
    parts=("(positive, negative) pairs in the right order, ties one half", "(positive, negative) pairs"),
    label="Area under the ROC curve",
    params=(LEVEL, AVERAGE),
    population=_scored_population,
    requires=_scored_needs,
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=(NO_POSITIVES, NO_NEGATIVES),
    convention="0.5",
    formula="P(score of a random positive > score of a random negative) + P(equal) / 2",
    meaning="How often a query with evidence gets a higher score than one without; 0.5 is a coin toss.",
    reference=FAWCETT,
    choices=LEVEL_CHOICES,
    conventions={"scikit-learn": "roc_auc_score: the same; NaN with a warning when only one class is there"},
)
def auroc(counts: Counts, args: Args) -> Outcome:
    """Area by trapezoids over the points; ties count one half. One class: 0.5, marked.

    >>> from evidentia.stats.sweeps import sweep_counts
    >>> counts = sweep_counts(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]), None, None, 1)[0]
    >>> float(auroc(counts, Args({})).values)
    0.75
    """
    positives, negatives = counts.tp[-1], counts.fp[-1]
    outcome = ratio(*_pairs(counts, args))
    values = np.where(outcome.flaws > 0, 0.5, outcome.values)
    return Outcome(values, one_class(positives, negatives))


def _precisions(counts: Counts, args: Args) -> tuple[Floats, Floats]:
    held = (
        counts.gained > 0 if counts.gained.ndim == 1 else slice(None)
    )  # steps that gain nothing would only move digits
    gained, tp, fp = counts.gained[held], counts.tp[1:][held], counts.fp[1:][held]
    answered = np.maximum(tp + fp, 1.0)  # where nothing was answered, nothing was gained
    return column_sums(gained * tp / answered), counts.tp[-1]


@family.sweep(
    "AUPRC",
    scored,
    fraction=_precisions,
    parts=("sum of the precision at each positive's score", "positives"),
    label="Average precision (area under the precision-recall curve)",
    params=(LEVEL, AVERAGE),
    population=_scored_population,
    requires=_scored_needs,
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=(NO_POSITIVES, NO_NEGATIVES),
    convention="the class prior",
    details=lambda counts, args: {"prevalence": float(counts.tp[-1] / max(counts.tp[-1] + counts.fp[-1], 1.0))},
    formula="sum over distinct scores of (recall gained there) x (precision there)",
    meaning="Average precision over all recall levels; judge it against the share of positives, not against 0.5.",
    reference=SAITO,
    choices=LEVEL_CHOICES,
    conventions={
        "scikit-learn": "average_precision_score: the same; auc(recall, precision) interpolates and is higher",
        "torchmetrics": "AveragePrecision without binning: the same; with thresholds=N an approximation",
    },
)
def auprc(counts: Counts, args: Args) -> Outcome:
    """Average precision over tie groups. One class: the class prior, marked.

    >>> from evidentia.stats.sweeps import sweep_counts
    >>> counts = sweep_counts(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]), None, None, 1)[0]
    >>> round(float(auprc(counts, Args({})).values), 6)
    0.833333
    """
    positives, negatives = counts.tp[-1], counts.fp[-1]
    outcome = ratio(*_precisions(counts, args))
    flaws = one_class(positives, negatives)
    prior = ratio(positives, positives + negatives).values
    return Outcome(np.where(flaws > 0, prior, outcome.values), flaws)


def one_class(positives: Floats, negatives: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    """Mark where one class is absent: 1 without positives, else 2 without negatives.

    >>> one_class(np.array([0.0, 2.0, 1.0]), np.array([3.0, 0.0, 1.0]))
    array([1, 2, 0], dtype=int8)
    """
    return np.where(positives == 0, 1, np.where(negatives == 0, 2, 0)).astype(np.int8)


TUNED_TPR = ratio_of_sums(
    CONFUSION,
    lambda sums, args: (sums[..., TP], sums[..., TP] + sums[..., FN]),
    parts=("queries with evidence answered yes", "queries with evidence"),
    proportion=True,
)


def _budget_details(counts: Counts, args: Args) -> dict[str, object]:
    at = best_within_budget(counts.tp, counts.fp, args.level)
    achieved = float(counts.fp[at] / counts.fp[-1]) if counts.fp[-1] else 0.0
    if at == 0 or counts.scores is None:
        return {"threshold": None, "threshold_reason": "reject_all", "achieved_fpr": achieved}
    return {"threshold": float(counts.scores[at - 1]), "threshold_reason": None, "achieved_fpr": achieved}


def _within_budget(counts: Counts, args: Args) -> tuple[Floats, Floats]:
    at = last_within_budget(counts.fp, args.level)
    return np.take_along_axis(counts.tp, at[None], axis=0)[0], counts.tp[-1]


@family.sweep(
    "TPR",
    scored,
    fraction=_within_budget,
    parts=("queries with evidence above the best threshold within budget", "queries with evidence"),
    label="True positive rate at a false positive budget",
    cut="FPR",
    params=(READING,),
    population=lambda args: among_decided(POSITIVES) if args["threshold"] == "tuned" else ALL,
    requires=lambda args: ("tune",) if args["threshold"] == "tuned" else ("score",),
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=(NO_POSITIVES, NO_NEGATIVES),
    details=_budget_details,
    variants={("threshold", "tuned"): TUNED_TPR},
    formula="max TPR(t) over all observed thresholds t with FPR(t) <= budget",
    meaning="The share of evidence found while at most this share of empty queries raises a false alarm.",
    reference=FAWCETT,
    choices={
        "same": "the threshold is chosen on the queries that it is judged on, so the figure is optimistic",
        "tuned": "the threshold of most TPR within the budget on TUNE of the same fold, applied to EVAL",
    },
    conventions={
        "scikit-learn": "roc_curve drops collinear points by default and then misses reachable operating points; "
        "use drop_intermediate=False"
    },
)
def tpr_at_fpr(counts: Counts, args: Args) -> Outcome:
    """The most true positives among points whose FPR is within budget. One class: 0.0, marked.

    >>> from evidentia.stats.sweeps import sweep_counts
    >>> from evidentia.results.names import parse_name
    >>> counts = sweep_counts(np.array([0.9, 0.5, 0.1]), np.array([True, False, True]), None, None, 1)[0]
    >>> float(tpr_at_fpr(counts, Args({}, parse_name("TPR@FPR=5%").cut)).values)
    0.5
    """
    positives, negatives = counts.tp[-1], counts.fp[-1]
    flaws = one_class(positives, negatives)
    return Outcome(np.where(flaws > 0, 0.0, ratio(*_within_budget(counts, args)).values), flaws)
