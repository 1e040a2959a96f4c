"""Everything that is tuned on a run, fold by fold, on its TUNE rows alone: what is asked for, and what was chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.errors import InputError
from evidentia.protocol.calibration import choose_calibrator
from evidentia.protocol.calibrators import Calibrator
from evidentia.protocol.certificates import DELTA, PostCertificate, certify
from evidentia.protocol.folds import outer_folds
from evidentia.protocol.plain import Plain
from evidentia.protocol.provenance import Provenance, rows_sha256, tuned_on
from evidentia.protocol.targets import Targets
from evidentia.protocol.three_state import ThreeState, at_pair, grid_of, score_grid, tune_three_state
from evidentia.protocol.thresholds import Rule, Threshold, choose_threshold, shared_score
from evidentia.tables import Run
from evidentia.tables.queries import Queries

NO_CALIBRATION = "none"
FITTING_PARTS = 3  # where both are wanted, one third of the posts fits the calibrator and the others certify


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
class FoldTuning(Plain):
    """What was tuned for one fold: one threshold, or the two of a three-state gate, behind a calibrator or none.

    ``tune_sha256`` tells the rows that it was tuned on from others, also from other scores of the same posts.
    """

    fold: str | None
    tune_queries: int
    tune_positives: int
    tune_sha256: str
    calibrator: Calibrator | None = None
    threshold: Threshold | None = None
    three_state: ThreeState | None = None

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

    @property
    def taus(self) -> dict[str, float | None]:
        """Where the states part, under the names that a run has for them; None rejects everything."""
        if self.three_state is not None:
            return {"tau_neg": self.three_state.tau_neg, "tau_pos": self.three_state.tau_pos}
        assert self.threshold is not None
        return {"tau": self.threshold.value}

    def check(self) -> None:
        """One kind of thresholds, and no value of another fold."""
        if (self.threshold is None) == (self.three_state is None):
            raise ValueError("a fold has either one threshold or a three-state gate")
        values = (self.threshold, self.three_state, self.calibrator)
        if any(value is not None and value.tuned_on.fold != self.fold for value in values):
            raise ValueError("a value belongs to another fold than the one it is listed under")


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


def tune(run: Run, choices: Choices, *, used: Collection[str] = ()) -> Tuning:
    """Choose calibrators and thresholds for every fold on its TUNE rows; EVAL rows and their labels are not looked at.

    ``used`` names posts on which the system's other choices (gamma, mixing, early stopping) were made; certificates
    refuse them.
    """
    if run.tune is None:
        raise InputError("The run has no TUNE rows. Thresholds are chosen on them: mark them in a split column.")
    score = shared_score(run.tune, run.queries)
    if score is None:
        hints = "".join(f" {note}" for note in run.notes if "--map " in note)
        raise InputError(
            f"TUNE and EVAL rows have no score column in common. Give prob (or detection_score) in both.{hints}"
        )
    if score != "prob" and choices.calibrate == NO_CALIBRATION:
        raise InputError(
            "Thresholds are compared with prob, and the run has only detection_score. Add --calibrate auto, which makes "
            "probabilities of it."
        )
    tuner = _Tuner(run.tune, score, choices, used)
    tunings = tuple(tuner.fold(fold, rows) for fold, rows in _folds(run.tune, run.queries))
    inputs = tuple({"role": s.role, "name": s.name, "sha256": s.sha256, "rows": s.rows} for s in run.sources)
    return Tuning(score, MappingProxyType(choices.to_dict()), tunings, inputs)


def tune_rows(
    rows: Queries, choices: Choices, *, score: str = "detection_score", used: Collection[str] = ()
) -> FoldTuning:
    """Choose a calibrator and thresholds on rows that are all there for that: for a system that is trained to be used."""
    return _Tuner(rows, score, choices, used).fold(None, np.ones(len(rows), bool))


def _folds(tune: Queries, evaluation: Queries) -> list[tuple[str | None, Bools]]:
    """The folds that are judged, each with its TUNE rows."""
    if evaluation.fold is None:
        return [(None, np.ones(len(tune), bool))]
    if tune.fold is None:
        raise InputError("EVAL rows have folds and TUNE rows have none. Give the fold of every TUNE row.")
    return [(label, tune.fold.codes == code) for code, label in enumerate(evaluation.fold.labels)]


@dataclass(frozen=True, eq=False)
class _Tuner:
    tune: Queries
    score: str
    choices: Choices
    used: Collection[str]

    def fold(self, fold: str | None, rows: Bools) -> FoldTuning:
        """Everything that is tuned for one fold."""
        scores: Floats = getattr(self.tune, self.score)
        fitting, certifying = self._parts(rows)
        calibrator = None
        if self.choices.calibrate != NO_CALIBRATION:
            calibrator = self._calibrator(fitting, fold)
            scores = calibrator.apply(scores)
        label = self.tune.label[rows]
        content = rows_sha256(self.tune, rows, self.score)
        tuning = FoldTuning(fold, int(rows.sum()), int(label.sum()), content, calibrator=calibrator)
        here = self._here(rows, fold)
        if self.choices.rule is not None:
            chosen = choose_threshold(self.choices.rule, scores[rows], label)
            origin = replace(here, posts=()) if self.choices.rule.name == "fixed" else here
            return replace(tuning, threshold=replace(chosen, tuned_on=origin))
        three = tune_three_state(scores[rows], label, self.choices.targets, tuned_on=here)
        if self.choices.certify and three.reason is None:
            certificates = self._certificates(scores, fitting, certifying, fold)
            three = self._certified(three, certificates, scores[rows], label)
        return replace(tuning, three_state=three)

    def _here(self, rows: Bools, fold: str | None) -> Provenance:
        return tuned_on(self.tune, rows, fold, self.score)

    def _parts(self, rows: Bools) -> tuple[Bools, Bools]:
        """The rows to fit a calibrator on and those to certify with: disjoint in posts where both are wanted."""
        posts = [self.tune.post_ids[post] for post in np.unique(self.tune.post[rows])]
        both = self.choices.certify and self.choices.calibrate != NO_CALIBRATION
        if not both or len(posts) < FITTING_PARTS:
            return rows, rows
        dealt = outer_folds(posts, seed=self.choices.seed, folds=FITTING_PARTS)
        fitted = {post for post, part in zip(dealt.post_ids, dealt.fold, strict=True) if part == 0}
        fits = np.array([post in fitted for post in self.tune.post_ids])[self.tune.post]
        return rows & fits, rows & ~fits

    def _calibrator(self, rows: Bools, fold: str | None) -> Calibrator:
        raw: Floats = getattr(self.tune, self.score)
        _, post = np.unique(self.tune.post[rows], return_inverse=True)
        here, how, seed = self._here(rows, fold), self.choices.calibrate, self.choices.seed
        return choose_calibrator(raw[rows], self.tune.label[rows], post, method=how, tuned_on=here, seed=seed)

    def _certificates(
        self, scores: Floats, fitting: Bools, certifying: Bools, fold: str | None
    ) -> tuple[PostCertificate, PostCertificate]:
        calibrated = self._here(fitting, fold).posts if self.choices.calibrate != NO_CALIBRATION else ()
        return certify(
            scores[certifying],
            self.tune.label[certifying],
            self.tune.post[certifying],
            self.choices.targets,
            grid=score_grid(scores[fitting]),
            delta=self.choices.delta,
            tuned_on=self._here(certifying, fold),
            used={*self.used, *calibrated},
        )

    def _certified(
        self, three: ThreeState, certificates: tuple[PostCertificate, PostCertificate], scores: Floats, label: Bools
    ) -> ThreeState:
        """Put certified thresholds in the place of those that were only tuned; what cannot be certified stays, marked."""
        low, high = (
            tau if certificate.value is None else certificate.value
            for certificate, tau in zip(certificates, (three.tau_neg, three.tau_pos), strict=True)
        )
        assert low is not None
        assert high is not None
        # a smaller tau_neg skips less, so what was certified for a larger one still holds
        return at_pair(
            (min(low, high), high),
            grid_of(scores, label, score_grid(scores)),
            (scores, label),
            targets=self.choices.targets,
            certificates=certificates,
            tuned_on=three.tuned_on,
        )
