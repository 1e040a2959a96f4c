"""Files and data frames as they come: bytes to a frame, with the place of every row for messages."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import InputError, counted, shown
from evidentia.tables import damage, limits
from evidentia.tables.frames import DATAFRAME, frame_of
from evidentia.tables.kinds import refusal

_FORMATS = {
    **{".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv"},
    **{".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"},
    **{".json": "json", ".xlsx": "xlsx"},
}
STDIN = "<stdin>"
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
    notes: tuple[str, ...] = ()


def load(source: object, *, delimiter: str = ",") -> Loaded:
    """Read a CSV, TSV, Parquet, JSONL, JSON or Excel file (each also gzipped), ``-`` for standard input, or a table in memory."""
    if isinstance(source, Loaded):
        loaded = source
    elif isinstance(source, str | os.PathLike):
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
    return _content(path.name, data)


def _content(name: str, data: bytes) -> Content:
    sha256 = hashlib.sha256(data).hexdigest()
    if data[:2] == b"\x1f\x8b":
        data = limits.gunzip(name, data)
    return Content(name, sha256, data)


def _load_file(path: Path, delimiter: str) -> Loaded:
    if str(path) == "-":
        content = _content(STDIN, sys.stdin.buffer.read())
        kind = _kind_of(content.data, delimiter)
    else:
        content = read_content(path)
        suffix = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix
        if suffix.lower() not in _FORMATS:
            raise refusal("UNKNOWN_FORMAT", name=path.name, suffix=shown(suffix), known=", ".join(_FORMATS))
        kind = _FORMATS[suffix.lower()]
    if kind in {"csv", "tsv"}:
        return _load_csv(content, "\t" if kind == "tsv" and delimiter == "," else delimiter)
    return {"parquet": load_parquet, "jsonl": _load_jsonl, "json": _load_json, "xlsx": _load_xlsx}[kind](content)


def _kind_of(data: bytes, delimiter: str) -> str:
    """The format of what has no name, by its first bytes."""
    if data[:4] in _MAGIC:
        return _MAGIC[data[:4]]
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in {b"[", b"{"}:
        return "json" if text[:1] == b"[" else "jsonl"
    header = text.partition(b"\n")[0]
    return "tsv" if b"\t" in header and delimiter.encode() not in header else "csv"


PARQUET = b"PAR1"  # how a Parquet file begins
_MAGIC = {PARQUET: "parquet", b"PK\x03\x04": "xlsx"}


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
    _refuse_repeated(name, header, "line 1")
    return header


def _refuse_repeated(name: str, header: Sequence[str], place: str) -> None:
    repeated = sorted(column for column, count in Counter(header).items() if count > 1)
    if repeated:
        first = f"{place}: {', '.join(map(shown, repeated[:5]))}{', ...' if repeated[5:] else ''}"
        names = counted(len(repeated), "repeated column name")
        raise refusal("DUPLICATE_COLUMN", name=name, names=names, first=first)


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


def _load_json(content: Content) -> Loaded:
    from evidentia.tables.document import read_document

    document = read_document(content)
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        raise refusal("NOT_AN_ARRAY", name=content.name)
    if not document:
        raise refusal("EMPTY_FILE", name=content.name)
    lines = "\n".join(json.dumps(row) for row in document)
    try:
        return replace(_load_jsonl(replace(content, data=lines.encode())), place=_row)
    except InputError as error:  # of a row that is a line there only
        places = (replace(one, message=re.sub(r"\bon line (\d)", r"in row \1", one.message)) for one in error.problems)
        raise InputError(*places) from None


def _load_xlsx(content: Content) -> Loaded:
    """The first sheet of an Excel file."""
    try:
        import fastexcel
    except ImportError:
        raise refusal("NEEDS_XLSX", name=content.name) from None
    limits.refuse_archive(content.name, content.data)
    try:
        frame = pl.read_excel(
            io.BytesIO(content.data), engine="calamine", infer_schema_length=None, drop_empty_rows=False
        )
        book = fastexcel.read_excel(content.data)
        names = book.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars().row(0)
    except (*_POLARS_ERRORS, fastexcel.FastExcelError):
        raise refusal("BROKEN_XLSX", name=content.name) from None
    _refuse_repeated(content.name, [str(name) for name in names if name is not None], "row of names")
    rows = np.flatnonzero(frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().to_numpy())
    others = sum(_has_cells(book, at) for at in range(1, len(book.sheet_names)))
    unread = f"{content.name}: the first sheet is read, and not what is in {counted(others, 'further sheet')}."
    return Loaded(
        *(content.name, frame[rows], lambda row: _row(int(rows[row])), content.sha256),
        notes=(unread,) if others else (),
    )


def _has_cells(book: Any, at: int) -> bool:
    """Whether a sheet of a workbook holds any cell; one that is a chart cannot be loaded."""
    from fastexcel import FastExcelError

    try:
        return bool(book.load_sheet(at, header_row=None, n_rows=1).height)
    except FastExcelError:
        return False


def load_parquet(content: Content) -> Loaded:
    """The table of a Parquet file."""
    if not content.data:
        raise refusal("EMPTY_FILE", name=content.name)
    try:
        frame = pl.read_parquet(io.BytesIO(content.data))
    except _POLARS_ERRORS:
        raise refusal("BROKEN_PARQUET", name=content.name) from None
    return Loaded(content.name, _without_index(frame), _row, content.sha256)


def _load_dataframe(source: object) -> Loaded:
    return Loaded(DATAFRAME, _without_index(frame_of(source)), _row)


def _without_index(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the index that pandas stores beside the columns."""
    return frame.select(pl.exclude("^__index_level_.*$"))


def _line(lines: Callable[[], Ints]) -> Callable[[int], str]:
    lines = cache(lines)
    return lambda row: f"line {lines()[row]}"


def _row(row: int) -> str:
    return f"row {row + 1}"
