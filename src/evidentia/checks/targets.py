"""Targets: the value that a measure should reach, and whether its interval decides that it does."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Literal, cast

from evidentia.errors import InputError, typed
from evidentia.results import Estimate, Evaluation
from evidentia.tables import DatasetCard, card

Decision = Literal["met", "not met", "not decidable"]
Relation = Literal[">=", "<=", ">", "<"]
HOLDS: dict[Relation, Callable[[float, float], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}
_TARGET = re.compile(
    r"\s*(?P<name>.+?)\s*(?P<relation>>=|<=|>|<)\s*(?P<bound>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<percent>%?)\s*"
)
CONTRACT = (
    *("AUROC>=0.85", "AUPRC>=0.55", "ECE<0.05", "Brier<0.1", "EvidenceRecall>=0.70"),
    *("ScreeningSensitivity>=0.995", "ScreeningFNPer1000<=5", "AlertPrecision>=0.90"),
)

MOST = 4  # names in a suggestion


@dataclass(frozen=True)
class Target:
    """A bound on a measure, for example AUROC >= 0.85."""

    name: str
    relation: Relation
    bound: float

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.bound:g}"

    def holds(self, value: float) -> bool:
        """Whether a value is on the right side."""
        return HOLDS[self.relation](value, self.bound)


@dataclass(frozen=True)
class Judgement:
    """Whether a target is met, by the interval of its measure; ``reason`` says why nothing can be said."""

    target: Target
    decision: Decision
    estimate: Estimate | None
    reason: str


def parse_target(text: str) -> Target:
    """Read a target.

    >>> parse_target("AUROC>=0.85")
    Target(name='AUROC', relation='>=', bound=0.85)
    >>> str(parse_target("TPR@FPR=5% >= 60%"))
    'TPR@FPR=5% >= 0.6'
    """
    match = _TARGET.fullmatch(text)
    if match is None:
        raise InputError(f"{typed(text)} is not a target. Write for example 'AUROC>=0.85' or 'ECE<0.05'.")
    bound = float(match["bound"]) / (100 if match["percent"] else 1)
    if not math.isfinite(bound):
        raise InputError(f"{typed(text)}: the bound of a target is a finite number.")
    return Target(match["name"], cast("Relation", match["relation"]), bound)


def targets_of(texts: Iterable[str], known: DatasetCard | None, *, selective: bool) -> tuple[Target, ...]:
    """The targets that were named, else those of the dataset card, else the contract's; a selective result has none."""
    named = tuple(parse_target(text) for text in texts)
    if named or selective:
        return named
    if known is not None and known.targets:
        return tuple(target for name, bounds in known.targets.items() for target in _of_card(name, bounds))
    return tuple(parse_target(text) for text in CONTRACT)


def _of_card(name: str, bounds: card.Target) -> list[Target]:
    pairs = zip(HOLDS, (bounds.at_least, bounds.at_most, bounds.above, bounds.below), strict=True)
    return [Target(name, relation, bound) for relation, bound in pairs if bound is not None]


def judge(target: Target, evaluation: Evaluation) -> Judgement:
    """Met if the interval is wholly on the right side, not met if it is wholly on the wrong one, else not decidable."""
    name = evaluation.resolve(target.name)
    estimate = evaluation.measures.get(name) or evaluation.measures.get(target.name)
    if estimate is None:
        gaps = [gap.reason for gap in evaluation.not_computed if name.partition("[")[0] in gap.measures]
        reason = gaps[0] if gaps else f"the result lacks it{_instead(name, evaluation)}"
        return Judgement(target, "not decidable", None, f"not computed: {reason}")
    if estimate.degenerate is not None:
        return Judgement(target, "not decidable", estimate, f"a convention: {estimate.degenerate}")
    if estimate.ci is None:
        return Judgement(target, "not decidable", estimate, "no interval")
    sides = {target.holds(limit) for limit in estimate.ci}
    if len(sides) == 2:
        return Judgement(target, "not decidable", estimate, "the interval holds the target: too few posts to tell")
    return Judgement(target, "met" if sides == {True} else "not met", estimate, "")


def _instead(name: str, evaluation: Evaluation) -> str:
    """What the result has under that name with a group, or else names that are near it."""
    there = [known for known in evaluation.measures if known.partition("[")[0] == name]
    if there:
        more = f" and {len(there) - MOST} more" if len(there) > MOST else ""
        return f", but it has {', '.join(there[:MOST])}{more}"
    overall = [estimate.name for estimate in evaluation.overall()] or list(evaluation.measures)
    close = difflib.get_close_matches(name, overall, n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""
