"""How the cells of a table are read: texts, numbers, marks and lists of uids, as the formats say."""

from __future__ import annotations

import polars as pl

from evidentia.verify.streamed.sources import LISTS, SourceTable

NUMBERS = ("prob", "detection_score", "tau", "tau_neg", "tau_pos", "n_candidates", "score", "node_prob")
MARKS = ("has_evidence", "is_gold")
TRUE = ("1", "true", "1.0")


def column(table: SourceTable, name: str, list_sep: str | None = None) -> pl.Expr:
    """A column under its canonical name; null everywhere where the table lacks it."""
    own = table.own(name)
    if own is None:
        return pl.lit(None, pl.List(pl.String) if name in LISTS else pl.Float64 if name in NUMBERS else pl.String)
    cell, kind = pl.col(own), table.schema[own]
    if name in LISTS:
        return lists(cell, kind, list_sep)
    if name in NUMBERS:
        plain = text(cell, kind).str.strip_chars() if kind == pl.String else cell
        return plain.cast(pl.Float64)
    return marks(cell, kind) if name in MARKS else text(cell, kind)


def text(cell: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """What is written in a cell, null where that is nothing; a whole number that is kept as a fraction is one."""
    written = (cell.cast(pl.Int64) if kind.is_float() else cell).cast(pl.String)
    return pl.when(written.str.strip_chars() != "").then(written)


def marks(cell: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Yes or no."""
    if kind == pl.String:
        return cell.str.strip_chars().str.to_lowercase().is_in(TRUE)
    return cell if kind == pl.Boolean else cell == 1


def lists(cell: pl.Expr, kind: pl.DataType, separator: str | None) -> pl.Expr:
    """The uids of a cell: a list, or a text in which they are joined."""
    if kind.is_nested():
        return cell.cast(pl.List(pl.String)).fill_null([])
    written = text(cell, kind)
    if separator == "json":
        raise ValueError("printed lists are not read here")
    if separator == "space":
        parts = written.str.extract_all(r"\S+")
    elif separator in {None, "|"}:
        parts = written.str.split("|")
    else:
        parts = written.str.split(str(separator)).list.eval(pl.element().str.strip_chars())
    return parts.fill_null([])
