"""The replicate values of a result of tables: limits are made again from all of them, and some are drawn again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evidentia.array_types import Floats
from evidentia.errors import counted
from evidentia.results.catalogue import Definition
from evidentia.results.names import group_suffix
from evidentia.verify.course import Course
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import DrawnNumber, ReportedEntry, Settings, check_interval
from evidentia.verify.plan import Planned
from evidentia.verify.points import Entry
from evidentia.verify.poisson import hashed, weights_by_name
from evidentia.verify.recipes import Nothing
from evidentia.verify.streamed.numbers import StreamedPoints, columns_of
from evidentia.verify.streamed.redrawn import RedrawnReplicate
from evidentia.verify.tally import Tally

FILE = "replicates.parquet"
COLUMNS = ["definition", "group", "gap", "effective_posts", "values"]
REDRAWN = 3  # replicates
Key = tuple[str, str]  # a definition, and a group as names print it


@dataclass(frozen=True, eq=False)
class WrittenNumber:
    """A number in every replicate, where it adds up absolute gaps these too (gaps x replicates), and the posts behind it."""

    rows: Floats  # the values, then the gaps
    effective: float

    @property
    def values(self) -> Floats:
        """The value in every replicate."""
        values: Floats = self.rows[0]
        return values

    @property
    def gaps(self) -> Floats:
        """Every gap in every replicate."""
        gaps: Floats = self.rows[1:]
        return gaps


Written = Mapping[Key, WrittenNumber]


def check_replicates(folder: ResultFolder, points: StreamedPoints, course: Course) -> None:
    """All intervals from the values that were written, and these values in some replicates from the rows."""
    written: list[Written] = []
    settings = Settings.of(folder.summary)
    course.check("replicates", lambda tally: written.append(_read(folder, points, tally)))
    if written:
        course.check("intervals", lambda tally: _check_limits(folder, points, written[0], settings, tally))
        course.check("redrawn", lambda tally: _check_redrawn(folder, points, written[0], settings, tally))
        of = counted(settings.resamples, "replicate")
        few = min(REDRAWN, settings.resamples)
        if few < settings.resamples:
            course.in_part.append(f"Replicates drawn again: {few} of {of}, by the hash of {FILE}. Limits: of all.")


def read_replicates(folder: ResultFolder, tally: Tally) -> Written:
    """All numbers of the file, each in every replicate."""
    frame = pl.read_parquet(folder.path / FILE)
    tally.exact(f"{FILE}: columns", frame.columns, COLUMNS)
    resamples = folder.summary["resamples"]
    short = frame.filter(pl.col("values").list.len() != resamples).height
    tally.exact(f"{FILE}: rows of another length", short, 0)
    rows: dict[Key, list[Floats]] = {}
    effective: dict[Key, float] = {}
    for definition, group, gap, posts, values in frame.iter_rows():
        mine = rows.setdefault((definition, group), [])
        tally.exact(f"{FILE}: {definition}{group}: gap", gap, len(mine) - 1 if mine else None)
        tally.exact(f"{FILE}: {definition}{group}: posts", posts, effective.setdefault((definition, group), posts))
        mine.append(np.array(values, np.float64))
    return {key: WrittenNumber(np.array(mine), effective[key]) for key, mine in rows.items()}


def _read(folder: ResultFolder, points: StreamedPoints, tally: Tally) -> Written:
    """The file has every number of the summary, each in every replicate, and none that nobody asked for."""
    rows = read_replicates(folder, tally)
    entries = points.expected.entries.values()
    known = {(entry.definition.expanded, group_suffix(entry.group)) for entry in entries}
    tally.exact(f"{FILE}: numbers that are missing", sorted(known - rows.keys()), [])
    grouped = {(entry.definition.expanded, columns_of(entry.group)) for entry in entries}
    whole = {(name, group_suffix(group)) for name, columns in grouped for group in points.study.cells(columns).groups}
    tally.exact(f"{FILE}: numbers that nobody asked for", sorted(rows.keys() - whole), [])
    return rows


def _check_limits(
    folder: ResultFolder, points: StreamedPoints, written: Written, settings: Settings, tally: Tally
) -> None:
    settings.check("summary.json: interval", tally)
    tally.exact("summary.json: interval: bootstrap", settings.bootstrap, "poisson")
    reported = folder.summary["measures"]
    for name, entry in points.expected.entries.items():
        number = written.get((entry.definition.expanded, group_suffix(entry.group)))
        if number is not None and name in reported:
            job = ReportedEntry(name, reported[name], entry.definition, entry.group)
            sample, proportion = points.planner.sample(entry.definition, entry.group)
            plan = Planned(Nothing(), sample, proportion)
            tally.number(f"{FILE}: {name}: effective posts", number.effective, sample.effective)
            check_interval(job, plan, _drawn(points, entry, number), settings, tally)


def _drawn(points: StreamedPoints, entry: Entry, written: WrittenNumber) -> DrawnNumber:
    """A number with its written replicates."""
    number = points.number(entry)
    point = np.nan if number.flaw is not None else number.value
    gaps = points.planner.gaps(entry.definition, entry.group)
    if gaps is None:
        return DrawnNumber(point, written.values)
    return DrawnNumber(point, np.abs(written.gaps).sum(axis=0), None, gaps, written.gaps)


def _check_redrawn(
    folder: ResultFolder, points: StreamedPoints, written: Written, settings: Settings, tally: Tally
) -> None:
    """Some replicates from the rows; which ones depends on the file, so that nobody could know before it was written."""
    names = hashed(points.study.columns.posts)
    for replicate in chosen(folder.sha256(FILE), settings.resamples):
        weights = weights_by_name(names, settings.seed, [replicate])[:, 0]
        again = RedrawnReplicate(points.planner, weights)
        for definition, columns in _numbers(points):
            cells = points.study.cells(columns)
            values = again.values(definition, cells)[None]
            if points.planner.gaps(definition, cells.groups[0]) is not None:
                values = np.concatenate([values, again.gaps(definition, cells)])
            for at, group in enumerate(cells.groups):
                mine = written.get((definition.expanded, group_suffix(group)))
                where = f"{FILE}: {definition.expanded}{group_suffix(group)}: replicate {replicate}"
                tally.exact(f"{where}: gaps", None if mine is None else len(mine.rows), len(values))
                for row, value in zip(() if mine is None else mine.rows, values[:, at].tolist(), strict=False):
                    theirs = float(row[replicate])
                    tally.number(where, None if np.isnan(theirs) else theirs, value)


def chosen(sha256: str, resamples: int) -> Sequence[int]:
    """The replicates that are drawn again: those whose hashes beside that of the file are the smallest."""

    def word(replicate: int) -> str:
        return hashlib.sha256(f"{sha256} {replicate}".encode()).hexdigest()

    return sorted(sorted(range(resamples), key=word)[:REDRAWN])


def _numbers(points: StreamedPoints) -> list[tuple[Definition, tuple[str, ...]]]:
    """Every definition with the columns that it is grouped by."""
    entries = points.expected.entries.values()
    pairs = {(e.definition.expanded, columns_of(e.group)): e.definition for e in entries}
    return [(definition, columns) for (_, columns), definition in pairs.items()]
