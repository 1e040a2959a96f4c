"""Narrow columns of all queries on the disk, block after block."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Ints

Key = tuple[object, ...]
STRETCH = 1 << 21  # rows of a column that are put in order at once
SAMPLED = 256  # rows of the sample for each stretch


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

    def ascending(self, keys: Sequence[Key]) -> Iterator[tuple[NDArray[Any], ...]]:
        """Columns merged into the order of the first, by which every part is ordered already: stretch by stretch."""
        lengths = np.array(self.lengths(keys[0]), np.int64)
        offsets, (bounds, tied) = np.cumsum(lengths) - lengths, self._bounds(keys[0])
        for at, (starts, ends) in enumerate(itertools.pairwise(bounds)):
            chunks = np.cumsum(ends - starts) // STRETCH if tied[at] else np.zeros(len(lengths), np.int64)
            for chunk in np.unique(chunks):  # equal values may be too many for one stretch, and need no order
                some = chunks == chunk
                columns = [self.ranges(key, (offsets + starts)[some], (ends - starts)[some]) for key in keys]
                if len(columns[0]):
                    order = slice(None) if tied[at] else np.argsort(columns[0])
                    yield tuple(column[order] for column in columns)

    @contextmanager
    def in_order(self, keys: Sequence[Key]) -> Iterator[Iterable[tuple[NDArray[Any], ...]]]:
        """The same for any number of readings; what is too long for the memory is written in that order meanwhile."""
        if sum(self.lengths(keys[0])) <= STRETCH:
            yield list(self.ascending(keys))
            return
        with TemporaryDirectory(dir=self.folder) as folder:
            ordered = ColumnStore(Path(folder))
            for stretch in self.ascending(keys):
                for key, column in zip(keys, stretch, strict=True):
                    ordered.append(key, column)
            yield _Rows(ordered, keys)

    def _bounds(self, key: Key) -> tuple[list[Ints], list[bool]]:
        """Where stretches start in every part, so that no value is in two of them; and in which all values are equal."""
        lengths = np.array(self.lengths(key), np.int64)
        if lengths.sum() <= STRETCH:
            return [np.zeros_like(lengths), lengths], [False]
        step = max(1, STRETCH // SAMPLED)
        sample = np.sort(np.concatenate([part[::step] for part in self.parts(key)]))
        pivots = np.unique(sample[SAMPLED::SAMPLED])
        sides = [[np.searchsorted(part, pivots, side) for side in ("left", "right")] for part in self.parts(key)]
        inner = [np.array(each, np.int64) for each in zip(*(np.ravel(pair, order="F") for pair in sides), strict=True)]
        return [np.zeros_like(lengths), *inner, lengths], [at % 2 == 1 for at in range(len(inner) + 1)]

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


@dataclass(frozen=True)
class _Rows:
    """Some columns, part by part, as often as they are asked for."""

    store: ColumnStore
    keys: Sequence[Key]

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:
        return zip(*(self.store.parts(key) for key in self.keys), strict=True)
