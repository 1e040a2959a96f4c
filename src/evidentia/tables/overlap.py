"""Whether gold and rankings name the same sentences: uids joined by another character than | would all score 0."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Ints
from evidentia.errors import Problem, counted
from evidentia.tables.columns import UID_COLUMNS
from evidentia.tables.lists import JOINING, WORD, separated
from evidentia.tables.separators import PAIRS
from evidentia.tables.table import Table
from evidentia.tables.uids import nested

_SEPARATOR = "|".join(JOINING.values())
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
    flat = lists.filter(lists.list.len() > 0).explode()
    return np.unique(_owners(lists)[_among(flat.fill_null(""), uids)])


def _owners(lists: pl.Series) -> Ints:
    return np.repeat(np.arange(len(lists)), lists.list.len().fill_null(0).to_numpy()).astype(np.int64)


def _wrongly_joined(
    table: Table, uids: dict[str, pl.Series], candidates: pl.Series | None, list_sep: str
) -> list[Problem]:
    """The cells that hold a separator and, taken apart, the uids of other cells; each column under the first that fits."""
    problems: dict[str, list[Problem]] = {}
    marked = pl.concat([own.filter(own.str.contains(_SEPARATOR)).alias("") for own in uids.values()]) if uids else None
    for name, pattern in JOINING.items():
        if marked is None or not marked.str.contains(pattern).any():
            continue
        parts = {column: _parts(own, name) for column, own in uids.items()}
        joined = {column: uids[column].filter(cut.list.len() > 1) for column, cut in parts.items()}
        by_row = _cut_in_rows(table.frame, joined, name)
        for column, odd in joined.items():
            known = [_alone(cut) for cut in parts.values()]
            whole = [own for other, own in uids.items() if other != column]
            if candidates is not None:
                known, whole = [*known, candidates.cast(pl.String)], [*whole, candidates.cast(pl.String)]
            bad = odd if by_row else _naming(odd, pl.concat([*whole, odd.clear()]), pl.concat(known), name)
            if len(bad) and column not in problems:
                problems[column] = _problem(table, column, bad, "that join uids of other cells", list_sep)
    return [problem for column in uids for problem in problems.get(column, [])]


def _parts(uids: pl.Series, name: str) -> pl.Series:
    """Each uid taken apart; a separator at its end ends the last part."""
    return separated(uids, name).list.eval(pl.element().filter(pl.element() != ""))


def _alone(parts: pl.Series) -> pl.Series:
    return parts.filter(parts.list.len() == 1).explode().alias("")


def _naming(odd: pl.Series, whole: pl.Series, known: pl.Series, name: str) -> pl.Series:
    """The uids that other cells do not hold as they are, and of which they hold a part."""
    met = _among(odd, whole)
    if 2 * met.sum() >= len(odd):  # the character belongs to the uids themselves
        return odd.clear()
    odd = odd.filter(pl.Series(~met))
    return odd.gather(_rows_with(_parts(odd, name), known))


def _cut_in_rows(frame: pl.DataFrame, joined: Mapping[str, pl.Series], name: str) -> bool:
    """Whether parts explain more rows than whole cells do.

    A row speaks for the whole where one occurs in the other list, or where a part comes twice in a list, as the document of
    composite ids does. It speaks for parts where one of them occurs in the other list; where all uids have the same number
    of parts, as composite ids have, all must. Equal lists tell nothing. Where no row speaks, the cells are lists unless
    ids are composite or another separator already makes lists of some.
    """
    composite = len({n for column in joined for n in _parts(_flat(frame[column]), name).list.len().unique()}) == 1
    votes = []
    for pair in PAIRS:
        if {*pair} <= {*joined}:
            rows = np.union1d(*(_rows_with(frame[column], joined[column]) for column in pair))
            whole = frame[rows].select(pl.col(column).alias(short) for column, short in zip(pair, "ab", strict=True))
            votes.append(_votes(whole.cast(pl.List(pl.String)), name, composite))
    for_whole, for_parts = (sum(count) for count in zip((0, 0), *votes, strict=True))
    in_use = any((frame[column].list.len() > 1).any() for column, odd in joined.items() if len(odd))
    return for_parts > for_whole or bool(votes and not for_whole and not composite and not in_use)


def _votes(whole: pl.DataFrame, name: str, composite: bool) -> tuple[int, int]:
    """How many rows of two columns of lists speak for whole cells, and how many for parts."""
    parts = whole.select(_parts_of_rows(column, name) for column in whole.iter_columns())
    a, b = pl.col("a").list, pl.col("b").list
    twice = parts.select((a.n_unique() < a.len()) | (b.n_unique() < b.len())).to_series()
    same = whole.select(a.sort() == b.sort()).to_series()
    met = whole.select(a.set_intersection("b").list.len() > 0).to_series() & ~same
    outside = a.set_difference("b").list.len()
    meet = parts.select((a.len() > 0) & (outside == 0 if composite else outside < a.n_unique())).to_series()
    return int((met | twice).sum()), int((meet & ~met & ~twice & ~same).sum())


def _parts_of_rows(lists: pl.Series, name: str) -> pl.Series:
    parts = _parts(lists.filter(lists.list.len() > 0).explode(), name)
    owners = np.repeat(_owners(lists), parts.list.len().to_numpy())
    return nested(owners, parts.filter(parts.list.len() > 0).explode(), len(lists)).alias(lists.name)


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
    shape = re.sub(WORD, "id", cell.filter(pl.Series(_among(cell, odd)))[0])
    return repr(shape if len(shape) <= _SHOWN else shape[:_SHOWN] + "...")
