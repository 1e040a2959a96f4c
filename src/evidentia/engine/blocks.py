"""Cut tables into blocks of whole posts that fit into memory; tables whose posts are scattered are first put in order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.engine.datasets import Dataset, Span

MOST_RUNS = 20_000_000  # stretches of rows of one post that are held in memory
_POST, _START = "__post__", "__start__"


@dataclass(frozen=True)
class Block:
    """Some posts: their rows in the table of queries, and in that of candidates."""

    number: int
    queries: tuple[Span, ...]
    candidates: tuple[Span, ...] = ()


def lay_out(queries: Dataset, candidates: Dataset | None, post: tuple[str, str], rows: int) -> tuple[Block, ...] | None:
    """Cut a run into blocks of about ``rows`` rows; ``post`` names the column of posts in both tables.

    None where the rows of a post do not stand together, in the same order in both tables.
    """
    first = _stretches(queries, post[0])
    second = None if candidates is None else _stretches(candidates, post[1])
    if first is None or (candidates is not None and second is None):
        return None
    weight = np.diff(np.append(first[_START].to_numpy(), queries.rows))
    if second is None or candidates is None:
        cuts = _cuts(weight, rows)
        return tuple(Block(n, queries.spans(*cut)) for n, cut in enumerate(_rows_of(first, cuts, queries.rows)))
    place = second.join(first.with_row_index("place"), on=_POST, how="left", maintain_order="left", nulls_equal=True)[
        "place"
    ]
    known = place.drop_nulls().cast(pl.Int64).to_numpy()
    if np.any(np.diff(known) < 0):
        return None
    owner = place.cast(pl.Int64).fill_null(strategy="forward").fill_null(0).to_numpy()  # strays go where they stand
    sizes = np.diff(np.append(second[_START].to_numpy(), candidates.rows))
    cuts = _cuts(weight + np.bincount(owner, sizes, minlength=len(weight)).astype(np.int64), rows)
    ends = np.searchsorted(owner, cuts)  # the first stretch of candidates of each block
    of_candidates = np.append(second[_START].to_numpy(), candidates.rows)[ends]
    ranges = zip(_rows_of(first, cuts, queries.rows), itertools.pairwise(of_candidates), strict=True)
    return tuple(
        Block(n, queries.spans(*own), candidates.spans(int(low), int(high)))
        for n, (own, (low, high)) in enumerate(ranges)
    )


def _stretches(table: Dataset, column: str) -> pl.DataFrame | None:
    """Where the rows of each post start; None where the rows of a post stand apart from each other."""
    frames: list[pl.DataFrame] = []
    count = 0
    for span, start in zip(table.whole(), table.starts[:-1].tolist(), strict=True):
        turns = pl.col(_POST).ne_missing(pl.col(_POST).shift()) | (pl.col(_START) == 0)
        lazy = table.scan(span).select(pl.col(column).alias(_POST)).with_row_index(_START).filter(turns)
        frames.append(
            lazy.select(pl.col(_POST).cast(pl.String), pl.col(_START).cast(pl.Int64) + start).collect(
                engine="streaming"
            )
        )
        count += len(frames[-1])
        if count > MOST_RUNS:
            return None
    joined = pl.concat(frames)
    stretches = joined.filter(pl.col(_POST).ne_missing(pl.col(_POST).shift()) | (pl.col(_START) == 0))
    return None if stretches[_POST].is_duplicated().any() else stretches


def _cuts(weight: Ints, rows: int) -> Ints:
    """The posts at which blocks start, and the number of posts: blocks of about so many rows, never less than a post."""
    before = np.concatenate([[0], np.cumsum(weight)])
    blocks = max(1, -(-int(before[-1]) // max(rows, 1)))
    wanted = before[-1] * np.arange(1, blocks) / blocks
    return np.unique(np.concatenate([[0], np.searchsorted(before, wanted), [len(weight)]])).astype(np.int64)


def _rows_of(stretches: pl.DataFrame, cuts: Ints, rows: int) -> list[tuple[int, int]]:
    bounds = np.append(stretches[_START].to_numpy(), rows)[cuts].tolist()
    return list(itertools.pairwise(bounds))
