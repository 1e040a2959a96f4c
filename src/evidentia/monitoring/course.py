"""The course over time: every batch against the reference, one corrected family of tests per batch, and what is an alarm.

The promise is that in at most ``alpha`` of all courses without any drift there is an alarm within ``horizon`` batches. Every
batch may spend alpha / horizon (Bonferroni over batches), which Holm's correction shares among its tests. Both hold
whatever depends on what: the batches share one reference, and signals of a post belong together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evidentia.errors import InputError
from evidentia.monitoring.signals import Observed, Signal, signals_of
from evidentia.monitoring.two_samples import Difference, order_difference, rate_difference
from evidentia.stats.testing import holm
from evidentia.tables.run import Source

SCHEMA = "evidentia.monitor/1"
TESTS = {"rate": rate_difference, "shift": order_difference}


@dataclass(frozen=True)
class Settings:
    """What is promised, and from what effect on a difference matters.

    ``rate_margin`` is a difference of shares; ``shift_margin`` is how much likelier than one half a post of the batch has the
    larger value.
    """

    alpha: float = 0.05
    horizon: int = 50
    rate_margin: float = 0.05
    shift_margin: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1 or self.horizon < 1:
            raise InputError("alpha must lie between 0 and 1, and the horizon be 1 batch or more.")
        if not (0 <= self.rate_margin < 1 and 0 <= self.shift_margin < 0.5):
            raise InputError("The margin of rates must lie in [0, 1), that of shifts in [0, 0.5).")

    @property
    def level(self) -> float:
        """What the tests of one batch may spend together."""
        return self.alpha / self.horizon

    def margin(self, signal: Signal) -> float:
        """The effect beyond which a difference matters."""
        return self.rate_margin if signal.kind == "rate" else self.shift_margin


@dataclass(frozen=True)
class SignalResult:
    """One signal of one batch. Means are of ``n`` and ``n_reference`` posts; without both there is no test."""

    signal: str
    criterion: str | None
    kind: str
    value: float | None
    reference: float | None
    n: int
    n_reference: int
    effect: float | None
    margin: float
    p: float | None
    p_holm: float | None
    alarm: bool


@dataclass(frozen=True)
class BatchReport:
    """Everything about one batch."""

    name: str
    posts: int
    labelled: int
    results: tuple[SignalResult, ...]

    @property
    def alarms(self) -> tuple[SignalResult, ...]:
        """What is beyond its margin, and beyond chance."""
        return tuple(result for result in self.results if result.alarm)

    @property
    def tests(self) -> int:
        """How many tests the family has."""
        return sum(result.p is not None for result in self.results)

    @property
    def smallest(self) -> float | None:
        """The smallest corrected p, whatever its effect."""
        return min((result.p_holm for result in self.results if result.p_holm is not None), default=None)


@dataclass(frozen=True)
class Course:
    """The batches in their order, and what they were compared with."""

    model_sha256: str
    reference: Mapping[str, Any]
    settings: Settings
    batches: tuple[BatchReport, ...]
    notes: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def alarms(self) -> int:
        """How many batches raised an alarm."""
        return sum(bool(batch.alarms) for batch in self.batches)

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        batches = [asdict(batch) | {"alarms": len(batch.alarms)} for batch in self.batches]
        return {
            "schema": SCHEMA,
            "model_sha256": self.model_sha256,
            "settings": asdict(self.settings) | {"level_per_batch": self.settings.level},
            "reference": dict(self.reference),
            "alarms": self.alarms,
            "notes": list(self.notes),
            "batches": batches,
        }


def judge(reference: Observed, batch: Observed, settings: Settings) -> BatchReport:
    """Every signal that both have, corrected together."""
    known = {(signal.name, signal.criterion): signal for signal in signals_of(reference)}
    pairs = [(signal, known.get((signal.name, signal.criterion))) for signal in signals_of(batch)]
    differences = [None if other is None else _difference(signal, other) for signal, other in pairs]
    corrected = iter(holm(np.array([each.p for each in differences if each is not None])).tolist())
    results = tuple(
        _result(signal, other, each, None if each is None else next(corrected), settings)
        for (signal, other), each in zip(pairs, differences, strict=True)
    )
    return BatchReport(batch.name, len(batch), int(batch.labelled.sum()), results)


def _difference(signal: Signal, reference: Signal) -> Difference | None:
    here, there = (each.values[~np.isnan(each.values)] for each in (signal, reference))
    return TESTS[signal.kind](here, there) if len(here) and len(there) else None


def _result(
    signal: Signal, reference: Signal | None, difference: Difference | None, p_holm: float | None, settings: Settings
) -> SignalResult:
    value, n = _mean(signal)
    before, n_reference = (None, 0) if reference is None else _mean(reference)
    margin = settings.margin(signal)
    effect, p = (None, None) if difference is None else (difference.effect, difference.p)
    alarm = effect is not None and p_holm is not None and abs(effect) > margin and p_holm <= settings.level
    return SignalResult(
        signal.name, signal.criterion, signal.kind, value, before, n, n_reference, effect, margin, p, p_holm, alarm
    )


def _mean(signal: Signal) -> tuple[float | None, int]:
    values = signal.shown[~np.isnan(signal.values)]
    return (float(values.mean()) if len(values) else None), len(values)
