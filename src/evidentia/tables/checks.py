"""What can be wrong with the rows of a run. Every check returns its problem, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import Problem, counted, shown
from evidentia.tables.card import DatasetCard
from evidentia.tables.kinds import problem
from evidentia.tables.order import by_number, natural
from evidentia.tables.queries import STATES
from evidentia.tables.table import Table, codes
from evidentia.tables.uids import keys, members, repeated


def row_problems(table: Table) -> list[Problem]:
    """Everything that can be seen in one part of a run without looking at uids."""
    if not table.frame.height:
        return []
    prob, state, label = pl.col("prob"), pl.col("state"), pl.col("has_evidence")
    own_fold = pl.col("fold").drop_nulls().first().over("post_id")
    ranked = pl.col("ranked_sent_uids").list.len().cast(pl.Int64)
    gold = pl.col("gold_sent_uids").list.len() > 0
    return [
        *key_problems(table),
        *(table.problem("POST_IN_TWO_FOLDS", pl.col("fold") != own_fold, "fold") if table.part == "EVAL" else ()),
        *table.problem("PROB_MISSING", _unknown(prob), "prob"),
        *table.problem("PROB_RANGE", _outside(prob), "prob"),
        *(problem for tau in ("tau", "tau_neg", "tau_pos") for problem in _tau(table, tau)),
        *table.problem("TAU_ORDER", pl.col("tau_neg") > pl.col("tau_pos"), "tau_neg", "tau_pos"),
        *table.problem("DETECTION_SCORE_NOT_FINITE", infinite("detection_score"), "detection_score"),
        *table.problem("STATE_MISSING", state.is_null()),
        *table.problem("UNKNOWN_STATE", state.is_in(STATES).not_(), "state"),
        *_state_contradicts(table),
        *table.problem("HAS_EVIDENCE_MISSING", label.is_null()),
        *table.problem("GOLD_CONTRADICTS_LABEL", label != gold, "has_evidence"),
        *table.problem("RANKING_TOO_LONG", ranked > pl.col("n_candidates"), "n_candidates"),
    ]


def key_problems(table: Table) -> list[Problem]:
    """What must hold for all rows, also for TRAIN rows, of which nothing but the key is used."""
    # a pair may be EVAL only once; in other parts the fold belongs to the key
    key = ["post_id", "criterion_id", *(["fold"] if table.part != "EVAL" and table.has("fold") else [])]
    return [
        *missing_ids(table),
        *table.problem("DUPLICATE_QUERY", pl.struct(key).is_first_distinct().not_(), key=" and ".join(key)),
        *table.problem("FOLD_MISSING", pl.col("fold").is_null()),
    ]


def missing_ids(table: Table, columns: Sequence[str] = ("post_id", "criterion_id", "sent_uid")) -> list[Problem]:
    """Find rows without one of their ids."""
    ids = [column for column in columns if table.has(column)]
    return table.problem("MISSING_ID", pl.any_horizontal(pl.col(ids).is_null()), ids=" or ".join(ids))


def infinite(column: str) -> pl.Expr:
    """Where a number is missing, NaN or infinite."""
    return pl.col(column).is_finite().fill_null(False).not_()


def _unknown(value: pl.Expr) -> pl.Expr:
    return value.is_null() | value.is_nan()


def _outside(value: pl.Expr) -> pl.Expr:
    return ((value < 0) | (value > 1)) & value.is_not_nan()


def _tau(table: Table, column: str) -> list[Problem]:
    missing = table.problem("TAU_MISSING", _unknown(pl.col(column)), column, column=column)
    return missing + table.problem("TAU_RANGE", _outside(pl.col(column)), column, column=column)


def state_expression() -> pl.Expr:
    """The state that prob and the two taus give; both bounds are inclusive upwards."""
    prob, low, high = pl.col("prob"), pl.col("tau_neg"), pl.col("tau_pos")
    return pl.when(prob < low).then(pl.lit("NEG")).when(prob < high).then(pl.lit("UNCERTAIN")).otherwise(pl.lit("POS"))


def _state_contradicts(table: Table) -> list[Problem]:
    for taus, contradicts, rule in _state_rules():
        if table.has("state", "prob", *taus):
            known = pl.all_horizontal(pl.col("prob", *taus).is_between(0, 1)) & pl.col("state").is_in(STATES)
            columns = ("state", "prob", *taus)
            named = " and ".join(taus)
            return table.problem("STATE_CONTRADICTS_PROB", known & contradicts, *columns, taus=named, rule=rule)
    return []


def _state_rules() -> tuple[tuple[tuple[str, ...], pl.Expr, str], ...]:
    """What each set of taus forbids; the first set that a table has holds for it."""
    prob, state, low, high = pl.col("prob"), pl.col("state"), pl.col("tau_neg"), pl.col("tau_pos")
    both = (low <= high) & (state != state_expression())
    return (
        (("tau_neg", "tau_pos"), both, "NEG is prob < tau_neg, POS is prob >= tau_pos, UNCERTAIN is between"),
        (("tau_neg",), (state == "NEG") != (prob < low), "NEG is prob < tau_neg, and no other state is"),
        (("tau_pos",), (state == "POS") != (prob >= high), "POS is prob >= tau_pos, and no other state is"),
        (("tau",), (state == "NEG") != (prob < pl.col("tau")), "NEG is prob < tau, and no other state is"),
    )


def uid_problems(table: Table) -> list[Problem]:
    """Find uids that a list names twice, and selections that were never ranked."""
    problems = []
    for column, lists in table.uids.items():
        bad = repeated(keys(lists.owner, lists.values, table.n_uids))
        problems += uid_problem(table, "DUPLICATE_UID", column, bad)
    selected, ranked = table.uids.get("selected_sent_uids"), table.uids.get("ranked_sent_uids")
    if selected is not None and ranked is not None:
        bad = np.flatnonzero(~members(selected, ranked, table.n_uids))
        problems += uid_problem(table, "SELECTED_NOT_RANKED", "selected_sent_uids", bad)
    return problems


def uid_problem(table: Table, key: str, column: str, positions: Ints, **values: str) -> list[Problem]:
    """The problem of uids at some positions in the flat values of a column; the first is shown."""
    offsets = table.uids[column].offsets
    rows = np.unique(np.searchsorted(offsets, positions, side="right") - 1)

    def first(row: int) -> str:
        return f"uid {shown(table.frame[column][row][int(positions[0] - offsets[row])])}"

    return table.problem(key, rows, detail=first, column=column, **values)


def missing_pairs(table: Table, card: DatasetCard) -> list[Problem]:
    """Find the (post, criterion) pairs that the card promises for the posts of the run, and the run lacks."""
    if not card.every_pair:
        return []
    posts = by_number(table.frame["post_id"].drop_nulls().unique())
    criteria = card.criteria or natural(table.frame["criterion_id"].drop_nulls().unique())
    known = table.frame.filter(pl.col("criterion_id").is_in(criteria)).drop_nulls("post_id")
    there = np.zeros((len(posts), len(criteria)), np.bool_)
    there[codes(known["post_id"], posts), codes(known["criterion_id"], criteria)] = True
    missing = np.argwhere(~there)
    if not len(missing):
        return []
    first = {"post": shown(posts[missing[0, 0]]), "criterion": shown(criteria[missing[0, 1]])}
    pairs = counted(len(missing), "pair")
    return [problem("MISSING_PAIR", name=table.name, pairs=pairs, card=shown(card.name), **first)]
