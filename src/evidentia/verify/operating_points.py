"""The figures over thresholds as they must have been written: counted again at every threshold, without their limits."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from evidentia.verify.evidence import Query
from evidentia.verify.sheet import Cell, Sheet

MOST = 201  # thresholds in a figure
MOST_DEPLOYED = 50
PERCENT = tuple(percent / 100 for percent in range(1, 100))
SCREENING, ALERTS, DECISION = "figures/operating_screening", "figures/operating_alerts", "figures/decision"
WITH_LIMITS = {
    SCREENING: ("neg_rate", "sensitivity", "fn_per_1000"),
    ALERTS: ("alert_precision", "alerts_per_1000", "likelihood_ratio"),
    DECISION: ("net_benefit",),
}
OPERATING_BANDS = tuple(
    f"{name}_{side}" for path in (SCREENING, ALERTS) for name in WITH_LIMITS[path] for side in ("low", "high")
)


@dataclass(frozen=True)
class Counts:
    """What a threshold does: queries and positives on both sides of it."""

    queries: int
    positives: int
    below: int
    missed: int

    @property
    def alerts(self) -> int:
        """Queries at or above."""
        return self.queries - self.below

    @property
    def right(self) -> int:
        """Those of them with evidence."""
        return self.positives - self.missed

    def benefit(self, threshold: float) -> float:
        """True alarms per query less false ones at the odds of the threshold."""
        return (self.right - (self.alerts - self.right) * threshold / (1 - threshold)) / self.queries


@dataclass(frozen=True)
class Explored:
    """The probabilities of a run, and of its queries with evidence, in order; and its thresholds of either kind."""

    prob: tuple[float, ...]
    prob_of_positives: tuple[float, ...]
    skipping: tuple[float, ...]
    alerting: tuple[float, ...]

    def at(self, tau: float) -> Counts:
        """Count what lies below; what equals the threshold does not."""
        below, missed = bisect_left(self.prob, tau), bisect_left(self.prob_of_positives, tau)
        return Counts(len(self.prob), len(self.prob_of_positives), below, missed)


def explored(queries: Sequence[Query]) -> Explored | None:
    """What the figures are about; None for a run without probabilities."""
    given = [(query.prob, query.label) for query in queries if query.prob is not None]
    if len(given) < len(queries) or not queries:
        return None
    prob = sorted(prob for prob, _ in given)
    return Explored(
        tuple(prob),
        tuple(sorted(prob for prob, label in given if label)),
        thresholds(prob, {query.tau_neg for query in queries if query.tau_neg is not None}, {0.0}),
        thresholds(prob, {query.tau_pos for query in queries if query.tau_pos is not None}),
    )


def thresholds(prob: Iterable[float], deployed: Collection[float], always: Collection[float] = ()) -> tuple[float, ...]:
    """The distinct probabilities and what is deployed; if that is too much, probabilities at even steps of rank.

    >>> thresholds([0.4, 0.2], [0.3], [0.0])
    (0.0, 0.2, 0.3, 0.4)
    """
    kept = {*always, *(deployed if len(deployed) <= MOST_DEPLOYED else ())}
    distinct = sorted(set(prob))
    if len(kept.union(distinct)) > MOST:
        steps = MOST - len(kept) - 1
        stride = (len(distinct) - 1) / steps
        if steps < len(distinct) - 1:
            distinct = [distinct[round(step * stride)] for step in range(steps)] + distinct[-1:]
    return tuple(sorted(kept.union(distinct)))


def operating_sheets(queries: Sequence[Query], *, bands: bool) -> list[Sheet]:
    """The three figures; the limits are left empty, and compared elsewhere."""
    run = explored(queries)
    if run is None:
        return []
    screening = [_screening(tau, run.at(tau)) for tau in run.skipping]
    alerts = [_alerts(tau, run.at(tau)) for tau in run.alerting]
    decision = [_decision(threshold, run.at(threshold)) for threshold in PERCENT]
    return [
        _sheet(path, rows, bands=bands)
        for path, rows in ((SCREENING, screening), (ALERTS, alerts), (DECISION, decision))
    ]


def _screening(tau: float, found: Counts) -> dict[str, Cell]:
    return {
        "tau": tau,
        "skipped": found.below,
        "missed": found.missed,
        "neg_rate": found.below / found.queries,
        "sensitivity": _share(found.right, found.positives),
        "fn_per_1000": 1000 * found.missed / found.queries,
    }


def _alerts(tau: float, found: Counts) -> dict[str, Cell]:
    wrong, negatives = found.alerts - found.right, found.queries - found.positives
    tpr, fpr = _share(found.right, found.positives), _share(wrong, negatives)
    return {
        "tau": tau,
        "alerts": found.alerts,
        "right": found.right,
        "alert_precision": _share(found.right, found.alerts),
        "alerts_per_1000": 1000 * found.alerts / found.queries,
        "tpr": tpr,
        "fpr": fpr,
        "likelihood_ratio": tpr / fpr if tpr is not None and fpr else None,
    }


def _decision(threshold: float, found: Counts) -> dict[str, Cell]:
    everybody = Counts(found.queries, found.positives, 0, 0)
    return {
        "threshold": threshold,
        "net_benefit": found.benefit(threshold),
        "treat_all": everybody.benefit(threshold),
        "treat_none": 0.0,
    }


def _sheet(path: str, rows: Sequence[dict[str, Cell]], *, bands: bool) -> Sheet:
    """With a column for each limit after the value that it belongs to."""
    columns: list[str] = []
    for column in rows[0]:
        columns.append(column)
        if bands and column in WITH_LIMITS[path]:
            columns += limit_columns(path, column)
    return Sheet(path, tuple(columns), tuple(tuple(row.get(column) for column in columns) for row in rows))


def limit_columns(path: str, column: str) -> tuple[str, str]:
    """The columns that hold the limits of a value."""
    return ("low", "high") if path == DECISION else (f"{column}_low", f"{column}_high")


def _share(part: int, of: int) -> float | None:
    return part / of if of else None
