"""Uids as integers: one code per uid over all tables, and set operations on lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Ints
from evidentia.tables.columns import UID_COLUMNS
from evidentia.tables.queries import Ragged
from evidentia.tables.table import Table


def coded(
    tables: Sequence[Table], more: pl.DataFrame | None = None, *, within_post: bool = False
) -> tuple[list[Table], Ints]:
    """Code the uid columns of all tables, and the sent_uid of one more frame, with the same integers.

    ``within_post`` says that a uid stands for one sentence of its post only, and another one elsewhere.
    """
    frames = [qualified(t.frame) if within_post else t.frame for t in tables]
    lists = [(at, column) for at, t in enumerate(tables) for column in UID_COLUMNS if t.has(column)]
    lengths = [frames[at][column].list.len().to_numpy().astype(np.int64) for at, column in lists]
    flat = [_flat(frames[at][column], n) for (at, column), n in zip(lists, lengths, strict=True)]
    if more is None:
        flat.append(pl.Series([], dtype=pl.String))
    else:
        flat.append((qualified(more) if within_post else more)["sent_uid"].fill_null("").alias(""))
    codes = pl.concat(flat).cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    n_uids = int(codes.max()) + 1 if len(codes) else 0
    pieces = np.split(codes, np.cumsum([len(series) for series in flat])[:-1])
    uids: list[dict[str, Ragged]] = [{} for _ in tables]
    for (at, column), n, values in zip(lists, lengths, pieces, strict=False):
        uids[at][column] = Ragged(np.concatenate([[0], np.cumsum(n)]), values)
    return [replace(t, uids=u, n_uids=n_uids) for t, u in zip(tables, uids, strict=True)], pieces[-1]


def _flat(lists: pl.Series, lengths: Ints) -> pl.Series:
    # explode() makes a null of an empty list, so empty lists are left out first
    return lists.filter(pl.Series(lengths > 0)).explode().cast(pl.String).fill_null("").alias("")


def qualified(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the post id before every uid.

    >>> frame = pl.DataFrame({"post_id": ["p1", "p2"], "gold_sent_uids": [["s1", "s2"], []]})
    >>> qualified(frame)["gold_sent_uids"].to_list()
    [['p1:s1', 'p1:s2'], []]
    """
    post = frame["post_id"].fill_null("") + ":"
    lists = [nested(*_with_post(frame[c], post), frame.height).alias(c) for c in UID_COLUMNS if c in frame.columns]
    single = [(post + frame["sent_uid"]).alias("sent_uid")] if "sent_uid" in frame.columns else []
    return frame.with_columns(*lists, *single)


def _with_post(lists: pl.Series, post: pl.Series) -> tuple[Ints, pl.Series]:
    lengths = lists.list.len().to_numpy().astype(np.int64)
    owner = np.repeat(np.arange(len(lists)), lengths)
    return owner, post.gather(owner) + _flat(lists, lengths)


def nested(owner: Ints, values: pl.Series, height: int) -> pl.Series:
    """Values as one list per row; rows that own none have an empty one."""
    lists = pl.DataFrame({"owner": owner, "values": values}).group_by("owner", maintain_order=True).agg("values")
    rows = pl.DataFrame({"owner": np.arange(height)})
    return rows.join(lists, on="owner", how="left", maintain_order="left")["values"].fill_null([])


def keys(owner: Ints, codes: Ints, n_uids: int) -> Ints:
    """One integer for each (owner, uid)."""
    return owner * n_uids + codes


def repeated(key: Ints) -> Ints:
    """The positions whose key has occurred before, ascending."""
    ordered = np.sort(key)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.empty(0, np.int64)
    order = np.argsort(key, kind="stable")
    again = key[order][1:] == key[order][:-1]
    return np.sort(order[1:][again])


def among(key: Ints, others: Ints) -> Bools:
    """For each key, whether it is one of the others."""
    if not len(others):
        return np.zeros(len(key), np.bool_)
    ordered = np.sort(others)
    at = np.minimum(np.searchsorted(ordered, key), len(ordered) - 1)
    return np.asarray(ordered[at] == key)


def members(inner: Ragged, outer: Ragged, n_uids: int) -> Bools:
    """For each uid of the inner lists, whether the outer list of the same row has it."""
    rows = np.flatnonzero(inner.lengths)
    outer_of_rows = outer.take(rows)  # most rows have no gold: leave their long rankings out
    others = keys(rows[outer_of_rows.owner], outer_of_rows.values, n_uids)
    return among(keys(inner.owner, inner.values, n_uids), others)


def ranks_of(gold: Ragged, ranked: Ragged, n_uids: int) -> Ragged:
    """The 1-based positions at which the gold of each row is ranked, ascending.

    >>> lists = Ragged(np.array([0, 2]), np.array([7, 3])), Ragged(np.array([0, 3]), np.array([3, 5, 7]))
    >>> ranks_of(*lists, n_uids=8).values.tolist()
    [1, 3]
    """
    rows = np.flatnonzero(gold.lengths)
    searched = ranked.take(rows)
    key = keys(rows[searched.owner], searched.values, n_uids)
    hits = among(key, keys(gold.owner, gold.values, n_uids))
    ranks = np.arange(len(hits)) - searched.offsets[:-1][searched.owner] + 1
    counts = np.zeros(len(gold.lengths), np.int64)
    counts[rows] = np.bincount(searched.owner[hits], minlength=len(rows))
    return Ragged(np.concatenate([[0], np.cumsum(counts)]), ranks[hits])


def owners_count(lists: Ragged, marked: Bools) -> Ints:
    """How many uids of each list are marked."""
    return np.bincount(lists.owner[marked], minlength=len(lists.lengths)).astype(np.int64)
