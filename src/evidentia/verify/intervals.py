"""Every interval of a result, made again: all draws, all replicate values, the limits and what is said about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.errors import UnknownNameError
from evidentia.results.catalogue import Definition, resolve
from evidentia.results.profiles import PROFILES
from evidentia.results.sample_size import interval_warnings, left_out_warning
from evidentia.verify.draws import Draws, Floats, LeftOut, Progress, counter, draws_of
from evidentia.verify.folder import ResultFolder
from evidentia.verify.gaps import gap_limits
from evidentia.verify.limits import Pair, all_or_none, bca_limits, percentile_limits, spread_out, t_limits
from evidentia.verify.plan import LOOPS, Planned, Planner, looped, loops
from evidentia.verify.recipes import batches, on_all, replicated
from evidentia.verify.study import Group, Study
from evidentia.verify.tally import Tally
from evidentia.verify.twins import NoTwinError, bounds_of
from evidentia.verify.warnings import about_intervals

CELLS = 1 << 25  # replicate values held at once: 256 MB
SAME = "every resample gives the same value"


@dataclass(frozen=True)
class Settings:
    """How the intervals of a result were made, as its summary says."""

    resamples: int
    seed: int
    level: float
    method: str
    stratified: bool

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Settings:
        """Read them."""
        how = summary["interval"]
        return cls(summary["resamples"], summary["seed"], how["level"], how["method"], how["stratified_by_fold"])


@dataclass(frozen=True)
class Interval:
    """What should stand in an entry."""

    limits: tuple[float, float] | None
    method: str | None
    left_out: int | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Job:
    """An entry of the summary that is to be made again."""

    name: str
    entry: Mapping[str, Any]
    definition: Definition
    group: Group


def check_intervals(folder: ResultFolder, study: Study, tally: Tally, progress: Progress | None = None) -> None:
    """Compare the interval of every entry of the summary with one that is made anew from the queries."""
    settings = Settings.of(folder.summary)
    for key in ("seed", "resamples"):
        tally.exact(f"manifest.json: {key}", folder.manifest.get(key), folder.summary[key])
    entries = folder.summary["measures"]
    if not settings.resamples:
        for name, entry in entries.items():
            compare(tally, name, entry, Interval(None, None, None))
        return
    draws = draws_of(study.queries, settings.resamples, settings.seed, stratified=settings.stratified)
    _Checker(study, draws, settings, tally).check(_jobs(folder, tally), progress)


def _jobs(folder: ResultFolder, tally: Tally) -> list[Job]:
    """The entries, one definition after the other; what is no definition is a mismatch."""
    jobs, profile = [], PROFILES[folder.summary["profile"]]
    for name, entry in folder.summary["measures"].items():
        try:
            jobs.append(
                Job(name, entry, resolve(entry["definition"], profile).definition, resolve(name, profile).group)
            )
        except UnknownNameError:
            tally.exact(f"{name}: definition", entry["definition"], None)
    return sorted(jobs, key=lambda job: job.definition.expanded)


@dataclass(frozen=True, eq=False)
class _Checker:
    study: Study
    draws: Draws
    settings: Settings
    tally: Tally

    def check(self, jobs: Sequence[Job], progress: Progress | None) -> None:
        """Make all numbers again, as many at a time as memory allows, and a few of them by a plain loop."""
        parts = batches(len(jobs), CELLS, self.settings.resamples + 4 * self.draws.posts)
        each = self.draws.resamples + (self.draws.posts if self.settings.method == "bca" else 0)
        replicates: dict[tuple[str, Definition], Floats] = {}
        report = counter(progress, each * len(parts))

        for part in parts:
            replicates |= self._batch(jobs[part], report)
        for at, planner in enumerate(loops(self.study, self.draws)):
            for (name, definition), values in replicates.items():
                drawn = None if np.isnan(values[at]) else float(values[at])
                self.tally.number(f"{name}: replicate {at}, by a plain loop", drawn, looped(planner, definition))

    def _batch(self, jobs: Sequence[Job], report: Callable[[int], None]) -> dict[tuple[str, Definition], Floats]:
        """Compare some intervals; the first replicates of every number over all queries."""
        planner = Planner(self.study)
        planned = [(job, plan) for job in jobs if (plan := self._planned(planner, job)) is not None]
        recipes = [plan.recipe for _, plan in planned] + [gap for _, plan in planned for gap in plan.gaps]
        points = on_all(recipes, self.draws.posts)
        values = replicated(recipes, self.draws, report)
        gaps_at, without = len(planned), None
        if self.settings.method == "bca":
            without = replicated(recipes, LeftOut(self.draws.posts), report)
        for at, (job, plan) in enumerate(planned):
            jackknife = None if without is None else without[at]
            drawn = Drawn(float(points[at]), values[at], jackknife)
            if plan.gaps:
                held, gaps_at = slice(gaps_at, gaps_at + len(plan.gaps)), gaps_at + len(plan.gaps)
                drawn = Drawn(drawn.point, values[at], jackknife, points[held], values[held])
            compare(self.tally, job.name, job.entry, self._interval(plan, drawn, bounds_of(job.definition)))
        return {
            (job.name, job.definition): values[at, :LOOPS].copy()
            for at, (job, _) in enumerate(planned)
            if not job.group
        }

    def _planned(self, planner: Planner, job: Job) -> Planned | None:
        try:
            return planner.plan(job.definition, job.group)
        except (KeyError, ValueError, NoTwinError):
            self.tally.exact(f"{job.name}: definition", job.entry["definition"], None)
            return None

    def _interval(self, plan: Planned, drawn: Drawn, bounds: Pair) -> Interval:
        left_out = int((np.isnan(drawn.values) if drawn.gaps is None else np.isnan(drawn.gaps).any(axis=0)).sum())
        limits, method, reason = limits_of(
            self.settings,
            drawn,
            clusters=plan.sample.posts,
            effective=plan.sample.effective,
            proportion=plan.proportion,
            bounds=bounds,
        )
        notes = [
            *interval_warnings(plan.sample, self.settings.method, self.settings.level),
            *left_out_warning(left_out, self.settings.resamples),
        ]
        if reason is not None:
            notes.append(f"{'no interval' if limits is None else 'interval'}: {reason}")
        return Interval(limits, method, left_out, tuple(notes))


@dataclass(frozen=True, eq=False)
class Drawn:
    """A number on the run and in every replicate, without each post where that is needed, and its gaps where it has some."""

    point: float
    values: Floats
    without: Floats | None = None
    gap_points: Floats | None = None
    gaps: Floats | None = None  # gaps x replicates


def limits_of(
    settings: Settings, drawn: Drawn, *, clusters: int, effective: float, proportion: bool, bounds: Pair
) -> tuple[Pair | None, str | None, str | None]:
    """Limits, how they were made, and the reason where they are not the usual ones."""
    point = drawn.point
    if np.isnan(point):
        return None, None, "the value is a convention, not a measurement"
    if np.isnan(drawn.values).all() if drawn.gaps is None else np.isnan(drawn.gaps).any(axis=0).all():
        return None, None, "undefined in every resample"
    limits, method = _usual_limits(settings, drawn, effective, bounds)
    if limits is not None and spread_out(*limits):
        return limits, method, None
    if proportion and point in bounds:
        low, high = all_or_none(clusters, settings.level, every=point == bounds[1])
        posts = f"{clusters:,} post{'' if clusters == 1 else 's'}"
        reason = f"{SAME}, so the limits are exact binomial over {posts}"
        return (low * bounds[1], high * bounds[1]), "clopper-pearson", reason
    return None, None, SAME


def _usual_limits(settings: Settings, drawn: Drawn, effective: float, bounds: Pair) -> tuple[Pair | None, str]:
    """Limits by the method of the result, and what that is called."""
    values, level = drawn.values, settings.level
    if drawn.gaps is not None and drawn.gap_points is not None:
        pair = gap_limits(drawn.gap_points, drawn.gaps, effective, level)
        return None if pair is None else (min(pair[0], drawn.point), max(pair[1], drawn.point)), "test inversion"
    if drawn.without is not None:
        return bca_limits(values, drawn.point, drawn.without, level), "bca"
    limits = t_limits(values, drawn.point, effective, bounds, level) if settings.method == "auto" else None
    if limits is None:
        return percentile_limits(values, level), "percentile"
    return limits, ("t", "log-t", "logit-t")[sum(map(math.isfinite, bounds))]


def compare(tally: Tally, name: str, entry: Mapping[str, Any], interval: Interval) -> None:
    """Compare what an entry says about its interval with what it should say."""
    ci = entry["ci"]
    pair = ci if isinstance(ci, list) and len(ci) == 2 else [ci, ci]
    for side, reported, recomputed in zip(("low", "high"), pair, interval.limits or (None, None), strict=True):
        tally.number(f"{name}: ci {side}", reported, recomputed)
    tally.exact(f"{name}: ci_method", entry["ci_method"], interval.method)
    tally.exact(f"{name}: replicates_left_out", entry["replicates_left_out"], interval.left_out)
    spoken = [warning for warning in entry["warnings"] if about_intervals(warning)]
    tally.exact(f"{name}: warnings about the interval", spoken, list(interval.notes))
