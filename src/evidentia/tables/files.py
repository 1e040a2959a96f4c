"""Files and data frames as they come: bytes to a frame, with the place of every row for messages."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import InputError, counted, shown
from evidentia.tables import damage, limits
from evidentia.tables.kinds import refusal

_FORMATS = {
    **{".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv"},
    **{".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"},
}
_POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


@dataclass(frozen=True, eq=False)
class Content:
    """The bytes of a file, unpacked; the hash is that of the file as it lies on the disk."""

    name: str
    sha256: str
    data: bytes

    def text(self) -> bytes:
        """The bytes as UTF-8 without a byte order mark, or an error that names the first wrong byte.

        Lines that end in a bare CR, as old Macs wrote them, end in LF afterwards.
        """
        if self.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise refusal("UTF16", name=self.name)
        try:
            _ = self.data.isascii() or self.data.decode()  # most are, and need no copy to tell
        except UnicodeDecodeError as error:
            raise InputError(damage.not_utf8(self.name, self.data, error)) from None
        text = self.data.removeprefix(b"\xef\xbb\xbf")
        if not text or text.isspace():
            raise refusal("EMPTY_FILE", name=self.name)
        return text if b"\n" in text or b"\r" not in text else text.replace(b"\r", b"\n")


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table as it was found. ``place`` says where a row is: a line of a text file, else a row number.

    ``delimited`` marks CSV and TSV, the formats whose cells may be quoted against spreadsheets.
    """

    name: str
    frame: pl.DataFrame
    place: Callable[[int], str]
    sha256: str | None = None
    delimited: bool = False


def load(source: object, *, delimiter: str = ",") -> Loaded:
    """Read a CSV, TSV, Parquet or JSONL file (each also gzipped), or any data frame that speaks Arrow."""
    if isinstance(source, str | os.PathLike):
        loaded = _load_file(Path(source), delimiter)
    else:
        loaded = _load_dataframe(source)
    if loaded.frame.height == 0:
        raise refusal("NO_ROWS", name=loaded.name)
    return loaded


def read_content(path: Path) -> Content:
    """Read the bytes of a file and unpack them if they are gzipped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise refusal("MISSING_FILE", name=path.name) from None
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        reason = getattr(error, "strerror", None) or "its name is not one"
        raise refusal("UNREADABLE_FILE", name=path.name, reason=reason) from None
    sha256 = hashlib.sha256(data).hexdigest()
    if data[:2] == b"\x1f\x8b":
        data = limits.gunzip(path.name, data)
    return Content(path.name, sha256, data)


def _load_file(path: Path, delimiter: str) -> Loaded:
    content = read_content(path)
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    kind = _FORMATS.get(plain.suffix.lower())
    if kind is None:
        known, is_json = ", ".join(_FORMATS), plain.suffix.lower() == ".json"
        hint = " A PHQ-8 run (.json) is judged by `evidentia selective`." if is_json else ""
        raise refusal("UNKNOWN_FORMAT", name=path.name, suffix=shown(plain.suffix), known=known, hint=hint)
    if kind == "parquet":
        return _load_parquet(content)
    if kind == "jsonl":
        return _load_jsonl(content)
    return _load_csv(content, "\t" if kind == "tsv" and delimiter == "," else delimiter)


def _load_csv(content: Content, delimiter: str) -> Loaded:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise refusal("DELIMITER", name=content.name, delimiter=shown(delimiter))
    text = content.text().rstrip(b"\r\n")
    header = _distinct_columns(content.name, text, delimiter)
    try:
        frame = pl.read_csv(text, separator=delimiter, infer_schema=False)
    except _POLARS_ERRORS:  # its message may hold a cell's text
        raise InputError(*damage.broken_csv(content.name, text, delimiter)) from None
    if _may_have_short_rows(frame, text, delimiter) and (problems := damage.ragged(content.name, text, delimiter)):
        raise InputError(*problems)
    doubled = {column: name for column, name in zip(frame.columns, header, strict=False) if '""' in column}
    frame = frame.rename(doubled)  # polars leaves a name's quotes doubled
    return Loaded(content.name, frame, _line(lambda: damage.csv_lines(text, delimiter)), content.sha256, True)


def _distinct_columns(name: str, text: bytes, delimiter: str) -> list[str]:
    """The names of the columns, refused if one comes twice."""
    first = text.lstrip(b"\r\n").split(b"\n", 1)[0].decode()
    try:
        header = next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error:  # a stray CR, or a cell beyond the size that Python's reader takes
        raise refusal("BROKEN_HEADER", name=name) from None
    limits.refuse_columns(name, len(header))
    repeated = sorted(column for column, count in Counter(header).items() if count > 1)
    if repeated:
        first = f"line 1: {', '.join(map(shown, repeated[:5]))}{', ...' if repeated[5:] else ''}"
        names = counted(len(repeated), "repeated column name")
        raise refusal("DUPLICATE_COLUMN", name=name, names=names, first=first)
    return header


def _may_have_short_rows(frame: pl.DataFrame, text: bytes, delimiter: str) -> bool:
    """Whether a row may lack cells, which polars fills up silently; rows with too many cells it refuses."""
    if not frame.height or not frame.to_series(-1).null_count():
        return False
    cells = (frame.width - 1) * (frame.height + 1)
    return b'"' in text or text.count(delimiter.encode()) != cells


def _load_jsonl(content: Content) -> Loaded:
    text = content.text()
    limits.refuse_jsonl(content.name, text)
    try:
        frame = pl.read_ndjson(io.BytesIO(text), infer_schema_length=None)
    except _POLARS_ERRORS:
        raise InputError(*damage.broken_jsonl(content.name, text)) from None
    if problems := damage.repeated_keys(content.name, text):
        raise InputError(*problems)
    lines = _line(lambda: np.asarray([number for number, _ in damage.json_lines(text)], np.int64))
    return Loaded(content.name, frame, lines, content.sha256)


def _load_parquet(content: Content) -> Loaded:
    if not content.data:
        raise refusal("EMPTY_FILE", name=content.name)
    try:
        frame = pl.read_parquet(io.BytesIO(content.data))
    except _POLARS_ERRORS:
        raise refusal("BROKEN_PARQUET", name=content.name) from None
    return Loaded(content.name, _without_index(frame), _row, content.sha256)


def _load_dataframe(source: object) -> Loaded:
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if _is_pandas(source):
        source = _from_pandas(source)
    elif not isinstance(source, pl.DataFrame):
        source = _from_arrow(source)
    return Loaded("<dataframe>", _without_index(source), _row)


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
        raise refusal("DUPLICATE_COLUMN", name="<dataframe>", names=count, first=f"first: {shown(repeated[0])}")
    return pl.DataFrame([_pandas_series(name, frame.iloc[:, at]) for at, name in enumerate(names)])


def _pandas_series(name: str, column: Any) -> pl.Series:
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


def _from_arrow(source: object) -> pl.DataFrame:
    try:
        if hasattr(source, "__arrow_c_stream__"):
            return pl.DataFrame(source)
    except _POLARS_ERRORS:  # a single column speaks Arrow too
        pass
    raise refusal("NOT_A_TABLE", kind=type(source).__name__)


def _without_index(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the index that pandas stores beside the columns."""
    return frame.select(pl.exclude("^__index_level_.*$"))


def _line(lines: Callable[[], Ints]) -> Callable[[int], str]:
    lines = cache(lines)
    return lambda row: f"line {lines()[row]}"


def _row(row: int) -> str:
    return f"row {row + 1}"
