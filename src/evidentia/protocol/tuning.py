"""Tune everything of a run, fold by fold, on its TUNE rows alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.errors import InputError
from evidentia.protocol.calibration_choice import choose_calibrator
from evidentia.protocol.calibrators import Calibrator
from evidentia.protocol.certificates import PostCertificate, certify
from evidentia.protocol.folds import outer_folds
from evidentia.protocol.provenance import Provenance, rows_sha256, tuned_on
from evidentia.protocol.three_state import ThreeState, at_pair, grid_of, score_grid, tune_three_state
from evidentia.protocol.thresholds import choose_threshold, shared_score
from evidentia.protocol.tuned import NO_CALIBRATION, Choices, FoldTuning, Tuning
from evidentia.tables import Run
from evidentia.tables.queries import Queries

FITTING_PARTS = 3  # where both are wanted, one third of the posts fits the calibrator and the others certify


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
