"""Every entry of summary.json against its number computed anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evidentia.results.profiles import Profile
from evidentia.verify.expected import Entry, Expected
from evidentia.verify.plan import Planner, Recomputed, has_values
from evidentia.verify.spread import deviation, distribution
from evidentia.verify.study import Group, Study
from evidentia.verify.tally import Tally
from evidentia.verify.warnings import about_intervals, undefined_criteria, untuned_folds

Progress = Callable[[int, int], None] | None


@dataclass(frozen=True)
class Folds:
    """A number over folds: mean, standard deviation, how many folds it is defined in, and how many there are."""

    mean: float | None
    std: float | None
    used: int
    of: int


@dataclass(frozen=True, eq=False)
class Points:
    """The numbers of a run, computed when they are asked for and then kept."""

    study: Study
    profile: Profile
    expected: Expected
    resamples: int = 0
    numbers: dict[tuple[str, Group], Recomputed] = field(default_factory=dict)

    @cached_property
    def planner(self) -> Planner:
        """What computes the numbers."""
        return Planner(self.study)

    @cached_property
    def in_group(self) -> dict[tuple[str, str, str], str]:
        """The names of entries with one grouping column, by measure, column and value."""
        single = ((name, entry) for name, entry in self.expected.entries.items() if len(entry.group) == 1)
        return {(entry.definition.name(self.profile), *entry.group[0]): name for name, entry in single}

    def number(self, entry: Entry) -> Recomputed:
        """The number of an entry."""
        key = (entry.definition.expanded, entry.group)
        if key not in self.numbers:
            self.numbers[key] = self.planner.number(entry.definition, entry.group)
        return self.numbers[key]

    def value(self, name: str) -> float | None:
        """The value of a name; None if it is not reported."""
        entry = self.expected.entries.get(name)
        return None if entry is None else self.number(entry).value

    def sound(self, name: str) -> float | None:
        """The value of a name, None also where it is only a convention."""
        entry = self.expected.entries.get(name)
        return None if entry is None or self.number(entry).flaw is not None else self.number(entry).value

    def folds(self, entry: Entry) -> Folds | None:
        """Mean and spread over folds, where the number is over the whole run and known per fold."""
        if entry.group or entry.definition.expanded not in self.expected.by_fold:
            return None
        groups: list[Group] = [(("fold", fold),) for fold in self.study.folds]
        parts = [self.number(Entry("", entry.definition, group)) for group in groups]
        values = [part.value for part in parts if part.flaw is None]
        middle = sum(values) / len(values) if values else None
        return Folds(middle, deviation(values, self.profile.ddof), len(values), len(parts))

    def left_out(self, entry: Entry) -> dict[str, int]:
        """How many units of the group do not belong to the population, under the words that say why."""
        population, rows = entry.definition.population, self.study.members(entry.group)
        total = self.study.clusters(rows) if population.unit == "post" else int(rows.sum())
        count = total - self.number(entry).n
        return {population.left_out: count} if population.left_out and count > 0 else {}


def check_measures(summary: Mapping[str, Any], points: Points, tally: Tally, progress: Progress = None) -> None:
    """Compare all entries; none may be missing and none may be extra."""
    reported, entries = summary["measures"], points.expected.entries
    tally.exact("summary.json: number of entries", len(reported), len(entries))
    tally.exact("summary.json: order of entries", list(reported), list(entries))
    for name in sorted(set(reported) - set(entries)):
        tally.exact(f"summary.json: {name}", "an entry", None)
    ordered = sorted(entries.items(), key=lambda item: item[1].definition.expanded)
    for done, (name, entry) in enumerate(ordered):
        if name in reported:
            _check_entry(f"summary.json: {name}", reported[name], entry, points, tally)
        else:
            tally.exact(f"summary.json: {name}", None, "an entry")
        if progress is not None and done % 50 == 0:
            progress(done, len(entries))


def _check_entry(where: str, reported: Mapping[str, Any], entry: Entry, points: Points, tally: Tally) -> None:
    definition, measure, number = entry.definition, entry.definition.measure, points.number(entry)
    tally.number(f"{where}: value", reported["value"], number.value)
    words = {
        "definition": definition.expanded,
        "n": number.n,
        "n_clusters": number.clusters,
        "degenerate": number.flaw,
        "population": definition.population.words,
        "left_out": points.left_out(entry),
        **{"direction": measure.direction, "family": measure.family, "label": measure.label},
        "meaning": measure.meaning,
    }
    for key, computed in words.items():
        tally.exact(f"{where}: {key}", reported[key], computed)
    folds = points.folds(entry)
    tally.number(f"{where}: fold_mean", reported["fold_mean"], None if folds is None else folds.mean)
    tally.number(f"{where}: fold_std", reported["fold_std"], None if folds is None else folds.std)
    tally.exact(f"{where}: folds_used", reported["folds_used"], None if folds is None else folds.used)
    compare(f"{where}: distribution", reported["distribution"], _distribution(entry, points), tally)
    compare(f"{where}: details", reported["details"], number.details, tally)
    kept = [warning for warning in reported["warnings"] if not about_intervals(warning)]
    tally.exact(f"{where}: warnings", kept, _warnings(points.study, entry, number, folds))


def _warnings(study: Study, entry: Entry, number: Recomputed, folds: Folds | None) -> list[str]:
    """What must be said beside a number, but for its interval: what it leaves out."""
    dropped = 0 if folds is None else folds.of - folds.used
    over_folds = [f"{dropped} of {folds.of} folds are undefined and left out of mean and std"] if folds else []
    return [*undefined_criteria(number), *untuned_folds(study, entry), *(over_folds if dropped else [])]


def _distribution(entry: Entry, points: Points) -> dict[str, Any] | None:
    if not has_values(entry.definition):
        return None
    values, inside = points.planner.values(entry.definition)
    held = values[inside & points.study.members(entry.group)]
    return distribution(held.tolist(), whole_numbers=entry.definition.measure.base == "SelectedK")


def compare(where: str, reported: object, computed: object, tally: Tally) -> None:
    """Compare nested content: keys and counts exactly, other numbers up to the tolerance."""
    if isinstance(reported, Mapping) and isinstance(computed, Mapping):
        tally.exact(f"{where}: keys", list(reported), list(computed))
        for key in reported.keys() & computed.keys():
            compare(f"{where}: {key}", reported[key], computed[key], tally)
    elif isinstance(reported, list) and isinstance(computed, list):
        tally.exact(f"{where}: length", len(reported), len(computed))
        for at, (mine, other) in enumerate(zip(reported, computed, strict=False)):
            compare(f"{where}[{at}]", mine, other, tally)
    elif isinstance(computed, float):
        tally.number(where, reported, computed)
    else:
        tally.exact(where, reported, computed)
