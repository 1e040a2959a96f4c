"""Column mapping, required columns and types of cells."""

from __future__ import annotations

import polars as pl
import pytest

import evidentia
from evidentia.errors import InputError
from evidentia.tables import read_run, validate_run

from .conftest import Write, says, the_problem

FOREIGN = ("post_id,criterion_id,gold_ids,topk", "p1,A.1,s1|s2,s2|s1|s3", "p2,A.1,,s9")


def test_mapping_renames_foreign_columns(write: Write):
    run = read_run(write(*FOREIGN), mapping={"gold_sent_uids": "gold_ids", "ranked_sent_uids": "topk"})
    assert run.frame["ranked_sent_uids"].to_list() == [["s2", "s1", "s3"], ["s9"]]
    assert run.queries.gold_ranks.values.tolist() == [1, 2]


def test_mapping_to_a_column_that_is_not_there_lists_those_that_are(write: Write):
    message = the_problem(write(*FOREIGN), "UNKNOWN_COLUMN", mapping={"gold_sent_uids": "gold"})
    says(message, "run.csv", "'gold'", "gold_sent_uids", "4 columns", "'gold_ids'", "'topk'")


def test_mapping_the_wrong_way_round_is_explained(write: Write):
    message = the_problem(write(*FOREIGN), "MAPPING_NAME", mapping={"gold_ids": "gold_sent_uids"})
    says(message, "canonical name = column in the file", "ranked_sent_uids")


def test_one_column_for_two_names_is_a_conflict(write: Write):
    mapping = {"gold_sent_uids": "topk", "ranked_sent_uids": "topk"}
    says(the_problem(write(*FOREIGN), "MAPPING_CONFLICT", mapping=mapping), "gold_sent_uids, ranked_sent_uids")


def test_mapping_wins_over_a_column_of_the_same_name_and_says_so(write: Write):
    path = write("post_id,criterion_id,has_evidence,prob,raw", "p1,A.1,1,7,0.5")
    run = read_run(path, mapping={"prob": "raw"})
    assert run.queries.prob.tolist() == [0.5]
    assert "own column prob was not used" in run.notes[0]


def test_missing_required_column(write: Write):
    says(the_problem(write("post_id,fold", "p1,1"), "MISSING_COLUMN"), "run.csv", "criterion_id", "'fold'", "map it")


def test_wrong_delimiter_is_suggested(write: Write):
    says(the_problem(write("post_id;criterion_id", "p1;A.1"), "MISSING_COLUMN"), "delimiter right?", "--delimiter ';'")


def test_gold_or_label_is_required(write: Write):
    message = the_problem(write("post_id,criterion_id,prob", "p1,A.1,0.5"), "MISSING_COLUMN")
    says(message, "gold_sent_uids or has_evidence")


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("prob", "high", "a number"),
        ("tau", "0,5", "a number"),
        ("has_evidence", "yes", "0/1 or true/false"),
        ("n_candidates", "2.5", "a whole number"),
    ],
)
def test_cells_of_a_wrong_type(write: Write, column, value, kind):
    path = write(f"post_id;criterion_id;gold_sent_uids;{column}", "p1;A.1;s1;1", f"p2;A.1;s2;{value}")
    message = the_problem(path, "WRONG_TYPE", delimiter=";")
    says(message, "run.csv", "1 row ", "line 3", column, f"not {kind}", f"Write {kind}")


def test_a_nested_column_is_no_number():
    frame = pl.DataFrame({"post_id": ["p"], "criterion_id": ["A"], "has_evidence": [1], "prob": [[0.5]]})
    the_problem(frame, "WRONG_TYPE")


def test_nested_ids_are_refused():
    the_problem(pl.DataFrame({"post_id": [["p"]], "criterion_id": ["A"], "has_evidence": [1]}), "WRONG_TYPE")


@pytest.mark.parametrize("value", ["1", "TRUE", "true", " True ", "1.0"])
def test_spellings_of_true(write: Write, value):
    run = read_run(write("post_id,criterion_id,has_evidence", f"p1,A.1,{value}", "p2,A.1,0"))
    assert run.queries.label.tolist() == [True, False]
    assert run.frame.schema["has_evidence"] == pl.Boolean


@pytest.mark.parametrize("cell", ["s1||s2", "|s1", "s1|"])
def test_empty_uid_in_a_cell(write: Write, cell):
    message = the_problem(write("post_id,criterion_id,gold_sent_uids", f"p1,A.1,{cell}"), "EMPTY_UID")
    says(message, "1 row ", "line 2", "gold_sent_uids", "Give every sentence a uid")


@pytest.mark.parametrize(
    ("gold", "ranked"),
    [
        ("['s1', 's2']", '["s2", "s3", "s1"]'),
        ("['s1','s2',]", "['s2',\"s3\", 's1']"),
        ('[ "s1" , "s2" ]', '["s2","s3","s\\u0031"]'),
    ],
)
def test_printed_lists_are_read_as_lists(gold, ranked):
    frame = pl.DataFrame(
        {
            "post_id": ["p1", "p2"],
            "criterion_id": ["A", "A"],
            "gold_sent_uids": [gold, "[]"],
            "ranked_sent_uids": [ranked, None],
        }
    )
    for options in ({}, {"list_sep": "json"}):
        run = read_run(frame, **options)
        assert run.frame["gold_sent_uids"].to_list() == [["s1", "s2"], []]
        assert run.frame["ranked_sent_uids"].to_list() == [["s2", "s3", "s1"], []]
        assert run.queries.label.tolist() == [True, False]
    assert read_run(frame).notes[0] == "<dataframe>: the cells of gold_sent_uids are read as printed lists."


