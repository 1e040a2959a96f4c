"""A table in any number of Parquet files: which files, which columns, and where one post ends and the next begins."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.engine.parquet import row_group_sizes
from evidentia.errors import InputError, Problem, counted, shown
from evidentia.tables.run import Source

SUFFIXES = (".parquet", ".pq")
_READING = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


@dataclass(frozen=True)
class ParquetFile:
    """A file of a table, by a path from the folder of the table, and how many rows each of its row groups has."""

    path: Path
    name: str
    row_groups: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return sum(self.row_groups)

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        group = int(np.searchsorted(np.cumsum(self.row_groups), row, side="right"))
        return f"row {row + 1} of {self.name} (row group {group + 1})"


@dataclass(frozen=True)
class Span:
    """Some rows of a file."""

    file: ParquetFile
    start: int
    stop: int


@dataclass(frozen=True)
class Dataset:
    """A table in Parquet files, in the order of their names. A copy in another order knows the rows of its ``origin``."""

    role: str
    name: str
    files: tuple[ParquetFile, ...]
    schema: Mapping[str, pl.DataType]
    hive: bool
    origin: Dataset | None = None

    @cached_property
    def starts(self) -> Ints:
        """The row of the table at which each file starts, and the end of the last."""
        return np.concatenate([[0], np.cumsum([file.rows for file in self.files])])

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.starts[-1])

    def scan(self, span: Span, columns: Sequence[str] | None = None) -> pl.LazyFrame:
        """Some rows of a file."""
        lazy = pl.scan_parquet(span.file.path, hive_partitioning=self.hive, glob=False)
        lazy = lazy.slice(span.start, span.stop - span.start)
        return lazy if columns is None else lazy.select(columns)

    def spans(self, start: int, stop: int) -> tuple[Span, ...]:
        """Some rows of the table, file by file."""
        spans = []
        for file, first in zip(self.files, self.starts[:-1].tolist(), strict=True):
            low, high = max(start - first, 0), min(stop - first, file.rows)
            if low < high:
                spans.append(Span(file, low, high))
        return tuple(spans)

    def place(self, row: int) -> str:
        """Where a row of the table is, for messages."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.files[at].place(row - int(self.starts[at]))

    def whole(self) -> Iterator[Span]:
        """All rows, file by file."""
        return (Span(file, 0, file.rows) for file in self.files)


def is_dataset(path: Path) -> bool:
    """Whether a path is a Parquet file, or a folder that holds some."""
    if path.is_dir():
        return next(_files_below(path), None) is not None
    return path.suffix.lower() in SUFFIXES


def dataset(path: Path, role: str) -> Dataset:
    """Find the files of a table and read what their footers say; all problems at once."""
    called = path.name or path.resolve().name  # . has none
    if not path.exists():
        raise InputError(Problem("MISSING_FILE", f"{called} does not exist. Check the name and the folder."))
    paths = sorted(_files_below(path)) if path.is_dir() else [path]
    if not paths:
        raise InputError(
            Problem("NO_FILES", f"{called} holds no Parquet file. Give a folder with files that end in .parquet.")
        )
    names = [each.relative_to(path).as_posix() if path.is_dir() else each.name for each in paths]
    hive = any(re.search(r"(^|/)[^/=]+=[^/]*/", name) for name in names)
    files, problems = [], []
    schemas: list[Mapping[str, pl.DataType]] = []
    for each, name in zip(paths, names, strict=True):
        try:
            files.append(ParquetFile(each.absolute(), name, row_group_sizes(each)))  # workers may stand elsewhere
            schemas.append(pl.scan_parquet(each, hive_partitioning=hive, glob=False).collect_schema())
        except _READING:
            problems.append(
                Problem("NOT_PARQUET", f"{name} is not a whole Parquet file. Write it again, or take it away.")
            )
    problems += _other_columns(names, schemas) if not problems else []
    if problems:
        raise InputError(*problems)
    table = Dataset(role, called, tuple(files), schemas[0], hive)
    if not table.rows:
        raise InputError(Problem("NO_ROWS", f"{called} holds no rows."))
    return table


def _files_below(folder: Path) -> Iterator[Path]:
    """The Parquet files of a folder, without those that a program has hidden or put aside."""
    for path in folder.rglob("*"):
        inside = path.relative_to(folder).parts
        if path.suffix.lower() in SUFFIXES and path.is_file() and not any(part[0] in "._" for part in inside):
            yield path


def _other_columns(names: Sequence[str], schemas: Sequence[Mapping[str, pl.DataType]]) -> list[Problem]:
    """Files whose columns are not those of the first, by name or type."""
    problems = []
    first = schemas[0]
    for name, schema in zip(names[1:], schemas[1:], strict=True):
        missing = [column for column in first if column not in schema]
        more = [column for column in schema if column not in first]
        other = [column for column in first if column in schema and not _alike(schema[column], first[column])]
        words = [f"lacks {shown(column)}" for column in missing] + [f"has {shown(column)} too" for column in more]
        words += [f"{shown(column)} is {schema[column]}, not {first[column]}" for column in other]
        if words:
            message = f"{name} {', '.join(words)}: its columns differ from those of {names[0]}. Write them alike."
            problems.append(Problem("OTHER_COLUMNS", message))
    return problems


def _alike(one: pl.DataType, other: pl.DataType) -> bool:
    """Whether two types are read the same: all whole numbers are, and all texts."""
    if one == other or (one.is_integer() and other.is_integer()):
        return True
    return all(each in (pl.String, pl.Categorical) or isinstance(each, pl.Enum) for each in (one, other))


@contextmanager
def hashed(tables: Mapping[str, Path]) -> Iterator[Callable[[], tuple[Source, ...]]]:
    """Hash the files of some tables while something else is done; the call that is given waits for the hashes."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: tuple(each for role, path in tables.items() for each in _sources(role, path)))
        yield future.result


def _sources(role: str, path: Path) -> Iterator[Source]:
    for file in dataset(path, role).files:
        with file.path.open("rb") as opened:
            yield Source(role, file.name, hashlib.file_digest(opened, "sha256").hexdigest(), file.rows)


def read_spans(table: Dataset, spans: Sequence[Span], columns: Sequence[str]) -> pl.DataFrame:
    """The rows of some spans; one that cannot be read is named with its file and row groups."""
    frames = []
    for span in spans:
        try:
            frames.append(table.scan(span, columns).collect())
        except _READING:
            if not span.file.path.exists():
                raise InputError(
                    Problem(
                        "MISSING_FILE",
                        f"{span.file.name} was there and is not, or a worker does not see it. Leave files alone while they are "
                        "read, and give all workers the same folders under the same paths.",
                    )
                ) from None
            first, last = span.file.place(span.start), span.file.place(span.stop - 1)
            raise InputError(
                Problem(
                    "DAMAGED_FILE",
                    f"{span.file.name} cannot be read between {first} and {last}: it is damaged. Write it again. "
                    f"{counted(span.stop - span.start, 'row')} were to be read.",
                )
            ) from None
    return pl.concat(frames, how="vertical_relaxed") if len(frames) != 1 else frames[0]
