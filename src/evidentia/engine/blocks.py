"""Cut tables into blocks of whole posts that fit into memory; tables whose posts are scattered are first put in order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.array_types import Ints
from evidentia.engine.datasets import Dataset, Span

MOST_RUNS = 20_000_000  # stretches of rows of one post that are held in memory
SEED = 5
_POST, _START = "__post__", "__start__"

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Block:
    """Some posts: their rows in the table of queries, and in that of candidates."""

    number: int
    queries: tuple[Span, ...]
    candidates: tuple[Span, ...] = ()


@dataclass(frozen=True, eq=False)
class _Stretches:
    """The rows of a table of which each stretch is of one post: the hash of the post, and where the stretch starts."""

    posts: Words
    starts: Ints
    rows: int

    @property
    def bounds(self) -> Ints:
        """Where each stretch starts, and the end of the last."""
        return np.append(self.starts, self.rows)


def lay_out(queries: Dataset, candidates: Dataset | None, post: tuple[str, str], rows: int) -> tuple[Block, ...] | None:
    """Cut a run into blocks of about ``rows`` rows; ``post`` names the column of posts in both tables.

    None where the rows of a post do not stand together, in the same order in both tables.
    """
    first = _stretches(queries, post[0])
    second = None if candidates is None else _stretches(candidates, post[1])
    if first is None or (candidates is not None and second is None):
        return None
    weight = np.diff(first.bounds)
    if second is None or candidates is None:
        cuts = first.bounds[_cuts(weight, rows)]
        return tuple(Block(n, queries.spans(*own)) for n, own in enumerate(itertools.pairwise(cuts.tolist())))
    owner = _owners(second.posts, first.posts)
    if owner is None:
        return None
    candidates_of = np.bincount(owner, np.diff(second.bounds), minlength=len(weight)).astype(np.int64)
    cuts = _cuts(weight + candidates_of, rows)
    ends = first.bounds[cuts], second.bounds[np.searchsorted(owner, cuts)]
    ranges = zip(*(itertools.pairwise(each.tolist()) for each in ends), strict=True)
    return tuple(Block(n, queries.spans(*own), candidates.spans(*theirs)) for n, (own, theirs) in enumerate(ranges))


def _stretches(table: Dataset, column: str) -> _Stretches | None:
    """Where the rows of each post start; None where the rows of a post stand apart from each other."""
    posts, starts = [], []
    turns = pl.col(_POST).ne_missing(pl.col(_POST).shift()) | (pl.col(_START) == 0)
    word = pl.col(_POST).cast(pl.String).hash(SEED)
    for span, start in zip(table.whole(), table.starts[:-1].tolist(), strict=True):
        lazy = table.scan(span).select(pl.col(column).alias(_POST)).with_row_index(_START).filter(turns)
        found = lazy.select(word, pl.col(_START).cast(pl.Int64) + start).collect(engine="streaming")
        posts.append(found[_POST].to_numpy())
        starts.append(found[_START].to_numpy())
        if sum(map(len, posts)) > MOST_RUNS:
            return None
    words = np.concatenate(posts)
    new = np.append(True, words[1:] != words[:-1])  # a post may go on in the next file
    words = words[new]
    ordered = np.sort(words)
    return None if (ordered[1:] == ordered[:-1]).any() else _Stretches(words, np.concatenate(starts)[new], table.rows)


def _owners(posts: Words, among: Words) -> Ints | None:
    """Which of the posts of queries each post of candidates is, ascending; None where it is not. Strays go where they stand."""
    if np.array_equal(posts, among):
        return np.arange(len(posts))
    order = np.argsort(among)
    place = order[np.minimum(np.searchsorted(among, posts, sorter=order), len(among) - 1)]
    known = among[place] == posts
    owner = np.maximum.accumulate(np.where(known, place, 0))
    return owner if np.array_equal(owner[known], place[known]) else None


def _cuts(weight: Ints, rows: int) -> Ints:
    """The posts at which blocks start, and the number of posts: blocks of about so many rows, never less than a post."""
    before = np.concatenate([[0], np.cumsum(weight)])
    blocks = max(1, -(-int(before[-1]) // max(rows, 1)))
    wanted = before[-1] * np.arange(1, blocks) / blocks
    return np.unique(np.concatenate([[0], np.searchsorted(before, wanted), [len(weight)]])).astype(np.int64)
