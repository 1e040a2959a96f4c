"""Figures as SVG, PNG and PDF files, drawn by the same specification as in the page, and whether two PNG files show the same."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from evidentia.report.page.engine import engine
from evidentia.report.page.figure import Figure
from evidentia.report.page.pdf import ordered
from evidentia.report.page.theme import config

WIDTH = 520
FILE_FONT = "DejaVu Sans, Noto Sans, sans-serif"
_NUMBERED = re.compile(r'(<(?:clipPath|linearGradient|radialGradient|pattern) id="|url\(#)([a-z_]+?)(\d+)(?="|\))')
SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by colour type; a palette is not what we draw


def images(figures: Iterable[Figure], formats: Collection[str]) -> dict[str, bytes]:
    """Every figure as a file, by its name; light colours, on white."""
    if not {"svg", "png", "pdf"} & set(formats):
        return {}
    files: dict[str, bytes] = {}
    for figure in figures:
        drawing = _sized(figure.drawn(config(font=FILE_FONT) | {"background": "white"})) | {"padding": 12}
        svg = _svg(json.dumps(drawing))
        if "svg" in formats:
            files[f"{figure.name}.svg"] = svg.encode()
        if "png" in formats:
            files[f"{figure.name}.png"] = _png(svg)
        if "pdf" in formats:
            files[f"{figure.name}.pdf"] = _pdf(svg)
    return files


@lru_cache(maxsize=64)  # a result that is evaluated and then verified draws its figures once
def _svg(drawing: str) -> str:
    elsewhere = engine()
    svg = None if elsewhere is None else elsewhere.svg(drawing)
    if svg is None:
        import vl_convert

        svg = vl_convert.vegalite_to_svg(json.loads(drawing))  # given as text, it would round numbers
    assert "<text" in svg, "a figure was not drawn: Vega failed, and its picture is empty"
    return renumbered(svg)


@lru_cache(maxsize=64)
def _png(svg: str) -> bytes:
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg, scale=2))


@lru_cache(maxsize=64)
def _pdf(svg: str) -> bytes:
    import vl_convert

    return ordered(bytes(vl_convert.svg_to_pdf(svg)))


def renumbered(svg: str) -> str:
    """A drawing whose own ids count from 1: Vega goes on counting where the drawing before in this process ended.

    >>> renumbered('<clipPath id="clip7"/><g clip-path="url(#clip7)"/><text>clip7</text>')
    '<clipPath id="clip1"/><g clip-path="url(#clip1)"/><text>clip7</text>'
    """
    seen: dict[str, int] = {}

    def again(match: re.Match[str]) -> str:
        before, kind, number = match.groups()
        return f"{before}{kind}{seen.setdefault(kind + number, len(seen) + 1)}"

    return _NUMBERED.sub(again, svg)


def _sized(drawing: Mapping[str, Any]) -> dict[str, Any]:
    """A page gives a figure its width; a file has none to give."""
    return {**drawing, "width": WIDTH} if drawing.get("width") == "container" else dict(drawing)


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
