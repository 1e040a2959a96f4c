"""The Parquet files that a result was made from: which there are, whether they are the same, and their rows part by part."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.errors import InputError
from evidentia.verify.course import UnreadableError
from evidentia.verify.tally import Tally

SUFFIXES = (".parquet", ".pq")
LISTS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")
ROLES = ("run", "candidates")


@dataclass(frozen=True)
class SourceTable:
    """A table in files below a folder, by their names in the manifest; ``mapping`` gives columns other names."""

    role: str
    files: Mapping[str, Path]
    mapping: Mapping[str, str]

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns of the first file, and those that the names of folders give."""
        name, path = next(iter(self.files.items()))
        with reading(name):
            return {**pl.read_parquet_schema(path), **dict.fromkeys(_named(name), pl.String())}

    def own(self, column: str) -> str | None:
        """The name that the files have for a column; None where they lack it."""
        name = self.mapping.get(column, column)
        return name if name in self.schema else None

    def has(self, *columns: str) -> bool:
        """Whether all of these columns are there."""
        return all(self.own(column) is not None for column in columns)

    @cached_property
    def is_long(self) -> bool:
        """Whether a row is a sentence of a query, with its score and its mark."""
        return self.has("sent_uid", "score", "is_gold") and not any(self.has(column) for column in LISTS)

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """How many rows each file has."""
        rows = {}
        for name, path in self.files.items():
            with reading(name):
                rows[name] = int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
        return rows

    def parts(self, expressions: Mapping[str, pl.Expr], size: int) -> Iterator[pl.DataFrame]:
        """Some columns of all rows, not more than so many rows at once."""
        for name, path in self.files.items():
            places = {column: pl.lit(value) for column, value in _named(name).items()}
            for start in range(0, self.rows[name], size):
                lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False).slice(start, size)
                lazy = lazy.with_columns(**places) if places else lazy
                with reading(name):
                    part = lazy.select(**expressions).collect()
                yield part


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Say which file cannot be read, whatever is wrong with it."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise UnreadableError(f"{name} cannot be read as Parquet ({type(error).__name__}).") from None


def _named(name: str) -> dict[str, str]:
    """The columns that the folders of a file give, such as fold=1.

    >>> _named("fold=1/part.parquet")
    {'fold': '1'}
    """
    parts = (part.partition("=") for part in name.split("/")[:-1])
    return {column: value for column, sign, value in parts if sign}


def files_of(path: Path) -> dict[str, Path]:
    """The Parquet files of a table by their names below its folder; hidden ones are none."""
    if not path.is_dir():
        return {path.name: path} if path.is_file() else {}
    below = {each.relative_to(path).as_posix(): each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES}
    return {name: below[name] for name in sorted(below) if not re.search(r"(^|/)[._]", name) and below[name].is_file()}


def tables_of(manifest: Mapping[str, Any], places: Mapping[str, Path]) -> dict[str, SourceTable]:
    """The tables that were given, under the names that the result was read with; none may be empty."""
    reading = manifest["options"]["reading"]
    shared = dict(reading["mapping"] or {})
    tables = {}
    for role, path in places.items():
        files = files_of(path)
        if not files:
            raise InputError(
                f"{path.name} is no Parquet file and holds none. Name the {role} that the result was made from."
            )
        there = SourceTable(role, files, {}).schema
        mapping = shared if role == "run" else {n: c for n, c in shared.items() if n not in there and c in there}
        mapping |= dict(reading["candidates_mapping"] or {}) if role == "candidates" else {}
        tables[role] = SourceTable(role, files, mapping)
    return tables


def places_in(manifest: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Where the tables are below a folder that holds them all: files by their names, one for each table."""
    names: dict[str, list[str]] = {}
    for source in manifest["inputs"]:
        names.setdefault(str(source["role"]), []).append(str(source["name"]))
    if any(len(files) > 1 for files in names.values()):
        raise InputError(
            "This result was made from folders of files. Name them: --run FOLDER, and --candidates FOLDER."
        )
    return {role: folder / file for role, (file,) in names.items()}


def check_sources(manifest: Mapping[str, Any], tables: Mapping[str, SourceTable], tally: Tally) -> None:
    """The files of every table that was given are those of the manifest, with the same bytes and as many rows."""
    for role, table in tables.items():
        listed = {source["name"]: source for source in manifest["inputs"] if source["role"] == role}
        tally.exact(f"{role}: files", list(listed), list(table.files))
        for name in [name for name in listed if name in table.files]:
            with table.files[name].open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            tally.exact(f"{role}: {name}: SHA-256", listed[name]["sha256"], digest)
            tally.exact(f"{role}: {name}: rows", listed[name]["rows"], table.rows[name])


def missing_roles(manifest: Mapping[str, Any], tables: Sequence[str]) -> list[str]:
    """The tables that the result was made from and that were not given."""
    roles = dict.fromkeys(str(source["role"]) for source in manifest["inputs"])
    return [role for role in roles if role not in tables]
