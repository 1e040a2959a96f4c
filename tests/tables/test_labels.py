"""Ids and labels: no white space around them, no text in their place, and nothing of the file that was not named."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from evidentia.tables import read_run, validate_run

from .conftest import Write, says, the_problem

HEADER = "post_id,criterion_id,fold,gold_sent_uids,ranked_sent_uids,selected_sent_uids"
SECRET = "I have not slept in days"


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ("p2 ,A.1,0,b,b|c,b", "the post_id"),
        ("p2, A.1,0,b,b|c,b", "the criterion_id"),
        ("p2,A.1,\u00a00,b,b|c,b", "the fold"),
        ("p2,A.1,0,b | c,b|c,b", "a uid of gold_sent_uids"),
        ("p2,A.1,0,b,b| c,b", "a uid of ranked_sent_uids"),
        ("p2,A.1,0,b,b|c,b ", "a uid of selected_sent_uids"),
    ],
)
def test_white_space_around_an_id(write: Write, row, where):
    message = the_problem(write(HEADER, "p1,A.1,0,a,a,a", row), "PADDED_ID")
    says(message, "run.csv", "1 row ", "line 3", f"before or after {where}", "Remove it")


def test_white_space_in_native_lists():
    rows = {"post_id": ["p1"] * 2, "criterion_id": ["A", "B"], "gold_sent_uids": [["a", "b"], ["c\t", " d"]]}
    says(the_problem(pl.DataFrame(rows), "PADDED_ID"), "1 row ", "row 2", "gold_sent_uids")
    blank = pl.DataFrame(rows | {"gold_sent_uids": [["a"], [" "]]})
    says(the_problem(blank, "EMPTY_UID"), "row 2")


def test_blank_cells_are_missing_and_a_split_may_have_spaces(write: Write):
    path = write("post_id,criterion_id,split,gold_sent_uids", "p1,A.1, eval ,a", "p2,A.1,EVAL,  ")
    assert read_run(path).queries.n_gold.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("criterion_id", "one two three four five six"),
        ("criterion_id", "x" * 81),
        ("fold", "one two three four five six"),
        ("fold", "x" * 81),
        ("fold", "x\ny"),
        ("post_id", "x" * 201),
        ("post_id", "x\u2028y"),
        ("group", "x" * 81),
        ("group", "x\ry"),
    ],
)
def test_a_text_is_no_label(column, text):
    rows = {"post_id": ["p1", "p2"], "criterion_id": ["A", "A"], "fold": ["0", "0"], "group": ["a", "b"]}
    rows[column][1] = text
    message = the_problem(pl.DataFrame(rows | {"has_evidence": [1, 0]}), "TEXT_AS_LABEL", by="group")
    says(message, "1 row ", "row 2", column, "at most", "map another column")
    assert text not in message


def test_labels_at_their_limits():
    label = "one two three four " + "x" * 61
    rows = {"post_id": ["p " * 99 + "pp"], "criterion_id": [label], "fold": [label], "group": ["a b c d e f g"]}
    run = read_run(pl.DataFrame(rows | {"has_evidence": [1]}), by="group")
    assert (run.queries.criterion_ids, run.queries.fold.labels) == ((label,), (label,))


def test_slices_of_categories_numbers_and_dates_are_labels():
    rows = pl.DataFrame({"post_id": ["p1"], "criterion_id": ["A"], "has_evidence": [1], "n": [1.5], "c": ["x"]})
    rows = rows.with_columns(pl.col("c").cast(pl.Categorical), d=pl.date(2024, 1, 2), b=pl.lit(b"y"))
    slices = read_run(rows, by=("n", "c", "d", "b")).queries.slices
    assert [slices[name].labels for name in ("n", "c", "d", "b")] == [("1.5",), ("x",), ("2024-01-02",), ("y",)]


@pytest.mark.parametrize("cell", [b"\xff", timedelta(1), object()])
def test_slices_that_have_no_text(cell):
    rows = {"post_id": ["p1"], "criterion_id": ["A"], "has_evidence": [1], "group": [cell]}
    codes = [problem.code for problem in validate_run(pl.DataFrame(rows), by="group")]
    assert codes[0] == "WRONG_TYPE"


def test_slices_without_end():
    rows = pl.DataFrame({"post_id": range(1001), "criterion_id": "A", "has_evidence": 1})
    rows = rows.with_columns(few=pl.col("post_id") % 1000, many=pl.col("post_id"))
    assert len(read_run(rows, by="few").queries.slices["few"].labels) == 1000
    says(the_problem(rows, "TOO_MANY_LABELS", by="many"), "1,001 different", "'many'", "at most 1,000", "few values")


def test_further_columns_stay_behind(write: Write):
    header = "split,fold,post_id,criterion_id,has_evidence,note,group"
    path = write(header, f"EVAL,0,p1,A.1,1,{SECRET},a", f"TUNE,0,p2,A.1,0,{SECRET},a")
    run = read_run(path, by="group")
    assert run.frame.columns == run.tune_frame.columns == header.replace(",note", "").split(",")
    assert "shape" not in repr(run)  # no frame is printed


def test_further_columns_are_named_where_one_is_looked_for(write: Write):
    path = write("post_id,criterion_id,prob,gold_ids", "p1,A.1,0.5,a")
    says(the_problem(path, "MISSING_COLUMN"), "4 columns", "'gold_ids'")
    path = write("post_id,criterion_id,has_evidence,group", "p1,A.1,1,a")
    says(the_problem(path, "UNKNOWN_COLUMN", by="groups"), "4 columns", "'group'")


@pytest.mark.parametrize("by", [(), ("__row__",)])
def test_a_column_by_the_name_that_we_use_inside(write: Write, by):
    header = "post_id,criterion_id,has_evidence,__row__,__query__,_seen"
    pool = write("post_id,criterion_id,sent_uid,score,is_gold,__row__,__query__", "p1,A.1,a,1,1,7,7", name="pool.csv")
    problems = validate_run(write(header, "p1,A.1,1,7,7,7"), candidates=pool, by=by)
    assert [problem.code for problem in problems] == (["UNKNOWN_COLUMN"] if by else [])
    assert read_run(write(header, "p1,A.1,1,0.5,7,7"), mapping={"prob": "__row__"}).queries.prob.tolist() == [0.5]
