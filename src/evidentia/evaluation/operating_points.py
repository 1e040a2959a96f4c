"""What every other threshold would do, and what acting on the probabilities is worth, as data for figures.

A pair of thresholds that is picked here was picked on EVAL: this is for looking, and thresholds are tuned on TUNE.
Values and intervals are those of the measures themselves, of a run whose states one threshold for all queries had set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from evidentia.array_types import Floats, Ints
from evidentia.evaluation.cluster_sums import defined
from evidentia.evaluation.intervals import MethodLimits, Resampling, interval_of, value_limits
from evidentia.measures import PROFILES, Definition, resolve
from evidentia.measures.core import Additive, Outcome
from evidentia.measures.gate import MISSED, RIGHT_ALERTS, TOTAL, WITH_EVIDENCE
from evidentia.protocol.three_state import MOST_POINTS, score_grid
from evidentia.results import Curve
from evidentia.stats.intervals import Bounds, effective_clusters, percentile_limits
from evidentia.stats.resampling import BootstrapPlan, LeaveOneOut, in_threads
from evidentia.stats.threshold_counts import CountsBelow, ThresholdCounts, ThresholdSteps
from evidentia.tables import Run
from evidentia.tables.queries import NEG, POS, Queries

Column = tuple[float | None, ...]
MOST_DEPLOYED = 50  # more thresholds than this are not settings that somebody deploys
THRESHOLDS = np.arange(1, 100) / 100
CELLS = 1 << 18  # replicate values of one figure in work at once
UNBOUNDED = 1e300  # stands for a ratio over zero, so that it ranks above all others


@dataclass(frozen=True, eq=False)
class ThresholdReading:
    """A figure that is read off the sums at the thresholds in ``places``.

    ``posts`` says how many stand behind a proportion, ``effective`` how many of one size would tell as much.
    """

    column: str
    read: Callable[[Floats, Ints], Outcome]
    bounds: Bounds = (None, None)
    posts: Ints | None = None
    effective: Floats | None = None  # None: percentile limits, whatever the method of the other intervals


@dataclass(frozen=True, eq=False)
class ThresholdExplorer:
    """The counts at every threshold: as they are, in every resample, and with every post left out where that is needed."""

    thresholds: Floats
    point: ThresholdCounts
    replicates: ThresholdCounts | None
    jackknife: ThresholdCounts | None
    resampling: Resampling

    def cut(self, taus: Floats) -> CountsBelow:
        """What lies below some of the thresholds."""
        return self.point.at(np.searchsorted(self.thresholds, taus))

    def columns(
        self, taus: Floats, sums: Callable[[CountsBelow], Floats], readings: Sequence[ThresholdReading]
    ) -> dict[str, dict[str, Column]]:
        """Values and limits of every reading; without resamples there are no limits."""
        size = max(1, CELLS // max(self.resampling.resamples, 1))
        parts = [np.arange(start, min(start + size, len(taus))) for start in range(0, len(taus), size)]
        at = np.searchsorted(self.thresholds, taus)

        def work(places: Ints) -> list[list[tuple[float | None, ...]]]:
            return self._part(places, at[places], sums, readings)

        rows = [part for block in in_threads(work, [(part,) for part in parts]) for part in block]
        names = ("", "_low", "_high") if self.replicates is not None else ("",)
        return {
            reading.column: {
                reading.column + name: tuple(row[place][side] for row in rows) for side, name in enumerate(names)
            }
            for place, reading in enumerate(readings)
        }

    def _part(
        self, places: Ints, at: Ints, sums: Callable[[CountsBelow], Floats], readings: Sequence[ThresholdReading]
    ) -> list[list[tuple[float | None, ...]]]:
        """For some thresholds, for every reading: the value, and its limits."""
        point = sums(self.point.at(at))
        many = None if self.replicates is None else sums(self.replicates.at(at))
        without = None if self.jackknife is None else sums(self.jackknife.at(at))
        rows: list[list[tuple[float | None, ...]]] = [[] for _ in places]
        for reading in readings:
            outcome = _flat(reading.read(point, places))
            limits = None if many is None else self._limits(reading, outcome, places, many, without)
            for row, place in enumerate(places):
                rows[row].append((_value(outcome, row), *self._interval(reading, outcome, limits, row, int(place))))
        return rows

    def _limits(
        self, reading: ThresholdReading, point: Outcome, places: Ints, many: Floats, without: Floats | None
    ) -> MethodLimits:
        values = defined(reading.read(many, places))
        if reading.effective is None:
            return MethodLimits(percentile_limits(values, self.resampling.level), "percentile")
        jackknife = None if without is None else defined(reading.read(without, places))
        return value_limits(
            values,
            point.values,
            self.resampling,
            effective=reading.effective[places],
            bounds=reading.bounds,
            jackknife=jackknife,
        )

    def _interval(
        self, reading: ThresholdReading, outcome: Outcome, limits: MethodLimits | None, row: int, place: int
    ) -> tuple[float | None, float | None]:
        if limits is None or _value(outcome, row) is None:
            return None, None
        posts = 0 if reading.posts is None else int(reading.posts[place])
        limits_here = interval_of(
            outcome,
            limits,
            row,
            self.resampling,
            clusters=posts,
            proportion=reading.posts is not None,
            bounds=reading.bounds,
        ).limits
        return (None, None) if limits_here is None else (_bounded(limits_here[0]), _bounded(limits_here[1]))


def operating_curves(run: Run, resampling: Resampling, plan: BootstrapPlan) -> tuple[Curve, ...]:
    """Screening at every tau_neg, alerts at every tau_pos, and net benefit; nothing for a run without probabilities."""
    queries = run.queries
    if queries.prob is None:
        return ()
    skipping = threshold_grid(queries.prob, deployed(run.frame, "tau_neg"), (0.0,))
    alerting = threshold_grid(queries.prob, deployed(run.frame, "tau_pos"))
    explorer = _explorer(queries, np.unique(np.concatenate([skipping, alerting, THRESHOLDS])), resampling, plan)
    return (
        _screening(explorer, queries, skipping),
        _alerts(explorer, queries, alerting),
        _decision(explorer, queries),
    )


def threshold_grid(prob: Floats, deployed: Sequence[float], always: Sequence[float] = ()) -> Floats:
    """The probabilities of a run, thinned without a look at labels, and the thresholds that it is run with.

    >>> threshold_grid(np.array([0.2, 0.4, 0.4]), [0.3], [0.0]).tolist()
    [0.0, 0.2, 0.3, 0.4]
    """
    kept = np.unique([*(deployed if len(deployed) <= MOST_DEPLOYED else ()), *always])
    whole = np.union1d(prob, kept)
    return whole if len(whole) <= MOST_POINTS else np.union1d(score_grid(prob, most=MOST_POINTS - len(kept)), kept)


def deployed(frame: pl.DataFrame, column: str) -> list[float]:
    """The distinct thresholds in a column; none where the run does not have it."""
    return sorted(set(frame[column].drop_nulls().to_list())) if column in frame.columns else []


def _explorer(queries: Queries, taus: Floats, resampling: Resampling, plan: BootstrapPlan) -> ThresholdExplorer:
    assert queries.prob is not None
    posts = len(queries.post_ids)
    steps = ThresholdSteps(queries.prob, queries.label, queries.post, posts, taus)
    replicates = steps.over(plan) if plan.resamples else None
    jackknife = steps.over(LeaveOneOut(posts)) if plan.resamples and resampling.method == "bca" else None
    return ThresholdExplorer(taus, steps.unweighted(), replicates, jackknife, resampling)


def _screening(explorer: ThresholdExplorer, queries: Queries, taus: Floats) -> Curve:
    everyone, with_evidence = (_Behind.all_of(rows, len(taus)) for rows in (queries.post, queries.post[queries.label]))
    readings = (
        _gate_reading("neg_rate", "NegRate", everyone),
        _gate_reading("sensitivity", "ScreeningSensitivity", with_evidence),
        _gate_reading("fn_per_1000", "ScreeningFNPer1000", everyone),
    )
    cut, columns_of = explorer.cut(taus), explorer.columns(taus, _state_sums, readings)
    columns = {"tau": tuple(taus.tolist()), "skipped": _counts(cut.below), "missed": _counts(cut.positives_below)}
    return Curve(
        "operating_screening",
        "Screening at every threshold",
        columns | columns_of["neg_rate"] | columns_of["sensitivity"] | columns_of["fn_per_1000"],
    )


def _alerts(explorer: ThresholdExplorer, queries: Queries, taus: Floats) -> Curve:
    assert queries.prob is not None
    readings = (
        _gate_reading("alert_precision", "AlertPrecision", _Behind.from_on(queries.prob, queries.post, taus)),
        _gate_reading("alerts_per_1000", "AlertsPer1000", _Behind.all_of(queries.post, len(taus))),
        ThresholdReading("likelihood_ratio", _likelihood_ratio),
    )
    sums = _state_sums(explorer.cut(taus))[:, 0]
    columns_of = explorer.columns(taus, _state_sums, readings)
    right, wrong = sums[:, RIGHT_ALERTS], sums[:, POS] - sums[:, RIGHT_ALERTS]
    columns = {"tau": tuple(taus.tolist()), "alerts": _counts(sums[:, POS]), "right": _counts(right)}
    columns |= columns_of["alert_precision"] | columns_of["alerts_per_1000"]
    columns["tpr"] = _shares(right, sums[:, WITH_EVIDENCE])
    columns["fpr"] = _shares(wrong, sums[:, TOTAL] - sums[:, WITH_EVIDENCE])
    return Curve("operating_alerts", "Alerts at every threshold", columns | columns_of["likelihood_ratio"])


def _decision(explorer: ThresholdExplorer, queries: Queries) -> Curve:
    """Net benefit of acting where prob reaches the threshold, beside acting on all queries and on none."""
    cut = explorer.cut(THRESHOLDS)
    behind = _Behind.all_of(queries.post, len(THRESHOLDS))
    bounds = _measure("NetBenefit@t=0.5")[0].measure.bounds
    reading = ThresholdReading("net_benefit", _net_benefit, bounds, effective=behind.effective)
    benefit = explorer.columns(THRESHOLDS, _benefit_sums, (reading,))["net_benefit"]
    names = {"net_benefit": "net_benefit", "net_benefit_low": "low", "net_benefit_high": "high"}
    everyone = np.zeros_like(cut.below)  # nothing lies below: all are acted on
    treat_all = _net_benefit(
        _benefit_sums(CountsBelow(everyone, everyone, cut.units, cut.positives)), np.arange(len(THRESHOLDS))
    )
    columns: dict[str, Column] = {"threshold": tuple(THRESHOLDS.tolist())}
    columns |= {names[name]: column for name, column in benefit.items()}
    columns["treat_all"] = tuple(treat_all.values[:, 0].tolist())
    columns["treat_none"] = (0.0,) * len(THRESHOLDS)
    return Curve("decision", "Decision curve", columns)


@cache
def _measure(name: str) -> tuple[Definition, Additive]:
    definition = resolve(name, PROFILES["contract"]).definition
    assert isinstance(definition.kind, Additive)
    return definition, definition.kind


@dataclass(frozen=True, eq=False)
class _Behind:
    """How many posts stand behind a figure at every threshold, and how many of one size would tell as much."""

    posts: Ints
    effective: Floats

    @classmethod
    def all_of(cls, post: Ints, thresholds: int) -> _Behind:
        """The same posts at every threshold."""
        sizes = np.bincount(post).astype(np.float64)
        effective = float(effective_clusters(sizes[:, None])[0])
        return cls(np.full(thresholds, np.count_nonzero(sizes)), np.full(thresholds, effective))

    @classmethod
    def from_on(cls, prob: Floats, post: Ints, taus: Floats) -> _Behind:
        """The posts of the queries that reach each threshold."""
        order = np.lexsort((-prob, post))
        first = np.searchsorted(post[order], post[order], side="left")
        nth = np.empty(len(post), np.int64)  # 1 for the highest query of its post, 2 for the next
        nth[order] = np.arange(len(post)) - first + 1
        down = np.argsort(-prob, kind="stable")
        reach = np.searchsorted(-prob[down], -taus, side="right")
        posts = np.concatenate([[0], np.cumsum(nth[down] == 1)])[reach]
        squares = np.concatenate([[0], np.cumsum(2 * nth[down] - 1)])[
            reach
        ]  # n squared is the sum of the first n odd numbers
        return cls(posts, np.divide(reach.astype(float) ** 2, squares, out=np.zeros(len(taus)), where=squares > 0))


def _gate_reading(column: str, name: str, behind: _Behind) -> ThresholdReading:
    definition, kind = _measure(name)
    assert kind.proportion
    bounds = definition.measure.bounds
    return ThresholdReading(
        column, lambda sums, places: kind.finish(sums, definition.args), bounds, behind.posts, behind.effective
    )


def _state_sums(cut: CountsBelow) -> Floats:
    """The sums that the measures of the gate are made of, with every threshold as tau_neg and as tau_pos at once."""
    sums = np.zeros((TOTAL + 1, *cut.below.shape))
    sums[NEG], sums[POS] = cut.below, cut.units - cut.below
    sums[MISSED], sums[RIGHT_ALERTS] = cut.positives_below, cut.positives - cut.positives_below
    sums[WITH_EVIDENCE], sums[TOTAL] = cut.positives, cut.units
    return np.moveaxis(sums, 0, -1)


def _benefit_sums(cut: CountsBelow) -> Floats:
    right = cut.positives - cut.positives_below
    sums = np.stack([right, cut.units - cut.below - right, np.broadcast_to(cut.units, right.shape)])
    return np.moveaxis(sums, 0, -1)


def _net_benefit(sums: Floats, places: Ints) -> Outcome:
    outcomes = []
    for part, place in zip(sums, places, strict=True):
        definition, kind = _measure(f"NetBenefit@t={THRESHOLDS[place]:g}")
        outcomes.append(kind.finish(part, definition.args))
    return Outcome(np.stack([one.values for one in outcomes]), np.stack([one.flaws for one in outcomes]))


def _likelihood_ratio(sums: Floats, places: Ints) -> Outcome:
    """How much more often there is an alert with evidence than without.

    It is undefined without alerts and with one class. Without a false alert there is no upper bound to it, which in a
    resample must count as large: to leave such resamples out would pull the upper limit down.
    """
    right, alerts = sums[..., RIGHT_ALERTS], sums[..., POS]
    positives, negatives = sums[..., WITH_EVIDENCE], sums[..., TOTAL] - sums[..., WITH_EVIDENCE]
    sound = (alerts > 0) & (positives > 0) & (negatives > 0)
    tpr = np.divide(right, positives, out=np.zeros(sound.shape), where=sound)
    fpr = np.divide(alerts - right, negatives, out=np.zeros(sound.shape), where=sound)
    ratio = np.divide(tpr, fpr, out=np.full(sound.shape, UNBOUNDED), where=fpr > 0)
    return Outcome(ratio, (~sound).astype(np.int8))


def _flat(outcome: Outcome) -> Outcome:
    return Outcome(outcome.values[:, 0], outcome.flaws[:, 0])


def _value(outcome: Outcome, row: int) -> float | None:
    return None if outcome.flaws[row] > 0 else _bounded(float(outcome.values[row]))


def _bounded(value: float) -> float | None:
    """A value, or None where it is made of ratios over zero, be it in part."""
    return value if value < UNBOUNDED**0.5 else None


def _counts(values: Floats) -> tuple[int, ...]:
    return tuple(values.ravel().astype(np.int64).tolist())


def _shares(top: Floats, bottom: Floats) -> Column:
    return tuple(float(a / b) if b else None for a, b in zip(top, bottom, strict=True))
