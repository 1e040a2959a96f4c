"""The bands of the figures, made again from the same draws as every interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evidentia.results.curve import EVERY_CURVE, curves_of
from evidentia.verify.draws import Bools, Floats, Progress, counter, draws_of, over_blocks
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import Settings
from evidentia.verify.limits import percentile_limits
from evidentia.verify.operating import as_number, check_operating_bands
from evidentia.verify.recipes import over
from evidentia.verify.study import Study
from evidentia.verify.sweeps import Passed, Sweep, sweep_of
from evidentia.verify.tally import Tally


@dataclass(frozen=True)
class Curve:
    """A curve's file, where it is read, and how it is read off a sweep (points x replicates)."""

    file: str
    grid: Floats
    read: Callable[[Passed, Floats], Floats]


def found_within(passed: Passed, rates: Floats) -> Floats:
    """The share found with a false positive rate of at most so much; undefined with one class."""
    alarms = passed.alarms / np.maximum(passed.negatives, 1)
    within = np.array([np.searchsorted(column, rates, side="right") for column in alarms.T.copy()]).T
    hits = np.take_along_axis(np.concatenate([np.zeros((1, alarms.shape[1])), passed.found]), within, axis=0)
    return over(hits, np.broadcast_to(np.where(passed.negatives > 0, passed.positives, 0.0), hits.shape))


def precision_at(passed: Passed, recalls: Floats) -> Floats:
    """The precision at the first threshold that finds so much; undefined without positives."""
    shares = passed.found / np.maximum(passed.positives, 1)
    if not len(shares):
        return np.full((len(recalls), shares.shape[1]), np.nan)
    short = np.array([np.searchsorted(column, recalls, side="left") for column in shares.T.copy()]).T
    at = np.minimum(short, len(shares) - 1)
    hits, alarms = (np.take_along_axis(counts, at, axis=0) for counts in (passed.found, passed.alarms))
    return over(hits, np.where(passed.positives > 0, hits + alarms, 0.0))


ROC = Curve("figures/roc.csv", np.arange(101) / 100, found_within)
PR = Curve("figures/pr.csv", np.arange(1, 101) / 100, precision_at)


def _sweep(study: Study, rows: Bools) -> Sweep:
    units = study.units("query")
    return sweep_of(units.score[rows], units.label[rows], study.post[rows], len(study.posts))


def curve_of(curve: Curve, study: Study, rows: Bools) -> list[float | None]:
    """The curve over some queries as they are; None where it is undefined."""
    values = curve.read(_sweep(study, rows).passed(np.ones((len(study.posts), 1))), curve.grid)[:, 0]
    return [None if np.isnan(value) else value for value in values.tolist()]


def asked_curves(folder: ResultFolder) -> frozenset[str]:
    """The curves that belong to the measures of a result; all of them where nobody named measures."""
    named = folder.manifest["options"].get("measures") is not None
    return curves_of(folder.summary["measures"]) if named else EVERY_CURVE


def check_bands(folder: ResultFolder, study: Study, tally: Tally, progress: Progress | None = None) -> None:
    """Compare the limits in the figures' tables with limits from replicate curves that are made anew."""
    settings = Settings.of(folder.summary)
    asked = asked_curves(folder)
    if not settings.resamples or any(query.score is None for query in study.queries):
        return
    if "operating" in asked:
        check_operating_bands(folder, study, settings, tally, progress)
    if "roc" not in asked:
        return
    values = _replicate_curves(study, settings, progress)
    for curve in (ROC, PR):
        rows = folder.rows(curve.file) if folder.has(curve.file) else []
        tally.exact(f"{curve.file}: rows", len(rows), len(curve.grid))
        for row, x, replicates in zip(rows, curve.grid, values[curve.file], strict=False):
            limits = percentile_limits(replicates, settings.level) or (None, None)
            for side, limit in zip(("low", "high"), limits, strict=True):
                tally.number(f"{curve.file}: {side} at {x:g}", as_number(row.get(side)), limit)


def _replicate_curves(study: Study, settings: Settings, progress: Progress | None) -> dict[str, Floats]:
    draws = draws_of(study.queries, settings.resamples, settings.seed, stratified=settings.stratified)
    sweep = _sweep(study, study.everyone)
    values = {curve.file: np.empty((len(curve.grid), settings.resamples)) for curve in (ROC, PR)}

    def work(rows: slice, weights: Floats) -> None:
        passed = sweep.passed(weights)
        for curve in (ROC, PR):
            values[curve.file][:, rows] = curve.read(passed, curve.grid)

    report = counter(progress, settings.resamples)

    over_blocks(draws, work, report)
    return values
