"""Verify a result folder: every check in turn, counted, and none of them trusted to come through on broken files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evidentia.errors import EvidentiaError, InputError, OutputError, UnknownNameError
from evidentia.results.estimate import Finding
from evidentia.results.folder import replace_file
from evidentia.results.profiles import PROFILES
from evidentia.results.strict_json import dumps_by_line
from evidentia.verify.ablation import ABLATION, check_ablation, open_ablation
from evidentia.verify.agreement import check_dataset, check_findings, check_gaps, check_settings, check_thresholds
from evidentia.verify.attribution import attribution_sheets
from evidentia.verify.bands import asked_curves, check_bands
from evidentia.verify.comparison import COMPARISON, check_comparison
from evidentia.verify.expected import expected
from evidentia.verify.figures import BANDS, all_figures
from evidentia.verify.files import check_hashes, check_inputs, check_listing, is_plain
from evidentia.verify.folder import ResultFolder, read_json
from evidentia.verify.given import check_given
from evidentia.verify.intervals import check_intervals
from evidentia.verify.others import check_others
from evidentia.verify.plan import averaged, within_criterion
from evidentia.verify.points import Points, check_measures
from evidentia.verify.points import compare as compare_nested
from evidentia.verify.record import check_record
from evidentia.verify.rows import check_own_values, check_rows
from evidentia.verify.selective import check_selective
from evidentia.verify.sheet import check_csv, check_latex
from evidentia.verify.stamp import check_stamp
from evidentia.verify.study import read_study
from evidentia.verify.tables import all_tables
from evidentia.verify.tally import Mismatch, Tally
from evidentia.verify.twins import NoTwinError, twin_of

SCHEMA = "evidentia.verification/2"
EVALUATION = "evidentia.manifest/1"
SELECTIVE = "evidentia.selective-manifest/1"
EARLIER = {  # they kept too little
    "evidentia.comparison-manifest/1": "nothing of its systems to recompute it from. Compare them again.",
    "evidentia.ablation-manifest/1": "too little of its steps to recompute it from. Run it again.",
}
Progress = Callable[[int, int], None]
Checks = Callable[[Path], Sequence[Finding]]
BROKEN = (
    *(ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError, EvidentiaError),
)


@dataclass(frozen=True)
class Check:
    """One part of a verification: what was looked at, how often, and how often it did not match."""

    name: str
    comparisons: int
    mismatches: int


@dataclass(frozen=True)
class Verification:
    """What a verification found, and of which result: the hash of its manifest says so."""

    manifest_sha256: str
    checks: tuple[Check, ...]
    mismatches: tuple[Mismatch, ...]

    @property
    def comparisons(self) -> int:
        """How many comparisons were made."""
        return sum(check.comparisons for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether something was compared, and nothing failed to match."""
        return self.comparisons > 0 and not self.mismatches

    def to_dict(self) -> dict[str, Any]:
        """The content of ``verification.json``."""
        return {
            "schema": SCHEMA,
            "evidentia": version("evidentia"),
            "manifest_sha256": self.manifest_sha256,
            "comparisons": self.comparisons,
            "mismatches": [asdict(mismatch) for mismatch in self.mismatches],
            "checks": [asdict(check) for check in self.checks],
        }

    def to_json(self) -> str:
        """The text of ``verification.json``: strict JSON, a line for every mismatch and check."""
        return dumps_by_line(self.to_dict(), ("mismatches", "checks"))

    def save(self, folder: Path) -> None:
        """Write ``verification.json`` beside the result, whole or not at all."""
        try:
            replace_file(folder / "verification.json", self.to_json().encode())
        except OSError as error:
            raise OutputError(f"Writing verification.json failed: {error.strerror}.") from None


