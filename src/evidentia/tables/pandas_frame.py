"""A pandas data frame as a polars one, column by column: polars would ask for pyarrow, which is not needed here."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeGuard

import numpy as np
import polars as pl

from evidentia.errors import counted, shown
from evidentia.tables.damage import refuse


def is_pandas(source: object) -> TypeGuard[Any]:
    """Whether this is a data frame of pandas, which need not be installed."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == "pandas" for base in type(source).__mro__
    )


def from_pandas(frame: Any) -> pl.DataFrame:
    """The columns without the index; whatever pandas marks as missing is null."""
    names = [str(name) for name in frame.columns]
    if repeated := sorted(name for name, count in Counter(names).items() if count > 1):
        message = (
            f"<dataframe>: {counted(len(repeated), 'repeated column name')} (first: {shown(repeated[0])}). "
            "Give every column a name of its own."
        )
        raise refuse("DUPLICATE_COLUMN", message)
    return pl.DataFrame([_series(name, frame.iloc[:, at]) for at, name in enumerate(names)])


def _series(name: str, column: Any) -> pl.Series:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = zip(column.astype(object), column.isna(), strict=True)
    return pl.Series(name, [None if missing else _plain(value) for value, missing in values], strict=False)


def _plain(value: Any) -> Any:
    """A cell as Python has it: arrays and tuples are lists, numbers of numpy are numbers."""
    if isinstance(value, np.ndarray):
        return [_plain(inner) for inner in value.tolist()]
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value
