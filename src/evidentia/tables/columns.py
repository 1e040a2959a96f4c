"""The canonical columns: their names, how foreign names map to them, and how cells become typed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import polars as pl

from evidentia.errors import InputError, Problem, shown
from evidentia.tables.files import Loaded
from evidentia.tables.queries import Ints
from evidentia.tables.table import ROW, Table

TEXT, NUMBER, COUNT, FLAG, UIDS = (
    "a text",
    "a number",
    "a whole number",
    "0/1 or true/false",
    "a list of uids",
)

PER_QUERY: Mapping[str, str] = MappingProxyType(
    {
        "post_id": TEXT,
        "criterion_id": TEXT,
        "fold": TEXT,
        "split": TEXT,
        "has_evidence": FLAG,
        "prob": NUMBER,
        "detection_score": NUMBER,
        "tau": NUMBER,
        "tau_neg": NUMBER,
        "tau_pos": NUMBER,
        "gold_sent_uids": UIDS,
        "ranked_sent_uids": UIDS,
        "selected_sent_uids": UIDS,
        "state": TEXT,
        "n_candidates": COUNT,
    }
)
CANDIDATES: Mapping[str, str] = MappingProxyType(
    {
        "post_id": TEXT,
        "criterion_id": TEXT,
        "sent_uid": TEXT,
        "score": NUMBER,
        "is_gold": FLAG,
        "retriever_score": NUMBER,
        "reranker_score": NUMBER,
        "graph_score": NUMBER,
        "node_prob": NUMBER,
        "fold": TEXT,
        "split": TEXT,
    }
)
UID_COLUMNS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")


@dataclass(frozen=True, eq=False)
class Typed:
    """A table with typed columns, and what was wrong or worth a note on the way."""

    table: Table
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def typed(
    loaded: Loaded, kinds: Mapping[str, str], mapping: Mapping[str, str] | None, required: tuple[str, ...]
) -> Typed:
    """Rename, require and convert the columns. A column with cells of a wrong type is a problem and dropped.

    An optional column without a single value is taken as absent, and a note says so.
    """
    frame, notes = _renamed(loaded, kinds, mapping or {})
    _require(loaded.name, frame, required)
    table = Table(loaded.name, frame.with_row_index(ROW), loaded.place)
    problems: list[Problem] = []
    columns: list[pl.Series] = []
    for name in (column for column in kinds if column in frame.columns):
        series, found = _convert(table, name, kinds[name])
        problems += found
        if found and name in ("post_id", "criterion_id", "sent_uid"):
            raise InputError(*problems)
        if kinds[name] != UIDS and name not in required and series.null_count() == len(series):
            notes.append(f"{loaded.name}: the column {name} is empty and was taken as absent.")
            found = found or [Problem("EMPTY_COLUMN", "")]
        if found:
            frame = frame.drop(name)
        else:
            columns.append(series)
    converted = frame.with_columns(columns).with_row_index(ROW)
    return Typed(Table(loaded.name, converted, loaded.place), tuple(problems), tuple(notes))


def _renamed(loaded: Loaded, kinds: Mapping[str, str], mapping: Mapping[str, str]) -> tuple[pl.DataFrame, list[str]]:
    there = loaded.frame.columns
    listed = ", ".join(map(shown, there)) or "none"
    problems = []
    for name, column in mapping.items():
        if name not in kinds:
            problems.append(
                Problem(
                    "MAPPING_NAME",
                    f"{loaded.name}: the mapping {shown(name)} = {shown(column)} has no canonical name. "
                    f"Write canonical name = column in the file; the canonical names are {', '.join(kinds)}.",
                )
            )
        elif column not in there:
            problems.append(
                Problem(
                    "UNKNOWN_COLUMN",
                    f"{loaded.name}: there is no column {shown(column)}, which {name} is mapped to. "
                    f"Name one of the {len(there)} columns that are there: {listed}.",
                )
            )
    for column in sorted({c for c in mapping.values() if list(mapping.values()).count(c) > 1}):
        names = ", ".join(name for name, target in mapping.items() if target == column)
        problems.append(
            Problem(
                "MAPPING_CONFLICT",
                f"{loaded.name}: the column {shown(column)} is mapped to several names: {names}. "
                "Map each column to one name.",
            )
        )
    if problems:
        raise InputError(*problems)
    hidden = [name for name in mapping if name in there and name not in mapping.values()]
    notes = [f"{loaded.name}: its own column {n} was not used, because {mapping[n]} is mapped to it." for n in hidden]
    return loaded.frame.drop(hidden).rename({column: name for name, column in mapping.items()}), notes


def _require(name: str, frame: pl.DataFrame, required: tuple[str, ...]) -> None:
    missing = [column for column in required if column not in frame.columns]
    if missing:
        raise InputError(missing_column(name, ", ".join(missing), frame.columns))


def missing_column(name: str, missing: str, there: list[str]) -> Problem:
    """Say which column a table lacks, and which it has."""
    hint = " Is the delimiter right?" if len(there) == 1 else ""
    return Problem(
        "MISSING_COLUMN",
        f"{name}: lacks {missing}; the {len(there)} columns there are {', '.join(map(shown, there))}. "
        f"Add what is missing, or map it: canonical name = column in the file.{hint}",
    )


def _convert(table: Table, name: str, kind: str) -> tuple[pl.Series, list[Problem]]:
    series = table.frame[name]
    if kind == UIDS:
        return _uids(table, series)
    if kind == TEXT and series.dtype.is_float():
        series = series.fill_nan(None)  # an id that is not a number is a missing id
    converted = _CONVERT[kind](series)
    bad = np.flatnonzero((_filled(series) & converted.is_null()).to_numpy())
    return converted, _wrong_type(table, name, kind, bad)


def _wrong_type(table: Table, name: str, kind: str, bad: Ints) -> list[Problem]:
    remedy = f"Write {kind} in every cell, or map another column to {name}."
    return table.problem("WRONG_TYPE", bad, f"whose {name} is not {kind}", remedy, name)


def _filled(series: pl.Series) -> pl.Series:
    if series.dtype == pl.String:
        return (series.str.strip_chars() != "").fill_null(False)
    return series.is_not_null()


def _text(series: pl.Series) -> pl.Series:
    if series.dtype.is_nested():
        return _nothing(series, pl.String)
    if series.dtype.is_float():
        whole = series.cast(pl.Int64, strict=False)
        if (whole == series).fill_null(series.is_null()).all():  # pandas makes floats of ids when one is missing
            series = whole
    text = series.cast(pl.String)
    return text.set(_filled(text).not_(), None)


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


def _uids(table: Table, series: pl.Series) -> tuple[pl.Series, list[Problem]]:
    if isinstance(series.dtype, pl.List | pl.Array):
        return _native_uids(table, series)
    if series.dtype.is_nested() or series.dtype == pl.Boolean:
        bad = np.flatnonzero(series.is_not_null().to_numpy())
        return series, _wrong_type(table, series.name, UIDS, bad)
    text = _text(series)
    printed = np.flatnonzero((text.str.starts_with("[") & text.str.ends_with("]")).fill_null(False).to_numpy())
    problems = table.problem(
        "PRINTED_LIST",
        printed,
        f"whose {series.name} is a printed list ([...])",
        "Join the uids of a cell with |, or write native lists to Parquet or JSONL.",
    )
    empty = np.flatnonzero(text.str.contains(r"^\s*\||\|\s*\||\|\s*$").fill_null(False).to_numpy())
    problems += _empty_uid(table, series.name, empty)
    return text.str.split("|").fill_null([]), problems


def _native_uids(table: Table, series: pl.Series) -> tuple[pl.Series, list[Problem]]:
    dtype = series.dtype
    assert isinstance(dtype, pl.List | pl.Array)
    if dtype.inner.is_nested():
        bad = np.flatnonzero(series.is_not_null().to_numpy())
        return series, _wrong_type(table, series.name, UIDS, bad)
    lists = series.cast(pl.List(pl.String)).fill_null([])
    joined = lists.list.eval(pl.element().fill_null(""))
    empty = np.flatnonzero(joined.list.contains("").to_numpy())
    barred = np.flatnonzero(joined.list.join("").str.contains("|", literal=True).to_numpy())
    problems = _empty_uid(table, series.name, empty)
    problems += table.problem(
        "BAR_IN_UID",
        barred,
        f"with a | inside a uid of {series.name}",
        "Use another character: | joins the uids of a cell.",
    )
    return lists, problems


def _empty_uid(table: Table, name: str, bad: Ints) -> list[Problem]:
    return table.problem(
        "EMPTY_UID", bad, f"with an empty uid in {name}", "Give every sentence a uid; write no | at the ends."
    )
