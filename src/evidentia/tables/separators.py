"""What joins the uids of a column where it is not |: recognised only where nothing else explains the cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from evidentia.array_types import Bools
from evidentia.tables.columns import UID_COLUMNS, Typed
from evidentia.tables.lists import JOINING, separated

PAIRS = (("gold_sent_uids", "ranked_sent_uids"), ("selected_sent_uids", "ranked_sent_uids"), UID_COLUMNS[::2])


def recognised(typed: Typed, candidates: pl.Series | None) -> Typed:
    """The table with its uids taken apart where the separator of a column is certain; a note names it.

    ``candidates`` are the uids of the candidates, where there are some.
    """
    for name, pattern in JOINING.items():
        odd = _columns_with(typed, pattern)
        split = {column: _split(typed.table.frame[column], name) for column in odd}
        if split and _certain(typed.table.frame, split, candidates):
            note = f"{typed.table.name}: the uids of {' and '.join(odd)} are read as separated by {name!r}."
            frame = typed.table.frame.with_columns(split.values())
            typed = replace(typed, table=replace(typed.table, frame=frame), notes=(*typed.notes, note))
    return typed


def _columns_with(typed: Typed, pattern: str) -> list[str]:
    """The columns of text whose cells hold the separator, and never a |."""
    columns = [column for column in typed.joined if typed.table.has(column)]
    frame = typed.table.frame.select(columns)
    return [c.name for c in frame.iter_columns() if _single(c) and _cells(c).str.contains(pattern).any()]


def _single(lists: pl.Series) -> bool:
    return (lists.list.len() <= 1).all()


def _cells(lists: pl.Series) -> pl.Series:
    return lists.list.first().drop_nulls()


def _split(lists: pl.Series, name: str) -> pl.Series:
    return separated(lists.list.first(), name).fill_null([]).alias(lists.name)


def _certain(frame: pl.DataFrame, split: Mapping[str, pl.Series], candidates: pl.Series | None) -> bool:
    """Whether the cells are lists for sure, and their separator no part of an id.

    Then no part is empty or comes twice in its cell, not all cells have the same number of parts (those of a composite id
    have), and the parts are known: all of them as candidates and no whole cell, or, in at least half of the rows,
    those of the gold in the ranking of the same row and not the whole cell.
    """
    after = frame.with_columns(split.values())
    lists = [after[column] for column in UID_COLUMNS if column in after.columns]
    lengths = pl.concat([column.list.len().alias("") for column in lists])
    if lengths.filter(lengths > 0).n_unique() < 2 or not all(_sound(column) for column in split.values()):
        return False
    if candidates is None:
        odd = pl.any_horizontal(pl.col(*split).list.len() > 1)
        return _explained(frame.filter(after.select(odd).to_series()), after.filter(odd))
    whole = pl.concat([_cells(frame[column]).alias("") for column in split])
    parts = pl.concat([_flat(column).alias("") for column in split.values()])
    cut = whole.filter(~whole.is_in(parts.implode()))
    return bool(parts.is_in(candidates.implode()).all()) and not cut.is_in(candidates.implode()).any()


def _sound(lists: pl.Series) -> bool:
    return bool((lists.list.n_unique() == lists.list.len()).all() and (_flat(lists) != "").all())


def _flat(lists: pl.Series) -> pl.Series:
    return lists.filter(lists.list.len() > 0).explode()


def _explained(whole: pl.DataFrame, parts: pl.DataFrame) -> bool:
    for inner, outer in PAIRS:
        if {inner, outer} <= {*whole.columns}:
            as_whole, as_parts = _contained(whole, inner, outer), _contained(parts, inner, outer)
            if len(as_parts):
                return bool(2 * as_whole.sum() < len(as_whole) and 2 * as_parts.sum() >= len(as_parts))
    return False


def _contained(frame: pl.DataFrame, inner: str, outer: str) -> Bools:
    """For each row with both, whether all uids of one column are in the other."""
    both = frame.filter((pl.col(inner).list.len() > 0) & (pl.col(outer).list.len() > 0))
    outside = both.select(pl.col(inner).list.set_difference(pl.col(outer)).list.len()).to_series()
    return np.asarray((outside == 0).to_numpy(), np.bool_)
