"""Which numbers a result must hold: every definition that its profile or its user asked for, in every group that it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evidentia.results.catalogue import Definition, resolve
from evidentia.results.measure import NEEDS
from evidentia.results.names import group_suffix
from evidentia.results.profiles import Profile
from evidentia.verify.plan import averaged
from evidentia.verify.study import Group, Study

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
        if fits and (not whole or _keeps_posts_whole(study, column)):
            groups: set[Group] = {((column, label),) for label in study.labels(column)}
            parts += [((column,), groups)] if groups else []
    return parts


def _keeps_posts_whole(study: Study, column: str) -> bool:
    pairs = set(zip(study.post.tolist(), study.column(column).tolist(), strict=True))
    return len(pairs) == len(study.posts)


def needs(definition: Definition) -> tuple[str, ...]:
    """What a run must have, in the order in which it is asked for."""
    return definition.measure.requires(definition.args)


def unmet(study: Study, definition: Definition) -> str | None:
    """The words for what the run lacks, or None if nothing is missing."""
    for need in needs(definition):
        if not study.once(("need", need), partial(_met, study, need)):
            return NEEDS[need]
    return None


def _met(study: Study, need: str) -> bool:
    if need in {"complete", "items"}:
        return need == "complete" and study.complete
    if need == "tune":
        both = (*study.queries, *study.tune)
        shared = all(q.prob is not None for q in both) or all(q.detection_score is not None for q in both)
        return bool(study.tune) and bool(study.folds) and shared
    if need == "ranking":
        return all(query.gold is not None and query.ranked is not None for query in study.queries)
    column = {"selection": "selected"}.get(need, need)
    return all(getattr(query, column) is not None for query in study.queries)
