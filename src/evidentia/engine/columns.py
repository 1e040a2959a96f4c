"""Narrow columns of all queries on the disk, block after block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = tuple[object, ...]


@dataclass
class _Column:
    path: Path
    dtype: np.dtype[Any]
    lengths: list[int]


@dataclass
class ColumnStore:
    """Columns by their keys, each in a file of its own; what is read is a copy in memory."""

    folder: Path
    _columns: dict[Key, _Column] = field(default_factory=dict)

    def append(self, key: Key, part: NDArray[Any]) -> None:
        """Write the part of a block behind those before it."""
        if key not in self._columns:
            self._columns[key] = _Column(self.folder / f"{len(self._columns):04d}.column", part.dtype, [])
        column = self._columns[key]
        with column.path.open("ab") as file:
            file.write(np.ascontiguousarray(part, column.dtype).data)
        column.lengths.append(len(part))

    def __contains__(self, key: Key) -> bool:
        return key in self._columns

    def keys(self) -> Iterator[Key]:
        """The keys of all columns."""
        return iter(self._columns)

    def read(self, key: Key) -> NDArray[Any]:
        """A whole column."""
        column = self._columns[key]
        return np.fromfile(column.path, column.dtype)

    def lengths(self, key: Key) -> list[int]:
        """How long the part of every block is."""
        return self._columns[key].lengths

    def parts(self, key: Key) -> Iterator[NDArray[Any]]:
        """A column block by block."""
        column, at = self._columns[key], 0
        for length in column.lengths:
            yield np.fromfile(column.path, column.dtype, length, offset=at * column.dtype.itemsize)
            at += length

    def ranges(self, key: Key, starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[Any]:
        """Some stretches of a column, joined."""
        column = self._columns[key]
        joined = np.empty(int(lengths.sum()), column.dtype)
        at, size = 0, column.dtype.itemsize
        with column.path.open("rb") as file:
            for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
                file.seek(start * size)
                file.readinto(joined[at : at + length].view(np.uint8).data)
                at += length
        return joined
