"""Verify a result whose rows stayed in Parquet files: from the files, where they are given, else as far as the summary goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from evidentia.errors import InputError, counted
from evidentia.results.profiles import PROFILES
from evidentia.verify.course import Course
from evidentia.verify.figures import asked_curves
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import Settings
from evidentia.verify.points import check_gaps, check_measures, check_others, expected
from evidentia.verify.sheet import check_sheets
from evidentia.verify.streamed.alone import check_alone
from evidentia.verify.streamed.columns import QueryReader
from evidentia.verify.streamed.figures import streamed_figures
from evidentia.verify.streamed.numbers import StreamedPoints
from evidentia.verify.streamed.pool import Pool, marked_gold, rank_by_score, read_pool
from evidentia.verify.streamed.record import (
    check_listing,
    check_no_intervals,
    check_rows,
    check_tables_head,
    check_tables_manifest,
)
from evidentia.verify.streamed.replicates import check_replicates
from evidentia.verify.streamed.sample import SampledRows, check_sample
from evidentia.verify.streamed.sources import SourceTable, check_sources, missing_roles, places_in, tables_of
from evidentia.verify.streamed.study import StreamedStudy
from evidentia.verify.tables import all_tables
from evidentia.verify.tally import Tally

Progress = Callable[[int, int], None]
SAMPLE = 1_000  # posts


@dataclass(frozen=True)
class Sources:
    """Where the tables of a result are, by their roles, how many posts are sampled, and where temporary files go."""

    places: Mapping[str, Path] = field(default_factory=dict)
    sample: int = SAMPLE
    scratch: Path | None = None


def verify_tables(
    folder: ResultFolder, course: Course, inputs: Path | None, sources: Sources, progress: Progress | None = None
) -> None:
    """Everything of a result of tables that can be recomputed from what is given; what cannot be is named."""
    course.check("settings", lambda tally: check_tables_manifest(folder, tally))
    places = sources.places or ({} if inputs is None else places_in(folder.manifest, inputs))
    strange = sorted({*places} - {source["role"] for source in folder.manifest["inputs"]})
    if strange:
        raise InputError(f"{folder.path.resolve().name} was made without {', '.join(strange)}. Leave it out.")
    tables = tables_of(folder.manifest, places)
    course.check("inputs", lambda tally: check_sources(folder.manifest, tables, tally))
    lacking = missing_roles(folder.manifest, [*tables])
    if lacking:
        names = " and ".join(f"--{role}" for role in lacking)
        course.in_part += ["The intervals were not recomputed."] if folder.summary["resamples"] else []
        course.in_part.append(
            f"The rows were not given ({names}): numbers agree with each other, and were not recomputed."
        )
        check_alone(folder, course)
        return
    read: list[tuple[StreamedStudy, SampledRows]] = []

    def check_read(tally: Tally) -> None:
        read.append(read_streamed(folder.manifest, tables, sources.sample, Path(scratch)))
        check_rows(read[0][0], tally)

    if sources.scratch is not None and not sources.scratch.is_dir():
        raise InputError(f"{sources.scratch.name} is no folder. Name one for temporary files.")
    with TemporaryDirectory(prefix="evidentia-", dir=sources.scratch) as scratch:
        course.check("rows", check_read)
        if read:
            _verify_rows(folder, course, read[0], progress)
            _say_what_was_sampled(course, read[0][1], read[0][0])


def _verify_rows(
    folder: ResultFolder, course: Course, read: tuple[StreamedStudy, SampledRows], progress: Progress | None
) -> None:
    """Every number, table and figure, from the narrow columns."""
    study, rows = read
    summary, profile = folder.summary, PROFILES[folder.manifest["profile"]]
    points = StreamedPoints(study, profile, expected(study, profile, folder.manifest["options"]))
    by_name, level = folder.manifest["options"].get("measures") is not None, Settings.of(summary).level
    paths: list[str] = []

    def check_tables(tally: Tally) -> None:
        paths.extend(check_sheets(folder, all_tables(summary, points, asked_by_name=by_name), tally))

    def check_figures(tally: Tally) -> None:
        paths.extend(check_sheets(folder, streamed_figures(study, points, level, asked_curves(folder)), tally))

    checks: dict[str, Callable[[Tally], None]] = {
        "counts": partial(check_tables_head, folder, study),
        "measures": partial(check_measures, summary, points),
        "other definitions": partial(check_others, summary, points),
        "not computed": partial(check_gaps, summary, points),
        "tables": check_tables,
        "figures": check_figures,
        "listing": lambda tally: check_listing(folder, paths, tally),
    }
    checks |= {} if summary["resamples"] else {"intervals": partial(check_no_intervals, folder)}
    checks |= {"sample": partial(check_sample, rows, study, points)} if rows.queries.height else {}
    for done, (name, check) in enumerate(checks.items(), 1):
        if progress is not None:
            progress(done, len(checks))
        course.check(name, check)
    if summary["resamples"]:
        check_replicates(folder, points, course)


def _say_what_was_sampled(course: Course, rows: SampledRows, study: StreamedStudy) -> None:
    sampled, posts = rows.queries["post_id"].n_unique(), len(study.columns.posts)
    if sampled < posts:
        chosen = " (those whose BLAKE2b hashes are the smallest)" if sampled else ""
        about = "Candidates against gold and rankings" if study.pool is not None else "Values query by query"
        course.in_part.append(f"{about}: {sampled:,} of {counted(posts, 'post')}{chosen}. All else: every row.")


def read_streamed(
    manifest: Mapping[str, Any], tables: Mapping[str, SourceTable], sample: int, scratch: Path
) -> tuple[StreamedStudy, SampledRows]:
    """The narrow columns of a run, its candidates on the disk, and all columns of a sample of posts."""
    run = tables["run"]
    pool_table = run if run.is_long else tables.get("candidates")
    marked = pool_table is not None and not run.has("gold_sent_uids") and pool_table.has("is_gold")
    reading = manifest["options"]["reading"]
    by = tuple(str(name) for name in manifest["options"]["by"])
    gold = marked_gold(pool_table) if marked and pool_table is not None else None
    reader = QueryReader(run, by, reading["list_sep"], gold, sample, truth=manifest["resamples"] > 0)
    queries = reader.read()
    pool: Pool | None = None
    if pool_table is not None:
        pool = read_pool(pool_table, queries, scratch, reader.sample)
        if not run.has("ranked_sent_uids"):
            rank_by_score(pool, queries)
    study = StreamedStudy((), by=by, columns=queries, pool=pool)
    candidates = None if pool is None else pl.concat(pool.sampled)
    rows = SampledRows(pl.concat(reader.sampled), candidates, marked, run.has("ranked_sent_uids"))
    return study, rows
