"""Two thresholds for a three-state gate, chosen on TUNE over a grid: as little work as the targets allow.

The work is the rate of queries that are not NEG. It depends on tau_neg alone, so among points of equal work the one with
most right alerts is taken, and among those the larger thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.protocol.certificates import PostCertificate
from evidentia.protocol.plain import Plain
from evidentia.protocol.provenance import Provenance
from evidentia.protocol.targets import TargetResult, Targets, shortfall, target_results
from evidentia.protocol.thresholds import UNTUNABLE, lacking
from evidentia.tables.queries import Frozen

MOST_POINTS = 201


def score_grid(scores: Floats, *, most: int = MOST_POINTS) -> Floats:
    """The distinct scores, ascending; thinned by rank to ``most`` of them with both ends kept. No label has a say in it.

    Examples
    --------
    >>> score_grid(np.array([0.3, 0.1, 0.1, 0.2, 0.4]), most=3).tolist()
    [0.1, 0.3, 0.4]
    """
    distinct = np.unique(scores)
    if len(distinct) <= most:
        return distinct
    return distinct[np.rint(np.linspace(0, len(distinct) - 1, most)).astype(np.int64)]


@dataclass(frozen=True, eq=False)
class Grid(Frozen):
    """What every candidate does on TUNE. A candidate serves as tau_neg (what lies below is skipped) and as tau_pos (what
    does not alerts), and the two do not touch each other's figures: any pair with tau_neg <= tau_pos can be read off.
    """

    tau: Floats
    skipped: Ints  # queries below
    missed: Ints  # of them with evidence
    queries: int
    positives: int

    @property
    def columns(self) -> dict[str, Floats]:
        """The figures of every candidate, by the names of the measures."""
        alerts, right = self.queries - self.skipped, self.positives - self.missed
        return {
            "ScreeningSensitivity": right / self.positives,
            "ScreeningFNPer1000": 1000 * self.missed / self.queries,
            "Workload": alerts / self.queries,
            "AlertPrecision": np.divide(right, alerts, out=np.zeros(len(alerts)), where=alerts > 0),
            "AlertsPer1000": 1000 * alerts / self.queries,
            "AlertRecall": right / self.positives,
        }

    def of_pairs(self, low: Ints, high: Ints) -> dict[str, Floats]:
        """The figures that targets are about, of pairs of candidates by their places."""
        columns = self.columns
        screening, alerts = ("ScreeningSensitivity", "ScreeningFNPer1000"), ("AlertPrecision", "AlertsPer1000")
        return {
            **{name: columns[name][low] for name in screening},
            **{name: columns[name][high] for name in alerts},
            "NegRate": self.skipped[low] / self.queries,
            "UncertainRate": (self.skipped[high] - self.skipped[low]) / self.queries,
            "PosRate": (self.queries - self.skipped[high]) / self.queries,
        }

    def to_dict(self) -> dict[str, list[float]]:
        """Every candidate with its figures as tau_neg and as tau_pos."""
        return {"tau": self.tau.tolist(), **{name: values.tolist() for name, values in self.columns.items()}}


@dataclass(frozen=True, eq=False)
class ThreeState(Plain):
    """tau_neg and tau_pos with what they do on TUNE, what they were asked to do, and the grid they were chosen from.

    Both are None, with the reason, where the fold cannot be tuned.
    """

    tau_neg: float | None
    tau_pos: float | None
    reason: str | None
    metrics: Mapping[str, float]
    targets: tuple[TargetResult, ...]
    certificates: tuple[PostCertificate, ...]
    grid: Mapping[str, list[float]]
    tuned_on: Provenance = field(default_factory=Provenance)

    @property
    def met(self) -> bool:
        """Whether every target over queries is met on TUNE."""
        return self.reason is None and all(outcome.missed_by == 0 for outcome in self.targets)

    def to_dict(self) -> dict[str, Any]:
        """The form that is written, with whether the targets are met."""
        return {
            "tau_neg": self.tau_neg,
            "tau_pos": self.tau_pos,
            "reason": self.reason,
            "met": self.met,
            **super().to_dict(),
        }

    def check(self) -> None:
        """Thresholds are in order, or there are none with a reason."""
        low, high = self.tau_neg, self.tau_pos
        if self.reason is None and not (low is not None and high is not None and 0 <= low <= high <= 1):
            raise ValueError("0 <= tau_neg <= tau_pos <= 1 must hold")
        if self.reason is not None and (low, high) != (None, None):
            raise ValueError("a fold that cannot be tuned has no thresholds")


def grid_of(scores: Floats, labels: Bools, tau: Floats) -> Grid:
    """Count what every candidate skips and misses."""
    below = np.searchsorted(np.sort(scores), tau, side="left")
    missed = np.searchsorted(np.sort(scores[labels]), tau, side="left")
    return Grid(tau, below, missed, len(scores), int(labels.sum()))


def tune_three_state(scores: Floats, labels: Bools, targets: Targets, *, tuned_on: Provenance) -> ThreeState:
    """The point of least work that meets the targets; else the one that misses them least, the first target first."""
    missing = lacking(labels)
    if missing is not None:
        nothing: Mapping[str, Any] = MappingProxyType({})
        return ThreeState(None, None, f"{UNTUNABLE}: {missing}", nothing, (), (), nothing, tuned_on)
    grid = grid_of(scores, labels, score_grid(scores))
    low, high = _best_pair(grid, targets)
    pair = (float(grid.tau[low]), float(grid.tau[high]))
    return at_pair(pair, grid, (scores, labels), targets=targets, tuned_on=tuned_on)


def at_pair(
    pair: tuple[float, float],
    grid: Grid,
    data: tuple[Floats, Bools],
    *,
    targets: Targets,
    certificates: tuple[PostCertificate, ...] = (),
    tuned_on: Provenance,
) -> ThreeState:
    """The value of a pair of thresholds: its figures on the TUNE scores and labels, and what becomes of the targets."""
    point = grid_of(*data, np.array(pair))
    figures = point.columns
    screening = {name: float(figures[name][0]) for name in ("ScreeningSensitivity", "ScreeningFNPer1000", "Workload")}
    alerts = {name: float(figures[name][1]) for name in ("AlertPrecision", "AlertsPer1000", "AlertRecall")}
    metrics = MappingProxyType(screening | alerts)
    reached = {name: float(value[0]) for name, value in point.of_pairs(np.array([0]), np.array([1])).items()}
    written = MappingProxyType(grid.to_dict())
    return ThreeState(*pair, None, metrics, target_results(targets, reached), certificates, written, tuned_on)


def _best_pair(grid: Grid, targets: Targets) -> tuple[int, int]:
    """The places of tau_neg and tau_pos in the grid."""
    low, high = np.triu_indices(len(grid.tau))
    columns, reached = grid.columns, grid.of_pairs(low, high)
    first_to_last = (
        *(shortfall(name, wanted, reached[name[:-2]]) for name, wanted in targets.over_queries.items()),
        *(columns["Workload"][low], -columns["AlertRecall"][high]),
        *(-grid.tau[low], -grid.tau[high]),
    )
    best = int(np.lexsort(first_to_last[::-1])[0])
    return int(low[best]), int(high[best])
