"""Posts in files of any size, JSON Lines or Parquet: found, hashed, and read one partition at a time."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, cast

import polars as pl

from evidentia.corpus.read import DOCUMENTS, find
from evidentia.corpus.records import Record, decoded
from evidentia.corpus.rows import columns_of, row_records
from evidentia.errors import InputError, Problem
from evidentia.tables.document import Faults
from evidentia.tables.files import PARQUET
from evidentia.tables.kinds import refusal

LONGEST_LINE = 16_000_000  # bytes; a longer one is no post
_LINES, _ROWS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), (".parquet", ".pq")
_POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
_MARK = b"\xef\xbb\xbf"  # of UTF-8, before the first line


@dataclass(frozen=True)
class PostFile:
    """A file of posts and what it was when it was hashed."""

    path: Path
    size: int
    sha256: str
    changed: int  # when it was last changed, in nanoseconds

    @property
    def is_unchanged(self) -> bool:
        """Whether it still looks as it did, without reading it again."""
        status = self.path.stat()
        return (status.st_size, status.st_mtime_ns) == (self.size, self.changed)


@dataclass(frozen=True)
class Partition:
    """Posts that follow each other in a file: its number, the bytes or rows they take up, the first line or row, how many."""

    file: int
    start: int
    stop: int
    first: int
    posts: int


def post_files(path: Path | str) -> list[Path]:
    """The files of posts that a path means: itself, the documents.jsonl of a folder, or all of its files in name order."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    if any((path / name).exists() for name in (DOCUMENTS, f"{DOCUMENTS}.gz")):
        return [find(path, DOCUMENTS)]
    named = sorted(
        each for each in path.iterdir() if each.name.lower().endswith((*_LINES, *_ROWS)) and each.name[0] != "."
    )
    if not named:
        message = f"{path.name}: no {DOCUMENTS}, and no other .jsonl or .parquet file. Check the name and the folder."
        raise InputError(Problem("MISSING_FILE", message))
    return named


def hashed(path: Path) -> PostFile:
    """A file with its hash."""
    with _reading(path), path.open("rb") as file:
        status = path.stat()
        return PostFile(path, status.st_size, hashlib.file_digest(file, "sha256").hexdigest(), status.st_mtime_ns)


def partitions(number: int, path: Path, posts: int, faults: Faults) -> Iterator[tuple[Partition, Iterator[Record]]]:
    """A file from one end to the other, so many posts at a time, with the records of each partition."""
    if is_parquet(path):
        rows = _height(path)
        for start in range(0, rows, posts):
            stop = min(start + posts, rows)
            yield Partition(number, start, stop, start + 1, stop - start), _rows(path, start, stop)
        return
    with _reading(path), _opened(path) as file:
        lines = _lines(path, file)
        while chunk := list(islice(lines, posts)):
            (first, start, _), (_, last, line) = chunk[0], chunk[-1]
            partition = Partition(number, start, last + len(line), first, len(chunk))
            yield partition, decoded(((at, one) for at, _, one in chunk), faults)


@dataclass(eq=False)
class PartitionReader:
    """Reads partitions of files, best in their order: what is packed can only be read forwards."""

    paths: list[Path]
    _open: tuple[int, IO[bytes]] | None = field(default=None, repr=False)

    def records(self, partition: Partition, faults: Faults) -> Iterator[Record]:
        """The records of a partition."""
        path = self.paths[partition.file]
        if is_parquet(path):
            return _rows(path, partition.start, partition.stop)
        with _reading(path):
            file = self._file(partition.file)
            file.seek(partition.start)
            data = file.read(partition.stop - partition.start)
        lines = enumerate(data.split(b"\n"), partition.first)
        return decoded(((number, line) for number, line in lines if line.strip()), faults)

    def _file(self, number: int) -> IO[bytes]:
        if self._open is None or self._open[0] != number:
            self.close()
            self._open = number, _opened(self.paths[number])
        return self._open[1]

    def close(self) -> None:
        """Close the file that was read last."""
        if self._open is not None:
            self._open[1].close()
            self._open = None


def is_parquet(path: Path) -> bool:
    """Whether a file is named as Parquet, or begins like it."""
    if path.name.lower().endswith(_ROWS):
        return True
    with _reading(path), path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def _height(path: Path) -> int:
    with _reading(path), _parquet(path):
        return int(_scan(path).select(pl.len()).collect().item())


def _rows(path: Path, start: int, stop: int) -> Iterator[Record]:
    with _reading(path), _parquet(path, f"rows {start + 1:,} to {stop:,} cannot be read: "):
        table = _scan(path)
        there = columns_of(table.collect_schema().names(), path.name)
        frame = table.select(there).slice(start, stop - start).collect()
    return row_records(frame, path.name, start + 1)


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _lines(path: Path, file: IO[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """The lines that are not blank, with their numbers from 1 and the places where they start."""
    start = len(_MARK) if file.read(len(_MARK)) == _MARK else 0
    file.seek(start)
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and line[-1:] != b"\n":
            message = (
                f"{path.name}: line {number} is longer than {LONGEST_LINE // 1_000_000} MB. Write one post per line."
            )
            raise InputError(Problem("BROKEN_JSON", message))
        if line.strip():
            yield number, start, line
        start += len(line)


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say it in one line where a file cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise refusal("MISSING_FILE", name=path.name) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise refusal("BROKEN_GZIP", name=path.name) from None
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        reason = getattr(error, "strerror", None) or "its name is not one"
        raise refusal("UNREADABLE_FILE", name=path.name, reason=reason) from None


@contextmanager
def _parquet(path: Path, place: str = "") -> Iterator[None]:
    """Say it in one line where a file is no Parquet; the words of polars may hold a text."""
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except _POLARS_ERRORS:
        message = f"{path.name}: {place}not a Parquet file, or one that is damaged. Write or copy it again."
        raise InputError(Problem("BROKEN_PARQUET", message)) from None
