"""What was tuned: the choices, and the values of every fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evidentia.errors import InputError
from evidentia.protocol.calibrators import Calibrator
from evidentia.protocol.certificates import DELTA
from evidentia.protocol.targets import Targets
from evidentia.protocol.three_state import ThreeState
from evidentia.protocol.thresholds import Rule, Threshold

NO_CALIBRATION = "none"


@dataclass(frozen=True)
class Choices:
    """What is to be tuned, and how. ``rule`` None stands for the two thresholds of a three-state gate."""

    rule: Rule | None = None
    targets: Targets = field(default_factory=Targets)
    certify: bool = False
    delta: float = DELTA
    calibrate: str = NO_CALIBRATION
    seed: int = 7

    def __post_init__(self) -> None:
        if self.certify and self.rule is not None:
            raise InputError("Certificates are about tau_neg and tau_pos: tune a three-state gate to have them.")
        if not 0 < self.delta < 1:
            raise InputError("delta must lie between 0 and 1.")

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        return {
            "rule": "three-state" if self.rule is None else str(self.rule),
            "targets": self.targets.to_dict() if self.rule is None else None,
            "certify": self.delta if self.certify else None,
            "calibrate": self.calibrate,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class FoldTuning:
    """What was tuned for one fold: one threshold, or the two of a three-state gate, behind a calibrator or none.

    ``rows_sha256`` tells the rows that it was tuned on from others, also from other scores of the same posts.
    """

    fold: str | None
    queries: int
    positives: int
    rows_sha256: str
    threshold: Threshold | None = None
    three_state: ThreeState | None = None
    calibrator: Calibrator | None = None

    @property
    def reason(self) -> str | None:
        """Why nothing could be chosen, or that everything is rejected."""
        chosen = self.threshold or self.three_state
        return None if chosen is None else chosen.reason

    @property
    def posts(self) -> frozenset[str]:
        """Every post that any of the values was tuned on."""
        certificates = () if self.three_state is None else self.three_state.certificates
        values = (self.threshold, self.three_state, self.calibrator, *certificates)
        return frozenset(post for value in values if value is not None for post in value.tuned_on.posts)

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        return {
            "fold": self.fold,
            "tune_queries": self.queries,
            "tune_positives": self.positives,
            "tune_sha256": self.rows_sha256,
            "calibrator": self.calibrator and self.calibrator.to_dict(),
            "threshold": self.threshold and self.threshold.to_dict(),
            "three_state": self.three_state and self.three_state.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FoldTuning:
        """Read it back."""
        single, three, calibrator = (content[name] for name in ("threshold", "three_state", "calibrator"))
        if (single is None) == (three is None):
            raise ValueError("a fold has either one threshold or a three-state gate")
        read = cls(
            content["fold"],
            int(content["tune_queries"]),
            int(content["tune_positives"]),
            str(content["tune_sha256"]),
            single and Threshold.from_dict(single),
            three and ThreeState.from_dict(three),
            calibrator and Calibrator.from_dict(calibrator),
        )
        values = (read.threshold, read.three_state, read.calibrator)
        if any(value is not None and value.tuned_on.fold != read.fold for value in values):
            raise ValueError("a value belongs to another fold than the one it is listed under")
        return read


@dataclass(frozen=True, eq=False)
class Tuning:
    """Everything that was tuned on a run. ``score`` is the column that calibrators and thresholds read."""

    score: str
    choices: Mapping[str, Any]
    folds: tuple[FoldTuning, ...]
    inputs: tuple[Mapping[str, Any], ...] = ()

    def by_fold(self) -> dict[str | None, FoldTuning]:
        """The tuning of every fold by its label."""
        return {tuning.fold: tuning for tuning in self.folds}
