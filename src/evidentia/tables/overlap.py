"""Whether gold and rankings name the same sentences: uids joined by another character than | would all score 0."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Ints
from evidentia.errors import Problem, counted
from evidentia.tables.columns import UID_COLUMNS
from evidentia.tables.table import Table

_SEPARATOR, _PIECE = r"[;,\s]", r"[^;,\s]+"
_GOLD = "gold_sent_uids"
_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Overlap:
    """What is wrong where the uids of a table do not meet: problems, or warnings where no other separator explains it."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def overlap(table: Table, candidates: pl.Series | None = None, *, list_sep: str | None = "|") -> Overlap:
    """Compare the uids of gold, rankings and selections over all rows; ``list_sep`` joins them, None where nothing does."""
    uids = {column: _flat(table.frame[column]) for column in UID_COLUMNS if table.has(column)}
    uids = {column: flat for column, flat in uids.items() if len(flat)}
    others = [column for column in uids if column != _GOLD]
    if list_sep and (problems := _wrongly_joined(table, uids, candidates, list_sep)):
        return Overlap(problems=tuple(problems))
    if _GOLD not in uids or not others or any(_among(uids[_GOLD], uids[column]).any() for column in others):
        return Overlap()
    if list_sep:
        for column in (*others, _GOLD):
            if len(odd := uids[column].filter(uids[column].str.contains(_SEPARATOR))):
                reason = "while no gold uid occurs in any ranking"
                return Overlap(problems=tuple(_problem(table, column, odd, reason, list_sep)))
    gold = counted(len(uids[_GOLD]), "gold uid")
    return Overlap(
        warnings=(
            f"{table.name}: none of {gold} occurs in any ranking or selection of the run, so that all measures of rankings "
            "are 0. Do gold and rankings name the same sentences? If so, --allow-disjoint (in Python allow_disjoint=True) "
            "ends this warning.",
        )
    )


def _flat(lists: pl.Series) -> pl.Series:
    return lists.explode().drop_nulls().unique()


def _among(uids: pl.Series, others: pl.Series) -> Bools:
    return np.asarray(uids.is_in(others.unique().implode()).to_numpy(), np.bool_)


def _rows_with(lists: pl.Series, uids: pl.Series) -> Ints:
    """The rows whose list holds one of the uids."""
    rows = np.repeat(np.arange(len(lists)), lists.list.len().fill_null(0).to_numpy())
    flat = lists.filter(lists.list.len() > 0).explode()
    return np.unique(rows[_among(flat.fill_null(""), uids)]).astype(np.int64)


def _wrongly_joined(
    table: Table, uids: dict[str, pl.Series], candidates: pl.Series | None, list_sep: str
) -> list[Problem]:
    """The cells that hold a separator and, taken apart, the uids of other cells."""
    problems = []
    for column, own in uids.items():
        odd = own.filter(own.str.contains(_SEPARATOR))
        if not len(odd):
            continue
        elsewhere = [flat for name, flat in uids.items() if name != column]
        elsewhere += [] if candidates is None else [candidates.cast(pl.String)]
        met = _among(odd, pl.concat([*elsewhere, odd.clear()]))
        if 2 * met.sum() >= len(odd):  # the character belongs to the uids themselves
            continue
        odd = odd.filter(pl.Series(~met))
        holds = _rows_with(odd.str.extract_all(_PIECE), pl.concat([*elsewhere, own]))
        problems += _problem(table, column, odd.gather(holds), "that join uids of other cells", list_sep)
    return problems


def _problem(table: Table, column: str, odd: pl.Series, reason: str, list_sep: str) -> list[Problem]:
    cells = table.frame[column]

    def shape(row: int) -> str:
        return f"of the shape {_shape(cells[row], odd)}"

    return table.problem(
        "SEPARATOR", _rows_with(cells, odd), detail=shape, column=column, reason=reason, list_sep=list_sep
    )


def _shape(cell: pl.Series, odd: pl.Series) -> str:
    """A cell with every id as ``id``: what it looks like, and nothing of what it says.

    >>> _shape(pl.Series(["s1; s2"]), pl.Series(["s1; s2"]))
    "'id; id'"
    """
    shape = re.sub(_PIECE, "id", cell.filter(pl.Series(_among(cell, odd)))[0])
    return repr(shape if len(shape) <= _SHOWN else shape[:_SHOWN] + "...")
