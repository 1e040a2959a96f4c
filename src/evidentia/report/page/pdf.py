"""PDF files that are the same bytes whenever they are drawn: the library that writes them has no order of its own."""

from __future__ import annotations

import re

_START = re.compile(rb"startxref\n(\d+)")
_ENTRY = re.compile(rb"(\d{10}) \d{5} n")
_REFERENCE = re.compile(rb"(?<![\d.])(\d+) 0 R\b")
_NAMED = re.compile(rb"(?:[ ]+/[A-Za-z]+[0-9]+ [0-9]+ 0 R\n){2,}")
_STREAM = b"stream\n"


def ordered(pdf: bytes) -> bytes:
    """The same document with its objects numbered as they are met from the root on, and named resources by their names."""
    objects, root, info = _objects(pdf)
    numbers = _numbers(objects, (root, info))
    parts, offsets, at = [pdf[: pdf.index(b"\n\n") + 2]], [], 0
    for old, new in numbers.items():
        head, stream, data = objects[old].partition(_STREAM)
        offsets.append(at := at + len(parts[-1]))
        parts.append(b"%d 0 obj\n" % new + _renumbered(head, numbers) + stream + data)
    at += len(parts[-1])
    table = b"".join(b"%010d 00000 n\r\n" % offset for offset in offsets)
    parts.append(b"xref\n0 %d\n0000000000 65535 f\r\n" % (len(offsets) + 1) + table)
    words = (len(offsets) + 1, numbers[root], numbers[info], at)
    return (
        b"".join(parts) + b"trailer\n<<\n  /Size %d\n  /Root %d 0 R\n  /Info %d 0 R\n>>\nstartxref\n%d\n%%%%EOF" % words
    )


def _objects(pdf: bytes) -> tuple[dict[int, bytes], int, int]:
    """Every object by its number, without that, and the numbers of the root and of what is known about the document."""
    start = [int(offset) for offset in _START.findall(pdf)][-1]
    offsets = sorted(int(offset) for offset in _ENTRY.findall(pdf, start))
    objects = {}
    for begin, end in zip(offsets, [*offsets[1:], start], strict=True):
        number, _, body = pdf[begin:end].partition(b" 0 obj\n")
        head, stream, data = body.partition(_STREAM)
        objects[int(number)] = _NAMED.sub(_sorted_lines, head) + stream + data
    root, info = (int(number) for number in _REFERENCE.findall(pdf[pdf.rindex(b"trailer") :]))
    return objects, root, info


def _sorted_lines(match: re.Match[bytes]) -> bytes:
    return b"".join(sorted(match[0].splitlines(keepends=True)))


def _numbers(objects: dict[int, bytes], first: tuple[int, ...]) -> dict[int, int]:
    """New numbers of the objects by their old ones, in the order in which they are met."""
    met = dict.fromkeys(first)
    waiting = list(reversed(first))
    while waiting:
        head = objects[waiting.pop()].partition(_STREAM)[0]
        fresh = [n for n in dict.fromkeys(map(int, _REFERENCE.findall(head))) if n not in met]
        met |= dict.fromkeys(fresh)
        waiting += reversed(fresh)
    return {old: new for new, old in enumerate(met, 1)}


def _renumbered(head: bytes, numbers: dict[int, int]) -> bytes:
    return _REFERENCE.sub(lambda match: b"%d 0 R" % numbers[int(match[1])], head)
