"""Every entry of summary.json against its number computed anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evidentia.verify.expected import Entry, Expected
from evidentia.verify.populations import left_out, population
from evidentia.verify.profiles import Profile
from evidentia.verify.ranking import has_values
from evidentia.verify.recompute import Found, own_values, recompute
from evidentia.verify.spread import deviation, distribution
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally
from evidentia.verify.warnings import about_intervals, point_warnings
from evidentia.verify.words import label_of, meaning_of

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

    @cached_property
    def in_group(self) -> dict[tuple[str, str, str], str]:
        """The names of entries with one grouping column, by measure, column and value."""
        single = ((name, entry) for name, entry in self.expected.entries.items() if len(entry.group) == 1)
        return {(entry.definition.short(self.profile.defaults), *entry.group[0]): name for name, entry in single}

    def found(self, entry: Entry) -> Found:
        """The number of an entry."""
        key = ("found", entry.definition.expanded, entry.group)
        return self.study.once(key, lambda: recompute(self.study, entry.definition, self.study.scope(entry.group)))

    def value(self, name: str) -> float | None:
        """The value of a name; None if it is not reported."""
        entry = self.expected.entries.get(name)
        return None if entry is None else self.found(entry).value

    def sound(self, name: str) -> float | None:
        """The value of a name, None also where it is only a convention."""
        entry = self.expected.entries.get(name)
        return None if entry is None or self.found(entry).flaw is not None else self.found(entry).value

    def folds(self, entry: Entry) -> Folds | None:
        """Mean and spread over folds, where the number is over the whole run and known per fold."""
        if entry.group or entry.definition.expanded not in self.expected.by_fold:
            return None
        return self.study.once(("folds", entry.definition.expanded), lambda: self._folds(entry))

    def _folds(self, entry: Entry) -> Folds:
        parts = [recompute(self.study, entry.definition, scope) for scope in self.study.groups("fold")]
        values = [part.value for part in parts if part.flaw is None]
        middle = sum(values) / len(values) if values else None
        return Folds(middle, deviation(values, self.profile.ddof), len(values), len(parts))


def check_measures(summary: Mapping[str, Any], points: Points, tally: Tally, progress: Progress = None) -> None:
    """Compare all entries; none may be missing and none may be extra."""
    reported, entries = summary["measures"], points.expected.entries
    tally.exact("summary.json: number of entries", len(reported), len(entries))
    tally.exact("summary.json: order of entries", list(reported), list(entries))
    for name in sorted(set(reported) - set(entries)):
        tally.exact(f"summary.json: {name}", "an entry", None)
    for done, (name, entry) in enumerate(entries.items()):
        if name in reported:
            _check_entry(f"summary.json: {name}", reported[name], entry, points, tally)
        else:
            tally.exact(f"summary.json: {name}", None, "an entry")
        if progress is not None and done % 50 == 0:
            progress(done, len(entries))


def _check_entry(where: str, said: Mapping[str, Any], entry: Entry, points: Points, tally: Tally) -> None:
    definition, found = entry.definition, points.found(entry)
    tally.number(f"{where}: value", said["value"], found.value)
    words = {
        "definition": definition.expanded,
        "n": found.n,
        "n_clusters": found.clusters,
        "degenerate": found.flaw,
        "population": population(definition).words,
        "left_out": left_out(points.study, definition, points.study.scope(entry.group)),
        "direction": definition.measure.direction,
        "family": definition.measure.family,
        "label": label_of(definition),
        "meaning": meaning_of(definition),
    }
    for field, computed in words.items():
        tally.exact(f"{where}: {field}", said[field], computed)
    folds = points.folds(entry)
    tally.number(f"{where}: fold_mean", said["fold_mean"], None if folds is None else folds.mean)
    tally.number(f"{where}: fold_std", said["fold_std"], None if folds is None else folds.std)
    tally.exact(f"{where}: folds_used", said["folds_used"], None if folds is None else folds.used)
    compare(f"{where}: distribution", said["distribution"], _distribution(entry, points), tally)
    compare(f"{where}: details", said["details"], found.details, tally)
    kept = [warning for warning in said["warnings"] if not about_intervals(warning)]
    tally.exact(f"{where}: warnings", kept, point_warnings(points.study, entry, found, folds))


def _distribution(entry: Entry, points: Points) -> dict[str, Any] | None:
    if not has_values(entry.definition):
        return None
    values = own_values(points.study, entry.definition)
    held = [value for row in points.study.scope(entry.group).rows if (value := values[row]) is not None]
    return distribution(held, whole_numbers=entry.definition.base == "SelectedK")


def compare(where: str, said: object, computed: object, tally: Tally) -> None:
    """Compare nested content: keys and counts exactly, other numbers up to the tolerance."""
    if isinstance(said, Mapping) and isinstance(computed, Mapping):
        tally.exact(f"{where}: keys", list(said), list(computed))
        for key in said.keys() & computed.keys():
            compare(f"{where}: {key}", said[key], computed[key], tally)
    elif isinstance(said, list) and isinstance(computed, list):
        tally.exact(f"{where}: length", len(said), len(computed))
        for at, (one, other) in enumerate(zip(said, computed, strict=False)):
            compare(f"{where}[{at}]", one, other, tally)
    elif isinstance(computed, float):
        tally.number(where, said, computed)
    else:
        tally.exact(where, said, computed)
