"""Ids and labels: no white space around them, and never a text in their place.

What becomes a label or an id is printed in results, so a column of text that was mapped by mistake is refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import Problem, shown
from evidentia.tables.kinds import problem
from evidentia.tables.table import Table

MOST_LABELS = 1_000  # more groups than that are no slices
_PADDED = r"^\s|\s$"
_LINE_BREAK = r"[\n\r\x0B\x0C\x{85}\x{2028}\x{2029}]"


@dataclass(frozen=True)
class _Limit:
    characters: int
    words: int | None = None


_LABEL = _Limit(80)
_LIMITS = {"post_id": _Limit(200), "criterion_id": _Limit(80, 5), "fold": _Limit(80, 5)}
_IDS = {"post_id": "the post_id", "criterion_id": "the criterion_id", "fold": "the fold", "sent_uid": "the sent_uid"}


def label_problems(table: Table, by: Sequence[str] = ()) -> list[Problem]:
    """Find ids with white space around them, texts that stand where labels belong, and slices without end."""
    problems = [problem for column in _IDS if table.has(column) for problem in _padded(table, column, _IDS[column])]
    if table.has("sent_uid"):
        bar = pl.col("sent_uid").str.contains("|", literal=True)
        problems += table.problem("BAR_IN_UID", _rows(table, "sent_uid", bar), place="the sent_uid")
    slices = [column for column in dict.fromkeys(by) if table.has(column) and not table.frame[column].dtype.is_nested()]
    limits = dict.fromkeys(slices, _LABEL) | {c: limit for c, limit in _LIMITS.items() if table.has(c)}
    for column, limit in limits.items():
        problems += text_as_label(table, column, limit)
    return problems + [problem for column in slices for problem in _too_many(table, column)]


def item_label_problems(table: Table) -> list[Problem]:
    """The same for the clusters and items of a predictor that may abstain."""
    limits = {"cluster_id": _LIMITS["post_id"], "item": _LIMITS["criterion_id"]}
    there = {column: limit for column, limit in limits.items() if table.has(column)}
    problems = [problem for column in there for problem in _padded(table, column, f"the {column}")]
    return problems + [p for column, limit in there.items() for p in text_as_label(table, column, limit)]


def text_as_label(table: Table, column: str, limit: _Limit = _LIMITS["post_id"]) -> list[Problem]:
    """Find cells that are too long for an id or a label, or have several lines or many words."""
    if table.frame[column].dtype.is_numeric():
        return []
    cell = pl.col(column).cast(pl.String)
    text = (cell.str.len_chars() > limit.characters) | cell.str.contains(_LINE_BREAK)
    allowed = f"{limit.characters} characters on one line"
    if limit.words is not None:
        text |= cell.str.count_matches(r"\S+") > limit.words
        allowed = f"{limit.words} words and {allowed}"
    name = column if column in _LIMITS else shown(column)
    return table.problem("TEXT_AS_LABEL", _rows(table, column, text), column=name, allowed=allowed)


def _padded(table: Table, column: str, place: str) -> list[Problem]:
    return table.problem("PADDED_ID", _rows(table, column, pl.col(column).str.contains(_PADDED)), place=place)


def _rows(table: Table, column: str, condition: pl.Expr) -> Ints:
    """The rows where a condition on one column holds; most columns repeat few values, so those are tried first."""
    values = table.frame.select(pl.col(column).unique())
    return table.rows(condition) if values.select(condition.any()).item() else np.empty(0, np.int64)


def _too_many(table: Table, column: str) -> list[Problem]:
    count = table.frame[column].n_unique()
    words = {"name": table.name, "count": count, "column": shown(column), "most": MOST_LABELS}
    return [problem("TOO_MANY_LABELS", **words)] if count > MOST_LABELS else []
