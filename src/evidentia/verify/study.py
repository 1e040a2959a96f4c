"""A run as verification sees it: its queries, its groups, its yes/no at every operating point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from evidentia.verify.catalogue import Definition
from evidentia.verify.evidence import Query
from evidentia.verify.names import Pairs, level_of
from evidentia.verify.order import as_numbers, naturally
from evidentia.verify.tuning import Threshold, decide, tune_thresholds

T = TypeVar("T")
STATES = ("NEG", "UNCERTAIN", "POS")
MISSING = "(missing)"
Decisions = list[bool | None]


@dataclass(frozen=True, eq=False)
class Scope:
    """The queries of one group, by their place in the run."""

    group: Pairs
    rows: tuple[int, ...]
    memo: dict[object, object] = field(default_factory=dict)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What several measures need of the same group is made once."""
        if key not in self.memo:
            self.memo[key] = make()
        return cast(T, self.memo[key])


@dataclass(frozen=True, eq=False)
class Study:
    """The evaluated queries, the TUNE queries, and the columns that were named to slice by."""

    queries: list[Query]
    tune: list[Query] = field(default_factory=list)
    by: tuple[str, ...] = ()
    memo: dict[object, object] = field(default_factory=dict)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What several definitions share is made once."""
        if key not in self.memo:
            self.memo[key] = make()
        return cast(T, self.memo[key])

    @cached_property
    def whole(self) -> Scope:
        """All queries."""
        return Scope((), tuple(range(len(self.queries))))

    @cached_property
    def criteria(self) -> tuple[str, ...]:
        """The criteria, numbers inside them counting as numbers."""
        return naturally({query.criterion for query in self.queries})

    @cached_property
    def folds(self) -> tuple[str, ...]:
        """The folds in order; empty where the run has none."""
        return as_numbers({query.fold for query in self.queries if query.fold is not None})

    @cached_property
    def complete(self) -> bool:
        """Whether there is one query for every pair of a post and a criterion."""
        return len({query.post for query in self.queries}) * len(self.criteria) == len(self.queries)

    def label_of(self, query: Query, column: str) -> str | None:
        """The value of a grouping column."""
        if column == "criterion":
            return query.criterion
        if column == "has_evidence":
            return str(int(query.label))
        if column in {"fold", "state"}:
            return query.fold if column == "fold" else query.state
        return query.slices[column] or MISSING

    def labels(self, column: str) -> tuple[str, ...]:
        """The values of a grouping column in the order in which they are reported; empty where the run lacks it."""
        if column in {"criterion", "fold"}:
            return self.criteria if column == "criterion" else self.folds
        if column == "has_evidence":
            return ("0", "1")
        return self.once(("labels", column), lambda: self._other_labels(column))

    def _other_labels(self, column: str) -> tuple[str, ...]:
        found = {label for query in self.queries if (label := self.label_of(query, column)) is not None}
        if column == "state":
            return STATES if found else ()
        return (*as_numbers(found - {MISSING}), *({MISSING} & found))

    def groups(self, column: str) -> tuple[Scope, ...]:
        """The groups by one column."""
        return tuple(self.scope(((column, label),)) for label in self.labels(column))

    def scope(self, group: Pairs) -> Scope:
        """The queries that have all these values."""
        if not group:
            return self.whole
        rest, (column, value) = self.scope(group[:-1]), group[-1]
        parts = rest.once(("parts", column), lambda: self._parts(rest.rows, column))
        return rest.once(("part", column, value), lambda: Scope(group, tuple(parts.get(value, ()))))

    def _parts(self, rows: Iterable[int], column: str) -> dict[str | None, list[int]]:
        parts: dict[str | None, list[int]] = {}
        for row in rows:
            parts.setdefault(self.label_of(self.queries[row], column), []).append(row)
        return parts

    def positives(self, scope: Scope) -> int:
        """How many queries of a group have evidence."""
        return scope.once("positives", lambda: sum(self.queries[row].label for row in scope.rows))

    def by_post(self, scope: Scope) -> list[list[int]]:
        """The rows of every post of a group."""

        def split() -> list[list[int]]:
            posts: dict[str, list[int]] = {}
            for row in scope.rows:
                posts.setdefault(self.queries[row].post, []).append(row)
            return list(posts.values())

        return scope.once("posts", split)

    @cached_property
    def tuned_by_prob(self) -> bool:
        """Whether TUNE and EVAL both have probabilities; else thresholds are about the detection score."""
        return all(query.prob is not None for query in (*self.queries, *self.tune))

    def thresholds(self, cut: str) -> dict[str, Threshold]:
        """The threshold of every fold for a budget, chosen on its TUNE queries."""
        budget, by_prob = level_of(cut), self.tuned_by_prob
        return self.once(("thresholds", cut), lambda: tune_thresholds(self.tune, self.folds, budget, by_prob=by_prob))

    def decisions(self, definition: Definition) -> Decisions:
        """The yes or no of every query at the definition's operating point; None where there is none."""
        point, cut = definition.get("t"), definition.cut
        if point is None and cut is not None:
            chosen, by_prob = self.thresholds(cut), self.tuned_by_prob
            return self.once(("tuned", cut), lambda: [decide(chosen, query, by_prob=by_prob) for query in self.queries])
        return self.once(("at", point), lambda: [_at(query, str(point)) for query in self.queries])


def _at(query: Query, point: str) -> bool | None:
    if point == "gate":
        return query.gate
    if point == "returned":
        return bool(query.selected)
    return query.prob is not None and query.prob >= float(point)
