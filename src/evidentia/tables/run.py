"""A run as it was read: the arrays for the measures, the frame for the files, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import polars as pl

from evidentia.results.notebook import notebook_table
from evidentia.tables.card import DatasetCard
from evidentia.tables.queries import Queries


@dataclass(frozen=True)
class Source:
    """One input file: its role, its name without the folder, the SHA-256 of its bytes, its rows."""

    role: str
    name: str
    sha256: str | None
    rows: int


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A validated run. ``queries`` and ``frame`` hold the same EVAL rows, sorted by post and criterion.

    Attributes
    ----------
    queries : Queries
        Arrays with one row per query; a column that the run lacks is None.
    frame : polars.DataFrame, shape (n_queries, n_columns)
        The known columns and those named to group by.
    tune : Queries or None
        The TUNE queries.
    tune_frame : polars.DataFrame or None
        The rows of ``tune``.
    candidates : polars.DataFrame or None
        The candidates in the order of the queries.
    sources : tuple of Source
        Role, name, hash and number of rows of each input.
    card : DatasetCard or None
        The dataset card.
    left_out : mapping of str to int
        Number of rows that are not evaluated, by reason.
    notes : tuple of str
        Remarks from reading.
    mapping : mapping of str to str
        Canonical names of columns that have another name in the file.
    cross_fit : bool
        Whether its thresholds were chosen on other folds, not on TUNE.

    Examples
    --------
    >>> from evidentia import read_run
    >>> run = read_run(pl.DataFrame({"post_id": [1, 1], "criterion_id": ["B", "A"], "has_evidence": [1, 0]}))
    >>> len(run), run.queries.label, run.tune
    (2, array([False,  True]), None)
    """

    queries: Queries
    frame: pl.DataFrame = field(repr=False)
    tune: Queries | None = None
    tune_frame: pl.DataFrame | None = field(default=None, repr=False)
    candidates: pl.DataFrame | None = field(default=None, repr=False)
    sources: tuple[Source, ...] = ()
    card: DatasetCard | None = None
    left_out: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    cross_fit: bool = False

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        first, *others = (f"{name}: {value}" if name else value for name, value in self._about())
        return "\n".join([f"<Run of {first}", *(f"  {line}" for line in others)]) + ">"

    def _repr_html_(self) -> str:
        """What was read, for a notebook; no rows."""
        (_, size), *others = self._about()
        return notebook_table(f"Run of {size}", ("", ""), others)

    def _about(self) -> list[tuple[str, str]]:
        """The size of the run, and what it has beside the queries."""
        queries = self.queries
        sizes = (
            f"{len(queries):,} queries from {len(np.unique(queries.post)):,} posts and "
            f"{len(np.unique(queries.criterion)):,} criteria, {int(queries.label.sum()):,} with evidence"
        )
        beside = {
            "columns": ", ".join(self.frame.columns),
            "folds": str(len(queries.fold.labels)) if queries.fold is not None else "",
            "TUNE rows": f"{len(self.tune):,}" if self.tune is not None else "",
            "candidates": f"{len(self.candidates):,}" if self.candidates is not None else "",
            "dataset card": self.card.name if self.card is not None else "",
            "left out": ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items()),
            "notes": f"{len(self.notes)}, see .notes" if self.notes else "",
        }
        return [("", sizes), *((name, value) for name, value in beside.items() if value)]