class _Course:
    """Runs one check after the other; a check that cannot be made on the files is a mismatch, not a pass."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.mismatches: list[Mismatch] = []

    @contextmanager
    def check(self, name: str) -> Iterator[Tally]:
        tally = Tally()
        try:
            yield tally
        except BROKEN as error:
            tally.comparisons += 1
            words = str(error) if isinstance(error, UnknownNameError | NoTwinError) else type(error).__name__
            tally.mismatches.append(Mismatch(name, f"cannot be read: {words}", None))
        self.checks.append(Check(name, tally.comparisons, len(tally.mismatches)))
        self.mismatches += tally.mismatches


def verify_folder(
    path: Path, progress: Progress | None = None, *, inputs: Path | None = None, checks: Checks | None = None
) -> Verification:
    """Recompute everything that a result folder reports, from its own files; nothing is written.

    ``checks`` makes the checks of a result again; verification asks it for their status and compares.
    """
    folder = ResultFolder(path)
    schema = str(folder.manifest.get("schema")) if folder.has("manifest.json") else None
    if str(schema) in EARLIER:
        raise InputError(f"{path.resolve().name} is of an earlier version and keeps {EARLIER[str(schema)]}")
    if schema == ABLATION:
        return _verify_ablation(folder)
    if schema not in {EVALUATION, SELECTIVE, COMPARISON}:
        raise InputError(
            f"{path.resolve().name} is not a result folder of `evidentia evaluate`, `run`, `selective`, `compare` or `ablate`."
        )
    if schema == COMPARISON and inputs is not None:
        raise InputError("The inputs of a comparison are results: verify each of them with its own --inputs.")
    # refused here, once and in words, where it cannot be read: nothing could be compared with it
    _ = folder.comparison if schema == COMPARISON else folder.summary
    course = _Course()
    with course.check("files") as tally:
        check_hashes(folder, tally)
    with course.check("manifest") as tally:
        check_stamp(folder.manifest, tally)
    if not is_plain(path):
        return _finished(folder, course)  # nothing is read through a link or from a device
    if inputs is not None:
        with course.check("inputs") as tally:
            check_inputs(folder, inputs, tally)
    if schema == EVALUATION:
        _verify_evidence(folder, course, progress, checks)
        return _finished(folder, course)
    if schema == COMPARISON:
        with course.check("comparison") as tally:
            check_comparison(folder, tally, progress)
        return _finished(folder, course)
    with course.check("selective") as tally:
        check_selective(folder, tally, progress)
    return _finished(folder, course)


def _verify_ablation(folder: ResultFolder) -> Verification:
    """The tables of an ablation; whoever calls verifies the results and comparisons in it."""
    ablation, course = open_ablation(folder.path), _Course()
    with course.check("files") as tally:
        check_hashes(folder, tally, nested=ablation.nested)
    if is_plain(folder.path):
        with course.check("ablation") as tally:
            check_ablation(ablation, tally)
    return _finished(folder, course)


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
            other = asdict(Check(name, count, 0))
            checks["now"] = {key: entry for key, entry in checks["now"].items() if key != name}
            checks["now"] |= {name: other} if name in checks["then"] else {}
    now["checks"] = [checks["now"][key] for key in sorted(checks["now"])]
    now["comparisons"] = sum(check["comparisons"] for check in now["checks"])
    tally = Tally()
    compare_nested(
        "verification.json",
        {**earlier, "checks": sorted(earlier["checks"], key=lambda entry: str(entry["name"]))},
        now,
        tally,
    )
    return tuple(tally.mismatches)


def verify_carried(path: Path, progress: Progress | None = None, *, checks: Checks | None) -> Verification:
    """Recompute what a page carries, laid out as a folder: numbers, tables and figures, but no hashes and no LaTeX.

    ``checks`` makes its checks again, where nothing that they look at stayed behind, such as the candidates.
    """
    folder, course = ResultFolder(path, carried=True), _Course()
    if folder.manifest.get("schema") == EVALUATION:
        _verify_evidence(folder, course, progress, checks)
        return _finished(folder, course)
    with course.check("selective") as tally:
        check_selective(folder, tally, progress)
    return _finished(folder, course)


def _finished(folder: ResultFolder, course: _Course) -> Verification:
    return Verification(folder.sha256("manifest.json"), tuple(course.checks), tuple(course.mismatches))


def _verify_evidence(folder: ResultFolder, course: _Course, progress: Progress | None, checks: Checks | None) -> None:
    points: Points | None = None
    with course.check("settings") as tally:
        check_settings(folder, tally)
        check_record(folder, tally)
    with course.check("rows") as tally:
        points = read_points(folder)
        check_rows(folder, points.study.queries, tally)
    if points is None or _lacks_twins(points, course):
        return
    with course.check("counts") as tally:
        check_dataset(folder, points.study, tally)
    with course.check("measures") as tally:
        check_measures(folder.summary, points, tally, progress)
    with course.check("other definitions") as tally:
        check_others(folder.summary, points, tally)
    with course.check("thresholds") as tally:
        check_thresholds(folder, points, tally)
    if checks is not None:
        with course.check("not computed") as tally:
            check_gaps(folder, points, tally)
        with course.check("result checks") as tally:
            check_findings(folder, checks(folder.path), tally)
    if not folder.carried:
        with course.check("per query") as tally:
            check_own_values(folder, points, tally)
    if not folder.carried and "applied_thresholds" in folder.manifest:
        with course.check("given thresholds") as tally:
            check_given(folder, points, tally)
    _verify_sheets(folder, points, course)
    with course.check("intervals") as tally:
        check_intervals(folder, points.study, tally, progress)
    with course.check("bands") as tally:
        check_bands(folder, points.study, tally, progress)


def _lacks_twins(points: Points, course: _Course) -> bool:
    """Whether a measure has no twin: then its name is all that there is to say."""
    lacking: dict[str, str] = {}
    for entry in points.expected.entries.values():
        definition = entry.definition
        try:
            twin_of(within_criterion(definition) if averaged(definition) else definition)
        except NoTwinError as error:
            lacking[definition.measure.base] = str(error)
    if lacking:
        with course.check("twins") as tally:
            for base, words in lacking.items():
                tally.exact(f"summary.json: {base}", words, None)
    return bool(lacking)


def read_points(folder: ResultFolder) -> Points:
    """The numbers that a result must report, to be computed from its own files."""
    options, profile = folder.manifest["options"], PROFILES[folder.manifest["profile"]]
    study = read_study(folder)
    return Points(study, profile, expected(study, profile, options), folder.manifest["resamples"])


def _verify_sheets(folder: ResultFolder, points: Points, course: _Course) -> None:
    paths: list[str] = []
    with course.check("tables") as tally:
        by_name = folder.manifest["options"].get("measures") is not None
        tables = all_tables(folder.summary, points, asked_by_name=by_name)
        lost = attribution_sheets(points.study) if "attribution" in asked_curves(folder) else ()
        for sheet in [*tables, *lost]:
            paths += [f"{sheet.path}.csv", f"{sheet.path}.tex"]
            check_csv(folder, sheet, tally)
            check_latex(folder, sheet, tally)
    with course.check("figures") as tally:
        for sheet in all_figures(points, folder.summary["interval"]["level"], asked_curves(folder)):
            paths.append(f"{sheet.path}.csv")
            bands = BANDS if sheet.path != "figures/reliability" else ()
            check_csv(folder, sheet, tally, skip=bands)
    if not folder.carried:
        with course.check("listing") as tally:
            check_listing(folder, paths, tally)
