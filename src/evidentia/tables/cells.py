"""How cells become typed values, and which cells cannot."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import Problem
from evidentia.tables.lists import BAR, PRINTED, is_printed, separated, unprinted
from evidentia.tables.table import Table

TEXT, NUMBER, COUNT, FLAG, UIDS = ("a text", "a number", "a whole number", "0/1 or true/false", "a list of uids")


def convert(table: Table, name: str, kind: str, list_sep: str | None = None) -> tuple[pl.Series, list[Problem]]:
    """The column as the type that its kind asks for; a cell that cannot be one is a problem, a blank one is null.

    ``list_sep`` is what separates the uids of a cell, as in ``read_run``; without it cells are split at every ``|``, and a
    column of printed lists is read as lists.
    """
    series = table.frame[name]
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if kind == UIDS:
        return _uids(table, series, list_sep)
    if kind == TEXT and series.dtype.is_float():
        series = series.fill_nan(None)  # an id that is not a number is a missing id
    values = converted(series, kind)
    if not values.null_count():  # a cell of a wrong type has no value
        return values, []
    bad = np.flatnonzero((filled(series) & values.is_null()).to_numpy())
    return values, _wrong_type(table, name, kind, bad)


def converted(series: pl.Series, kind: str) -> pl.Series:
    """The cells as the type that a kind other than lists asks for; null where a cell cannot be one."""
    return _CONVERT[kind](series)


def holds_numbers(series: pl.Series) -> bool:
    """Whether a column has a value, and every value is a number; texts that spell numbers are."""
    there = filled(series)
    return bool(there.any() and _number(series).filter(there).is_not_null().all())


FORMULA = re.compile(r"'*[=+\-@\t\r]")  # what a spreadsheet would run, also behind quotes that keep it from doing so
QUOTED = re.compile(r"^'('*[=+\-@\t\r])")  # what a spreadsheet would run, behind the quote that keeps it from doing so


def unquoted(series: pl.Series) -> pl.Series:
    """Take away the quote that a result folder puts before what a spreadsheet would run as a formula.

    >>> unquoted(pl.Series(["'=s1|s2", "''-x", "'s1", "=s1"])).to_list()
    ['=s1|s2', "'-x", "'s1", '=s1']
    """
    if series.dtype != pl.String or not series.str.starts_with("'").any():
        return series
    return series.str.replace(QUOTED.pattern, "${1}")


def defused(cell: str) -> str:
    """Put a quote before what a spreadsheet would run as a formula; ``unquoted`` takes it away.

    >>> defused("=s1|s2"), defused("s1")
    ("'=s1|s2", 's1')
    """
    return f"'{cell}" if FORMULA.match(cell) else cell


def defused_column(name: str) -> pl.Expr:
    """The same for every cell of a column."""
    cell = pl.col(name)
    return pl.when(cell.str.contains(f"^{FORMULA.pattern}")).then(pl.lit("'") + cell).otherwise(cell).alias(name)


def _wrong_type(table: Table, name: str, kind: str, bad: Ints) -> list[Problem]:
    return table.problem("WRONG_TYPE", bad, name, column=name, kind=kind)


def filled(series: pl.Series) -> pl.Series:
    """Where a cell is neither null nor blank."""
    if series.dtype == pl.String:
        return (series.str.strip_chars() != "").fill_null(False)
    return series.is_not_null()


def _text(series: pl.Series) -> pl.Series:
    if _has_no_text(series.dtype):
        return _nothing(series, pl.String)
    if series.dtype.is_float():
        whole = series.cast(pl.Int64, strict=False)
        if (whole == series).fill_null(series.is_null()).all():  # pandas makes floats of ids when one is missing
            series = whole
    text = _printed(series)
    return text.set(filled(text).not_(), None)


def _printed(series: pl.Series) -> pl.Series:
    """The values as texts; bytes that are not UTF-8 become null."""
    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(series.name, [_decoded(value) for value in series], pl.String)


def _decoded(value: object) -> str | None:
    try:
        return value.decode() if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return None


def _has_no_text(dtype: pl.DataType) -> bool:
    return dtype.is_nested() or dtype == pl.Object


def _number(series: pl.Series) -> pl.Series:
    if series.dtype == pl.String:
        return series.str.strip_chars().cast(pl.Float64, strict=False)
    if series.dtype.is_numeric() or series.dtype == pl.Null:
        return series.cast(pl.Float64)
    return _nothing(series, pl.Float64)


def _count(series: pl.Series) -> pl.Series:
    number = _number(series)
    whole = number.cast(pl.Int64, strict=False)
    return whole.set((whole != number).fill_null(False), None)


def _flag(series: pl.Series) -> pl.Series:
    if series.dtype in (pl.Boolean, pl.Null):
        return series.cast(pl.Boolean)
    if series.dtype == pl.String:
        return series.str.strip_chars().str.to_lowercase().replace_strict(_FLAGS, default=None, return_dtype=pl.Boolean)
    number = _number(series)
    return pl.select(pl.when(number.is_in([0.0, 1.0])).then(number == 1)).to_series().alias(series.name)


_FLAGS = {"0": False, "1": True, "false": False, "true": True, "0.0": False, "1.0": True}


def _nothing(series: pl.Series, dtype: type[pl.DataType]) -> pl.Series:
    return pl.Series(series.name, [None], dtype=dtype).new_from_index(0, len(series))


_CONVERT: dict[str, Callable[[pl.Series], pl.Series]] = {
    TEXT: _text,
    NUMBER: _number,
    COUNT: _count,
    FLAG: _flag,
}


def _uids(table: Table, series: pl.Series, list_sep: str | None) -> tuple[pl.Series, list[Problem]]:
    dtype = series.dtype
    inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else dtype
    assert isinstance(inner, pl.DataType)
    if _has_no_text(inner) or inner == pl.Boolean:
        bad = np.flatnonzero(series.is_not_null().to_numpy())
        return series, _wrong_type(table, series.name, UIDS, bad)
    if isinstance(dtype, pl.List | pl.Array):
        lists = series.cast(pl.List(inner)).fill_null([])
        alone = pl.select(pl.when(lists.list.len() == 1).then(lists.list.first())).to_series().alias(series.name)
        missing = _spelled(table, alone) if inner == pl.String else []
        return (series, missing) if missing else _checked_uids(table, lists, [])
    text = _text(series)
    if missing := _spelled(table, text.str.strip_chars()):
        return series, missing
    problems = _wrong_type(table, series.name, UIDS, np.flatnonzero((filled(series) & text.is_null()).to_numpy()))
    printed = is_printed(text)
    if list_sep == PRINTED or (list_sep is None and printed.any()):
        lists = unprinted(text)
        wrong = text.is_not_null() & lists.is_null()
    else:
        lists, wrong = separated(text, list_sep or BAR), printed
    problems += table.problem("PRINTED_LIST", np.flatnonzero(wrong.to_numpy()), column=series.name)
    return _checked_uids(table, lists.fill_null([]), problems)


MISSING = r"^((?i:nan|none|null|<na>)|NaT)$"


def _spelled(table: Table, cells: pl.Series) -> list[Problem]:
    """Cells that are the word with which a library prints a missing value."""
    bad = np.flatnonzero(cells.str.contains(MISSING).fill_null(False).to_numpy())
    return table.problem("MISSING_AS_TEXT", bad, column=cells.name)


def _checked_uids(table: Table, lists: pl.Series, problems: list[Problem]) -> tuple[pl.Series, list[Problem]]:
    name, lengths = lists.name, lists.list.len().to_numpy().astype(np.int64)
    cells = lists.filter(pl.Series(lengths > 0)).explode()  # explode() would make a null of an empty list
    uids = _printed(cells)
    length, without = uids.str.len_bytes(), uids.str.strip_chars().str.len_bytes()
    wrong, blank = cells.is_not_null() & uids.is_null(), cells.is_null() | (without == 0)
    rows = np.repeat(np.arange(len(lists)), lengths)

    def of(mask: pl.Series) -> Ints:
        return np.unique(rows[mask.fill_null(False).to_numpy()])

    problems = [
        *problems,
        *_wrong_type(table, name, UIDS, of(wrong)),
        *table.problem("EMPTY_UID", of(blank), column=name),
        *table.problem("PADDED_ID", of((length != without) & (without > 0)), place=f"a uid of {name}"),
        *table.problem("BAR_IN_UID", of(uids.str.contains("|", literal=True)), place=f"a uid of {name}"),
    ]
    return lists if problems else lists.cast(pl.List(pl.String)), problems
