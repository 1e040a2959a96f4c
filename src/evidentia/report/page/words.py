"""What the headline numbers say, in words that need no glossary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidentia.report.show import shown

# in the order in which they are put on the first screen; five of those that a result has are shown
SENTENCES = {
    "AUROC": "How often a query with evidence scores higher than one without. 0.5 is a coin toss.",
    "nDCG@10": "How well the sentences that count stand at the top of the first ten. 1 is a perfect order.",
    "EvidenceRecall": "The share of evidence sentences that a reader is given, averaged over queries that have evidence.",
    "ScreeningSensitivity": "The share of queries with evidence that are not skipped.",
    "AlertPrecision": "The share of alerts that are right.",
    "ECE": "How far stated probabilities are from what is observed, on average. 0 is perfect.",
    "AUPRC": "Average precision over all queries; compare it with the share of positives, not with one half.",
    "Recall@10": "The share of evidence sentences among the first ten, over queries that have evidence.",
    "MAP@10": "Mean average precision of the first ten, over queries that have evidence.",
    "MRR": "How early the first evidence sentence comes: 1 at the first place, one half at the second.",
    "MRR@10": "How early the first evidence sentence comes within the first ten.",
    "Precision@10": "The share of evidence among the first ten.",
    "F1(t=gate)": "Balance of precision and sensitivity at the deployed gate.",
}


@dataclass(frozen=True)
class Headline:
    """One number of the first screen."""

    name: str
    entry: Mapping[str, Any]
    words: str


def headlines(measures: Mapping[str, Mapping[str, Any]], most: int = 5) -> list[Headline]:
    """The first numbers that a result has of those that matter most; without any, its first ones."""
    names = [name for name in SENTENCES if name in measures]
    names += [name for name in measures if "[" not in name and name not in SENTENCES]
    return [Headline(name, measures[name], SENTENCES.get(name, measures[name]["meaning"])) for name in names[:most]]


@dataclass(frozen=True)
class Workload:
    """What becomes of 1,000 queries under the three-state gate."""

    skipped: float
    careful: float
    alerts: float
    right: float | None
    missed: float


def workload(measures: Mapping[str, Mapping[str, Any]]) -> Workload | None:
    """The workload, read off the gate's measures; None without a three-state gate."""
    names = ("NegRate", "UncertainRate", "AlertsPer1000", "AlertPrecision", "ScreeningFNPer1000")
    if not all(name in measures and measures[name]["value"] is not None for name in names):
        return None
    neg, uncertain, alerts, precision, missed = (float(measures[name]["value"]) for name in names)
    right = None if measures["AlertPrecision"]["degenerate"] else alerts * precision
    return Workload(1000 * neg, 1000 * uncertain, alerts, right, missed)


def per_thousand(value: float) -> str:
    """Out of 1,000: whole numbers, with one decimal below ten.

    >>> per_thousand(533.6), per_thousand(2.0988), per_thousand(0)
    ('534', '2.1', '0')
    """
    from evidentia.report.show import rounded

    if 0 < value < 0.05:
        return "fewer than 0.1"
    return shown(int(rounded(value, 0))) if value >= 10 or value == 0 else str(rounded(value, 1))
