"""What to compute: names become definitions, each with the groupings it is reported for; what cannot be is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from evidentia.array_types import Ints
from evidentia.errors import InputError, UnknownNameError, shown
from evidentia.measures import Definition, Profile, resolve
from evidentia.measures.core import Macro
from evidentia.protocol import Threshold, shared_score, tuned_decisions
from evidentia.results import NotComputed
from evidentia.results.curve import curves_of
from evidentia.results.measure import NEEDS
from evidentia.results.names import group_suffix
from evidentia.tables import Run
from evidentia.tables.queries import STATES, Decisions, Queries

Group = tuple[tuple[str, str], ...]  # (column, value) pairs


@dataclass(frozen=True, eq=False)
class Grouping:
    """A partition of the queries; ``codes`` None puts them all into one group without a name."""

    columns: tuple[str, ...]
    codes: Ints | None
    groups: tuple[Group, ...]

    def __len__(self) -> int:
        return len(self.groups)

    def crossed(self, other: Grouping) -> Grouping:
        """The partition by both, this one's groups first."""
        assert other.codes is not None
        codes = other.codes if self.codes is None else self.codes * len(other) + other.codes
        groups = tuple((*mine, *theirs) for mine in self.groups for theirs in other.groups)
        return Grouping((*self.columns, *other.columns), codes, groups)


OVERALL = Grouping((), None, ((),))
Want = tuple[Definition, Grouping]
Key = tuple[Definition, tuple[str, ...]]  # a definition, and the columns that it is grouped by


def grouping_by(queries: Queries, column: str) -> Grouping | None:
    """The grouping by one column, or None if the run does not have it."""
    if column == "criterion":
        return _named(column, queries.criterion, queries.criterion_ids)
    if column == "has_evidence":
        return _named(column, queries.label.astype(np.int64), ("0", "1"))
    if column == "state":
        return None if queries.state is None else _named(column, queries.state, STATES)
    coded = queries.fold if column == "fold" else queries.slices.get(column)
    return None if coded is None else _named(column, coded.codes, coded.labels)


def _named(column: str, codes: Ints, labels: tuple[str, ...]) -> Grouping:
    return Grouping((column,), codes, tuple(((column, label),) for label in labels))


def unmet(definition: Definition, run: Run) -> str | None:
    """Why a definition cannot be computed on this run, or None if it can."""
    for need in definition.measure.requires(definition.args):
        if not _met(need, run):
            return NEEDS[need]
    return None


def _met(need: str, run: Run) -> bool:
    queries, tune = run.queries, run.tune
    if need == "tune":
        return tune is not None and queries.has("fold") and shared_score(tune, queries) is not None
    if need in {"items", "questionnaire"}:
        return False
    if need == "complete":
        return queries.complete
    column = {"score": "scores", "gold": "n_gold", "ranking": "gold_ranks", "selection": "n_selected"}.get(need, need)
    return queries.has(column)


WITHIN_POSTS = ("criterion", "state", "has_evidence")
STANDARD_GROUPS = ("fold", *WITHIN_POSTS)
Thresholds = Mapping[str, Mapping[str, Threshold]]  # by cut, then by fold


