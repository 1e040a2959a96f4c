"""One threshold by a rule, chosen on TUNE and applied to EVAL of the same fold.

Candidates are the observed scores, and "reject all". Where several serve the rule equally well, the largest is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.errors import InputError, typed
from evidentia.protocol.plain import Plain
from evidentia.protocol.provenance import Provenance, tuned_on
from evidentia.stats.sweeps import Counts, best_within_budget, sweep_counts
from evidentia.tables.queries import UNDECIDED, Decisions, Queries

UNTUNABLE = "cannot be tuned"
REJECT_ALL = "reject_all"
RULES = ("fpr", "max-f1", "max-mcc", "youden", "fixed")
_WITH_TARGET = ("fpr", "fixed")
_RULE = re.compile(r"(?P<name>[a-z0-9-]+)(?:=(?P<target>\d*\.?\d+)(?P<percent>\s*%)?)?")
_EQUAL = 1e-12  # figures closer than this are the same; square roots round


@dataclass(frozen=True)
class Rule(Plain):
    """How a threshold is chosen: its name and, for ``fpr`` and ``fixed``, the budget or the value."""

    name: str
    target: float | None = None

    def __str__(self) -> str:
        return self.name if self.target is None else f"{self.name}={self.target:g}"


def parse_rule(text: str) -> Rule:
    """Read a rule as it is typed.

    Examples
    --------
    >>> parse_rule("fpr=5%"), parse_rule("max-f1")
    (Rule(name='fpr', target=0.05), Rule(name='max-f1', target=None))
    """
    match = _RULE.fullmatch(text.strip())
    if match is None or match["name"] not in RULES or (match["target"] is None) == (match["name"] in _WITH_TARGET):
        raise InputError(f"{typed(text)} is not a rule. Write fpr=0.05, max-f1, max-mcc, youden or fixed=0.5.")
    if match["target"] is None:
        return Rule(match["name"])
    target = float(match["target"]) / (100 if match["percent"] else 1)
    if not 0 <= target <= 1:
        raise InputError(f"{typed(text)}: the number must lie between 0 and 1.")
    return Rule(match["name"], target)


@dataclass(frozen=True)
class Threshold(Plain):
    """A threshold, what it achieved where it was chosen, and on which posts; None means that everything is rejected."""

    rule: Rule
    value: float | None
    reason: str | None
    metrics: Mapping[str, float]
    tuned_on: Provenance = field(default_factory=Provenance)

    @property
    def tpr(self) -> float:
        """The true positive rate on TUNE."""
        return self.metrics.get("TPR", 0.0)

    @property
    def fpr(self) -> float:
        """The false positive rate on TUNE."""
        return self.metrics.get("FPR", 0.0)

    def says_yes(self, scores: Floats) -> Bools:
        """The decisions: a score equal to the threshold is a yes."""
        return np.zeros(len(scores), bool) if self.value is None else scores >= self.value

    def to_dict(self) -> dict[str, Any]:
        """The form that is written: the rule as its name and its target."""
        own = super().to_dict()
        return {
            "rule": self.rule.name,
            "target": self.rule.target,
            **{name: own[name] for name in own if name != "rule"},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], place: str = "") -> Self:
        """Read it back."""
        return super().from_dict({**content, "rule": {**content, "name": content["rule"]}}, place)

    def check(self) -> None:
        """A threshold is a number from 0 to 1, or null with a reason."""
        known = self.rule.name in RULES and (self.value is None) == (self.reason is not None)
        if not known or not 0 <= (self.value or 0.0) <= 1:
            raise ValueError("a threshold is a number from 0 to 1, or null with a reason")


def choose_threshold(rule: Rule, scores: Floats, labels: Bools) -> Threshold:
    """The threshold that a rule chooses; ties go to the larger one, and rejecting everything is the largest of all.

    Examples
    --------
    >>> choose_threshold(Rule("max-f1"), np.array([0.9, 0.8, 0.3]), np.array([True, True, False])).value
    0.8
    """
    missing = None if rule.name == "fixed" else lacking(labels)
    if missing is not None:
        return Threshold(rule, None, f"{UNTUNABLE}: {missing}", MappingProxyType({}))
    return _chosen(rule, scores, labels)


def fpr_budget_threshold(scores: Floats, labels: Bools, budget: float) -> Threshold:
    """Among the observed scores with FPR within budget that maximise TPR, the largest; else reject everything.

    Labels of one class are taken as they are: without negatives every budget is kept.

    Examples
    --------
    >>> fpr_budget_threshold(np.array([0.9, 0.8, 0.3]), np.array([True, False, False]), 0.1).value
    0.9
    """
    return _chosen(Rule("fpr", budget), scores, labels)


def _chosen(rule: Rule, scores: Floats, labels: Bools) -> Threshold:
    if rule.name == "fixed":
        return Threshold(rule, rule.target, None, metrics_at(scores, labels, rule.target))
    (counts,) = sweep_counts(scores, labels, None, None, 1)
    at = _best(rule, counts)
    value = None if at == 0 or counts.scores is None else float(counts.scores[at - 1])
    return Threshold(rule, value, REJECT_ALL if value is None else None, metrics_at(scores, labels, value))


def _best(rule: Rule, counts: Counts) -> int:
    """The point of the sweep that a rule takes; 0 rejects everything."""
    if rule.name == "fpr":
        assert rule.target is not None
        return best_within_budget(counts.tp, counts.fp, rule.target)
    figure = {"max-f1": "F1", "max-mcc": "MCC", "youden": "J"}[rule.name]
    values = _figures(counts.tp, counts.fp, counts.tp[-1], counts.fp[-1])[figure]
    return int(np.flatnonzero(values >= values.max() - _EQUAL)[0])


def _figures(tp: Floats, fp: Floats, positives: float, negatives: float) -> dict[str, Floats]:
    fn, tn = positives - tp, negatives - fp
    spread = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return {
        "TPR": _over(tp, tp + fn),
        "FPR": _over(fp, fp + tn),
        "Precision": _over(tp, tp + fp),
        "F1": _over(2 * tp, 2 * tp + fp + fn),
        "MCC": _over(tp * tn - fp * fn, spread),
        "J": _over(tp, tp + fn) - _over(fp, fp + tn),
    }


def _over(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros(len(top)), where=bottom > 0)


def metrics_at(scores: Floats, labels: Bools, value: float | None) -> Mapping[str, float]:
    """TPR, FPR, precision, F1, MCC and Youden's J at a threshold; None rejects everything, 0/0 is 0."""
    yes = np.zeros(len(scores), bool) if value is None else scores >= value
    tp, fp = np.array([float((yes & labels).sum())]), np.array([float((yes & ~labels).sum())])
    figures = _figures(tp, fp, float(labels.sum()), float((~labels).sum()))
    return MappingProxyType({name: float(values[0]) for name, values in figures.items()})