@pytest.mark.parametrize("cell", ["['s1' 's2']", "[s1, s2]", "[['s1']]", "['s1', None]", "['s1'", "[0.5]", "['\\x41']"])
def test_what_only_looks_like_a_printed_list_is_refused(cell):
    frame = pl.DataFrame({"post_id": [1, 2], "criterion_id": ["A", "A"], "gold_sent_uids": ["['s1']", cell]})
    says(the_problem(frame, "PRINTED_LIST"), "1 row ", "row 2", "as a list of JSON or Python")


def test_cells_of_which_some_are_printed_lists_are_refused():
    frame = pl.DataFrame({"post_id": [1, 2], "criterion_id": ["A", "A"], "gold_sent_uids": ["['s1']", "s2"]})
    says(the_problem(frame, "PRINTED_LIST"), "1 row ", "row 2")
    says(the_problem(frame, "PRINTED_LIST", list_sep="|"), "1 row ", "row 1")


@pytest.mark.parametrize(("uid", "code"), [("a|b", "BAR_IN_UID"), ("", "EMPTY_UID"), (None, "EMPTY_UID")])
def test_uids_in_native_lists(uid, code):
    frame = pl.DataFrame({"post_id": [1], "criterion_id": ["A"], "gold_sent_uids": [["s1", uid]]})
    says(the_problem(frame, code), "row 1", "gold_sent_uids")


def test_native_lists_of_numbers_become_texts():
    frame = pl.DataFrame({"post_id": [1], "criterion_id": ["A"], "gold_sent_uids": [[11, 12]]})
    assert read_run(frame).frame["gold_sent_uids"].to_list() == [["11", "12"]]


def test_whole_floats_are_ids_without_a_decimal_point():
    frame = pl.DataFrame({"post_id": [10.0, 9.0], "criterion_id": ["A", "A"], "has_evidence": [0.0, 1.0]})
    assert read_run(frame).queries.post_ids == ("9", "10")


def test_an_empty_optional_column_counts_as_absent(write: Write):
    run = read_run(write("post_id,criterion_id,has_evidence,prob,state", "p1,A.1,1,,", "p2,A.1,0,,"))
    assert run.queries.prob is None
    assert run.queries.gate is None
    assert [note.split("column ")[1].split()[0] for note in run.notes] == ["prob", "state"]


def test_slices_by_further_columns_with_a_label_for_the_missing(write: Write):
    path = write("post_id,criterion_id,has_evidence,age", "p1,A.1,1,10", "p2,A.1,0,9", "p3,A.1,0,")
    age = read_run(path, by=["age"]).queries.slices["age"]
    assert age.labels == ("9", "10", "(missing)")
    assert age.codes.tolist() == [1, 0, 2]


def test_slicing_by_a_column_that_is_not_there(write: Write):
    path = write("post_id,criterion_id,has_evidence", "p1,A.1,1")
    says(the_problem(path, "UNKNOWN_COLUMN", by="gender"), "run.csv", "'gender'", "3 columns", "'has_evidence'")


@pytest.mark.parametrize("column", ["probability", "p", "score_prob", "y_prob"])
def test_a_missing_prob_under_another_name_is_hinted_at(column: str, write: Write):
    path = write(f"post_id,criterion_id,has_evidence,{column}", "p1,A,1,0.9", "p2,A,0,0.1")
    run = read_run(path)
    hint = f"If it is that, add --map prob={column}."
    assert [hint in note for note in run.notes] == [True]
    with pytest.raises(InputError, match=f"prob={column}"):
        evidentia.evaluate(run, measures=["AUROC"], resamples=0)
    assert read_run(path, mapping={"prob": column}).notes == ()


@pytest.mark.parametrize("word", ["nan", "NaN", "none", "None", "null", "NULL", "<NA>", "NaT", " nan "])
@pytest.mark.parametrize("column", ["gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"])
def test_a_word_for_a_missing_value_is_no_uid(word: str, column: str) -> None:
    columns = {"post_id": ["1", "2", "3"], "criterion_id": ["A"] * 3, "gold_sent_uids": ["s1", "", ""]}
    columns[column] = ["s1", word, word]
    for frame in (
        pl.DataFrame(columns),
        pl.DataFrame(columns).with_columns(pl.col(column).str.strip_chars().str.split("|")),
    ):
        for uids in ("run", "post"):
            message = the_problem(frame, "MISSING_AS_TEXT", uids=uids)
            says(message, f"2 rows whose {column}", "row 2", "Write an empty cell")
    assert not validate_run(pl.DataFrame(columns | {column: ["s1", "nan1", "s_none"]}))
