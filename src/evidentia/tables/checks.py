"""What can be wrong with the rows of a run. Every check returns its problem, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import Problem, counted, shown
from evidentia.tables.card import DatasetCard
from evidentia.tables.order import by_number, natural
from evidentia.tables.queries import STATES, Ragged
from evidentia.tables.table import Table, codes
from evidentia.tables.uids import keys, members, repeated


def row_problems(table: Table) -> list[Problem]:
    """Everything that can be seen in one part of a run without looking at uids."""
    if not table.frame.height:
        return []
    return [problem for check in _ROW_CHECKS for problem in check(table)]


def train_problems(table: Table) -> list[Problem]:
    """What must hold for TRAIN rows, of which nothing but the key is used."""
    return [p for check in (missing_ids, _duplicate_query, _fold_missing) for p in check(table)]


def missing_ids(table: Table, columns: Sequence[str] = ("post_id", "criterion_id", "sent_uid")) -> list[Problem]:
    """Find rows without one of their ids."""
    ids = [column for column in columns if table.has(column)]
    bad = table.rows(pl.any_horizontal(pl.col(ids).is_null()))
    remedy = "Give every row its ids; delete blank lines."
    return table.problem("MISSING_ID", bad, f"without {' or '.join(ids)}", remedy)


def _duplicate_query(table: Table) -> list[Problem]:
    # a pair may be EVAL only once; in other parts the fold belongs to the key
    key = ["post_id", "criterion_id"]
    key += ["fold"] if table.part != "EVAL" and table.has("fold") else []
    bad = table.rows(pl.struct(key).is_first_distinct().not_())
    return table.problem(
        "DUPLICATE_QUERY",
        bad,
        f"repeating the {' and '.join(key)} of an earlier row",
        "Keep one row per query.",
    )


def _fold_missing(table: Table) -> list[Problem]:
    if not table.has("fold"):
        return []
    bad = table.rows(pl.col("fold").is_null())
    return table.problem("FOLD_MISSING", bad, "without a fold", "Give every row a fold, or leave the column out.")


def _post_in_two_folds(table: Table) -> list[Problem]:
    if table.part != "EVAL" or not table.has("fold"):
        return []
    own = pl.col("fold").drop_nulls().first().over("post_id")
    bad = table.rows(pl.col("fold") != own)
    remedy = "Outer folds must be disjoint in posts: a post is judged in one fold only."
    return table.problem("POST_IN_TWO_FOLDS", bad, "whose post is EVAL in another fold too", remedy, "fold")


def _prob(table: Table) -> list[Problem]:
    return _unit(table, "prob", "PROB", "Probabilities must be calibrated to [0, 1]; raw scores are detection_score.")


def _taus(table: Table) -> list[Problem]:
    remedy = "Thresholds are compared with prob, so they lie in [0, 1]."
    return [problem for tau in ("tau", "tau_neg", "tau_pos") for problem in _unit(table, tau, "TAU", remedy)]


def _unit(table: Table, column: str, code: str, remedy: str) -> list[Problem]:
    if not table.has(column):
        return []
    value = pl.col(column)
    missing = table.rows(value.is_null() | value.is_nan())
    outside = table.rows(((value < 0) | (value > 1)) & value.is_not_nan())
    fill = f"Give {column} in every row, or leave the column out."
    return [
        *table.problem(f"{code}_MISSING", missing, f"whose {column} is missing or NaN", fill, column),
        *table.problem(f"{code}_RANGE", outside, f"with {column} outside [0, 1]", remedy, column),
    ]


def _tau_order(table: Table) -> list[Problem]:
    if not table.has("tau_neg", "tau_pos"):
        return []
    bad = table.rows(pl.col("tau_neg") > pl.col("tau_pos"))
    remedy = "NEG is prob < tau_neg and POS is prob >= tau_pos: swap or correct them."
    return table.problem("TAU_ORDER", bad, "with tau_neg > tau_pos", remedy, _values(table, "tau_neg", "tau_pos"))


def _detection_score(table: Table) -> list[Problem]:
    return not_finite(table, "detection_score", "DETECTION_SCORE_NOT_FINITE")


def not_finite(table: Table, column: str, code: str) -> list[Problem]:
    """Find scores that are missing, NaN or infinite."""
    if not table.has(column):
        return []
    bad = table.rows(pl.col(column).is_finite().fill_null(False).not_())
    remedy = f"Give every row a finite {column}" + ("." if column in ("score", "gt") else ", or leave the column out.")
    return table.problem(code, bad, f"whose {column} is missing or not finite", remedy, column)


def _state(table: Table) -> list[Problem]:
    if not table.has("state"):
        return []
    missing = table.rows(pl.col("state").is_null())
    unknown = table.rows(pl.col("state").is_in(STATES).not_())
    names = ", ".join(STATES)
    fill = "Give every row a state, or leave the column out."
    problems = table.problem("STATE_MISSING", missing, "without a state", fill)
    return problems + table.problem(
        "UNKNOWN_STATE", unknown, "with an unknown state", f"The states are {names}.", "state"
    )


def state_expression() -> pl.Expr:
    """The state that prob and the two taus give; both bounds are inclusive upwards."""
    prob, low, high = pl.col("prob"), pl.col("tau_neg"), pl.col("tau_pos")
    return pl.when(prob < low).then(pl.lit("NEG")).when(prob < high).then(pl.lit("UNCERTAIN")).otherwise(pl.lit("POS"))


def _state_contradicts(table: Table) -> list[Problem]:
    if not table.has("state", "prob"):
        return []
    for taus, contradicts, rule in _state_rules():
        if table.has(*taus):
            known = pl.all_horizontal(pl.col("prob", *taus).is_between(0, 1)) & pl.col("state").is_in(STATES)
            fault = f"whose state contradicts prob and {' and '.join(taus)}"
            remedy = f"{rule}: correct the state or the taus."
            detail = _values(table, "state", "prob", *taus)
            return table.problem("STATE_CONTRADICTS_PROB", table.rows(known & contradicts), fault, remedy, detail)
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


def _has_evidence(table: Table) -> list[Problem]:
    if not table.has("has_evidence"):
        return []
    label = pl.col("has_evidence")
    missing = table.rows(label.is_null())
    fill = "Write 0 or 1 in every row, or leave the column out where gold_sent_uids is there."
    problems = table.problem("HAS_EVIDENCE_MISSING", missing, "without has_evidence", fill)
    if table.has("gold_sent_uids"):
        bad = table.rows(label != (pl.col("gold_sent_uids").list.len() > 0))
        remedy = "has_evidence is 1 exactly where gold_sent_uids is not empty: correct one of them."
        fault = "whose has_evidence contradicts gold_sent_uids"
        problems += table.problem("GOLD_CONTRADICTS_LABEL", bad, fault, remedy, "has_evidence")
    return problems


def _ranking_too_long(table: Table) -> list[Problem]:
    if not table.has("n_candidates", "ranked_sent_uids"):
        return []
    bad = table.rows(pl.col("ranked_sent_uids").list.len().cast(pl.Int64) > pl.col("n_candidates"))
    remedy = "A ranking holds each candidate at most once: correct n_candidates or the ranking."
    fault = "whose ranking is longer than n_candidates"
    return table.problem("RANKING_TOO_LONG", bad, fault, remedy, "n_candidates")


def _values(table: Table, *columns: str) -> Callable[[int], str]:
    return lambda row: ", ".join(f"{column} {shown(table.frame[column][row])}" for column in columns)


_ROW_CHECKS = (
    missing_ids,
    _duplicate_query,
    _fold_missing,
    _post_in_two_folds,
    _prob,
    _taus,
    _tau_order,
    _detection_score,
    _state,
    _state_contradicts,
    _has_evidence,
    _ranking_too_long,
)


def uid_problems(table: Table) -> list[Problem]:
    """Find uids that a list names twice, and selections that were never ranked."""
    problems = []
    for column, lists in table.uids.items():
        bad = repeated(keys(lists.owner, lists.values, table.n_uids))
        fault = f"naming a sentence twice in {column}"
        remedy = f"A sentence counts once: remove the repetition from {column}."
        detail = uid_at(table, column, bad)
        problems += table.problem("DUPLICATE_UID", rows_of(lists, bad), fault, remedy, detail)
    selected, ranked = table.uids.get("selected_sent_uids"), table.uids.get("ranked_sent_uids")
    if selected is not None and ranked is not None:
        bad = np.flatnonzero(~members(selected, ranked, table.n_uids))
        remedy = "The selection is taken from the ranking: correct one of them."
        fault = "selecting a sentence that is not in ranked_sent_uids"
        detail = uid_at(table, "selected_sent_uids", bad)
        problems += table.problem("SELECTED_NOT_RANKED", rows_of(selected, bad), fault, remedy, detail)
    return problems


def rows_of(lists: Ragged, positions: Ints) -> Ints:
    """The rows to which positions in the flat values belong, each once."""
    return np.unique(np.searchsorted(lists.offsets, positions, side="right") - 1)


def uid_at(table: Table, column: str, positions: Ints) -> Callable[[int], str]:
    """Show the uid at the first of the given positions, as the detail of a problem."""

    def detail(row: int) -> str:
        within = int(positions[0] - table.uids[column].offsets[row])
        return f"uid {shown(table.frame[column][row][within])}"

    return detail


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
    post, criterion = posts[missing[0, 0]], criteria[missing[0, 1]]
    return [
        Problem(
            "MISSING_PAIR",
            f"{table.name}: {counted(len(missing), 'pair')} missing that the dataset card {shown(card.name)} "
            f"promises (first: post {shown(post)}, criterion {shown(criterion)}). "
            "Write a row for every pair, also where nothing was found.",
        )
    ]
