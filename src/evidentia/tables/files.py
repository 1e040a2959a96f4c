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

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import InputError, counted, shown
from evidentia.tables import damage, limits
from evidentia.tables.damage import refuse
from evidentia.tables.pandas_frame import from_pandas, is_pandas

_FORMATS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
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
            raise InputError(damage.utf16(self.name))
        try:
            _ = self.data.isascii() or self.data.decode()  # most are, and need no copy to tell
        except UnicodeDecodeError as error:
            raise InputError(damage.not_utf8(self.name, self.data, error)) from None
        text = self.data.removeprefix(b"\xef\xbb\xbf")
        if not text or text.isspace():
            raise refuse("EMPTY_FILE", f"{self.name}: 0 rows; the file is empty. Write the table again.")
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
        message = f"{loaded.name}: 0 rows; it has column names (line 1) but no data. Write the table again."
        raise refuse("EMPTY_FILE", message)
    return loaded


def read_content(path: Path) -> Content:
    """Read the bytes of a file and unpack them if they are gzipped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        message = f"{path.name}: no such file. Check the name and the folder."
        raise refuse("MISSING_FILE", message) from None
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        reason = getattr(error, "strerror", None) or "its name is not one"
        message = f"{path.name}: cannot be read ({reason}). Name a readable file."
        raise refuse("UNREADABLE_FILE", message) from None
    sha256 = hashlib.sha256(data).hexdigest()
    if data[:2] == b"\x1f\x8b":
        data = limits.gunzip(path.name, data)
    return Content(path.name, sha256, data)


def _load_file(path: Path, delimiter: str) -> Loaded:
    content = read_content(path)
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    kind = _FORMATS.get(plain.suffix.lower())
    if kind is None:
        known = ", ".join(_FORMATS)
        message = f"{path.name}: unknown format {shown(plain.suffix)}. Name the file {known}; .gz may follow."
        if plain.suffix.lower() == ".json":
            message += " A PHQ-8 run (.json) is judged by `evidentia selective`."
        raise refuse("UNKNOWN_FORMAT", message)
    if kind == "parquet":
        return _load_parquet(content)
    if kind == "jsonl":
        return _load_jsonl(content)
    return _load_csv(content, "\t" if kind == "tsv" and delimiter == "," else delimiter)


def _load_csv(content: Content, delimiter: str) -> Loaded:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        message = f"{content.name}: the delimiter must be one character (ASCII, no quote), not {shown(delimiter)}."
        raise refuse("DELIMITER", f"{message} Use , or ; for example.")
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
        message = (
            f"{name}: the column names cannot be read (line 1). Write them on one line, each ended as the rows are."
        )
        raise refuse("BROKEN_CSV", message) from None
    limits.refuse_columns(name, len(header))
    repeated = sorted(column for column, count in Counter(header).items() if count > 1)
    if repeated:
        message = (
            f"{name}: {counted(len(repeated), 'repeated column name')} "
            f"(line 1: {', '.join(map(shown, repeated[:5]))}{', ...' if repeated[5:] else ''}). "
            "Give every column a name of its own."
        )
        raise refuse("DUPLICATE_COLUMN", message)
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
        raise refuse("EMPTY_FILE", f"{content.name}: 0 rows; the file is empty. Write the table again.")
    try:
        frame = pl.read_parquet(io.BytesIO(content.data))
    except _POLARS_ERRORS:
        message = f"{content.name}: not a Parquet file, or one that is cut short. Write or copy it again."
        raise refuse("BROKEN_PARQUET", message) from None
    return Loaded(content.name, _without_index(frame), _row, content.sha256)


def _load_dataframe(source: object) -> Loaded:
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if is_pandas(source):
        source = from_pandas(source)
    elif not isinstance(source, pl.DataFrame):
        source = _from_arrow(source)
    return Loaded("<dataframe>", _without_index(source), _row)


def _from_arrow(source: object) -> pl.DataFrame:
    try:
        if hasattr(source, "__arrow_c_stream__"):
            return pl.DataFrame(source)
    except _POLARS_ERRORS:  # a single column speaks Arrow too
        pass
    message = f"<dataframe>: a {type(source).__name__} is not a table. Give a path, or a polars, pandas or pyarrow data frame."
    raise refuse("NOT_A_TABLE", message)


def _without_index(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the index that pandas stores beside the columns."""
    return frame.select(pl.exclude("^__index_level_.*$"))


def _line(lines: Callable[[], Ints]) -> Callable[[int], str]:
    lines = cache(lines)
    return lambda row: f"line {lines()[row]}"


def _row(row: int) -> str:
    return f"row {row + 1}"
