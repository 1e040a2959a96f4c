"""Groupings of queries: by fold, criterion, state, evidence, or any slice column; one mechanism for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Ints
from evidentia.tables.queries import STATES, Queries

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
