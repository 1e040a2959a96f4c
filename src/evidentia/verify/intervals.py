"""Every interval of a result, made again: all draws, all replicate values, the limits and what is said about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.errors import UnknownNameError
from evidentia.results.catalogue import Definition, resolve
from evidentia.results.profiles import PROFILES
from evidentia.results.sample_size import (
    CONVENTION,
    NEVER,
    SAME,
    exact_limits,
    interval_reason,
    interval_warnings,
    left_out_warning,
)
from evidentia.verify.draws import Draws, LeftOut, Progress, counter, draws_of
from evidentia.verify.folder import ResultFolder
from evidentia.verify.limits import Pair, all_or_none, bca_limits, gap_limits, percentile_limits, spread_out, t_limits
from evidentia.verify.plan import LOOPS, Planned, Planner, check_loops, sweeps
from evidentia.verify.recipes import Recipe, batches, on_all, replicated
from evidentia.verify.study import Group, Study
from evidentia.verify.tally import Tally
from evidentia.verify.twins import NoTwinError, bounds_of

INTERVAL = ("ci", "ci_method", "replicates_left_out")  # keys of an entry, beside some of its warnings
EXACT, POISSON = "exact", "poisson"
CELLS = 1 << 25  # replicate values held at once: 256 MB


@dataclass(frozen=True)
class Settings:
    """How the intervals of a result were made, as its summary says."""

    resamples: int
    seed: int
    level: float
    method: str
    stratified: bool
    bootstrap: str = EXACT

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Settings:
        """Read them; before there were two bootstraps all were exact."""
        how = summary["interval"]
        rest = how["level"], how["method"], how["stratified_by_fold"], how.get("bootstrap", EXACT)
        return cls(summary["resamples"], summary["seed"], *rest)

    @property
    def poisson(self) -> bool:
        """Whether posts are weighed by their names."""
        return self.bootstrap == POISSON

    def check(self, where: str, tally: Tally) -> None:
        """There are two bootstraps, and only the exact one has strata and BCa intervals."""
        plain = not self.stratified and self.method != "bca"
        known = (EXACT, POISSON) if plain else (EXACT,)
        tally.exact(f"{where}: bootstrap", self.bootstrap, self.bootstrap if self.bootstrap in known else EXACT)

    def draws(self, study: Study) -> Draws:
        """The draws of the posts of a study."""
        return draws_of(study.queries, self.resamples, self.seed, stratified=self.stratified, poisson=self.poisson)


def said_of_bootstrap(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a result repeats of its options about the bootstrap: nothing, where it was made before there were two."""
    return {key: options[key] for key in ("bootstrap",) if key in options}


@dataclass(frozen=True, eq=False)
class ReportedEntry:
    """An entry of the summary that is to be made again."""

    name: str
    entry: Mapping[str, Any]
    definition: Definition
    group: Group


def check_intervals(folder: ResultFolder, study: Study, tally: Tally, progress: Progress | None = None) -> None:
    """Compare the interval of every entry of the summary with one that is made anew from the queries."""
    settings, entries = Settings.of(folder.summary), folder.summary["measures"]
    for key in ("seed", "resamples"):
        tally.exact(f"manifest.json: {key}", folder.manifest.get(key), folder.summary[key])
    settings.check("summary.json: interval", tally)
    if not settings.resamples:
        for name, entry in entries.items():
            _compare(name, entry, (None, None, None), [], tally)
        return
    draws = settings.draws(study)
    jobs = _jobs(folder, tally)
    parts = batches(len(jobs), CELLS, settings.resamples + 4 * draws.posts)
    report = counter(progress, len(parts) * (draws.resamples + (draws.posts if settings.method == "bca" else 0)))
    looped: dict[tuple[str, Definition], Floats] = {}
    for part in parts:
        planned = list(_planned(jobs[part], study, tally))
        recipes = [(plan.recipe, plan.gaps) for _, plan in planned]
        for (job, plan), drawn in zip(planned, all_drawn(recipes, draws, settings, report), strict=True):
            check_interval(job, plan, drawn, settings, tally)
            if not job.group:
                looped[job.name, job.definition] = drawn.values[:LOOPS].copy()
    check_loops(study, draws, looped, tally)


def _jobs(folder: ResultFolder, tally: Tally) -> list[ReportedEntry]:
    """The entries, those of sweeps first and one definition after the other; what is no definition is a mismatch."""
    jobs, profile = [], PROFILES[folder.summary["profile"]]
    for name, entry in folder.summary["measures"].items():
        try:
            definition = resolve(entry["definition"], profile).definition
            jobs.append(ReportedEntry(name, entry, definition, resolve(name, profile).group))
        except UnknownNameError:
            tally.exact(f"{name}: definition", entry["definition"], None)
    return sorted(jobs, key=lambda job: (not sweeps(job.definition), job.definition.expanded))


def _planned(jobs: Sequence[ReportedEntry], study: Study, tally: Tally) -> Iterator[tuple[ReportedEntry, Planned]]:
    planner = Planner(study)
    for job in jobs:
        try:
            yield job, planner.plan(job.definition, job.group)
        except (KeyError, ValueError, NoTwinError):
            tally.exact(f"{job.name}: definition", job.entry["definition"], None)


