"""The bands of the figures, made again from the same draws as every interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.verify.draws import Floats, Progress, draws_of, over_blocks
from evidentia.verify.figures import asked_curves
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import Settings
from evidentia.verify.limits import percentile_limits
from evidentia.verify.operating_bands import as_number, check_operating_bands
from evidentia.verify.recipes import over
from evidentia.verify.study import Study
from evidentia.verify.sweeps import Passed, sweep_of
from evidentia.verify.tally import Tally


@dataclass(frozen=True)
class Curve:
    """A curve's file, where it is read, and how it is read off a sweep (points x replicates)."""

    file: str
    grid: Sequence[float]
    read: Callable[[Passed, float], Floats]


def found_within(passed: Passed, rate: float) -> Floats:
    """The share found with a false positive rate of at most so much; undefined with one class."""
    within = passed.alarms / np.maximum(passed.negatives, 1) <= rate
    return over(_last(passed.found, within), np.where(passed.negatives > 0, passed.positives, 0.0))


def precision_at(passed: Passed, recall: float) -> Floats:
    """The precision at the first threshold that finds so much; undefined without positives."""
    short = passed.found / np.maximum(passed.positives, 1) < recall
    at = np.minimum(short.sum(axis=0), max(len(short) - 1, 0))[None]
    if not len(short):
        return np.full(short.shape[1], np.nan)
    found, alarms = (np.take_along_axis(counts, at, axis=0)[0] for counts in (passed.found, passed.alarms))
    return over(found, np.where(passed.positives > 0, found + alarms, 0.0))


def _last(counts: Floats, inside: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """The count at the last threshold inside, 0 where there is none; what is inside comes first."""
    with_start = np.concatenate([np.zeros((1, counts.shape[1])), counts])
    taken: Floats = np.take_along_axis(with_start, inside.sum(axis=0)[None], axis=0)[0]
    return taken


ROC = Curve("figures/roc.csv", [i / 100 for i in range(101)], found_within)
PR = Curve("figures/pr.csv", [i / 100 for i in range(1, 101)], precision_at)


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
    done, draws = 0, draws_of(study.queries, settings.resamples, settings.seed, stratified=settings.stratified)
    units = study.units("query")
    sweep = sweep_of(units.score, units.label, study.post, len(study.posts))
    values = {curve.file: np.empty((len(curve.grid), settings.resamples)) for curve in (ROC, PR)}

    def work(rows: slice, weights: Floats) -> None:
        passed = sweep.passed(weights)
        for curve in (ROC, PR):
            for at, x in enumerate(curve.grid):
                values[curve.file][at, rows] = curve.read(passed, x)

    def report(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, settings.resamples)

    over_blocks(draws, work, report)
    return values
