"""Tuned values applied to a run: calibrated probabilities and the gate, fold by fold, on posts they were not tuned on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError, Problem, counted, shown
from evidentia.protocol.provenance import rows_sha256
from evidentia.protocol.thresholds import REJECT_ALL
from evidentia.protocol.tuning import FoldTuning, Tuning
from evidentia.tables.queries import NEG, STATES, Queries
from evidentia.tables.run import Run, Source

_OF_THE_GATE = ("tau", "tau_neg", "tau_pos", "state")
Frame = pl.DataFrame


def apply_tuning(run: Run, tuning: Tuning, *, source: Source | None = None) -> Run:
    """The run under tuned thresholds: ``prob`` calibrated, ``tau`` or ``tau_neg`` and ``tau_pos`` with the state, the gate.

    The run's own gate gives way, and a query that the new gate stops returns nothing. TUNE rows are treated alike, so that
    what is tuned on them later stands on the same probabilities. Refused, with the fold and how many posts: thresholds that
    were tuned on a post which they would be applied to; also other score columns, and folds that have no thresholds.
    """
    source = source or Source("thresholds", "<thresholds>", None, len(tuning.folds))
    problems = _problems(run, tuning, source.name)
    if problems:
        raise InputError(*problems)
    judged = _Part.of(run.queries, tuning)
    unsayable = _unsayable(judged.prob, run.queries, tuning, source.name)
    if unsayable:
        raise InputError(*unsayable)
    changes: dict[str, Any] = {}
    if run.tune is not None and run.tune_frame is not None:
        part = _Part.of(run.tune, tuning)
        changes = {"tune": part.queries(run.tune), "tune_frame": part.frame(run.tune_frame)}
    return replace(
        run,
        queries=judged.queries(run.queries),
        frame=judged.frame(run.frame),
        sources=(*run.sources, source),
        cross_fit=tuning.cross_fit,
        notes=(*run.notes, *_notes(run, tuning, source.name, judged.gate)),
        **changes,
    )


def _notes(run: Run, tuning: Tuning, name: str, gate: Bools) -> list[str]:
    """What a reader should know: what was replaced, and where gate, selection and origin do not fit together."""
    replaced = [column for column in _OF_THE_GATE if column in run.frame.columns]
    notes = [f"{name}: its thresholds replace the run's {', '.join(replaced)}."] if replaced else []
    known, own = {i["sha256"] for i in tuning.inputs} - {None}, {s.sha256 for s in run.sources} - {None}
    if known and own and not known & own:
        notes.append(
            f"{name}: tuned on another file than this run. Thresholds only fit the scores of the system they come from."
        )
    notes += _origin(run, tuning, name)
    if run.queries.n_selected is None:
        return notes
    selected = run.queries.n_selected > 0
    emptied, bare = int(np.count_nonzero(selected & ~gate)), int(np.count_nonzero(~selected & gate))
    if emptied:
        notes.append(f"{name}: {counted(emptied, 'query', 'queries')} that its gate stops had a selection, now empty.")
    if bare:
        words = counted(bare, "query", "queries")
        notes.append(
            f"{name}: {words} that its gate lets through have no selection; the run's own gate may have stopped them."
        )
    return notes


def _origin(run: Run, tuning: Tuning, name: str) -> list[str]:
    """Say what is not as it should be: values that come from other folds, or from rows that the result does not hold."""
    notes = []
    if tuning.cross_fit:
        notes.append(
            f"{name}: cross_fit: the thresholds of each fold were chosen on the other folds, whose scores come from models that "
            "saw this fold. They are not from TUNE, and may be too favourable."
        )
    known = tuning.by_fold()
    strange = [fold for fold, _ in _rows_by_fold(run.queries) if not _tuned_here(run, known[fold], tuning)]
    rows = "rows of other folds than those" if tuning.cross_fit else "rows that are not the TUNE rows"
    how = f"{'chosen' if tuning.cross_fit else 'tuned'} on {rows} of this run, so `verify` cannot recompute them"
    return [*notes, *([f"{name}: the values of {counted(len(strange), 'fold')} were {how}."] if strange else [])]


def _tuned_here(run: Run, tuned: FoldTuning, tuning: Tuning) -> bool:
    tune = run.queries if tuning.cross_fit else run.tune
    if tune is None or not tune.has(tuning.score):
        return False
    if tuned.fold is None:
        rows = np.ones(len(tune), bool)
    else:
        own = dict(_rows_by_fold(tune)).get(tuned.fold, np.zeros(len(tune), bool))
        rows = ~own if tuning.cross_fit else own
    return rows_sha256(tune, rows, tuning.score) == tuned.tune_sha256


def _problems(run: Run, tuning: Tuning, name: str) -> list[Problem]:
    queries = run.queries
    score = "prob" if queries.has("prob") else "detection_score" if queries.has("detection_score") else None
    if score != tuning.score:
        message = f"{name}: tuned on {tuning.score}, but the run has {score or 'no score column'}. Tune on this run."
        return [Problem("THRESHOLD_SCORE", message)]
    known = tuning.by_fold()
    problems = []
    for fold, rows in _rows_by_fold(queries):
        judged = {queries.post_ids[post] for post in np.unique(queries.post[rows])}
        problems += _fold_problems(known.get(fold), fold, judged, name)
    return problems


def _fold_problems(tuned: FoldTuning | None, fold: str | None, judged: set[str], name: str) -> list[Problem]:
    where = "the run, which has no folds" if fold is None else f"fold {shown(fold)}"
    if tuned is None:
        return [Problem("THRESHOLD_FOLD", f"{name}: no thresholds for {where}. Tune on a run with the same folds.")]
    if tuned.reason is not None and tuned.reason != REJECT_ALL:
        return [Problem("THRESHOLD_MISSING", f"{name}: {where} {tuned.reason}. Give it TUNE rows of both classes.")]
    shared = judged & tuned.posts
    if shared:
        message = (
            f"{name}: the thresholds for {where} were tuned on {counted(len(shared), 'post')} of the {len(judged):,} that "
            f"they would be applied to (first: {shown(min(shared))}). Tune on TUNE rows only, disjoint from EVAL."
        )
        return [Problem("THRESHOLD_LEAK", message)]
    return []


def _unsayable(prob: Floats, queries: Queries, tuning: Tuning, name: str) -> list[Problem]:
    """Folds that reject everything while a prob is 1: no tau in [0, 1] says that."""
    rejected = {fold.fold for fold in tuning.folds if fold.reason == REJECT_ALL}
    folds = [fold for fold, rows in _rows_by_fold(queries) if fold in rejected and (prob[rows] >= 1).any()]
    fault = "everything is rejected, which no tau can say where a prob is 1. Choose another rule."
    return [Problem("THRESHOLD_REJECTS_ALL", f"{name}: fold {shown(fold)}: {fault}") for fold in folds]


def _rows_by_fold(queries: Queries) -> list[tuple[str | None, Bools]]:
    if queries.fold is None:
        return [(None, np.ones(len(queries), bool))]
    return [(label, queries.fold.codes == code) for code, label in enumerate(queries.fold.labels)]


@dataclass(frozen=True, eq=False)
class _Part:
    """The new columns of the EVAL or the TUNE rows."""

    prob: Floats
    raw_prob: Floats | None
    taus: dict[str, Floats]
    state: Ints | None
    gate: Bools

    @classmethod
    def of(cls, queries: Queries, tuning: Tuning) -> _Part:
        raw: Floats = getattr(queries, tuning.score)
        known = tuning.by_fold()
        prob = raw.copy()
        three = tuning.folds[0].three_state is not None
        taus = {name: np.ones(len(raw)) for name in (("tau_neg", "tau_pos") if three else ("tau",))}
        for fold, rows in _rows_by_fold(queries):
            tuned = known[fold]
            if tuned.calibrator is not None:
                prob[rows] = tuned.calibrator.apply(raw[rows])
            for name, value in tuned.taus.items():  # where everything is rejected no prob of the fold is above 1
                taus[name][rows] = 1.0 if value is None else value
        calibrated = any(fold.calibrator is not None for fold in tuning.folds)
        state = (prob >= taus["tau_neg"]).astype(np.int64) + (prob >= taus["tau_pos"]) if three else None
        gate = prob >= taus["tau"] if state is None else state != NEG
        return cls(prob, raw if calibrated and tuning.score == "prob" else None, taus, state, gate)

    def queries(self, queries: Queries) -> Queries:
        """The arrays with the new columns."""
        changes: dict[str, Any] = {"prob": self.prob, "gate": self.gate, "state": self.state}
        for name in ("n_selected", "n_selected_gold"):
            counts = getattr(queries, name)
            changes[name] = None if counts is None else np.where(self.gate, counts, 0)
        return replace(queries, **changes)

    def frame(self, frame: Frame) -> Frame:
        """The table with the new columns, the old gate taken out."""
        new = {"prob": pl.Series(self.prob), **{name: pl.Series(values) for name, values in self.taus.items()}}
        if self.raw_prob is not None:
            new["raw_prob"] = pl.Series(self.raw_prob)
        if self.state is not None:
            new["state"] = pl.Series(STATES).gather(self.state)
        if "selected_sent_uids" in frame.columns:
            kept = pl.when(pl.Series(self.gate)).then("selected_sent_uids").otherwise(pl.lit([], pl.List(pl.String)))
            frame = frame.with_columns(kept.alias("selected_sent_uids"))
        return frame.drop(*_OF_THE_GATE, strict=False).with_columns(**new)
