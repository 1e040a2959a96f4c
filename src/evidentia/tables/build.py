"""From a checked table to the arrays that measures read."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Floats, Ints
from evidentia.tables.checks import state_expression
from evidentia.tables.order import by_number, natural
from evidentia.tables.queries import NEG, STATES, Coded, Queries, Ragged
from evidentia.tables.table import ROW, Table, codes
from evidentia.tables.uids import members, owners_count, ranks_of

MISSING_LABEL = "(missing)"


def canonical_order(table: Table, folds: tuple[str, ...] = ()) -> Ints:
    """The rows by fold (where folds are given), post and criterion."""
    post = codes(table.frame["post_id"], by_number(table.frame["post_id"].unique()))
    criterion = codes(table.frame["criterion_id"], natural(table.frame["criterion_id"].unique()))
    outer = (codes(table.frame["fold"], folds),) if folds else ()
    return np.lexsort((criterion, post, *outer))


def completed(table: Table) -> pl.DataFrame:
    """The frame with the columns that follow from others: has_evidence, and state from prob and the taus."""
    frame = table.frame
    if not table.has("has_evidence"):
        frame = frame.with_columns(has_evidence=pl.col("gold_sent_uids").list.len() > 0)
    if not table.has("state") and table.has("prob", "tau_neg", "tau_pos"):
        frame = frame.with_columns(state=state_expression())
    return frame


def build(table: Table, *, folds: tuple[str, ...] = (), by: Sequence[str] = ()) -> Queries:
    """Make the arrays of a table whose rows are checked, completed and in canonical order."""
    frame = table.frame
    post_ids, criterion_ids = by_number(frame["post_id"].unique()), natural(frame["criterion_id"].unique())
    fold = Coded(codes(frame["fold"], folds), folds) if folds and table.has("fold") else None
    gold, ranked, selected = (table.uids.get(f"{name}_sent_uids") for name in ("gold", "ranked", "selected"))
    state = codes(frame["state"], STATES) if table.has("state") else None
    return Queries(
        post=codes(frame["post_id"], post_ids),
        criterion=codes(frame["criterion_id"], criterion_ids),
        label=frame["has_evidence"].to_numpy().astype(np.bool_),
        post_ids=post_ids,
        criterion_ids=criterion_ids,
        fold=fold,
        prob=_floats(table, "prob"),
        detection_score=_floats(table, "detection_score"),
        gate=_gate(table, state),
        state=state,
        n_gold=_lengths(gold),
        n_ranked=_lengths(ranked),
        gold_ranks=None if gold is None or ranked is None else ranks_of(gold, ranked, table.n_uids),
        n_selected=_lengths(selected),
        n_selected_gold=_selected_gold(gold, selected, table.n_uids),
        complete=len(post_ids) * len(criterion_ids) == frame.height,
        slices=MappingProxyType({column: slice_of(frame[column]) for column in by}),
    )


def fold_labels(table: Table) -> tuple[str, ...]:
    """The fold labels of a table in display order."""
    return by_number(table.frame["fold"].unique()) if table.has("fold") else ()


def slice_of(column: pl.Series) -> Coded:
    """A column as labels: numbers in numeric order, a missing value as a label of its own at the end."""
    text = column.cast(pl.String)
    text = text.set((text == "").fill_null(True), None)
    labels = by_number(text.drop_nulls().unique())
    if text.null_count():
        labels = (*(label for label in labels if label != MISSING_LABEL), MISSING_LABEL)
    return Coded(codes(text.fill_null(MISSING_LABEL), labels), labels)


def written(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame without what only the checks need."""
    return frame.drop(ROW, strict=False)


def _floats(table: Table, column: str) -> Floats | None:
    return table.frame[column].to_numpy().astype(np.float64) if table.has(column) else None


def _gate(table: Table, state: Ints | None) -> Bools | None:
    if state is not None:
        return np.asarray(state != NEG)
    prob, tau = _floats(table, "prob"), _floats(table, "tau")
    if prob is None:
        return None
    return np.asarray(prob >= (0.5 if tau is None else tau))


def _lengths(lists: Ragged | None) -> Ints | None:
    return None if lists is None else lists.lengths


def _selected_gold(gold: Ragged | None, selected: Ragged | None, n_uids: int) -> Ints | None:
    if gold is None or selected is None:
        return None
    return owners_count(gold, members(gold, selected, n_uids))
