"""The result of comparing two predictors that may abstain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidentia.results.comparison import Delta

REFUSED, UNTESTED = "not compared: ", "not tested: "  # how warnings begin that keep a reader from an unfair comparison


@dataclass(frozen=True)
class SelectiveComparison:
    """The deltas of a system against a baseline, and which coverages both reach."""

    baseline: str
    system: str
    seed: int
    resamples: int
    alpha: float
    participants: int
    items: int
    baseline_predicted: int
    system_predicted: int
    coverages: tuple[Mapping[str, Any], ...]
    deltas: tuple[Delta, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Delta:
        for delta in self.deltas:
            if delta.name == name:
                return delta
        raise KeyError(name)

    @property
    def common_coverage(self) -> float:
        """The smaller of both Cmax."""
        return min(self.baseline_predicted, self.system_predicted) / self.items

    def to_dict(self) -> dict[str, Any]:
        """The ``comparison`` of ``summary.json``."""
        sides = {"baseline": self.baseline_predicted, "system": self.system_predicted}
        return {
            "baseline": self.baseline,
            "system": self.system,
            "seed": self.seed,
            "resamples": self.resamples,
            "alpha": self.alpha,
            "participants": self.participants,
            "items": self.items,
            "predicted": sides,
            "cmax": {side: count / self.items for side, count in sides.items()},
            "common_coverage": self.common_coverage,
            "coverages": [dict(row) for row in self.coverages],
            "deltas": [delta.to_dict() for delta in self.deltas],
            "notes": list(self.notes),
        }
