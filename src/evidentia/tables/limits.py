"""How large and how deep an input may be: no honest file comes near these limits, and a hostile one is refused at once.

Parquet has none: it tells its size and its columns before anything is read.
"""

from __future__ import annotations

import gzip
import io
import re
import tomllib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from evidentia.errors import InputError, counted
from evidentia.tables.kinds import refusal

MOST_COLUMNS = 10_000  # of a CSV file
MOST_KEYS = 1_000  # of a JSONL file: every row has a cell for each of them
DEEPEST = 32  # lists and objects inside each other, in a line of JSONL
MOST_PARTS = 32  # of a TOML key, as in a.b.c
LARGEST_TOML = 1_000_000
MAX_BYTES = 1_000_000_000  # of a gzip file, unpacked
max_bytes: ContextVar[int] = ContextVar("max_bytes", default=MAX_BYTES)

_KEY = r'"((?:[^"\\]|\\.)*)"\s*:'
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')
_TOML_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' + r"'''.*?'''|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'|#[^\n]*", re.DOTALL
)
_TOML_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{MOST_PARTS}}}")


def set_max_bytes(limit: int) -> int:
    """Let gzip files unpack to so many bytes from now on."""
    if limit < 1:
        raise InputError(f"max_bytes is {limit}; it must be 1 or more.")
    max_bytes.set(limit)
    return limit


@contextmanager
def unpacking(limit: int | None) -> Iterator[None]:
    """Let gzip files unpack to so many bytes inside; None leaves the limit as it is."""
    before = max_bytes.get()
    set_max_bytes(before if limit is None else limit)
    try:
        yield
    finally:
        max_bytes.set(before)


def gunzip(name: str, data: bytes) -> bytes:
    """Unpack a gzip file, as far as the limit."""
    limit = max_bytes.get()
    try:
        with gzip.open(io.BytesIO(data)) as file:
            content = file.read(limit + 1)
    except (OSError, EOFError, zlib.error):
        raise refusal("BROKEN_GZIP", name=name) from None
    _refuse_size(name, len(data), len(content))
    return content


def refuse_archive(name: str, data: bytes) -> None:
    """Refuse an Excel file, which is a zip archive, that unpacks to more than the limit."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise refusal("BROKEN_XLSX", name=name) from None
    _refuse_size(name, len(data), unpacked)


def _refuse_size(name: str, packed: int, unpacked: int) -> None:
    limit = max_bytes.get()
    if unpacked > limit:
        raise refusal("TOO_LARGE", name=name, size=counted(packed, "byte"), limit=counted(limit, "byte"))


def refuse_columns(name: str, count: int) -> None:
    """Refuse a CSV header with too many names."""
    if count > MOST_COLUMNS:
        raise refusal("TOO_MANY_COLUMNS", name=name, columns=counted(count, "column"), most=MOST_COLUMNS)


def refuse_jsonl(name: str, text: bytes) -> None:
    """Refuse JSONL that is nested too deeply or has too many keys: reading it would take hours or all memory."""
    import polars as pl  # cards are read without it

    lines = pl.Series(text.decode().split("\n"), dtype=pl.String)
    openings = lines.str.count_matches(r"[\[{]").to_numpy()
    for at in np.flatnonzero(openings > DEEPEST).tolist():
        if _depth(lines[at]) > DEEPEST:
            raise refusal("TOO_DEEP", name=name, deepest=DEEPEST, line=at + 1)
    keys = lines.str.extract_all(_KEY).explode().n_unique()
    if keys > MOST_KEYS:
        raise refusal("TOO_MANY_KEYS", name=name, keys=counted(keys, "key"), most=MOST_KEYS)


def _depth(line: str) -> int:
    marks = np.frombuffer(_JSON_STRING.sub("", line).encode(), np.uint8)
    steps = np.isin(marks, list(b"[{")).astype(np.int64) - np.isin(marks, list(b"]}"))
    return int(np.cumsum(steps).max(initial=0))


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML within limits; a ValueError without anything of the file, or tomllib's own, where it is none."""
    if len(text) > LARGEST_TOML:
        raise ValueError(f"it has more than {LARGEST_TOML:,} characters")
    if _TOML_KEY.search(_TOML_STRING.sub("_", text)):
        raise ValueError(f"a key has more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("lists or tables are nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError("a number has too many digits") from None
