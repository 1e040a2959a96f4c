"""What a result of tables can be asked without its rows: whether its numbers agree with each other, its tables and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evidentia.results.catalogue import resolve
from evidentia.results.profiles import PROFILES, Profile
from evidentia.verify.course import Course
from evidentia.verify.folder import ResultFolder, as_numbers
from evidentia.verify.plan import RecomputedNumber
from evidentia.verify.points import Entry, Expected, Other, Points, expected_entry
from evidentia.verify.sheet import check_sheets
from evidentia.verify.study import Group, Study
from evidentia.verify.tables import all_tables
from evidentia.verify.tally import Tally, compare

FROM_ROWS = ("distribution", "details", "warnings")  # keys of an entry that only its rows can give


@dataclass(frozen=True, eq=False)
class ReportedStudy(Study):
    """A run of which only the labels of folds are known."""

    fold_labels: tuple[str, ...] = ()

    @property
    def folds(self) -> tuple[str, ...]:
        """The folds in order."""
        return self.fold_labels


@dataclass(frozen=True, eq=False)
class ReportedPoints(Points):
    """The numbers of a summary as they are, to ask what follows from them."""

    reported: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    names: Mapping[tuple[str, Group], str] = field(default_factory=dict)

    def number(self, entry: Entry) -> RecomputedNumber:
        """The number that is reported."""
        reported_entry = self.reported[self.names[entry.definition.expanded, entry.group]]
        return RecomputedNumber(
            reported_entry["value"],
            reported_entry["degenerate"],
            reported_entry["n"],
            reported_entry["n_clusters"],
            reported_entry["details"],
        )

    def units_of(self, group: Group, unit: str) -> int:
        """How many posts, or else queries, a group has, as its number of queries says."""
        reported_entry = self.reported[self.names["Queries", group]]
        return int(reported_entry["n_clusters"] if unit == "post" else reported_entry["n"])

    def left_out(self, entry: Entry) -> dict[str, int]:
        """How many units of the group do not count; as reported, where no entry says how many there are."""
        if ("Queries", entry.group) in self.names:
            return super().left_out(entry)
        return dict(self.reported[entry.name]["left_out"])

    def distribution(self, entry: Entry) -> dict[str, Any] | None:
        """What is reported."""
        shape: dict[str, Any] | None = self.reported[entry.name]["distribution"]
        return shape


def check_alone(folder: ResultFolder, course: Course) -> None:
    """Words, counts, means over folds and tables of a summary, from its own numbers."""
    points: list[ReportedPoints] = []
    course.check("measures", lambda tally: points.append(read_reported(folder, tally)))
    if points:
        course.check("agreement", lambda tally: check_entries(folder.summary, points[0], tally))
        course.check("tables", _tables_of(folder, points[0]))


def read_reported(folder: ResultFolder, tally: Tally) -> ReportedPoints:
    """The entries of a summary by what their names mean."""
    profile = PROFILES[folder.manifest["profile"]]
    numbers, reported = Expected(), folder.summary["measures"]
    for name, reported_entry in reported.items():
        request = resolve(name, profile)
        tally.exact(f"summary.json: {name}: definition", reported_entry["definition"], request.definition.expanded)
        numbers.entries[name] = Entry(name, request.definition, request.group)
        if [column for column, _ in request.group] == ["fold"]:
            numbers.by_fold.add(request.definition.expanded)
    names = {(entry.definition.expanded, entry.group): name for name, entry in numbers.entries.items()}
    tally.exact("summary.json: different entries", len(names), len(reported))
    folds = {label for entry in numbers.entries.values() for column, label in entry.group if column == "fold"}
    study = ReportedStudy((), fold_labels=as_numbers(folds))
    study.memo["others"] = [_other(reported_entry, profile) for reported_entry in folder.summary["other_definitions"]]
    return ReportedPoints(study, profile, numbers, reported=reported, names=names)


def _other(reported_entry: Mapping[str, Any], profile: Profile) -> Other:
    """Another meaning of a name as it is reported."""
    definition = resolve(reported_entry["definition"], profile).definition
    return Other(
        reported_entry["name"],
        definition,
        tuple(reported_entry["profiles"]),
        RecomputedNumber(reported_entry["value"], reported_entry["degenerate"], 0, 0),
    )


def check_entries(summary: Mapping[str, Any], points: ReportedPoints, tally: Tally) -> None:
    """Every entry says what its definition says, and its mean over folds is that of the folds."""
    for name, entry in points.expected.entries.items():
        reported_entry = summary["measures"][name]
        follows = expected_entry(entry, points)
        for key in [key for key in follows if key not in FROM_ROWS]:
            compare(f"summary.json: {name}: {key}", reported_entry.get(key), follows[key], tally)
    for key, name in (("queries", "Queries"), ("positives", "Positives")):
        if name in points.reported:
            tally.exact(f"summary.json: dataset: {key}", summary["dataset"][key], int(points.reported[name]["value"]))
    if "Queries" in points.reported:
        tally.exact(
            "summary.json: dataset: posts", summary["dataset"]["posts"], points.reported["Queries"]["n_clusters"]
        )


def _tables_of(folder: ResultFolder, points: ReportedPoints) -> Callable[[Tally], None]:
    by_name = folder.manifest["options"].get("measures") is not None

    def check(tally: Tally) -> None:
        paths = check_sheets(folder, all_tables(folder.summary, points, asked_by_name=by_name), tally)
        listed = sorted(name for name in folder.manifest["files"] if name.startswith("tables/"))
        tally.exact("manifest.json: files: tables", listed, sorted(paths))

    return check
