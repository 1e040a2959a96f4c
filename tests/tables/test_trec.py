"""TREC files: the order of ties, missing topics, malformed lines."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from evidentia.errors import InputError
from evidentia.tables import read_trec, trec, validate_trec
from sampling import examples

from .conftest import Write, only, says

QRELS = ("10 0 d1 1", "10 0 d2 0", "9 0 d1 2", "9 0 d3 -1", "11 0 d1 0")
RUN = ("10 Q0 d1 1 0.5 t", "10\tQ0\td2  2 0.7 t", "10 Q0 d3 3 0.5 t", "9 Q0 d1 1 1e-3 t", "12 Q0 d1 1 3 t")


def files_of(write: Write, qrels=QRELS, run=RUN):
    return write(*qrels, name="test.qrels"), write(*run, name="test.run")


def test_ranking_is_by_score_and_ties_keep_the_order_of_the_file(write: Write):
    run = read_trec(*files_of(write))
    assert run.queries.post_ids == ("9", "10", "11")
    assert run.queries.criterion_ids == ("",)
    assert run.frame["ranked_sent_uids"].to_list() == [["d1"], ["d2", "d1", "d3"], []]
    assert run.frame["gold_sent_uids"].to_list() == [["d1"], ["d1"], []]
    assert run.queries.gold_ranks.values.tolist() == [1, 2]
    assert [(s.role, s.name, s.rows) for s in run.sources] == [("qrels", "test.qrels", 5), ("trec_run", "test.run", 5)]


def test_ties_as_in_trec_eval_go_by_document_descending(write: Write):
    assert read_trec(*files_of(write), ties="trec").frame["ranked_sent_uids"].to_list()[1] == ["d2", "d3", "d1"]


def test_scores_that_differ_only_beyond_float32_are_ties_in_trec_eval(write: Write):
    files = files_of(write, run=("10 Q0 d1 1 0.50000000001 t", "10 Q0 d2 2 0.5 t"))
    assert read_trec(*files).frame["ranked_sent_uids"].to_list()[1] == ["d1", "d2"]
    assert read_trec(*files, ties="trec").frame["ranked_sent_uids"].to_list()[1] == ["d2", "d1"]


def test_topics_in_one_file_only_are_counted(write: Write):
    run = read_trec(*files_of(write))
    assert dict(run.left_out) == {"topics that are not in the qrels": 1}
    *notes, clusters = run.notes
    assert "each a cluster of its own: intervals take topics for independent" in clusters
    assert tuple(notes) == (
        "test.run: 1 judged topic not in the run, kept with an empty ranking (first: '11').",
        "test.run: 1 topic not in the qrels, left out (first: '12').",
    )


def test_malformed_line(write: Write):
    message = only(
        validate_trec(*files_of(write, run=(*RUN, "", "10 Q0 d4 1 0.5", "10 Q0 d5 1 1 t x"))), "MALFORMED_LINE"
    )
    says(message, "test.run", "2 rows", "line 7", "6 fields", "topic Q0 document rank score tag")


def test_one_malformed_line_is_grammatical(write: Write):
    message = only(validate_trec(*files_of(write, run=(*RUN, "10 Q0 d4 1 0.5"))), "MALFORMED_LINE")
    says(message, "1 row without exactly 6 fields", "line 6")


def test_line_numbers_and_order_survive_the_blocks(write: Write, monkeypatch):
    files = files_of(write, run=(*RUN[:2], "", *RUN[2:], "", "10 Q0 d4 1 0.5"))
    whole = only(validate_trec(*files), "MALFORMED_LINE")
    says(whole, "line 8")
    expected = read_trec(*files_of(write)).frame
    for size in (0, 1, 20, 40):
        monkeypatch.setattr("evidentia.tables.trec._BLOCK", size)
        assert read_trec(*files_of(write)).frame.equals(expected)
        assert (
            only(validate_trec(*files_of(write, run=(*RUN[:2], "", *RUN[2:], "", "10 Q0 d4 1 0.5"))), "MALFORMED_LINE")
            == whole
        )


FIELD = st.text('qd01.-e"#,', min_size=1, max_size=4)
GAP = st.sampled_from([" ", " ", " ", " ", "\t", "  ", "\f", ""])
LINE = st.lists(st.tuples(FIELD, GAP), min_size=5, max_size=7).map(
    lambda parts: "".join(f + g for f, g in parts).strip()
)


LINES = st.lists(st.one_of(LINE, st.just("q Q0 d 1 0.5 t"), st.just("")), min_size=1, max_size=4)


@examples(200)
@given(LINES, st.sampled_from(["trec_run", "qrels"]))
def test_the_fast_reader_reads_as_the_pattern_does_or_steps_aside(lines: list[str], role: str) -> None:
    fast = trec._plain_cells("\n".join(lines).encode(), 7, role)
    if fast is not None:
        assert_frame_equal(fast, trec._cells(lines, 7, role))


def test_the_fast_reader_takes_plain_files() -> None:
    assert trec._plain_cells(b"q Q0 d 1 0.5 t\nq Q0 e 2 0.4 t", 0, "trec_run") is not None
    assert trec._plain_cells(b"q\t0\td\t1", 0, "qrels") is not None


@pytest.mark.parametrize("gap", [" ", "\t", " \t ", "\u00a0", "\u3000 "])
def test_any_white_space_separates_fields(write: Write, gap):
    expected = read_trec(*files_of(write)).frame
    run = tuple(f"{gap}{gap.join(line.split())}{gap}\r" for line in RUN)
    assert read_trec(*files_of(write, run=run)).frame.equals(expected)


def test_line_ends_of_old_macs(write: Write):
    expected = read_trec(*files_of(write)).frame
    qrels, run = files_of(write)
    for path in (qrels, run):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    assert read_trec(qrels, run).frame.equals(expected)


def test_a_topic_that_is_no_id(write: Write):
    long = "x" * 201
    message = only(validate_trec(*files_of(write, qrels=(*QRELS, f"{long} 0 d1 1"))), "TEXT_AS_LABEL")
    says(message, "test.qrels", "1 row ", "line 6", "topic")
    assert long not in message


def test_blank_in_unicode_is_blank(write: Write):
    assert only(validate_trec(*files_of(write, qrels=("\u00a0",))), "EMPTY_FILE")


@pytest.mark.parametrize("score", ["high", "nan", "inf"])
def test_score_is_a_finite_number(write: Write, score):
    message = only(validate_trec(*files_of(write, run=(*RUN, f"10 Q0 d4 4 {score} t"))), "WRONG_TYPE")
    says(message, "test.run", "1 row ", "line 6", "finite number")


def test_relevance_is_a_whole_number(write: Write):
    message = only(validate_trec(*files_of(write, qrels=(*QRELS, "10 0 d4 yes"))), "WRONG_TYPE")
    says(message, "test.qrels", "1 row ", "line 6", "whole number")


def test_duplicate_document(write: Write):
    files = files_of(write, qrels=(*QRELS, "10 0 d1 1"), run=(*RUN, "9 Q0 d1 2 0.1 t"))
    problems = validate_trec(*files)
    assert [p.code for p in problems] == ["DUPLICATE_UID", "DUPLICATE_UID"]
    says(problems[0].message, "test.qrels", "1 row ", "line 6", "topic '10', document 'd1'", "once per topic")
    says(problems[1].message, "test.run", "line 6", "topic '9', document 'd1'")


def test_bar_in_a_document_number(write: Write):
    says(only(validate_trec(*files_of(write, run=(*RUN, "9 Q0 d|2 2 0.1 t"))), "BAR_IN_UID"), "line 6")


def test_both_files_are_checked_in_one_pass(write: Write, tmp_path):
    problems = validate_trec(tmp_path / "no.qrels", write(name="test.run"))
    assert [p.code for p in problems] == ["MISSING_FILE", "EMPTY_FILE"]


def test_unknown_rule_for_ties(write: Write):
    with pytest.raises(InputError, match="'input' or 'trec'"):
        read_trec(*files_of(write), ties="random")


def test_gzip(write: Write, tmp_path):
    qrels, run = files_of(write)
    packed = tmp_path / "test.run.gz"
    packed.write_bytes(gzip.compress(run.read_bytes()))
    assert read_trec(qrels, packed).frame.equals(read_trec(qrels, run).frame)
