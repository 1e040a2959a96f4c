"""A run as it was read: the arrays for the measures, the frame for the files, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import polars as pl

from evidentia.tables.card import DatasetCard
from evidentia.tables.queries import Queries


@dataclass(frozen=True)
class Source:
    """One input file: its role, its name without the folder, the SHA-256 of its bytes, its rows."""

    role: str
    name: str
    sha256: str | None
    rows: int


@dataclass(frozen=True, eq=False)
class Run:
    """A validated run. ``frame`` and ``queries`` hold the same EVAL rows by post, then criterion.

    The frames hold the columns of the contract and those that were named to slice by, nothing else of the files.
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

    def __len__(self) -> int:
        return len(self.queries)