def tuned_decisions(tune: Queries, evaluation: Queries, budget: float) -> tuple[Decisions, dict[str, Threshold]]:
    """Choose one threshold per fold on its TUNE queries and apply it to its EVAL queries.

    A fold whose TUNE queries are of one class, or missing, cannot be tuned: its queries stay undecided and count nowhere.
    """
    decisions = np.full(len(evaluation), UNDECIDED, np.int8)
    thresholds: dict[str, Threshold] = {}
    score = shared_score(tune, evaluation)
    assert score is not None
    on_tune, on_eval = getattr(tune, score), getattr(evaluation, score)
    assert tune.fold is not None
    assert evaluation.fold is not None
    for code, label in enumerate(evaluation.fold.labels):
        own, judged = tune.fold.codes == code, evaluation.fold.codes == code
        chosen = choose_threshold(Rule("fpr", budget), on_tune[own], tune.label[own])
        thresholds[label] = replace(chosen, tuned_on=tuned_on(tune, own, label, score))
        if chosen.value is not None or chosen.reason == REJECT_ALL:
            decisions[judged] = chosen.says_yes(on_eval[judged])
    return decisions, thresholds


def shared_score(tune: Queries, evaluation: Queries) -> str | None:
    """The score column that both have: prob, else detection_score; None if they have none in common."""
    both = (score for score in ("prob", "detection_score") if tune.has(score) and evaluation.has(score))
    return next(both, None)


def lacking(labels: Bools) -> str | None:
    """What TUNE queries lack to choose a threshold on; None if nothing."""
    if len(labels) == 0:
        return "no TUNE queries"
    if not labels.any():
        return "no TUNE queries with evidence"
    return "no TUNE queries without evidence" if labels.all() else None
