"""The pixels of a PNG file: two files that show the same may be compressed differently."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by colour type; a palette is not what we draw


def same_picture(first: bytes, other: bytes) -> bool:
    """Whether two files show the same pixels, and hold nothing else that differs.

    >>> same_picture(b"no picture", b"no picture"), same_picture(b"no picture", b"another")
    (True, False)
    """
    if first == other:
        return True
    try:
        (around, rows), (others, other_rows) = _parts(first), _parts(other)
        return around == others and all(row == again for row, again in zip(rows, other_rows, strict=True))
    except (ValueError, struct.error, zlib.error, IndexError):
        return False


def _parts(data: bytes) -> tuple[list[tuple[bytes, bytes]], Iterator[bytes]]:
    """All chunks but the compressed pixels, and the rows of pixels, each decoded when it is asked for."""
    chunks = list(_chunks(data))
    around = [(kind, content) for kind, content in chunks if kind != b"IDAT"]
    if not around or around[0][0] != b"IHDR":
        raise ValueError("no header")
    width, height, depth, colour, *_, interlaced = struct.unpack(">IIBBBBB", around[0][1])
    if depth != 8 or interlaced or colour not in CHANNELS:
        raise ValueError("a kind of PNG that is not drawn here")
    raw = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    return around, _unfiltered(raw, height, width * CHANNELS[colour], CHANNELS[colour])


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(SIGNATURE):
        raise ValueError("no PNG")
    at = len(SIGNATURE)
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        content = data[at + 8 : at + 8 + size]
        if struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] != zlib.crc32(kind + content):
            raise ValueError("a damaged chunk")
        yield kind, content
        at += 12 + size


def _unfiltered(raw: bytes, height: int, stride: int, step: int) -> Iterator[bytes]:
    """Undo the filters of the rows (PNG specification, section 9)."""
    if len(raw) != height * (stride + 1):
        raise ValueError("rows are missing")
    before = bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        before = _row(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), before, step)
        yield bytes(before)


def _row(kind: int, line: bytearray, above: bytearray, step: int) -> bytearray:
    if kind > 4:
        raise ValueError("an unknown filter")
    for at in range(len(line)) if kind else ():
        left, corner = (line[at - step], above[at - step]) if at >= step else (0, 0)
        guess = (0, left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))[kind]
        line[at] = (line[at] + guess) & 255
    return line


def _paeth(left: int, above: int, corner: int) -> int:
    near = left + above - corner
    return min((left, above, corner), key=lambda value: abs(near - value))
