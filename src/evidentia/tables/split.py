"""TRAIN, TUNE and EVAL rows apart, and the rules that hold between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evidentia.errors import Problem, counted
from evidentia.tables.cells import UIDS
from evidentia.tables.kinds import problem
from evidentia.tables.table import Table

PARTS = ("EVAL", "TUNE", "TRAIN")


@dataclass(frozen=True, eq=False)
class Split:
    """The parts of a table, and what was wrong or worth a note about them. A part may have no rows."""

    eval: Table
    tune: Table
    train: Table
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()


def split_rows(table: Table, kinds: Mapping[str, str]) -> Split:
    """Take a table apart by its split column; without one every row is EVAL."""
    if not table.has("split"):
        nothing = table.take(np.empty(0, np.int64))
        return Split(table, replace(nothing, part="TUNE"), replace(nothing, part="TRAIN"), ())
    upper = pl.col("split").str.strip_chars().str.to_uppercase()
    bad = table.rows(upper.is_in(PARTS).not_() | upper.is_null())
    problems = table.problem("UNKNOWN_SPLIT", bad, "split")
    table = replace(table, frame=table.frame.with_columns(upper))
    parts = {part: _part(table, part, kinds) for part in PARTS}
    if not bad.size and not parts["EVAL"].frame.height:
        rows = counted(table.frame.height, "row")
        problems.append(problem("NO_EVAL_ROWS", name=table.name, rows=rows, place=table.place(0)))
    absent = [c for c in table.frame.columns if parts["EVAL"].frame.height and not parts["EVAL"].has(c)]
    notes = tuple(f"{table.name}: the column {c} is empty in all EVAL rows and was taken as absent." for c in absent)
    return Split(parts["EVAL"], parts["TUNE"], parts["TRAIN"], tuple(problems), notes)


def _part(table: Table, part: str, kinds: Mapping[str, str]) -> Table:
    chosen = table.take(table.rows(pl.col("split") == part))
    # thresholds are fitted on TUNE rows, which therefore may have no state or tau yet
    optional = [c for c, kind in kinds.items() if kind != UIDS and c not in _KEY and chosen.has(c)]
    empty = [c for c in optional if chosen.frame[c].null_count() == chosen.frame.height]
    return replace(chosen, part=part, frame=chosen.frame.drop(empty))


_KEY = ("post_id", "criterion_id", "sent_uid", "score")


def between_parts(split: Split) -> list[Problem]:
    """Check that no post is in two parts of the same fold."""
    pairs = ((split.tune, split.eval), (split.train, split.eval), (split.train, split.tune))
    return [problem for part, other in pairs for problem in _overlap(part, other)]


def _overlap(part: Table, other: Table) -> list[Problem]:
    if not part.frame.height or not other.frame.height:
        return []
    on = ["post_id", "fold"] if part.has("fold") and other.has("fold") else ["post_id"]
    seen = other.frame.select(on).unique().with_columns(_seen=pl.lit(True))
    shared = part.frame.select(on).join(seen, on=on, how="left", maintain_order="left", nulls_equal=True)
    bad = np.flatnonzero((shared["_seen"].is_not_null() & shared["post_id"].is_not_null()).to_numpy())
    return part.problem(f"{part.part}_{other.part}_OVERLAP", bad, *(["fold"] if part.has("fold") else []))
