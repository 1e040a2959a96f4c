"""Replicate values as a file beside the numbers: what limits were made of, where the rows stay elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Floats
from evidentia.evaluation.replicates import Replicated
from evidentia.results.names import group_suffix

SCHEMA: dict[str, Any] = {
    **{"definition": pl.String, "group": pl.String, "gap": pl.Int32, "effective_posts": pl.Float64},
    "values": pl.List(pl.Float64),
}


@dataclass
class ReplicateRecord:
    """The values of every number in every replicate, in the order in which they were made; a call adds those of a definition.

    A sum of absolute gaps has its gaps too, each in a row of its own, counted from 0.
    """

    _rows: list[pl.DataFrame] = field(default_factory=list)

    def __call__(self, replicated: Replicated, effective: Floats) -> None:
        """Keep a copy of the values of a definition in all its groups, and the effective number of posts behind each."""
        for at, group in enumerate(replicated.grouping.groups):
            parts = [(None, replicated.values[at]), *(() if replicated.gaps is None else _gaps(replicated.gaps[at]))]
            name = {"definition": replicated.definition.expanded, "group": group_suffix(group)}
            for gap, values in parts:
                series = pl.Series("values", np.array(values, np.float64)).fill_nan(None)
                row = name | {"gap": gap, "effective_posts": float(effective[at]), "values": series}
                self._rows.append(pl.DataFrame({column: [cell] for column, cell in row.items()}, SCHEMA))

    def frame(self) -> pl.DataFrame:
        """All of them, a row for each number; what is undefined in a replicate is null there."""
        return pl.concat(self._rows) if self._rows else pl.DataFrame(schema=SCHEMA)


def _gaps(gaps: Floats) -> list[tuple[int | None, Floats]]:
    """The gaps of a group (replicates x gaps), one by one."""
    return list(enumerate(gaps.T))
