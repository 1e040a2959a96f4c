"""What to compute: names become definitions, each with the groupings it is reported for; what cannot be is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from evidentia.errors import InputError, UnknownNameError, shown
from evidentia.evaluation.groups import OVERALL, Group, Grouping, grouping_by
from evidentia.evaluation.needs import unmet
from evidentia.measures import Definition, Profile, resolve
from evidentia.measures.core import Macro
from evidentia.protocol import Threshold, tuned_decisions
from evidentia.results.names import group_suffix
from evidentia.tables import Run
from evidentia.tables.queries import Decisions

WITHIN_POSTS = ("criterion", "state", "has_evidence")
STANDARD_GROUPS = ("fold", *WITHIN_POSTS)
Thresholds = Mapping[str, Mapping[str, Threshold]]  # by cut, then by fold


@dataclass(frozen=True)
class Plan:
    """What is computed: each definition with its groupings, and what cannot be, with the reason.

    ``only`` holds the groups that were asked for by name; where a definition and grouping are not in it, all are reported.
    """

    wants: tuple[tuple[Definition, Grouping], ...]
    gaps: tuple[tuple[Definition, str], ...] = ()
    only: Mapping[tuple[Definition, tuple[str, ...]], frozenset[Group]] = field(default_factory=dict)

    def reports(self, definition: Definition, grouping: Grouping, group: Group) -> bool:
        """Whether the number of this group is part of the result."""
        asked = self.only.get((definition, grouping.columns))
        return asked is None or group in asked


def plan_for(run: Run, profile: Profile, names: Iterable[str], by: Sequence[str]) -> Plan:
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
    wants: dict[tuple[Definition, tuple[str, ...]], tuple[Definition, Grouping]] = {}
    only: dict[tuple[Definition, tuple[str, ...]], frozenset[Group]] = {}
    gaps: dict[Definition, str] = {}
    for name in names:
        request = resolve(name, profile)
        definition = request.definition
        reason = unmet(definition, run)
        if reason is not None:
            gaps[definition] = reason
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
        for grouping in _groupings_of(definition, groupings, by, run):
            only.pop((definition, grouping.columns), None)
            wants.setdefault((definition, grouping.columns), (definition, grouping))
    return Plan(tuple(wants.values()), tuple(gaps.items()), only)


def _groupings_of(
    definition: Definition, groupings: Mapping[str, Grouping], by: Sequence[str], run: Run
) -> list[Grouping]:
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


def with_tuned_decisions(run: Run, plan: Plan) -> tuple[Run, Thresholds]:
    """Choose the thresholds that tuned definitions ask for, and add their decisions to the queries."""
    decisions: dict[str, Decisions] = {}
    thresholds: dict[str, Mapping[str, Threshold]] = {}
    for definition, _ in plan.wants:
        args = definition.args
        if args.get("threshold") != "tuned" or str(args.cut) in decisions:
            continue
        assert run.tune is not None
        decisions[str(args.cut)], thresholds[str(args.cut)] = tuned_decisions(run.tune, run.queries, args.level)
    if not decisions:
        return run, {}
    return replace(run, queries=replace(run.queries, decisions=MappingProxyType(decisions))), thresholds
