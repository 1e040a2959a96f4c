"""Non-inferiority: how much a measure may be worse than a baseline's, judged by the interval of the paired difference."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from evidentia.checks.targets import Decision
from evidentia.errors import InputError, typed
from evidentia.measures import profile_named, resolve
from evidentia.results import Comparison, Delta

_DROP = re.compile(r"\s*(?P<name>.+?)\s*:\s*(?P<most>\d+\.?\d*|\.\d+)\s*(?P<percent>%?)\s*")


@dataclass(frozen=True)
class Drop:
    """The most that a measure may be worse than a baseline's."""

    name: str
    most: float

    def __str__(self) -> str:
        return f"{self.name} drops by {self.most:g} at most"


@dataclass(frozen=True)
class DropJudgement:
    """Whether a measure is shown not to drop by more than it may; ``reason`` says why nothing can be said."""

    drop: Drop
    decision: Decision
    baseline: str
    delta: Delta | None
    reason: str = ""


def parse_drop(text: str) -> Drop:
    """Read a largest drop.

    >>> parse_drop("AUROC:0.01"), str(parse_drop("F1(t=gate): 2%"))
    (Drop(name='AUROC', most=0.01), 'F1(t=gate) drops by 0.02 at most')
    """
    match = _DROP.fullmatch(text)
    if match is None or not math.isfinite(most := float(match["most"]) / (100 if match["percent"] else 1)):
        raise InputError(f"{typed(text)} is not a largest drop. Write for example 'AUROC:0.01' or 'Brier:0.5%'.")
    return Drop(match["name"], most)


def judge_drops(drops: Sequence[Drop], comparison: Comparison) -> tuple[DropJudgement, ...]:
    """Judge every drop of the second system of a comparison against the first."""
    profile = profile_named(comparison.profile)
    deltas = {delta.name: delta for delta in comparison.deltas}
    judgements = []
    notes = "; ".join(note for note in comparison.notes if note.startswith("not compared"))
    for drop in drops:
        definition = resolve(drop.name, profile).definition
        if definition.measure.direction == "neither":
            raise InputError(f"{drop.name} has no better side, so it cannot drop. Name another measure.")
        delta = deltas.get(definition.name(profile))
        decision, reason = _decision(drop, delta, notes)
        judgements.append(DropJudgement(drop, decision, comparison.systems[0], delta, reason))
    return tuple(judgements)


def _decision(drop: Drop, delta: Delta | None, notes: str) -> tuple[Decision, str]:
    """Met if the interval is wholly above the largest drop, not met if it is wholly below."""
    if delta is None:
        return "not decidable", notes or "not compared"
    same = delta.delta == 0 and delta.p == 1  # the two agree in every resample, so there is no interval to draw
    ci = (0.0, 0.0) if delta.ci is None and same else delta.ci
    if ci is None:
        return "not decidable", "; ".join(delta.warnings) or "no interval"
    low, high = ci if delta.direction == "higher" else (-ci[1], -ci[0])
    if low >= -drop.most:
        return "met", ""
    if high < -drop.most:
        return "not met", ""
    return "not decidable", "the interval holds the largest drop: too few posts to tell"
