"""Damaged and unreadable files: what is wrong, on which line, and what to do."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from evidentia.errors import InputError
from evidentia.tables import DatasetCard, read_run, validate_run
from evidentia.tables.order import by_number, natural

from .conftest import Write, says, the_problem

HEADER = "post_id,criterion_id,gold_sent_uids"


def test_missing_file_is_named_without_its_folder(tmp_path):
    message = the_problem(tmp_path / "nowhere.csv", "MISSING_FILE")
    says(message, "nowhere.csv", "no such file", "Check the name")
    assert str(tmp_path) not in message


def test_a_folder_is_not_a_file(tmp_path):
    says(the_problem(tmp_path, "UNREADABLE_FILE"), tmp_path.name, "readable file")


def test_unknown_format_lists_the_known_ones(write: Write):
    says(the_problem(write("x", name="run.ods"), "UNKNOWN_FORMAT"), "run.ods", "'.ods'", ".parquet", ".xlsx")


@pytest.mark.parametrize("name", ["run.csv", "run.jsonl", "run.parquet"])
def test_zero_bytes_are_an_empty_file(write: Write, name):
    says(the_problem(write(name=name), "EMPTY_FILE"), name, "0 rows", "Write the table again")


def test_header_only_is_an_empty_file(write: Write):
    says(the_problem(write(HEADER), "EMPTY_FILE"), "run.csv", "0 rows", "line 1", "no data")


def test_latin1_names_line_and_byte(write: Write):
    message = the_problem(write(HEADER, "p1,A.1,s1", b"caf\xe9,A.1,s2"), "WRONG_ENCODING")
    says(message, "run.csv", "line 3", f"byte offset {len(HEADER) + 1 + 10 + 3}", "0xe9", "Re-save it as UTF-8")


def test_utf16_is_named(write: Write):
    path = write("\ufeffpost_id".encode("utf-16-le"))
    says(the_problem(path, "WRONG_ENCODING"), "run.csv", "UTF-16", "Re-save it as UTF-8")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("run.csv", (HEADER, "p1,A.1,s1")),
        ("run.jsonl", ('{"post_id": "p1", "criterion_id": "A.1", "has_evidence": 1}',)),
    ],
)
def test_utf8_byte_order_mark_is_fine(write: Write, name, lines):
    assert len(read_run(write(b"\xef\xbb\xbf" + lines[0].encode(), *lines[1:], name=name))) == 1


@pytest.mark.parametrize(("row", "cells"), [("p2,A.1", "2 cells"), ("p2,A.1,s2,more", "4 cells")])
def test_rows_with_fewer_or_more_cells_are_ragged(write: Write, row, cells):
    message = the_problem(write(HEADER, "p1,A.1,s1", row, row), "RAGGED_ROWS")
    says(message, "run.csv", "2 rows", "line 3", cells, "header, 3", "delimiter")


def test_short_row_is_found_beside_quoted_cells(write: Write):
    says(the_problem(write(HEADER, '"p1",A.1,s1', "p2,A.1"), "RAGGED_ROWS"), "line 3", "1 row ")


def test_quote_that_never_closes(write: Write):
    message = the_problem(write(HEADER, "p1,A.1,s1", 'p2,A.1,"s2', "p3,A.1,s3"), "BROKEN_CSV")
    says(message, "run.csv", "line 3", "1 quoted cell", "Close the quote")


def test_repeated_column_name(write: Write):
    says(the_problem(write(HEADER + ",post_id", "p1,A.1,s1,p1"), "DUPLICATE_COLUMN"), "line 1", "'post_id'")


def test_blank_lines_at_the_end_are_fine(write: Write):
    assert len(read_run(write(HEADER, "p1,A.1,s1", "", ""))) == 1


def test_line_numbers_count_line_breaks_inside_quoted_cells(write: Write):
    path = write("post_id,criterion_id,prob,note,has_evidence", 'p1,A.1,0.5,"two\nlines",1', "p2,A.1,1.5,x,1")
    says(the_problem(path, "PROB_RANGE"), "line 4", "'p2'", "1.5")


def test_line_numbers_of_jsonl_count_blank_lines(write: Write):
    row = '{"post_id": "p%d", "criterion_id": "A.1", "has_evidence": 1, "prob": %s}'
    path = write(row % (1, 0.5), "", row % (2, 1.5), name="run.jsonl")
    says(the_problem(path, "PROB_RANGE"), "run.jsonl", "line 3", "'p2'")


@pytest.mark.parametrize("line", ['{"post_id": ', "[1]", '{"prob": NaN}'])
def test_broken_json_line(write: Write, line):
    good = '{"post_id": "p1", "criterion_id": "A.1", "has_evidence": 1}'
    message = the_problem(write(good, "", line, good, name="run.jsonl"), "BROKEN_JSON")
    says(message, "run.jsonl", "1 line ", "line 3", "one object per line")


def test_json_values_of_several_types(write: Write):
    row = '{"post_id": "p1", "criterion_id": "A.1", "has_evidence": %s}'
    says(the_problem(write(row % "true", row % "0.5", name="run.jsonl"), "MIXED_TYPES"), "'has_evidence'", "line 2")


def test_not_a_parquet_file(write: Write):
    says(the_problem(write("post_id", name="run.parquet"), "BROKEN_PARQUET"), "run.parquet", "again")


def test_gzip_cut_short(write: Write, tmp_path):
    path = tmp_path / "run.csv.gz"
    path.write_bytes(gzip.compress(b"post_id,criterion_id,has_evidence\np1,A.1,1\n" * 50)[:-20])
    says(the_problem(path, "BROKEN_GZIP"), "run.csv.gz", "again")


@pytest.mark.parametrize("source", [5, [], [1], {}, {"post_id": 1}, {"post_id": {}}, ["post_id"], {"post_id": "p1"}])
def test_what_is_no_table(source):
    says(the_problem(source, "NOT_A_TABLE"), "<dataframe>")


def test_delimiter_of_two_characters(write: Write):
    the_problem(write(HEADER, "p1,A.1,s1"), "DELIMITER", delimiter="||")


def test_data_frames_count_rows_from_one():
    frame = pl.DataFrame({"post_id": [1, 2], "criterion_id": ["A.1"] * 2, "has_evidence": [1, 0], "prob": [0.5, 7.0]})
    says(the_problem(frame, "PROB_RANGE"), "<dataframe>", "row 2", "post '2'")


def test_text_of_a_post_never_reaches_a_message(write: Write):
    secret = "I have not slept in days"
    path = write("post_id,criterion_id,prob,has_evidence", f"{secret},A.1,{secret},1", f"{secret},A.1,2,1")
    with pytest.raises(InputError) as error:
        read_run(path)
    assert secret not in str(error.value)
    assert "not shown" in str(error.value)


def test_all_problems_of_run_candidates_and_card_come_together(write: Write, tmp_path):
    problems = validate_run(tmp_path / "a.csv", candidates=tmp_path / "b.csv", card="no-card")
    assert [problem.code for problem in problems] == ["MISSING_FILE", "MISSING_FILE", "MISSING_CARD"]


def test_line_ends_of_old_macs(write: Write):
    path = write(HEADER, "p1,A.1,s1", "p2,A.1,s2|s2")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    says(the_problem(path, "DUPLICATE_UID"), "line 3", "'p2'")


def test_a_stray_carriage_return_in_the_header(write: Write):
    says(the_problem(write("post_id\rcriterion_id,has_evidence", "p1,A.1,1"), "BROKEN_CSV"), "run.csv", "line 1")


@pytest.mark.parametrize("delimiter", ['"', "\n", "\r"])
def test_delimiters_that_mean_something_else(write: Write, delimiter):
    says(
        the_problem(write(HEADER, "p1,A.1,s1"), "DELIMITER", delimiter=delimiter),
        "run.csv",
        "one character (ASCII, no quote)",
    )


@pytest.mark.parametrize(
    ("column", "cell"), [("post_id", b"\xff"), ("gold_sent_uids", b"\xff"), ("ranked_sent_uids", [b"a", b"\xff"])]
)
def test_bytes_that_are_no_text(tmp_path, column, cell):
    rows = {"post_id": ["p1"], "criterion_id": ["A.1"], "gold_sent_uids": ["a"], "ranked_sent_uids": [["a"]]}
    frame = pl.DataFrame(rows | {column: [cell]})
    frame.write_parquet(tmp_path / "run.parquet")
    for source in (frame, tmp_path / "run.parquet"):
        says(the_problem(source, "WRONG_TYPE"), "1 row ", "row 1", column, "map another column")


def test_bytes_that_are_text(tmp_path):
    frame = pl.DataFrame({"post_id": [b"p1"], "criterion_id": [b"A"], "gold_sent_uids": [[b"a", b"b"]]})
    assert read_run(frame).frame["gold_sent_uids"].to_list() == [["a", "b"]]


def test_numbers_of_very_many_digits_are_texts(write: Write):
    path = write("post_id,criterion_id,has_evidence", f"{'9' * 5000},A{'9' * 5000},1", "8,A8,1")
    codes = [problem.code for problem in validate_run(path, card=DatasetCard("x", every_pair=True))]
    assert set(codes) == {"TEXT_AS_LABEL", "MISSING_PAIR"}
    assert natural(["A" + "9" * 5000, "A10", "A010", "A9"]) == ("A9", "A010", "A10", "A" + "9" * 5000)
    assert by_number(["9" * 5000, "10", "9"]) == ("10", "9", "9" * 5000)


def test_json_and_jsonl_read_half_a_surrogate_pair_alike(write: Write) -> None:
    row = r'{"post_id":"\ud800","criterion_id":"A","has_evidence":1}'
    ids = [
        read_run(write(text, name=name)).frame["post_id"][0]
        for text, name in ((row, "a.jsonl"), (f"[{row}]", "a.json"))
    ]
    assert ids[0] == ids[1]


def test_a_lazy_frame_that_cannot_be_collected_is_no_traceback(tmp_path: Path) -> None:
    for lazy in (pl.scan_csv(tmp_path / "secret.csv"), pl.LazyFrame({"a": [1]}).select("secret")):
        message = the_problem(lazy, "BROKEN_QUERY")
        assert "secret" not in message
