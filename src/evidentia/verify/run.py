"""Verify a result folder: every check in turn, counted, and none of them trusted to come through on broken files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from traceback import extract_tb
from typing import Any

from evidentia.errors import InputError
from evidentia.results.profiles import PROFILES
from evidentia.verify.ablation import ABLATION, check_ablation, open_ablation
from evidentia.verify.applied import check_applied
from evidentia.verify.attribution import attribution_sheets
from evidentia.verify.beside import Checks, check_here, intervals_beside
from evidentia.verify.comparison import COMPARISON, check_comparison
from evidentia.verify.course import BROKEN, CheckCount, Course, Verification
from evidentia.verify.figures import all_figures, asked_curves
from evidentia.verify.files import check_hashes, check_inputs, check_listing, is_plain
from evidentia.verify.folder import ResultFolder, read_json
from evidentia.verify.intervals import Settings
from evidentia.verify.points import Points, check_gaps, check_measures, check_others, expected
from evidentia.verify.record import check_findings, check_head, check_manifest, check_stamp, check_thresholds
from evidentia.verify.rows import check_own_values, check_rows
from evidentia.verify.selective import check_selective
from evidentia.verify.sheet import check_sheets
from evidentia.verify.streamed.check import Sources, verify_tables
from evidentia.verify.streamed.comparison import TABLES_COMPARISON, verify_tables_comparison
from evidentia.verify.study import Study, read_study
from evidentia.verify.tables import all_tables
from evidentia.verify.tally import Mismatch, Tally, compare
from evidentia.verify.twins import NoTwinError

EVALUATION = "evidentia.manifest/1"
SELECTIVE = "evidentia.selective-manifest/2"
TABLES = "evidentia.tables-manifest/2"
EARLIER = {  # they kept too little
    "evidentia.comparison-manifest/1": "nothing of its systems to recompute it from. Compare them again.",
    "evidentia.selective-manifest/1": "no totals of its participants to compare. Evaluate the run again.",
    "evidentia.tables-manifest/1": "too little of its queries to compare it. Evaluate the tables again.",
    "evidentia.ablation-manifest/1": "too little of its steps to recompute it from. Run it again.",
}
Progress = Callable[[int, int], None]
Meanwhile = Callable[[bool], None]


def verify_folder(
    path: Path,
    progress: Progress | None = None,
    *,
    inputs: Path | None = None,
    checks: Checks | None = None,
    sources: Sources | None = None,
    meanwhile: Meanwhile | None = None,
) -> Verification:
    """Recompute everything that a result folder reports, from its own files; nothing is written.

    ``checks`` makes the checks of a result again; verification asks it for their status and compares. ``sources`` says where
    the tables are whose rows a result does not hold. ``meanwhile`` is called with whether everything matches so far, where
    there would be nothing to do but to wait for a process.
    """
    folder = ResultFolder(path)
    schema = str(folder.manifest.get("schema")) if folder.has("manifest.json") else None
    if str(schema) in EARLIER:
        raise InputError(f"{path.resolve().name} is of an earlier version and keeps {EARLIER[str(schema)]}")
    if schema == ABLATION:
        return _verify_ablation(folder)
    if schema not in {EVALUATION, SELECTIVE, COMPARISON, TABLES, TABLES_COMPARISON}:
        raise InputError(
            f"{path.resolve().name} is not a result folder of `evidentia evaluate`, `run`, `selective`, `compare` or `ablate`."
        )
    compares = schema in {COMPARISON, TABLES_COMPARISON}
    if compares and inputs is not None:
        raise InputError("The inputs of a comparison are results: verify each of them with its own --inputs.")
    if schema == TABLES_COMPARISON and sources is not None and sources.places:
        raise InputError("A comparison was made of results: verify each of them with its own --run and --candidates.")
    if schema != TABLES and sources is not None and sources.places:
        raise InputError(f"{path.resolve().name} holds its rows: verify it without --run and --candidates.")
    # refused here, once and in words, where it cannot be read: nothing could be compared with it
    _ = folder.comparison if compares else folder.summary
    course = Course()
    course.check("files", lambda tally: check_hashes(folder, tally))
    course.check("manifest", lambda tally: check_stamp(folder.manifest, tally))
    if is_plain(path):  # nothing is read through a link or from a device
        if schema == TABLES:
            _verify_tables(folder, course, inputs, sources or Sources(), progress)
            return course.verification(folder)
        if inputs is not None:
            course.check("inputs", lambda tally: check_inputs(folder, inputs, tally))
        _verify_content(folder, course, progress, checks, meanwhile)
    return course.verification(folder)


def _verify_tables(
    folder: ResultFolder, course: Course, inputs: Path | None, sources: Sources, progress: Progress | None
) -> None:
    """A result of tables; where its own files do not say what to compare, that is a mismatch."""
    try:
        verify_tables(folder, course, inputs, sources, progress)
    except InputError:
        raise
    except BROKEN as error:
        words = f"cannot be read: {type(error).__name__}"
        course.check("tables", lambda tally: tally.exact("manifest.json", words, None))


def _verify_content(
    folder: ResultFolder,
    course: Course,
    progress: Progress | None,
    checks: Checks | None,
    meanwhile: Meanwhile | None = None,
) -> None:
    schema = folder.manifest.get("schema")
    if schema == EVALUATION:
        _verify_evidence(folder, course, progress, checks, meanwhile)
    elif schema == COMPARISON:
        course.check("comparison", lambda tally: check_comparison(folder, tally, progress))
    elif schema == TABLES_COMPARISON:
        verify_tables_comparison(folder, course)
    else:
        course.check("selective", lambda tally: check_selective(folder, tally, progress))
        if checks is not None:
            course.check("result checks", lambda tally: check_findings(folder, checks(folder.path), tally))


def _verify_ablation(folder: ResultFolder) -> Verification:
    """The tables of an ablation; whoever calls verifies the results and comparisons in it."""
    ablation, course = open_ablation(folder.path), Course()
    course.check("files", lambda tally: check_hashes(folder, tally, nested=ablation.nested))
    if is_plain(folder.path):
        course.check("ablation", lambda tally: check_ablation(ablation, tally))
    return course.verification(folder)


def check_earlier(
    folder: Path, verification: Verification, *, replaceable: bool, redraw: bool = False
) -> tuple[Mismatch, ...]:
    """What the ``verification.json`` of a folder says otherwise than it should, where the folder passes now.

    One that is ``replaceable`` may tell of an earlier failure; with ``redraw`` it may be of another version.
    """
    path = folder / "verification.json"
    if not path.exists() or not verification.passed:
        return ()
    try:
        return _earlier(read_json(path), verification, ResultFolder(folder), replaceable=replaceable, redraw=redraw)
    except BROKEN as error:
        return (Mismatch("verification.json", f"cannot be read: {type(error).__name__}", None),)


def _earlier(
    earlier: dict[str, Any], verification: Verification, folder: ResultFolder, *, replaceable: bool, redraw: bool
) -> tuple[Mismatch, ...]:
    now = verification.to_dict()
    if folder.manifest.get("schema") == TABLES and earlier.get("in_part") != now.get("in_part"):
        return _of_another_extent(earlier, now, replaceable=replaceable)
    if earlier.get("evidentia") != now["evidentia"]:
        words = f"written by Evidentia {str(earlier.get('evidentia', 'of an earlier layout'))[:40]}"
        return () if redraw else (Mismatch("verification.json", words, "not compared"),)
    if replaceable and earlier["mismatches"]:
        return ()
    checks = {
        name: {check["name"]: check for check in entry["checks"]} for name, entry in (("then", earlier), ("now", now))
    }
    counts = {"inputs": len(folder.manifest.get("inputs", ())), "report": 1}  # not made every time
    for name, count in counts.items():
        if (name in checks["then"]) != (name in checks["now"]):
            other = asdict(CheckCount(name, count, 0))
            checks["now"] = {key: entry for key, entry in checks["now"].items() if key != name}
            checks["now"] |= {name: other} if name in checks["then"] else {}
    now["checks"] = [checks["now"][key] for key in sorted(checks["now"])]
    now["comparisons"] = sum(check["comparisons"] for check in now["checks"])
    tally = Tally()
    compare(
        "verification.json",
        {**earlier, "checks": sorted(earlier["checks"], key=lambda entry: str(entry["name"]))},
        now,
        tally,
    )
    return tuple(tally.mismatches)


def _of_another_extent(earlier: dict[str, Any], now: dict[str, Any], *, replaceable: bool) -> tuple[Mismatch, ...]:
    """What an earlier verification says otherwise that looked at more of the rows, or at fewer."""
    if replaceable:
        return ()
    tally = Tally()
    for key in ("schema", "manifest_sha256", "mismatches"):
        compare(f"verification.json: {key}", earlier.get(key), now[key], tally)
    return tuple(tally.mismatches)


def verify_carried(path: Path, progress: Progress | None = None, *, checks: Checks | None) -> Verification:
    """Recompute what a page carries, laid out as a folder: numbers, tables and figures, but no hashes and no LaTeX.

    ``checks`` makes its checks again, where nothing that they look at stayed behind, such as the candidates.
    """
    folder, course = ResultFolder(path, carried=True), Course()
    _verify_content(folder, course, progress, checks)
    return course.verification(folder)


def _verify_evidence(
    folder: ResultFolder,
    course: Course,
    progress: Progress | None,
    checks: Checks | None,
    meanwhile: Meanwhile | None = None,
) -> None:
    with intervals_beside(folder, checks) as intervals:
        study = _verify_numbers(folder, course, progress, checks)
        if study is None:
            return
        if intervals is not None and meanwhile is not None:
            meanwhile(not course.mismatches)
        course.check("intervals", lambda tally: check_here(intervals, folder, study, tally, progress))


def _verify_numbers(
    folder: ResultFolder, course: Course, progress: Progress | None, checks: Checks | None
) -> Study | None:
    """Everything but the intervals; returns the run, where its numbers can be made again."""
    course.check("settings", lambda tally: check_manifest(folder, tally))
    read: list[Points] = []

    def check_read(tally: Tally) -> None:
        read.append(read_points(folder))
        check_rows(folder, read[0].study.queries, tally)

    course.check("rows", check_read)
    if not read or not _twins_work(read[0], course, progress):
        return None
    (points,), study, summary = read, read[0].study, folder.summary
    course.check("counts", lambda tally: check_head(folder, study, tally))
    course.check("measures", lambda tally: check_measures(summary, points, tally))
    course.check("other definitions", lambda tally: check_others(summary, points, tally))
    course.check("thresholds", lambda tally: check_thresholds(folder, points, tally))
    if checks is not None:
        course.check("not computed", lambda tally: check_gaps(summary, points, tally))
        course.check("result checks", lambda tally: check_findings(folder, checks(folder.path), tally))
    if not folder.carried:
        course.check("per query", lambda tally: check_own_values(folder, points, tally))
        if "applied_thresholds" in folder.manifest:
            course.check("given thresholds", lambda tally: check_applied(folder, points, tally))
    paths: list[str] = []
    course.check("tables", lambda tally: _check_tables(folder, points, paths, tally))
    course.check("figures", lambda tally: _check_figures(folder, points, paths, tally, progress))
    if not folder.carried:
        course.check("listing", lambda tally: check_listing(folder, paths, tally))
    return study


def _twins_work(points: Points, course: Course, progress: Progress | None) -> bool:
    """Whether every measure has a twin that works; else its name and what is wrong is all that there is to say."""
    wrong: dict[str, str] = {}
    entries = sorted(points.expected.entries.values(), key=lambda entry: entry.definition.expanded)
    for done, entry in enumerate(entries):
        if progress is not None and done % 50 == 0:
            progress(done, len(entries))
        base = entry.definition.measure.base
        if base not in wrong:
            try:
                points.number(entry)
                if not entry.group:
                    points.planner.try_replicates(entry.definition)
            except NoTwinError as error:
                wrong[base] = str(error)
            except BROKEN as error:
                at = extract_tb(error.__traceback__)[-1]
                wrong[base] = f"its twin fails with {type(error).__name__} at {Path(at.filename).name}:{at.lineno}"
    if wrong:
        course.check("twins", lambda tally: compare("summary.json", wrong, dict.fromkeys(wrong), tally))
    return not wrong


def read_points(folder: ResultFolder) -> Points:
    """The numbers that a result must report, to be computed from its own files."""
    options, profile = folder.manifest["options"], PROFILES[folder.manifest["profile"]]
    study = read_study(folder)
    return Points(study, profile, expected(study, profile, options), folder.manifest["resamples"])


def _check_tables(folder: ResultFolder, points: Points, paths: list[str], tally: Tally) -> None:
    """Every table, as CSV and LaTeX; ``paths`` gets the files that there must be."""
    by_name = folder.manifest["options"].get("measures") is not None
    lost = attribution_sheets(points.study) if "attribution" in asked_curves(folder) else ()
    tables = all_tables(folder.summary, points, asked_by_name=by_name)
    paths += check_sheets(folder, [*tables, *lost], tally)


def _check_figures(
    folder: ResultFolder, points: Points, paths: list[str], tally: Tally, progress: Progress | None
) -> None:
    """Every figure with its bands."""
    figures = all_figures(points, Settings.of(folder.summary), asked_curves(folder), progress)
    paths += check_sheets(folder, figures, tally)
