"""The words that stand beside every number: a second copy, so that a label on the wrong number is noticed."""

from __future__ import annotations

from evidentia.verify.catalogue import Definition

TUNED = ", at the TUNE threshold for an FPR budget"
LABELS = {
    "Queries": "Number of queries",
    "Positives": "Number of queries with evidence",
    "PositiveRate": "Share of queries with evidence (prevalence)",
    "AUROC": "Area under the ROC curve",
    "AUPRC": "Average precision (area under the precision-recall curve)",
    "TPR": "True positive rate at a false positive budget",
    "TP": "Queries with evidence that the system answered yes",
    "FP": "Queries without evidence that the system answered yes (false alarms)",
    "FN": "Queries with evidence that the system answered no (misses)",
    "TN": "Queries without evidence that the system answered no",
    "Sensitivity": "Sensitivity (recall, true positive rate)",
    "Specificity": "Specificity (true negative rate)",
    "FPR": "False positive rate",
    "FNR": "False negative rate",
    "Precision": "Precision (positive predictive value)",
    "NPV": "Negative predictive value",
    "F1": "F1 score",
    "MCC": "Matthews correlation coefficient",
    "BalancedAccuracy": "Balanced accuracy",
    "ECE": "Expected calibration error",
    "ECE less its bias": "Expected calibration error, less its bias",
    "Brier": "Brier score",
    "LogLoss": "Logarithmic loss",
    "NetBenefit": "Net benefit at a threshold probability",
    "CalibrationSlope": "Calibration slope",
    "CalibrationIntercept": "Calibration intercept (calibration in the large)",
    "Recall": "Recall at K",
    "Precision@": "Precision at K",
    "HitRate": "Hit rate at K",
    "MAP": "Mean average precision at K",
    "nDCG": "Normalised discounted cumulative gain at K",
    "MRR": "Mean reciprocal rank",
    "MRR@": "Mean reciprocal rank at K",
    "SelectedK": "Sentences selected per query",
    "EvidenceRecall": "Evidence recall at the selected K",
    "EvidencePrecision": "Evidence precision at the selected K",
    "NegRate": "Share of queries skipped (NEG)",
    "UncertainRate": "Share of queries that need a careful look (UNCERTAIN)",
    "PosRate": "Share of queries that raise an alert (POS)",
    "AlertsPer1000": "Alerts per 1,000 queries",
    "ScreeningFNPer1000": "Evidence skipped per 1,000 queries",
    "ScreeningSensitivity": "Screening sensitivity",
    "AlertPrecision": "Alert precision",
    "ExactMatch": "Exact match rate (subset accuracy)",
    "HammingScore": "Hamming score",
    "HammingLoss": "Hamming loss",
    "F1 of criteria": "F1 of the criteria, averaged",
}
MEANINGS = {
    "Queries": "How many queries were evaluated.",
    "Positives": "How many queries have evidence: the sample size of everything that speaks about evidence.",
    "PositiveRate": "How common evidence is; precision and average precision are judged against it.",
    "AUROC": "How often a query with evidence gets a higher score than one without; 0.5 is a coin toss.",
    "AUPRC": ("Average precision over all recall levels; judge it against the share of positives, not against 0.5."),
    "TPR": "The share of evidence found while at most this share of empty queries raises a false alarm.",
    "Sensitivity": "Of the queries that have evidence, the share that the system says yes to.",
    "Specificity": "Of the queries that have no evidence, the share that the system says no to.",
    "FPR": "Of the queries that have no evidence, the share that raises a false alarm.",
    "FNR": "Of the queries that have evidence, the share that the system misses.",
    "Precision": (
        "Of the queries that the system says yes to, the share that has evidence; depends on how common evidence is."
    ),
    "NPV": "Of the queries that the system says no to, the share that has no evidence.",
    "F1": ("Balance of finding evidence and not crying wolf at one operating point; blind to true negatives."),
    "MCC": ("Correlation between the system's yes/no and the truth; 0 is chance, robust when evidence is rare."),
    "BalancedAccuracy": "Mean of sensitivity and specificity: accuracy as if evidence were as common as its absence.",
    "ECE": "How far the stated probabilities are from the observed frequencies, on average; 0 is perfect.",
    "ECE less its bias": (
        "What the ECE would be without the part that chance adds to it; a calibrated system is near 0 with any number "
        "of posts."
    ),
    "Brier": (
        "Mean squared distance between the stated probability and what was true; always saying the base "
        "rate p scores p(1 - p)."
    ),
    "LogLoss": "Punishes confident mistakes most; one certain error costs as much as fifty coin tosses.",
    "NetBenefit": (
        "True alarms per query, minus false alarms at the exchange rate that acting at probability t "
        "implies; compare with acting on all and acting on none (0)."
    ),
    "CalibrationSlope": "1 is right; below 1 the probabilities are too extreme (overconfident), above 1 too timid.",
    "CalibrationIntercept": "0 is right; below 0 the probabilities are too high on the whole, above 0 too low.",
    "Recall": "The share of the evidence sentences that a reader of the top K sees.",
    "Precision@": ("The share of the top K sentences that are evidence; with one gold sentence it cannot exceed 1/K."),
    "HitRate": "The share of queries where a reader of the top K sees at least one evidence sentence.",
    "MAP": ("Rewards evidence that stands high and is complete; the divisor decides how much missing evidence costs."),
    "nDCG": "How close the order is to the ideal one, with the first ranks weighing most; 1 is ideal.",
    "MRR": "How soon the first evidence sentence comes; a harmonic mean, so 1/MRR is not an expected rank.",
    "SelectedK": "How many sentences a reader gets per query: the reading load.",
    "EvidenceRecall": "The share of the evidence that reaches the reader through the system's own selection.",
    "EvidencePrecision": (
        "The share of the sentences handed to the reader that is evidence; the rest is reading for nothing."
    ),
    "NegRate": "The share of queries that nobody has to look at.",
    "UncertainRate": "The share of queries where the system does not commit itself.",
    "PosRate": "The share of queries that raise a high-confidence alert.",
    "AlertsPer1000": "The alert load: fewer alerts mean less to review.",
    "ScreeningFNPer1000": (
        "How many queries with evidence the screening skips, per 1,000 queries of any kind; a target of "
        "its own, not the same as a sensitivity."
    ),
    "ScreeningSensitivity": "The share of the evidence that the screening does not skip; what is skipped is seen by nobody.",
    "AlertPrecision": "The share of alerts that are right; the rest is false alarm.",
    "ExactMatch": "The share of posts whose whole list of criteria is right.",
    "HammingScore": "The share of single criteria that is right; high by itself when most criteria are absent.",
    "HammingLoss": "The share of single criteria that is wrong.",
    "F1 of criteria": (
        "How well the criteria of a post are recovered; the average decides whether rare criteria or "
        "busy posts weigh more."
    ),
}


def label_of(definition: Definition) -> str:
    """What the number is called."""
    tuned = TUNED if definition.get("threshold") == "tuned" and definition.base != "TPR" else ""
    return LABELS[_key(definition, "MRR@")] + tuned


def meaning_of(definition: Definition) -> str:
    """What the number tells a reader; the cells of a confusion table say it in their label."""
    key = _key(definition, "MRR")
    return MEANINGS.get(key) or f"{LABELS[key]}."


def _key(definition: Definition, cut_mrr: str) -> str:
    base = definition.base
    if definition.measure.family == "multi-label" and base == "F1":
        return "F1 of criteria"
    if definition.get("estimate") == "debiased":
        return "ECE less its bias"
    if definition.measure.cut != "k":
        return base
    return {"Precision": "Precision@", "MRR": cut_mrr}.get(base, base)
