"""What is wrong with a file that cannot be read, and on which line. Runs only when something is wrong."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from evidentia.array_types import Ints
from evidentia.errors import Problem, counted, shown
from evidentia.tables.kinds import problem


def not_utf8(name: str, data: bytes, error: UnicodeDecodeError) -> Problem:
    """Name the line and the byte that are not UTF-8."""
    line = data.count(b"\n", 0, error.start) + 1
    return problem("WRONG_ENCODING", name=name, line=line, offset=error.start, byte=data[error.start])


def csv_lines(data: bytes, delimiter: str) -> Ints:
    """The line on which each data row of a CSV file starts, line breaks inside quoted cells included."""
    try:
        starts = [line for line, _ in _csv_rows(data, delimiter)]
    except csv.Error:  # a cell beyond the size that Python's reader takes: the best that is left is to count
        starts = list(range(1, data.count(b"\n") + 2))
    return np.asarray(starts[1:], np.int64)


def ragged(name: str, data: bytes, delimiter: str) -> list[Problem]:
    """Find rows with more or fewer cells than the header."""
    rows = _csv_rows(data, delimiter)
    try:
        width = len(next(rows)[1])
        bad = [(line, len(cells)) for line, cells in rows if cells and len(cells) != width]
    except csv.Error:  # a misplaced quote, which broken_csv reports
        return []
    if not bad:
        return []
    line, cells = bad[0]
    count, first = counted(len(bad), "row"), counted(cells, "cell")
    return [problem("RAGGED_ROWS", name=name, rows=count, width=width, line=line, cells=first)]


def broken_csv(name: str, data: bytes, delimiter: str) -> list[Problem]:
    """Say why a CSV file could not be parsed."""
    line = _broken_row(data, delimiter)
    return ragged(name, data, delimiter) or [problem("BROKEN_CSV", name=name, line=line)]


def broken_jsonl(name: str, data: bytes) -> list[Problem]:
    """Say which lines are not JSON objects, or which key holds values of several types."""
    bad: list[tuple[int, str]] = []
    types: dict[str, dict[str, int]] = {}
    for number, line in json_lines(data):
        try:
            record = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            bad.append((number, str(error) if isinstance(error, _ConstantError) else "not JSON"))
            continue
        if not isinstance(record, dict):
            bad.append((number, "not an object"))
            continue
        for key, value in record.items():
            if value is not None:
                types.setdefault(key, {}).setdefault(type(value).__name__, number)
    if bad:
        first, reason = bad[0]
        return [problem("BROKEN_LINES", name=name, lines=counted(len(bad), "line"), line=first, reason=reason)]
    return [_mixed_types(name, types)]


def repeated_keys(name: str, data: bytes) -> list[Problem]:
    """Say which lines give a key twice: a reader would take one of the two values and say nothing."""
    bad = [number for number, line in json_lines(data) if _repeats(line)]
    lines = counted(len(bad), "line")
    return [problem("DUPLICATE_KEY", name=name, lines=lines, line=bad[0])] if bad else []


def _repeats(line: bytes) -> bool:
    repeated = False

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal repeated
        together = dict(pairs)
        repeated |= len(together) < len(pairs)
        return together

    with suppress(ValueError, RecursionError):  # what cannot be read at all is said elsewhere
        json.loads(line, object_pairs_hook=members)
    return repeated


def broken_json(name: str, error: Exception) -> Problem:
    """Say where a file stops being one JSON document, and what it may be instead."""
    if not isinstance(error, json.JSONDecodeError):
        place = "a number with too many digits" if isinstance(error, ValueError) else "brackets nested too deeply"
        hint = "Write it again as plain JSON."
    else:
        place = f"first: line {error.lineno}, column {error.colno}"
        hint = "Write it again as one JSON document; if it was cut short, copy it again."
        if error.msg == "Extra data":
            hint = "Something follows the end of the document; if this is a table in JSON Lines, name it .jsonl."
        elif not error.doc.lstrip().startswith(("{", "[")):
            hint = "If this is a table, name it by its format, for example .csv."
    return problem("BROKEN_JSON", name=name, place=place, hint=hint)


def constants_in_json(name: str, text: str, count: int) -> Problem:
    """Say where a JSON document first has a NaN or an Infinity."""
    bare = next(match for match in _STRING_OR_CONSTANT.finditer(text) if match[0][0] != '"')
    line = text.count("\n", 0, bare.start()) + 1
    return problem("JSON_CONSTANT", name=name, values=counted(count, "value"), line=line, constant=bare[0])


def json_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a JSONL file that are not blank, with their numbers."""
    return ((number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip())


def _mixed_types(name: str, types: dict[str, dict[str, int]]) -> Problem:
    mixed = {key: seen for key, seen in types.items() if len(seen) > 1}
    if not mixed:
        return problem("NOT_JSON_LINES", name=name)
    key, seen = next(iter(mixed.items()))
    places = ", ".join(f"{kind} on line {line}" for kind, line in seen.items())
    return problem("MIXED_TYPES", name=name, keys=counted(len(mixed), "key"), key=shown(key), places=places)


_STRING_OR_CONSTANT = re.compile(r'"(?:\\.|[^"\\])*"|NaN|-?Infinity')


class _ConstantError(ValueError):
    """NaN or Infinity, which Python writes and JSON does not have."""


def _refuse_constant(constant: str) -> object:
    raise _ConstantError(f"{constant} is not JSON")


def _csv_rows(data: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file from the header on, each with the line on which it starts."""
    reader = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=True)
    start, seen_header = 1, False
    for cells in reader:
        seen_header = seen_header or bool(cells)
        if seen_header:
            yield start, cells
        start = reader.line_num + 1


def _broken_row(data: bytes, delimiter: str) -> int:
    """The line on which the row starts that cannot be parsed."""
    reader = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=True)
    start = 1
    try:
        for _ in reader:
            start = reader.line_num + 1
    except csv.Error:
        return start
    return 1
