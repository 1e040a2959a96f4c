"""A table on its way through the checks: typed columns, coded uids, and a voice for what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import Problem, shown
from evidentia.tables.kinds import kind
from evidentia.tables.queries import Ragged

ROW = "__row__"  # the row of the file that a row of the frame came from


@dataclass(frozen=True, eq=False)
class Table:
    """Rows under their canonical column names. ``part`` is EVAL, TUNE or TRAIN; messages name the last two.

    ``uids`` holds every uid column as integer codes, comparable between the tables that were coded together.
    """

    name: str
    frame: pl.DataFrame
    place: Callable[[int], str]
    part: str = "EVAL"
    uids: Mapping[str, Ragged] = field(default_factory=dict)
    n_uids: int = 0

    def has(self, *columns: str) -> bool:
        """Whether the table has all of these columns."""
        return all(column in self.frame.columns for column in columns)

    def take(self, rows: Ints) -> Table:
        """The given rows, in that order."""
        if is_every_row(rows, self.frame.height):
            return self
        uids = {column: lists.take(rows) for column, lists in self.uids.items()}
        return replace(self, frame=self.frame[rows], uids=uids)

    def rows(self, condition: pl.Expr) -> Ints:
        """The rows for which a condition holds; an unknown is not true."""
        holds = self.frame.select(condition.fill_null(False)).to_series()
        return np.flatnonzero(holds.to_numpy())

    def problem(
        self,
        key: str,
        bad: Ints | pl.Expr,
        /,
        *columns: str,
        detail: Callable[[int], str] | None = None,
        **values: Any,
    ) -> list[Problem]:
        """The problem of all bad rows: how many, where the first is, what to do; none where no row is bad.

        ``bad`` may be a condition, which holds nowhere if the table lacks one of its columns. The ``columns`` and
        ``detail`` say more about the first bad row; ``values`` fill in what `problems.toml` says under the key.
        """
        if isinstance(bad, pl.Expr):
            bad = self.rows(bad) if self.has(*bad.meta.root_names()) else np.empty(0, np.int64)
        if not len(bad):
            return []
        first = int(bad[0])
        more = [f"{column} {shown(self.frame[column][first])}" for column in columns]
        more += [] if detail is None else [detail(first)]
        among = "" if self.part == "EVAL" else f" among the {self.part} rows"
        place = ", ".join([self.where(first), *more])
        return [kind(key, **values).problem(self.name, len(bad), place, among)]

    def where(self, row: int) -> str:
        """The place of a row in the file, and its key."""
        ids = {name: self.frame[column][row] for column, name in _KEY.items() if self.has(column)}
        key = [f"{name} {shown(value)}" for name, value in ids.items() if str(value)]  # a topic has no criterion
        return ", ".join([self.place(int(self.frame[ROW][row])), *key])


def is_every_row(rows: Ints, height: int) -> bool:
    """Whether these are all rows as they stand, so that nothing need be copied."""
    return len(rows) == height and bool(np.array_equal(rows, np.arange(height)))


def codes(ids: pl.Series, labels: Sequence[str]) -> Ints:
    """The place of each id among the labels."""
    return ids.cast(pl.Enum(labels)).to_physical().to_numpy().astype(np.int64)


_KEY = {"post_id": "post", "criterion_id": "criterion", "cluster_id": "cluster", "item": "item"}