@dataclass(frozen=True)
class MeasurePlan:
    """What is computed: each definition with its groupings, and what cannot be, with the reason.

    ``only`` holds the groups that were asked for by name; where a definition and grouping are not in it, all are reported.
    ``curves`` are those that belong to the definitions (see results/curve.py).
    """

    wants: tuple[Want, ...]
    impossible: tuple[tuple[Definition, str], ...] = ()  # what cannot be computed, and why
    only: Mapping[Key, frozenset[Group]] = field(default_factory=dict)
    curves: frozenset[str] = frozenset()

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions that are computed, each once."""
        return tuple(dict.fromkeys(definition for definition, _ in self.wants))

    @property
    def overall(self) -> tuple[Definition, ...]:
        """The definitions that are reported over the whole run, each once."""
        return tuple(dict.fromkeys(definition for definition, grouping in self.wants if not grouping.columns))

    def reports(self, definition: Definition, grouping: Grouping, group: Group) -> bool:
        """Whether the number of this group is part of the result."""
        asked = self.only.get((definition, grouping.columns))
        return asked is None or group in asked

    def ensure_possible(self, profile: Profile, *, hints: Sequence[str] = ()) -> None:
        """Refuse a plan of which nothing can be computed."""
        if not self.wants:
            reasons = "; ".join(f"{definition.name(profile)} {reason}" for definition, reason in self.impossible)
            words = "".join(f" {hint}" for hint in hints)
            raise InputError(f"Nothing of what was asked for can be computed on this run: {reasons}.{words}")

    def not_computed(self, profile: Profile) -> tuple[NotComputed, ...]:
        """What cannot be computed, gathered by family and reason."""
        gathered: dict[tuple[str, str], list[str]] = {}
        for definition, reason in self.impossible:
            gathered.setdefault((definition.measure.family, reason), []).append(definition.name(profile))
        return tuple(NotComputed(family, reason, tuple(names)) for (family, reason), names in gathered.items())


def plan_for(run: Run, profile: Profile, names: Iterable[str], by: Sequence[str]) -> MeasurePlan:
    """Resolve names to definitions and pair each with the groupings it is reported for."""
    reserved = [column for column in by if column in STANDARD_GROUPS]
    if reserved:
        raise InputError(
            f"{shown(reserved[0])} is always reported; a column of that name must be renamed to group by it."
        )
    missing = [column for column in by if grouping_by(run.queries, column) is None]
    if missing:
        raise InputError(f"There is no column {shown(missing[0])} to group by; name it when the run is read (by=...).")
    groupings = {c: g for c in (*STANDARD_GROUPS, *by) if (g := grouping_by(run.queries, c)) is not None}
    wants: dict[Key, Want] = {}
    only: dict[Key, frozenset[Group]] = {}
    impossible: dict[Definition, str] = {}
    for name in names:
        request = resolve(name, profile)
        definition = request.definition
        reason = unmet(definition, run)
        if reason is not None:
            impossible[definition] = reason
            continue
        if request.group:
            _refuse_criterion_of_criteria(definition, request.group)
            grouping = grouping_of(request.group, run)
            if not _keeps_posts_whole(definition, grouping, run):
                raise UnknownNameError(f"{name}: the group cuts through posts, and the measure is about whole posts.")
            key = (definition, grouping.columns)
            if key not in wants or key in only:
                only[key] = only.get(key, frozenset()) | {request.group}
            wants.setdefault(key, (definition, grouping))
            continue
        for grouping in groupings_of(definition, groupings, by, run):
            only.pop((definition, grouping.columns), None)
            wants.setdefault((definition, grouping.columns), (definition, grouping))
    ordered = sorted(wants.values(), key=lambda want: bool(want[1].columns))  # the whole run first, then group by group
    return MeasurePlan(tuple(ordered), tuple(impossible.items()), only, curves_of(d.measure.base for d, _ in ordered))


def groupings_of(
    definition: Definition, groupings: Mapping[str, Grouping], by: Sequence[str], run: Run
) -> list[Grouping]:
    """The groupings that a definition is reported for: the whole run, then those that it allows."""
    allowed = definition.measure.groups
    averaged = isinstance(definition.kind, Macro)
    chosen = [
        grouping
        for column, grouping in groupings.items()
        if (column in allowed or (column in by and "slice" in allowed)) and not (averaged and column in WITHIN_POSTS)
    ]
    return [OVERALL, *(grouping for grouping in chosen if _keeps_posts_whole(definition, grouping, run))]


def _keeps_posts_whole(definition: Definition, grouping: Grouping, run: Run) -> bool:
    """Whether a measure of whole posts can be had in the groups: none of them may cut through a post."""
    if "complete" not in definition.measure.requires(definition.args) or grouping.codes is None:
        return True
    post = run.queries.post
    return bool(np.all((np.diff(post) > 0) | (np.diff(grouping.codes) == 0)))


def _refuse_criterion_of_criteria(definition: Definition, group: Group) -> None:
    if isinstance(definition.kind, Macro) and any(column == "criterion" for column, _ in group):
        raise UnknownNameError(
            "A mean over criteria has no value within one criterion; ask for the plain measure there."
        )


def grouping_of(group: Group, run: Run) -> Grouping:
    """The grouping by all the columns of a group that was asked for by name."""
    grouping = OVERALL
    for column, value in group:
        by_column = grouping_by(run.queries, column)
        if by_column is None or ((column, value),) not in by_column.groups:
            raise UnknownNameError(f"The run has no group {group_suffix(((column, value),))}.")
        grouping = grouping.crossed(by_column)
    return grouping


def with_tuned_decisions(run: Run, definitions: Iterable[Definition]) -> tuple[Run, Thresholds]:
    """Choose the thresholds that tuned definitions ask for; the run with their decisions, and the thresholds by cut and fold."""
    decisions: dict[str, Decisions] = {}
    thresholds: dict[str, Mapping[str, Threshold]] = {}
    for args in (definition.args for definition in definitions):
        if args.get("threshold") != "tuned" or str(args.cut) in decisions:
            continue
        assert run.tune is not None
        decisions[str(args.cut)], thresholds[str(args.cut)] = tuned_decisions(run.tune, run.queries, args.level)
    if not decisions:
        return run, {}
    return replace(run, queries=replace(run.queries, decisions=MappingProxyType(decisions))), thresholds
