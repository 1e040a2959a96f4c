"""A block that is plainly right gives the arrays that `read_run` gives; one that is wrong is never taken for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

import numpy as np
import polars as pl
import pytest

from engine.made import Made
from evidentia import InputError, read_run
from evidentia.engine.words import plain_run, words_of
from evidentia.tables.files import Loaded
from evidentia.tables.queries import Candidates, Coded, Queries, Ragged

READING = {"mapping": None, "candidates_mapping": None, "list_sep": None, "uids": "run", "by": ("length_band",)}
KEY = ["post_id", "criterion_id"]
COLUMNS = (*KEY, "sent_uid", "score", "is_gold", "node_prob", "fold")
GOLD, RANKED, SELECTED = (pl.col(f"{name}_sent_uids") for name in ("gold", "ranked", "selected"))
ROW = pl.int_range(pl.len())
Change = Callable[[pl.DataFrame], pl.DataFrame]
Plain = tuple[Queries, list[int]]


def plain(queries: pl.DataFrame, candidates: pl.DataFrame) -> Plain | None:
    """The queries and the words of uids, where the block is plainly right."""
    found = plain_run(loaded(queries), loaded(candidates.select(COLUMNS)), READING)
    return None if found is None else (found[0].queries, found[1].tolist())


def loaded(frame: pl.DataFrame) -> Loaded:
    return Loaded("table", frame, str)


def is_same(one: object, other: object) -> bool:
    """Both hold the same values in the same types."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, Queries | Candidates | Coded | Ragged):
        return all(is_same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return [*one] == [*other] and all(is_same(one[name], other[name]) for name in one)
    return one == other


def queries(*columns: pl.Expr, **named: pl.Expr) -> tuple[Change, Change]:
    """A change of the queries alone."""
    return lambda frame: frame.with_columns(*columns, **named), pl.DataFrame.clone


def candidates(*columns: pl.Expr, **named: pl.Expr) -> tuple[Change, Change]:
    """A change of the candidates alone."""
    return pl.DataFrame.clone, lambda frame: frame.with_columns(*columns, **named)


def first(column: str, value: object, where: pl.Expr = ROW == 40) -> pl.Expr:
    """A column with a value in one row."""
    return pl.when(where).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)


def cell(column: pl.Expr, value: pl.Expr, of: pl.Expr) -> pl.Expr:
    """A column of lists with another list in the first row of which something holds."""
    return pl.when(of & (of.cum_sum() == 1)).then(value).otherwise(column).alias(column.meta.output_name())


def sorted_by(*columns: str) -> Change:
    return lambda frame: frame.sort(*columns, maintain_order=True)


def tied(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("score").round(0))


