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
from evidentia.tables.run import Source

NO_CALIBRATION = "none"
FITTING_PARTS = 3  # where both are wanted, one third of the posts fits the calibrator and the others certify


@dataclass(frozen=True)
class Choices:
    """What is to be tuned, and how. ``rule`` None stands for the two thresholds of a three-state gate.

    With ``cross_fit`` each fold's are chosen on the EVAL rows of the other folds, for runs without TUNE rows.
    """

    rule: Rule | None = None
    targets: Targets = field(default_factory=Targets)
    certify: bool = False
    delta: float = DELTA
    calibrate: str = NO_CALIBRATION
    seed: int = 7
    cross_fit: bool = False

    def __post_init__(self) -> None:
        if self.certify and self.cross_fit:
            raise InputError(
                "There are no certificates with cross_fit: the scores of other folds come from models that saw the posts of "
                "this one. Certify on TUNE rows."
            )
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
            **({"cross_fit": True} if self.cross_fit else {}),
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

    @property
    def cross_fit(self) -> bool:
        """Whether every fold has thresholds that were chosen on the other folds, not on TUNE."""
        return bool(self.choices.get("cross_fit"))

    def by_fold(self) -> dict[str | None, FoldTuning]:
        """The tuning of every fold by its label."""
        return {tuning.fold: tuning for tuning in self.folds}


def tune(run: Run, choices: Choices, *, used: Collection[str] = ()) -> Tuning:
    """Choose calibrators and thresholds for every fold on its TUNE rows; its EVAL rows and their labels are not looked at.

    ``used`` names posts on which the system's other choices (gamma, mixing, early stopping) were made; certificates
    refuse them.
    """
    rows = _rows_to_tune_on(run, choices)
    score = shared_score(rows, run.queries)
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
    tuner = _Tuner(rows, score, choices, used)
    tunings = tuple(tuner.fold(fold, mask) for fold, mask in tuning_folds(run, cross_fit=choices.cross_fit))
    return Tuning(score, MappingProxyType(choices.to_dict()), tunings, tuple(map(input_of, run.sources)))


def input_of(source: Source) -> dict[str, Any]:
    """What a thresholds file says of a file that it was made from."""
    return {"role": source.role, "name": source.name, "sha256": source.sha256, "rows": source.rows}


def tune_rows(
    rows: Queries,
    choices: Choices,
    *,
    score: str = "detection_score",
    used: Collection[str] = (),
    fold: str | None = None,
) -> FoldTuning:
    """Choose a calibrator and thresholds on rows that are all there for that: for a system that is trained to be used."""
    return _Tuner(rows, score, choices, used).fold(fold, np.ones(len(rows), bool))


def _rows_to_tune_on(run: Run, choices: Choices) -> Queries:
    """The TUNE rows; of a run without them, where it is asked for, the EVAL rows of all folds."""
    if run.tune is None and not choices.cross_fit:
        more = " An out-of-fold run without them: --cross-fit." if run.queries.fold is not None else ""
        raise InputError(f"The run has no TUNE rows. Thresholds are chosen on them: mark them in a split column.{more}")
    if not choices.cross_fit:
        assert run.tune is not None
        return run.tune
    if run.tune is not None:
        raise InputError("The run has TUNE rows, which thresholds are chosen on. Leave out --cross-fit.")
    if run.queries.fold is None or len(run.queries.fold.labels) < 2:
        raise InputError(
            "--cross-fit chooses the thresholds of a fold on other folds. Give a fold column with 2 or more."
        )
    return run.queries


def tuning_folds(run: Run, *, cross_fit: bool) -> list[tuple[str | None, Bools]]:
    """The folds that are judged, each with the rows that it is tuned on: its TUNE rows, or those of the other folds."""
    judged = run.queries.fold
    if cross_fit:
        assert judged is not None
        return [(label, judged.codes != code) for code, label in enumerate(judged.labels)]
    assert run.tune is not None
    if judged is None:
        return [(None, np.ones(len(run.tune), bool))]
    if run.tune.fold is None:
        raise InputError("EVAL rows have folds and TUNE rows have none. Give the fold of every TUNE row.")
    return [(label, run.tune.fold.codes == code) for code, label in enumerate(judged.labels)]


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
