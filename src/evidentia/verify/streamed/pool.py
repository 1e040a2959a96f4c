"""The candidates of a run, dealt by query into files on the disk: what sweeps over them read, and rankings that they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.streamed.cells import column
from evidentia.verify.streamed.columns import KEY, QueryColumns, kept
from evidentia.verify.streamed.sources import SourceTable
from evidentia.verify.study import GoldRanks

ROWS = 1_000_000  # candidates in work at once
FIELDS: dict[str, type[np.generic]] = {"owner": np.int32, "unit": np.float64, "gold": np.bool_, "score": np.float64}


@dataclass(frozen=True, eq=False)
class Deal:
    """Some candidates: the query of each, the score that sweeps read, its mark, and the score that ranks it."""

    owner: NDArray[np.int32]
    unit: Floats
    gold: Bools
    score: Floats


@dataclass(eq=False)
class Pool:
    """All candidates on the disk, those of neighbouring queries in one file; gold ones also in memory."""

    folder: Path
    size: int  # queries whose candidates share a file
    files: int
    listed: NDArray[np.int32]  # candidates of every query
    faults: dict[str, int] = field(default_factory=dict)
    sampled: list[pl.DataFrame] = field(default_factory=list)

    def add(self, deal: Deal) -> None:
        """Put candidates behind those that are there."""
        home = deal.owner // self.size
        for place in np.unique(home).tolist():
            mine = home == place
            for name, kind in FIELDS.items():
                with (self.folder / f"{name}-{place}").open("ab") as file:
                    file.write(np.ascontiguousarray(getattr(deal, name)[mine], kind).data)
        self.listed += np.bincount(deal.owner, minlength=len(self.listed)).astype(np.int32)

    def deals(self) -> Iterator[Deal]:
        """All candidates, file by file."""
        for place in range(self.files):
            if (self.folder / f"owner-{place}").exists():
                yield Deal(**{n: np.fromfile(self.folder / f"{n}-{place}", kind) for n, kind in FIELDS.items()})

    def gold(self) -> tuple[Ints, Floats]:
        """The query and the score of every gold candidate."""
        parts = [(deal.owner[deal.gold], deal.unit[deal.gold]) for deal in self.deals()]
        return np.concatenate([owner for owner, _ in parts]).astype(np.int64), np.concatenate(
            [unit for _, unit in parts]
        )


def read_pool(table: SourceTable, queries: QueryColumns, folder: Path, sample: pl.Series) -> Pool:
    """Read and deal the candidates of a run."""
    total = sum(table.rows.values())
    size = max(1, queries.rows * ROWS // max(total, 1))
    pool = Pool(folder, size, -(-queries.rows // size), np.zeros(queries.rows, np.int32))
    lookup = queries.lookup()
    names = (*KEY, "score", "node_prob", "is_gold", "split", "sent_uid")
    by_node = _all_there(table, "node_prob")
    strays = 0
    for part in table.parts({name: column(table, name) for name in names}, ROWS):
        rows = part.with_columns(pl.col("criterion_id").fill_null(""))
        if table.has("split"):
            rows = rows.filter(pl.col("split").str.strip_chars().str.to_uppercase() == "EVAL")
        post, criterion = queries.places(rows["post_id"], rows["criterion_id"])
        owner = np.where((post >= 0) & (criterion >= 0), lookup[post, criterion], -1)
        known = owner >= 0
        strays += int((~known).sum())
        score = rows["score"].to_numpy()
        unit = rows["node_prob"].to_numpy() if by_node else score
        gold = rows["is_gold"].to_numpy().astype(np.bool_)
        pool.add(Deal(owner[known], unit[known], gold[known], score[known]))
        pool.sampled.append(kept(rows.filter(pl.col("post_id").is_in(sample.implode()))))
    pool.faults["candidates of no query"] = strays
    return pool


def _all_there(table: SourceTable, name: str) -> bool:
    """Whether a column has a value anywhere."""
    if not table.has(name):
        return False
    return any(part[name].null_count() < part.height for part in table.parts({name: column(table, name)}, 10 * ROWS))


def marked_gold(table: SourceTable) -> pl.DataFrame:
    """The gold sentences of every query, as the candidates mark them."""
    names = (*KEY, "sent_uid", "is_gold")
    parts = [part.filter("is_gold") for part in table.parts({name: column(table, name) for name in names}, ROWS)]
    gold = kept(pl.concat(parts)).with_columns(pl.col("criterion_id").fill_null(""))
    return gold.group_by(KEY, maintain_order=True).agg(gold_sent_uids="sent_uid")


def rank_by_score(pool: Pool, queries: QueryColumns) -> None:
    """Rankings by descending score, where the run has none; equal scores keep their order."""
    ranks: list[NDArray[Any]] = []
    for deal in pool.deals():
        order = np.lexsort((-deal.score, deal.owner))
        owner, gold = deal.owner[order].astype(np.int64), deal.gold[order]
        rank = _within(owner)
        ranks.append(np.column_stack([owner[gold], rank[gold], _within(owner[gold])]))
    queries.arrays["n_ranked"] = pool.listed
    queries.gold_ranks = GoldRanks(*np.concatenate(ranks).astype(np.int64).T)


def _within(owner: Ints) -> Ints:
    """The number of each entry among those of the same owner, from 1, where equal ones stand together."""
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    return np.arange(len(owner)) - np.repeat(first, np.diff(np.append(first, len(owner)))) + 1