SOME = GOLD.list.len() > 0
TWO = SELECTED.list.len() > 1
OTHER_POST = RANKED.list.head(1).shift(-30)
RIGHT: dict[str, tuple[Change, Change]] = {
    "as it is": queries(),
    "queries in another order": (lambda frame: frame.sample(fraction=1, shuffle=True, seed=3), pl.DataFrame.clone),
    "candidates by criterion": (pl.DataFrame.clone, sorted_by("criterion_id")),
    "candidates by score": (pl.DataFrame.clone, sorted_by(*KEY, "score")),
    "short rankings": queries(RANKED.list.head(3), SELECTED.list.head(3)),
    "no rankings": queries(RANKED.list.head(0), SELECTED.list.head(0)),
    "rankings over the post": queries(cell(RANKED, RANKED.shift(1).list.head(2), ROW == 1), SELECTED.list.head(0)),
    "selections from below": queries(
        SELECTED.list.len().pipe(RANKED.list.reverse().list.head).alias("selected_sent_uids")
    ),
    "no selections": (lambda frame: frame.drop("selected_sent_uids"), pl.DataFrame.clone),
    "rankings by score": (lambda frame: frame.drop("ranked_sent_uids"), pl.DataFrame.clone),
    "neither rankings nor selections": (lambda frame: frame.drop("ranked_sent_uids", "selected_sent_uids"), tied),
    "marks": candidates(pl.col("is_gold").cast(pl.Boolean)),
    "fewer columns": (lambda frame: frame.drop("n_candidates", "has_evidence", "state"), pl.DataFrame.clone),
}
WRONG: dict[str, tuple[str, tuple[Change, Change]]] = {
    "a query twice": ("DUPLICATE_QUERY", queries(first("criterion_id", "A.1", ROW == 1))),
    "a probability of 2": ("PROB_RANGE", queries(first("prob", 2.0))),
    "a candidate of no query": ("STRAY_CANDIDATE", candidates(first("post_id", "nobody"))),
    "a candidate twice": (
        "DUPLICATE_CANDIDATE",
        candidates(pl.when(ROW == 41).then(pl.col("sent_uid").shift()).otherwise("sent_uid").alias("sent_uid")),
    ),
    "a score that is no number": ("SCORE_NOT_FINITE", candidates(first("score", float("nan")))),
    "no score": ("SCORE_NOT_FINITE", candidates(first("score", None))),
    "a node_prob of 2": ("NODE_PROB_RANGE", candidates(first("node_prob", 2.0))),
    "a mark of 2": ("WRONG_TYPE", candidates(first("is_gold", 2))),
    "a mark beyond signed numbers": (
        "WRONG_TYPE",
        candidates(
            pl.when(ROW == 40).then(pl.lit(2**64 - 1, pl.UInt64)).otherwise("is_gold").cast(pl.UInt64).alias("is_gold")
        ),
    ),
    "another mark": ("IS_GOLD_CONTRADICTION", candidates(first("is_gold", 1, (pl.col("is_gold") == 0) & (ROW > 40)))),
    "a mark too few": ("IS_GOLD_CONTRADICTION", candidates(pl.col("is_gold") * 0)),
    "another fold": ("CANDIDATE_FOLD_CONTRADICTION", candidates(first("fold", 9))),
    "a padded uid": ("PADDED_ID", candidates(first("sent_uid", " s", ROW == 0))),
    "a uid with a bar": ("BAR_IN_UID", candidates(first("sent_uid", "a|b", ROW == 0))),
    "a blank uid": ("MISSING_ID", candidates(first("sent_uid", "", ROW == 0))),
    "a uid of two posts": (
        "UID_IN_TWO_POSTS",
        candidates(first("sent_uid", "the same", pl.col("post_id") != pl.col("post_id").shift())),
    ),
    "gold that is no candidate": ("GOLD_NOT_CANDIDATE", queries(cell(GOLD, pl.concat_list(pl.lit("nobody")), SOME))),
    "a ranking of another post": (
        "RANKING_LEAVES_POST",
        queries(cell(RANKED, OTHER_POST, ROW == 0), SELECTED.list.head(0)),
    ),
    "a sentence ranked twice": (
        "DUPLICATE_UID",
        queries(cell(RANKED, pl.concat_list(RANKED, RANKED.list.head(1)), ROW == 0)),
    ),
    "one for another": (
        "DUPLICATE_UID",
        queries(cell(RANKED, pl.concat_list(RANKED.list.slice(1), RANKED.list.slice(1, 1)), ROW == 0)),
    ),
    "a sentence selected twice": (
        "DUPLICATE_UID",
        queries(cell(SELECTED, pl.concat_list(SELECTED, SELECTED.list.head(1)), TWO)),
    ),
    "one that is not ranked": ("SELECTED_NOT_RANKED", queries(cell(RANKED, RANKED.list.slice(1), TWO))),
    "a missing one as a text": ("MISSING_AS_TEXT", queries(cell(SELECTED, pl.concat_list(pl.lit("nan")), TWO))),
    "too small a number": ("N_CANDIDATES_TOO_SMALL", queries(first("n_candidates", 1))),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_gives_the_arrays_of_a_run(name: str, run: Made) -> None:
    own, pool = (change(frame) for change, frame in zip(RIGHT[name], (run.per_query, run.candidates), strict=True))
    whole = read_run(own, candidates=pool, by=("length_band",), allow_disjoint=True)
    found = plain(own, pool)
    assert found is not None
    assert is_same(found[0], whole.queries)
    assert found[1] == sorted(words_of(run.candidates["sent_uid"].unique()).tolist())


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_left_to_the_reader_that_says_what_it_is(name: str, run: Made) -> None:
    code, changes = WRONG[name]
    own, pool = (change(frame) for change, frame in zip(changes, (run.per_query, run.candidates), strict=True))
    with pytest.raises(InputError) as error:
        read_run(own, candidates=pool, by=("length_band",), allow_disjoint=True)
    assert code in {problem.code for problem in error.value.problems}
    assert plain(own, pool) is None


def test_what_stands_apart_is_left_to_the_reader_too(run: Made) -> None:
    scattered = run.candidates.sample(fraction=1, shuffle=True, seed=3)
    assert len(read_run(run.per_query, candidates=scattered)) == run.per_query.height
    assert plain(run.per_query, scattered) is None