def check_interval(job: ReportedEntry, plan: Planned, drawn: DrawnNumber, settings: Settings, tally: Tally) -> None:
    """Compare what an entry says about its interval with what its replicates give."""
    sample = plan.sample
    left_out = int(drawn.undefined.sum())
    basis = Basis(sample.posts, sample.effective, plan.proportion, bounds_of(job.definition))
    limits, method, reason = limits_of(settings, drawn, basis)
    warnings = [
        *interval_warnings(sample, settings.method, settings.level),
        *left_out_warning(left_out, settings.resamples),
        *interval_reason(reason, given=limits is not None),
    ]
    _compare(job.name, job.entry, (limits, method, left_out), warnings, tally)


def _compare(
    name: str,
    entry: Mapping[str, Any],
    interval: tuple[Pair | None, str | None, int | None],
    warnings: list[str],
    tally: Tally,
) -> None:
    """Compare what an entry says about its interval with what it should say."""
    ci, (limits, method, left_out) = entry["ci"], interval
    pair = ci if isinstance(ci, list) and len(ci) == 2 else [ci, ci]
    for side, reported, recomputed in zip(("low", "high"), pair, limits or (None, None), strict=True):
        tally.number(f"{name}: ci {side}", reported, recomputed)
    tally.exact(f"{name}: ci_method", entry["ci_method"], method)
    tally.exact(f"{name}: replicates_left_out", entry["replicates_left_out"], left_out)
    spoken = [warning for warning in entry["warnings"] if about_intervals(warning)]
    tally.exact(f"{name}: warnings about the interval", spoken, warnings)


@dataclass(frozen=True, eq=False)
class DrawnNumber:
    """A number on the run and in every replicate, without each post where that is needed, and its gaps where it has some."""

    point: float
    values: Floats
    without: Floats | None = None
    gap_points: Floats | None = None
    gaps: Floats | None = None  # gaps x replicates

    @property
    def undefined(self) -> Bools:
        """The replicates that say nothing."""
        rows = np.isnan(np.atleast_2d(self.values if self.gaps is None else self.gaps))
        undefined: Bools = np.logical_or.reduce(rows, axis=0)
        return undefined


def all_drawn(
    plans: Sequence[tuple[Recipe, tuple[Recipe, ...]]],
    draws: Draws,
    settings: Settings,
    report: Callable[[int], None] = lambda done: None,
) -> Iterator[DrawnNumber]:
    """Numbers, each with the gaps that it adds up, on the run and in every draw."""
    recipes = [recipe for recipe, _ in plans] + [gap for _, gaps in plans for gap in gaps]
    points, values = on_all(recipes, draws.posts), replicated(recipes, draws, report)
    without = replicated(recipes, LeftOut(draws.posts), report) if settings.method == "bca" else None
    start = len(plans)
    for at, (_, gaps) in enumerate(plans):
        held, start = slice(start, start + len(gaps)), start + len(gaps)
        beside = (points[held], values[held]) if gaps else (None, None)
        yield DrawnNumber(float(points[at]), values[at], None if without is None else without[at], *beside)


class Basis(NamedTuple):
    """What limits rest on: clusters, how many of one size tell as much, and what values a measure can have."""

    clusters: int
    effective: float
    proportion: bool
    limits: Pair = (0.0, 1.0)  # the least and the largest value
    unit: str = "post"


def limits_of(settings: Settings, drawn: DrawnNumber, basis: Basis) -> tuple[Pair | None, str | None, str | None]:
    """Limits, how they were made, and the reason where they are not the usual ones."""
    point = drawn.point
    if np.isnan(point):
        return None, None, CONVENTION
    if drawn.undefined.all():
        return None, None, NEVER
    limits, method = _usual_limits(settings, drawn, basis.effective, basis.limits)
    if limits is not None and spread_out(*limits):
        return limits, method, None
    if basis.proportion and point in basis.limits:
        most = basis.limits[1]
        low, high = all_or_none(basis.clusters, settings.level, every=point == most)
        return (low * most, high * most), "clopper-pearson", exact_limits(basis.clusters, basis.unit)
    return None, None, SAME


def _usual_limits(settings: Settings, drawn: DrawnNumber, effective: float, bounds: Pair) -> tuple[Pair | None, str]:
    """Limits by the method of the result, and what that is called."""
    values, level = drawn.values, settings.level
    if drawn.gaps is not None and drawn.gap_points is not None:
        pair = gap_limits(drawn.gap_points, drawn.gaps, effective, level)
        within = None if pair is None else (min(pair[0], drawn.point), min(max(pair[1], drawn.point), bounds[1]))
        return within, "test inversion"
    if drawn.without is not None:
        return bca_limits(values, drawn.point, drawn.without, level), "bca"
    limits = t_limits(values, drawn.point, effective, bounds, level) if settings.method == "auto" else None
    if limits is None:
        return percentile_limits(values, level), "percentile"
    return limits, ("t", "log-t", "logit-t")[sum(map(math.isfinite, bounds))]


def about_intervals(warning: str) -> bool:
    """Whether a warning speaks of the interval; intervals are recomputed apart.

    >>> about_intervals("no interval: every resample gives the same value"), about_intervals("rests on 2 posts")
    (True, True)
    """
    return warning.startswith(("rests on ", "undefined in ", "interval: ", "no interval: "))
