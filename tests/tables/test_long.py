"""A run with one row per sentence is read as the queries, rankings, gold and candidates that it holds."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cli.command import evidentia, refused
from evidentia.results import loads
from evidentia.tables import read_run, validate_run

from .conftest import says, the_problem

LONG = pl.DataFrame(
    {
        "post_id": ["p2", "p2", "p2", "p1", "p1", "p2", "p2", "p1"],
        "criterion_id": ["A", "A", "A", "A", "A", "B", "B", "B"],
        "sent_uid": ["b1", "b2", "b3", "a1", "a2", "b2", "b1", "a1"],
        "score": [0.1, 0.9, 0.1, 0.3, 0.2, -1.0, 2.0, 0.0],
        "is_gold": [1, 0, 1, 0, 1, 0, 0, 0],
        "prob": [0.8, 0.8, 0.8, 0.6, 0.6, 0.1, 0.1, 0.3],
        "fold": [1, 1, 1, 0, 0, 1, 1, 0],
        "site": ["x", "x", "x", "y", "y", "x", "x", "y"],
    }
)


def test_rankings_gold_and_candidates_worked_by_hand() -> None:
    run = read_run(LONG, by="site")
    assert run.frame.select("post_id", "criterion_id", "prob", "fold").rows() == [
        ("p1", "A", 0.6, "0"),
        ("p1", "B", 0.3, "0"),
        ("p2", "A", 0.8, "1"),
        ("p2", "B", 0.1, "1"),
    ]
    ranked = [["a1", "a2"], ["a1"], ["b2", "b1", "b3"], ["b1", "b2"]]  # b1 and b3 tie, and keep their order
    assert run.frame["ranked_sent_uids"].to_list() == ranked
    assert run.frame["gold_sent_uids"].to_list() == [["a2"], [], ["b1", "b3"], []]
    assert run.queries.slices["site"].labels == ("x", "y")
    assert run.candidates is not None
    assert run.candidates.height == 8
    assert run.notes == ("<dataframe>: a row is a sentence of a query; sentences are ranked by descending score.",)


def test_the_numbers_are_those_of_the_wide_form_with_candidates(tmp_path: Path) -> None:
    LONG.write_csv(tmp_path / "long.csv")
    wide = LONG.select("post_id", "criterion_id", "prob", "fold", "site").unique(maintain_order=True)
    wide.write_csv(tmp_path / "wide.csv")
    LONG.drop("prob", "site").write_csv(tmp_path / "pool.csv")
    words = ("--by", "site", "--no-report", "--quiet", "-o")
    assert evidentia("evaluate", tmp_path / "long.csv", *words, tmp_path / "a").code == 0
    ran = evidentia("evaluate", tmp_path / "wide.csv", "--candidates", tmp_path / "pool.csv", *words, tmp_path / "b")
    assert ran.code == 0
    one, other = (loads((tmp_path / name / "summary.json").read_text()) for name in "ab")
    assert len(one["measures"]) > 100
    assert one["measures"] == other["measures"]
    assert evidentia("verify", tmp_path / "a", "--quiet").code == 0


def test_columns_of_other_names_are_guessed_as_those_of_a_long_form(tmp_path: Path) -> None:
    names = {"post_id": "doc", "criterion_id": "symptom", "sent_uid": "sid", "is_gold": "relevant", "score": "sim"}
    LONG.rename(names).write_csv(path := tmp_path / "own.csv")
    ran = evidentia("validate", path)
    line = "--map post_id=doc,criterion_id=symptom,sent_uid=sid,score=sim,is_gold=relevant"
    refused(ran, "own.csv: lacks post_id, criterion_id", f"add {line} (in Python")
    assert evidentia("validate", path, *line.split()).code == 0


def test_optional_columns_of_a_long_form_are_hinted_at_too() -> None:
    notes = read_run(LONG.rename({"prob": "p"})).notes
    assert notes[-1] == "<dataframe>: there is no column prob, but one called p. If it is that, add --map prob=p."


def test_uids_of_a_long_form_may_be_those_of_their_post() -> None:
    frame = LONG.with_columns(pl.col("sent_uid").str.slice(1))
    says(the_problem(frame, "UID_IN_TWO_POSTS"), "--uids post")
    run = read_run(frame, uids="post")
    assert run.frame["ranked_sent_uids"].to_list()[2] == ["p2:2", "p2:1", "p2:3"]
    assert run.candidates is not None
    assert run.candidates["sent_uid"].to_list()[:2] == ["p1:1", "p1:2"]


def test_what_belongs_to_the_query_is_the_same_in_its_rows(tmp_path: Path) -> None:
    LONG.with_columns(prob=pl.Series([0.8, 0.7, 0.8, 0.6, 0.6, 0.1, 0.2, 0.3])).write_csv(path := tmp_path / "run.csv")
    message = the_problem(path, "VARIES_WITHIN_QUERY")
    says(message, "2 rows whose prob is not that of the first row", "line 3, post 'p2', criterion 'A'")
    frame = LONG.with_columns(fold=pl.Series([1, 1, 0, 0, 0, 1, 1, 0]), site=pl.Series(list("xxyyyxxy")))
    assert [one.code for one in validate_run(frame, by="site")] == ["VARIES_WITHIN_QUERY"] * 2
    assert [one.code for one in validate_run(frame)] == ["VARIES_WITHIN_QUERY"]


def test_tune_rows_of_a_long_form_have_gold_too() -> None:
    tune = LONG.with_columns(split=pl.lit("TUNE"), post_id="t" + pl.col("post_id"), sent_uid="t" + pl.col("sent_uid"))
    run = read_run(pl.concat([LONG.with_columns(split=pl.lit("EVAL")), tune]))
    assert run.tune is not None
    assert run.tune.label.tolist() == run.queries.label.tolist() == [True, False, True, False]


def test_a_mark_or_score_that_is_missing_is_a_problem() -> None:
    assert the_problem(LONG.drop("is_gold"), "MISSING_COLUMN").startswith(
        "<dataframe>: lacks is_gold; it has 7 columns"
    )
    frame = LONG.with_columns(pl.when(pl.col("score") != 0.9).then("score").alias("score"))
    says(the_problem(frame, "SCORE_NOT_FINITE"), "1 row ", "row 2")
    twice = pl.concat([LONG, LONG.head(1)])
    assert "DUPLICATE_CANDIDATE" in {one.code for one in validate_run(twice)}


def test_candidates_beside_a_long_form_are_refused() -> None:
    says(the_problem(LONG, "TWO_POOLS", candidates=LONG), "Leave --candidates out")


def test_a_wide_run_with_a_stray_column_of_sentences_stays_wide() -> None:
    frame = LONG.unique(["post_id", "criterion_id"]).select(
        "post_id", "criterion_id", "sent_uid", has_evidence="is_gold"
    )
    assert read_run(frame).candidates is None
