"""What a result folder writes can be read again: quoted formulas, and a criterion without a name."""

from __future__ import annotations

import polars as pl
import pytest

from evidentia.tables import read_run, read_trec, validate_run
from evidentia.workflow import evaluate

from .conftest import Write, says, the_problem
from .test_read import same

ODD = ["=s1", "-s1", "'=x", "@a", "''+b", "'plain", "\u2212minus"]
ROWS = pl.DataFrame(
    {
        "post_id": ODD,
        "criterion_id": ["-A"] * len(ODD),
        "fold": ["+1", "'=2"] * 3 + ["+1"],
        "gold_sent_uids": [[f"{post}0"] for post in ODD],
        "ranked_sent_uids": [[f"{post}1", f"{post}0"] if at % 2 else [f"{post}0"] for at, post in enumerate(ODD)],
        "group": ["=SUM(A1)", "'-", "a", "b", "@", "", "+"],
    }
)


def test_ids_that_a_spreadsheet_would_run_come_back_as_they_were(tmp_path):
    first = read_run(ROWS, by="group")
    evaluate(first, by="group").save(tmp_path / "out")
    again = read_run(tmp_path / "out" / "per_query.csv", by="group")
    assert again.frame.select(ROWS.columns).equals(first.frame.select(ROWS.columns))
    assert same(again.queries, first.queries)
    one, two = (evaluate(run, by="group").to_dict()["measures"] for run in (first, again))
    assert one == two


@pytest.mark.parametrize(("name", "delimiter"), [("run.csv", ","), ("run.tsv", "\t")])
def test_one_quote_goes_and_only_before_a_formula(write: Write, name, delimiter):
    cells = (("post_id", "criterion_id", "ranked_sent_uids", "gold_sent_uids"), ("'=p", "''@A", "'-a|'-b", "'c"))
    run = read_run(write(*(delimiter.join(row) for row in cells), name=name))
    assert run.queries.post_ids == ("=p",)
    assert run.queries.criterion_ids == ("'@A",)
    assert run.frame["ranked_sent_uids"].to_list() == [["-a", "'-b"]]
    assert run.frame["gold_sent_uids"].to_list() == [["'c"]]


def test_other_formats_are_not_quoted_and_stay_as_they_are(tmp_path):
    frame = pl.DataFrame({"post_id": ["'=p"], "criterion_id": ["A"], "gold_sent_uids": [["'-a"]]})
    frame.write_parquet(tmp_path / "run.parquet")
    frame.write_ndjson(tmp_path / "run.jsonl")
    for source in (frame, tmp_path / "run.parquet", tmp_path / "run.jsonl"):
        assert read_run(source).queries.post_ids == ("'=p",)
        assert read_run(source).frame["gold_sent_uids"].to_list() == [["'-a"]]


def test_the_result_of_a_trec_evaluation_can_be_read_again(write: Write, tmp_path):
    qrels = write("1 0 d1 1", "2 0 d1 1", "3 0 d2 0", name="test.qrels")
    first = read_trec(qrels, write("1 Q0 d2 1 2 t", "1 Q0 d1 2 1 t", "2 Q0 d1 1 3 t", name="test.run"))
    evaluate(first).save(tmp_path / "out")
    again = read_run(tmp_path / "out" / "per_query.csv")
    assert same(again.queries, first.queries)
    assert again.notes == ()


def test_no_criterion_anywhere_is_one_nameless_criterion(write: Write):
    path = write("post_id,criterion_id,gold_sent_uids", "p1,,a", 'p2,"",a', "p3, ,b")
    run = read_run(path)  # topics may share documents
    assert run.queries.criterion_ids == ("",)
    pool = write("post_id,criterion_id,sent_uid,score", "p1,,a,1", "p2,,a,1", "p3,,b,1", name="pool.csv")
    assert len(read_run(path, candidates=pool)) == 3


def test_no_criterion_in_some_rows_stays_an_error(write: Write):
    path = write("post_id,criterion_id,gold_sent_uids", "p1,,a", "p2,A.1,b")
    says(the_problem(path, "MISSING_ID"), "1 row ", "line 2")


def test_nameless_criterion_does_not_hide_a_repeated_post(write: Write):
    path = write("post_id,criterion_id,has_evidence", "p1,,1", "p1,,0")
    assert [problem.code for problem in validate_run(path)] == ["DUPLICATE_QUERY"]
