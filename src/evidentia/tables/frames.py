"""Tables in memory: data frames of polars, pandas and whoever speaks Arrow, and plain lists and dicts; pyarrow is not needed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import polars as pl

from evidentia.errors import counted, shown
from evidentia.tables.kinds import refusal

DATAFRAME = "<dataframe>"
_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


def frame_of(source: object) -> pl.DataFrame:
    """The table as a frame of polars."""
    if isinstance(source, pl.LazyFrame):
        return _collected(source)
    if isinstance(source, pl.DataFrame):
        return source
    if _is_pandas(source):
        return _from_pandas(source)
    if isinstance(source, Mapping) and all(_is_column(values) for values in source.values()):
        return _from_columns({str(name): list(values) for name, values in source.items()})
    if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
        names = dict.fromkeys(name for row in source for name in row)
        return _from_columns({str(name): [row.get(name) for row in source] for name in names})
    return _from_arrow(source)


def _collected(source: pl.LazyFrame) -> pl.DataFrame:
    try:
        return source.collect()
    except _ERRORS:  # its message may hold a cell's text, and the path of a file
        raise refusal("BROKEN_QUERY") from None


def _is_column(values: object) -> bool:
    return isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)


def _from_columns(columns: Mapping[str, list[Any]]) -> pl.DataFrame:
    """Columns of plain values; NaN is a missing value, and a column must not lose values where its types differ."""
    lengths = {len(values) for values in columns.values()}
    series = [_series(name, values) for name, values in columns.items()] if len(lengths) == 1 else []
    if not series:
        raise refusal("UNEVEN_COLUMNS", lengths=", ".join(map(str, sorted(lengths))) or "none")
    return pl.DataFrame(series)


def _series(name: str, values: list[Any]) -> pl.Series:
    plain = [None if isinstance(value, float) and math.isnan(value) else _plain(value) for value in values]
    kinds = {type(value) for value in plain if value is not None}
    if len(kinds) > 1 and kinds <= {str, int}:  # ids, of which some are numbers
        plain = [None if value is None else str(value) for value in plain]
    elif len(kinds) > 1 and kinds != {int, float}:
        raise refusal("MIXED_COLUMN", column=shown(name))
    try:
        return pl.Series(name, plain, pl.Float64 if kinds == {int, float} else None)
    except (*_ERRORS, TypeError, OverflowError):
        raise refusal("MIXED_COLUMN", column=shown(name)) from None


def _is_pandas(source: object) -> TypeGuard[Any]:
    """Whether this is a data frame of pandas, which need not be installed."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == "pandas" for base in type(source).__mro__
    )


def _from_pandas(frame: Any) -> pl.DataFrame:
    """The columns without the index, one by one (polars would ask for pyarrow); whatever pandas marks as missing is null."""
    names = [str(name) for name in frame.columns]
    if repeated := sorted(name for name, count in Counter(names).items() if count > 1):
        count = counted(len(repeated), "repeated column name")
        raise refusal("DUPLICATE_COLUMN", name=DATAFRAME, names=count, first=f"first: {shown(repeated[0])}")
    return pl.DataFrame([_pandas_series(name, frame.iloc[:, at]) for at, name in enumerate(names)])


def _pandas_series(name: str, column: Any) -> pl.Series:
    try:
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
            return pl.Series(name, column.to_numpy(), nan_to_null=True)
        values = zip(column.astype(object), column.isna(), strict=True)
        return pl.Series(name, [None if missing else _plain(value) for value, missing in values], strict=False)
    except UnicodeEncodeError:  # half of a surrogate pair is no character
        raise refusal("MIXED_COLUMN", column=shown(name)) from None


def _plain(value: Any) -> Any:
    """A cell as Python has it: arrays and tuples are lists, numbers of numpy are numbers."""
    if isinstance(value, np.ndarray):
        return [_plain(inner) for inner in value.tolist()]
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def _from_arrow(source: object) -> pl.DataFrame:
    try:
        if hasattr(source, "__arrow_c_stream__"):
            return pl.DataFrame(source)
    except _ERRORS:  # a single column speaks Arrow too
        pass
    raise refusal("NOT_A_TABLE", kind=type(source).__name__)
