"""Every place of a result where a number stands, with the definition and group that it claims to be about."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evidentia.checks.subject import Row, Subject
from evidentia.results import Estimate, Evaluation
from evidentia.results.names import group_suffix

MEAN_TOLERANCE = 1e-9
GROUP_TABLES = re.compile(r"criteria|states|evidence|slice_\d+")
COLUMNS = {"criteria": "criterion", "states": "state", "evidence": "has_evidence"}


@dataclass(frozen=True)
class Place:
    """A number where it stands. None is a blank cell: the number is undefined there, or not shown."""

    where: str
    definition: str
    group: str
    value: float | None
    tolerance: float = 0.0

    def agrees_with(self, other: Place) -> bool:
        """Whether both say the same; a blank agrees with a blank only."""
        if self.value is None or other.value is None:
            return self.value is other.value
        return abs(self.value - other.value) <= max(self.tolerance, other.tolerance)


def places(subject: Subject) -> Iterator[Place]:
    """The summary first, so that every other place is compared with it."""
    evaluation = subject.evaluation
    for estimate in evaluation.measures.values():
        yield _place("summary.json", estimate, estimate.value)
    for other in evaluation.other_definitions:
        yield Place(f"other definition of {other.name}", other.definition, "", other.value)
    yield from _per_query_means(evaluation)
    yield from _fold_means(evaluation)
    if subject.folder is not None:
        for table, rows in subject.folder.tables.items():
            yield from _cells(table, rows, evaluation)


def _place(where: str, estimate: Estimate, value: float | None, tolerance: float = 0.0, part: str = "") -> Place:
    known = None if value is None or math.isnan(value) else value
    group = group_suffix(estimate.group) + part
    return Place(f"{where} {estimate.name}", estimate.definition, group, known, tolerance)


def _per_query_means(evaluation: Evaluation) -> Iterator[Place]:
    """A mean of per-query values is the mean of the values that are written per query."""
    for name, (values, counted) in evaluation.per_query.items():
        estimate = evaluation.measures.get(name)
        if estimate is not None and estimate.degenerate is None and counted.any():
            yield _place("mean of per_query", estimate, float(values[counted].mean()), MEAN_TOLERANCE)


def _fold_means(evaluation: Evaluation) -> Iterator[Place]:
    """The mean over folds is the mean of the folds that are written."""
    folds: dict[str, list[float]] = {}
    for estimate in evaluation.grouped("fold"):
        if estimate.degenerate is None:
            folds.setdefault(estimate.measure, []).append(estimate.value)
    for name, values in folds.items():
        overall = evaluation.measures.get(name)
        if overall is not None and overall.fold_mean is not None and overall.folds_used == len(values):
            yield _place("fold_mean", overall, overall.fold_mean, part=" over folds")
            yield _place("folds", overall, sum(values) / len(values), MEAN_TOLERANCE, " over folds")


def _cells(table: str, rows: Sequence[Row], evaluation: Evaluation) -> Iterator[Place]:
    """The cells of a written table that are numbers of the summary."""
    for at, row in enumerate(rows):
        for column, cell in row.items():
            name = _name_of(table, row, column, last=at == len(rows) - 1)
            estimate = evaluation.measures.get(name) if name else None
            if estimate is None:
                continue
            value = estimate.value if _blank_is_right(cell, estimate) else _number(cell)
            yield _place(f"tables/{table}.csv", estimate, value)


def _blank_is_right(cell: str, estimate: Estimate) -> bool:
    return cell == "" and (estimate.degenerate is not None or math.isnan(estimate.value))


def _name_of(table: str, row: Row, column: str, *, last: bool) -> str | None:
    first = next(iter(row))
    key = row[first]
    if column in {"population", "meaning"}:
        return None
    if table == "measures":
        return key if column == "value" else None
    if table == "folds":
        return f"{key}{group_suffix((('fold', column[5:]),))}" if column.startswith("fold ") else None
    if table == "confusion":
        return f"{column}({key})"
    if GROUP_TABLES.fullmatch(table) and column != first:
        return column if last and key == "all" else f"{column}{group_suffix(((COLUMNS.get(table, first), key),))}"
    return None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
