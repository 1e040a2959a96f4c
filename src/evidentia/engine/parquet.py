"""How many rows each row group of a Parquet file has, from its footer: what polars does not tell, and messages name.

The footer is a Thrift structure in the compact protocol; only the way to ``FileMetaData.row_groups[].num_rows`` is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MAGIC = b"PAR1"
ROW_GROUPS, NUM_ROWS = 4, 3  # field numbers in FileMetaData and RowGroup
BOOLS, BYTE, WHOLE, DOUBLE, BINARY, LISTS, MAP, STRUCT = {1, 2}, 3, {4, 5, 6}, 7, 8, {9, 10}, 11, 12


def row_group_sizes(path: Path) -> tuple[int, ...]:
    """The number of rows of every row group; ValueError where the file does not end as a Parquet file does."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 12:
            raise ValueError("too short")
        file.seek(-8, 2)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != MAGIC or length + 12 > size:
            raise ValueError("no footer")
        file.seek(-8 - length, 2)
        footer = _Compact(file.read(length))
    try:
        sizes = tuple(_sizes(footer))
    except (IndexError, RecursionError):
        raise ValueError("a footer that ends too soon") from None
    if min(sizes, default=0) < 0:
        raise ValueError("a footer that counts below zero")
    return sizes


def _sizes(footer: _Compact) -> Iterator[int]:
    for field, kind in footer.fields():
        if field != ROW_GROUPS:
            footer.skip(kind)
            continue
        count, _ = footer.list_header()
        for _ in range(count):
            for inner, inner_kind in footer.fields():
                if inner == NUM_ROWS:
                    yield footer.whole_number()
                else:
                    footer.skip(inner_kind)


class _Compact:
    """A reader of Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def whole_number(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def fields(self) -> Iterator[tuple[int, int]]:
        """The numbers and kinds of a structure's fields; each must be read or skipped before the next."""
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.whole_number()
            yield number, head & 0x0F

    def list_header(self) -> tuple[int, int]:
        head = self.byte()
        return (self.varint() if head >> 4 == 15 else head >> 4), head & 0x0F

    def skip(self, kind: int, *, inside: bool = False) -> None:
        """Pass over a value; a bool of a list has a byte of its own, one of a structure has none."""
        if self.at > len(self.data):  # else a damaged count would be counted to its end
            raise IndexError
        if kind in BOOLS:
            self.at += inside
        elif kind == BYTE:
            self.at += 1
        elif kind in WHOLE:
            self.varint()
        elif kind == DOUBLE:
            self.at += 8
        elif kind == BINARY:
            length = self.varint()
            self.at += length
        elif kind in LISTS:
            count, element = self.list_header()
            for _ in range(count):
                self.skip(element, inside=True)
        elif kind == MAP:
            self._skip_map()
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner)
        else:
            raise ValueError("an unknown kind of value")

    def _skip_map(self) -> None:
        if count := self.varint():
            kinds = self.byte()
            for _ in range(count):
                self.skip(kinds >> 4, inside=True)
                self.skip(kinds & 0x0F, inside=True)
