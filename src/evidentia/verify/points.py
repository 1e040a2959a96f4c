"""Which numbers a result must hold, each computed anew with everything that stands beside it but its interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from evidentia.array_types import Floats
from evidentia.results.catalogue import Definition, resolve
from evidentia.results.measure import CROSS_FIT, NEEDS
from evidentia.results.names import group_suffix
from evidentia.results.profiles import PROFILES, Profile
from evidentia.verify.intervals import INTERVAL, about_intervals
from evidentia.verify.plan import Planner, RecomputedNumber, averaged, has_values
from evidentia.verify.study import Group, Study
from evidentia.verify.tally import TOLERANCE, Tally, compare

STANDARD = ("fold", "criterion", "state", "has_evidence")
Wanted = dict[tuple[str, tuple[str, ...]], tuple[Definition, set[Group]]]


@dataclass(frozen=True)
class Entry:
    """A number that must be there."""

    name: str
    definition: Definition
    group: Group


@dataclass
class Expected:
    """All numbers in their order, what cannot be computed with the reason, and which definitions are known per fold."""

    entries: dict[str, Entry] = field(default_factory=dict)
    gaps: list[tuple[Definition, str]] = field(default_factory=list)
    by_fold: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class FoldSpread:
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
    numbers: dict[tuple[str, Group], RecomputedNumber] = field(default_factory=dict)

    @cached_property
    def planner(self) -> Planner:
        """What computes the numbers."""
        return Planner(self.study)

    @cached_property
    def in_group(self) -> dict[tuple[str, str, str], str]:
        """The names of entries with one grouping column, by measure, column and value."""
        single = ((name, entry) for name, entry in self.expected.entries.items() if len(entry.group) == 1)
        return {(entry.definition.name(self.profile), *entry.group[0]): name for name, entry in single}

    def number(self, entry: Entry) -> RecomputedNumber:
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

    def folds(self, entry: Entry) -> FoldSpread | None:
        """Mean and spread over folds, where the number is over the whole run and known per fold."""
        if entry.group or entry.definition.expanded not in self.expected.by_fold:
            return None
        groups: list[Group] = [(("fold", fold),) for fold in self.study.folds]
        parts = [self.number(Entry("", entry.definition, group)) for group in groups]
        values = [part.value for part in parts if part.flaw is None]
        middle = sum(values) / len(values) if values else None
        return FoldSpread(middle, deviation(values, self.profile.ddof), len(values), len(parts))

    def units_of(self, group: Group, unit: str) -> int:
        """How many posts, or else queries, a group has."""
        rows = self.study.members(group)
        return self.study.clusters(rows) if unit == "post" else int(rows.sum())

    def left_out(self, entry: Entry) -> dict[str, int]:
        """How many units of the group do not belong to the population, under the words that say why."""
        population = entry.definition.population
        count = self.units_of(entry.group, population.unit) - self.number(entry).n
        return {population.left_out: count} if population.left_out and count > 0 else {}

    def distribution(self, entry: Entry) -> dict[str, Any] | None:
        """The spread of the values behind a mean; None where it is no mean of values."""
        if not has_values(entry.definition):
            return None
        values, inside = self.planner.values(entry.definition)
        held = values[inside & self.study.members(entry.group)]
        return distribution(held.tolist(), whole_numbers=entry.definition.measure.base == "SelectedK")


def check_measures(summary: Mapping[str, Any], points: Points, tally: Tally) -> None:
    """Compare all entries; none may be missing and none may be extra."""
    reported, entries = summary["measures"], points.expected.entries
    tally.exact("summary.json: number of entries", len(reported), len(entries))
    tally.exact("summary.json: order of entries", list(reported), list(entries))
    for name in sorted(set(reported) - set(entries)):
        tally.exact(f"summary.json: {name}", "an entry", None)
    for name, entry in entries.items():
        expected = expected_entry(entry, points)
        compare(f"summary.json: {name}", _beside_interval(reported.get(name)), expected, tally)


def _beside_interval(reported: object) -> object:
    """What an entry says of anything but its interval, which is recomputed apart."""
    if not isinstance(reported, Mapping):
        return reported
    kept = {key: value for key, value in reported.items() if key not in INTERVAL}
    warnings = [warning for warning in reported["warnings"] if not about_intervals(warning)]
    return {**kept, "warnings": warnings}


def expected_entry(entry: Entry, points: Points) -> dict[str, Any]:
    """What an entry must say beside its interval."""
    definition, measure, number = entry.definition, entry.definition.measure, points.number(entry)
    folds = points.folds(entry)
    return {
        "value": number.value,
        "definition": definition.expanded,
        "distribution": points.distribution(entry),
        "fold_mean": None if folds is None else folds.mean,
        "fold_std": None if folds is None else folds.std,
        "folds_used": None if folds is None else folds.used,
        "n": number.n,
        "n_clusters": number.clusters,
        "population": definition.population.words,
        "left_out": points.left_out(entry),
        "degenerate": number.flaw,
        "warnings": _warnings(points.study, entry, number, folds),
        **{"direction": measure.direction, "family": measure.family, "label": measure.label},
        "meaning": measure.meaning,
        "details": number.details,
    }


def _warnings(study: Study, entry: Entry, number: RecomputedNumber, folds: FoldSpread | None) -> list[str]:
    """What must be said beside a number, but for its interval: what it leaves out."""
    dropped = 0 if folds is None else folds.of - folds.used
    over_folds = [f"{dropped} of {folds.of} folds are undefined and left out of mean and std"] if folds else []
    by_thresholds = any(need in {"gate", "state", "selection"} for need in needs(entry.definition))
    origin = [CROSS_FIT] if study.cross_fit and by_thresholds else []
    return [*undefined_criteria(number), *untuned_folds(study, entry), *origin, *(over_folds if dropped else [])]


@dataclass(frozen=True)
class Other:
    """What a reported name would have been elsewhere."""

    name: str
    definition: Definition
    profiles: tuple[str, ...]
    outcome: RecomputedNumber


def other_definitions(points: Points) -> list[Other]:
    """Every other meaning of the names over the whole run, whether or not its value differs."""
    return points.study.once("others", lambda: _others(points))


def _others(points: Points) -> list[Other]:
    meant: dict[tuple[str, str], tuple[Definition, list[str]]] = {}
    for name, entry in points.expected.entries.items():
        for label, profile in PROFILES.items():
            if entry.group or profile == points.profile:
                continue
            other = resolve(name, profile).definition
            if other != entry.definition and unmet(points.study, other) is None:
                meant.setdefault((name, other.expanded), (other, []))[1].append(label)
    return [
        Other(name, definition, tuple(profiles), points.planner.number(definition, ()))
        for (name, _), (definition, profiles) in meant.items()
    ]


def check_others(summary: Mapping[str, Any], points: Points, tally: Tally) -> None:
    """Every other meaning is listed where its value differs, with that value, and nothing else is."""
    listed = {(entry["name"], entry["definition"]) for entry in summary["other_definitions"]}
    expected = []
    for other in other_definitions(points):
        name, expanded, outcome = other.name, other.definition.expanded, other.outcome
        here = points.value(name)
        if (name, expanded) in listed or here is None or abs(here - outcome.value) > TOLERANCE:
            entry = {"name": name, "profiles": list(other.profiles), "definition": expanded}
            expected.append(entry | {"value": outcome.value, "degenerate": outcome.flaw})
    compare("summary.json: other_definitions", summary["other_definitions"], expected, tally)


def check_gaps(summary: Mapping[str, Any], points: Points, tally: Tally) -> None:
    """What was not computed is listed under the reason why it cannot be."""
    gathered: dict[tuple[str, str], list[str]] = {}
    for definition, reason in points.expected.gaps:
        names = gathered.setdefault((definition.measure.family, reason), [])
        names.append(definition.name(points.profile))
    lacking = [{"family": family, "reason": reason, "measures": names} for (family, reason), names in gathered.items()]
    compare("summary.json: not_computed", summary["not_computed"], lacking, tally)


def undefined_criteria(number: RecomputedNumber) -> list[str]:
    """Criteria that a mean over them leaves out."""
    left, of = number.undefined
    return [f"{left} of {of} criteria are undefined and left out of the mean"] if left else []


def untuned_folds(study: Study, entry: Entry) -> list[str]:
    """Folds that have no threshold of their own."""
    args = entry.definition.args
    if args.get("threshold") != "tuned" or args.cut is None:
        return []
    own = dict(entry.group).get("fold")
    return [
        f"fold {fold} {threshold.reason}: its queries are left out"
        for fold, threshold in study.thresholds(args.cut).items()
        if not threshold.usable and own in {None, fold}
    ]


def deviation(values: Sequence[float], ddof: int) -> float | None:
    """The standard deviation; None for fewer than two values.

    >>> deviation([1.0, 3.0], 0), deviation([1.0], 0)
    (1.0, None)
    """
    if len(values) < 2:
        return None
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - ddof))


def percentile(ranked: Sequence[float] | Floats, percent: int) -> float:
    """Linear between the two nearest of the sorted values (type 7).

    >>> percentile([0.0, 1.0, 4.0], 75)
    2.5
    """
    whole, rest = divmod((len(ranked) - 1) * percent, 100)
    above = ranked[min(whole + 1, len(ranked) - 1)]
    return float(ranked[whole] + (above - ranked[whole]) * rest / 100)


def distribution(values: Sequence[float], *, whole_numbers: bool) -> dict[str, Any] | None:
    """Spread and quartiles; of numbers of sentences also the 90th percentile, the range and how often each occurs."""
    if not values:
        return None
    ranked = sorted(values)
    shape: dict[str, Any] = {
        "std": deviation(values, 1),
        "median": percentile(ranked, 50),
        "p25": percentile(ranked, 25),
        "p75": percentile(ranked, 75),
    }
    if not whole_numbers:
        return shape
    often = {str(int(value)): count for value, count in sorted(Counter(values).items())}
    return shape | {"p90": percentile(ranked, 90), "min": ranked[0], "max": ranked[-1], "histogram": often}


def definitions(profile: Profile, ks: Sequence[str] | None, *, dual: bool) -> list[Definition]:
    """What a profile reports, in order, each definition once."""
    return list(dict.fromkeys(resolve(name, profile).definition for name in profile.names(ks=ks, dual=dual)))


def expected(study: Study, profile: Profile, options: Mapping[str, Any]) -> Expected:
    """What must be reported for this run, from the options that it was evaluated with."""
    listed = options.get("measures")
    asked: list[tuple[Definition, Group]]
    if listed is None:
        asked = [(d, ()) for d in definitions(profile, options.get("k"), dual=bool(options.get("dual")))]
    else:
        asked = [(request.definition, request.group) for request in (resolve(name, profile) for name in listed)]
    numbers = Expected()
    wanted: Wanted = {}
    for definition, group in asked:
        reason = unmet(study, definition)
        if reason is not None:
            numbers.gaps += [] if any(d == definition for d, _ in numbers.gaps) else [(definition, reason)]
            continue
        parts = [(tuple(c for c, _ in group), {group})] if group else groupings(study, definition)
        for columns, groups in parts:
            wanted.setdefault((definition.expanded, columns), (definition, set()))[1].update(groups)
    _fill(numbers, study, profile, wanted)
    return numbers


def _fill(numbers: Expected, study: Study, profile: Profile, wanted: Wanted) -> None:
    """Put the entries into the order of a summary: those without a group first."""
    for (expanded, columns), (definition, groups) in sorted(wanted.items(), key=lambda item: bool(item[0][1])):
        name = definition.name(profile)
        for group in _in_order(study, columns):
            if group in groups:
                full = name + group_suffix(group)
                numbers.entries[full] = Entry(full, definition, group)
        if columns == ("fold",):
            numbers.by_fold.add(expanded)


def _in_order(study: Study, columns: Sequence[str]) -> list[Group]:
    groups: list[Group] = [()]
    for column in columns:
        groups = [(*group, (column, label)) for group in groups for label in study.labels(column)]
    return groups


def groupings(study: Study, definition: Definition) -> list[tuple[tuple[str, ...], set[Group]]]:
    """The whole run and every grouping that makes sense for the definition."""
    allowed, whole = definition.measure.groups, "complete" in needs(definition)
    parts: list[tuple[tuple[str, ...], set[Group]]] = [((), {()})]
    for column in dict.fromkeys((*STANDARD, *study.by)):
        fits = column in allowed or (column in study.by and "slice" in allowed)
        if averaged(definition) and column in {"criterion", "state", "has_evidence"}:
            continue
        if fits and (not whole or study.keeps_posts_whole(column)):
            groups: set[Group] = {((column, label),) for label in study.labels(column)}
            parts += [((column,), groups)] if groups else []
    return parts


def needs(definition: Definition) -> tuple[str, ...]:
    """What a run must have, in the order in which it is asked for."""
    return definition.measure.requires(definition.args)


def unmet(study: Study, definition: Definition) -> str | None:
    """The words for what the run lacks, or None if nothing is missing."""
    for need in needs(definition):
        if not study.once(("need", need), partial(study.has, need)):
            return NEEDS[need]
    return None
