"""Where two drawings of a report differ, in words: which number, which line, which point of which figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html.parser import HTMLParser
from itertools import islice
from typing import Any

from evidentia.errors import InputError
from evidentia.report.page.content import MARK, unpack
from evidentia.results import loads
from evidentia.verify.tally import Mismatch

MOST = 50  # differences of one file that are told
SHOWN = 80  # letters of a cell or of a line around its first difference
SECRET = "texts"  # sentences of posts are never repeated in a message
CARRIED = "evidentia-content"


def page_differences(name: str, page: str, expected: str) -> list[Mismatch]:
    """What a page says otherwise than it should, with the number's name where it has one."""
    differences = [*_visible(page, expected), *_carried(page, expected)]
    mismatches = [Mismatch(f"{name}: {where}", reported, redrawn) for where, reported, redrawn in differences[:MOST]]
    return mismatches or [Mismatch(f"{name}: its source", "other spaces or marks", "as it is drawn")]


def text_differences(name: str, text: str, expected: str) -> list[Mismatch]:
    """The lines of a text file that differ, around the first letter that does."""
    lines, redrawn = text.split("\n"), expected.split("\n")
    if len(lines) != len(redrawn):
        at = next((i for i, (a, b) in enumerate(zip(lines, redrawn, strict=False)) if a != b), 0)
        shown = _around(lines[at], redrawn[at])  # the first line, where one file only goes on
        return [Mismatch(f"{name}: {len(lines):,} lines instead of {len(redrawn):,}, from line {at + 1} on", *shown)]
    wrong = [i for i, (a, b) in enumerate(zip(lines, redrawn, strict=True)) if a != b]
    return [Mismatch(f"{name}: line {i + 1}", *_around(lines[i], redrawn[i])) for i in wrong[:MOST]]


def _around(line: str, other: str) -> tuple[str, str]:
    at = next((i for i, (a, b) in enumerate(zip(line, other, strict=False)) if a != b), min(len(line), len(other)))
    start = max(0, at - SHOWN // 2) if max(len(line), len(other)) > SHOWN else 0
    return line[start : start + SHOWN], other[start : start + SHOWN]


Difference = tuple[str, Any, Any]


class _TermReader(HTMLParser):
    """A page as pieces in their order, each with what it is about: the number, else the row and heading before it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[tuple[str, str]] = []
        self._number, self._row, self._heading, self._script = "", "", "", ""
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self._open, self._script = tag, known.get("id") or "a script" if tag == "script" else ""
        self._number = f"{known['data-of']}: {known.get('data-field')}" if "data-of" in known else ""
        if tag == "tr":
            self._row = ""
        plain = " ".join(f"{key}={value}" for key, value in attrs)
        self.pieces.append((self._about(tag), f"<{tag} {plain}>"))

    def handle_endtag(self, tag: str) -> None:
        self.pieces.append((self._about(tag), f"</{tag}>"))
        self._number = self._script = ""

    def handle_data(self, data: str) -> None:
        if self._script == CARRIED:
            return
        if self._open in {"h1", "h2", "h3"}:
            self._heading = data.strip() or self._heading
        elif not self._row:
            self._row = data.strip()
        self.pieces.append((self._about(self._open), data))

    def _about(self, tag: str) -> str:
        if self._script:
            return self._script
        return self._number or ": ".join(part for part in (self._heading, self._row) if part) or tag


def _visible(page: str, expected: str) -> Iterator[Difference]:
    pieces, redrawn = _pieces(page), _pieces(expected)
    if len(pieces) != len(redrawn):
        at = next((i for i, (a, b) in enumerate(zip(pieces, redrawn, strict=False)) if a[1] != b[1]), None)
        if at is None:  # one ends early
            yield "its end", f"{len(pieces):,} pieces", f"{len(redrawn):,} pieces"
        else:
            yield f"{redrawn[at][0]} and what follows", *_around(pieces[at][1], redrawn[at][1])
        return
    for (_, content), (about, other) in zip(pieces, redrawn, strict=True):
        if content == other:
            continue
        if about == "evidentia-specs":
            yield from _in_json("figure", _json(content), _json(other))
        else:
            yield about, *_around(content, other)


def _pieces(page: str) -> list[tuple[str, str]]:
    reader = _TermReader()
    with suppress(AssertionError):  # marks that no page has: what was read before them differs already
        reader.feed(page)
        reader.close()
    return reader.pieces


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text[:SHOWN]


def _carried(page: str, expected: str) -> Iterator[Difference]:
    """What the page carries for its readers' own use, against what it should carry."""
    if page.partition(MARK)[2] == expected.partition(MARK)[2]:
        return
    try:
        contents = [unpack(text).to_dict() for text in (page, expected)]
    except InputError:
        yield "the result that it carries", "cannot be read", "a result"
        return
    for content in contents:
        content["summary"] = loads(content["summary"])
    yield from islice(_in_json("carried", *contents), MOST)


def _in_json(where: str, first: Any, other: Any) -> Iterator[Difference]:
    """The leaves of two documents that differ."""
    if where.endswith(f": {SECRET}") and first != other:
        yield where, "other sentences", "these sentences"
    elif isinstance(first, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys((*first, *other)):
            yield from _in_json(f"{where}: {key}", first.get(key), other.get(key))
    elif isinstance(first, list | tuple) and isinstance(other, list | tuple) and len(first) == len(other):
        for at, (a, b) in enumerate(zip(first, other, strict=True)):
            yield from _in_json(f"{where}[{at}]", a, b)
    elif first != other:
        yield where, _leaf(first), _leaf(other)


def _leaf(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)[:SHOWN]
