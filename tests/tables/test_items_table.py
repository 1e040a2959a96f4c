"""Tables of predictors that may abstain: what is read, in which order, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evidentia
from evidentia.errors import InputError, UnknownNameError
from evidentia.tables import Items, read_items

from .conftest import Write, only, says

HEADER = "cluster_id,item,pred,gt,confidence"
ROWS = ("10,b,2,1,0.5", "9,a,,3,", "10,a,1,1,0.9")
SECRET = "I have not slept in days"


def the_problem(source: object, code: str, **options) -> str:
    with pytest.raises(InputError) as raised:
        read_items(source, **options)
    return only(raised.value.problems, code)


def same(one: Items, two: Items) -> bool:
    arrays = [(one.cluster, two.cluster), (one.pred, two.pred), (one.gt, two.gt)]
    arrays += [(one.signals[name], two.signals[name]) for name in one.signals]
    return (
        (one.cluster_ids, one.item, list(one.signals)) == (two.cluster_ids, two.item, list(two.signals))
        and all(np.array_equal(a, b, equal_nan=True) for a, b in arrays)
        and (one.mode, one.item_max, one.failed) == (two.mode, two.item_max, two.failed)
    )


class TestReading:
    def test_rows_are_sorted_and_an_empty_pred_is_an_abstention(self, write: Write):
        items = read_items(write(HEADER, *ROWS, name="items.csv"))
        assert (items.name, items.cluster_ids, items.item) == ("items.csv", ("9", "10"), ("a", "a", "b"))
        assert items.cluster.tolist() == [0, 1, 1]
        assert items.predicted.tolist() == [False, True, True]
        np.testing.assert_array_equal(items.pred, [np.nan, 1, 2])
        assert items.gt.tolist() == [3, 1, 1]
        np.testing.assert_array_equal(items.confidence("confidence"), [np.nan, 0.9, 0.5])
        assert (len(items), items.mode, items.item_max, items.failed) == (3, None, None, ())
        assert [(s.role, s.name, s.rows) for s in items.sources] == [("items", "items.csv", 3)]

    def test_items_sort_as_numbers_where_all_of_them_are(self, write: Write):
        rows = [f"c,{item},1,1,1" for item in (10, 9, 1)]
        assert read_items(write(HEADER, *rows)).item == ("1", "9", "10")
        assert read_items(write(HEADER, *rows, "c,x,1,1,1")).item == ("1", "10", "9", "x")

    def test_further_columns_of_numbers_are_signals_and_texts_are_not(self, write: Write):
        path = write(f"{HEADER},msp,note,blank,flag", f"1,a,2,1,0.5,0.25,{SECRET},,true", "1,b,,1,,,7,,false")
        items = read_items(path)
        assert list(items.signals) == ["confidence", "msp"]
        np.testing.assert_array_equal(items.signals["msp"], [0.25, np.nan])
        frame = pl.DataFrame(
            {"cluster_id": [1], "item": [1], "pred": [1], "gt": [0], "confidence": [2], "flag": [True]}
        )
        assert list(read_items(frame.with_columns(count=3)).signals) == ["confidence", "count"]

    def test_every_format_gives_the_same_items(self, write: Write, tmp_path):
        csv = read_items(write(HEADER, *ROWS))
        schema = {"pred": pl.Float64, "gt": pl.Float64, "confidence": pl.Float64}
        frame = pl.read_csv(tmp_path / "run.csv", schema_overrides=schema)
        frame.write_csv(tmp_path / "run.tsv", separator="\t")
        frame.write_parquet(tmp_path / "run.parquet")
        frame.write_ndjson(tmp_path / "run.jsonl")
        (tmp_path / "run.csv.gz").write_bytes(gzip.compress((tmp_path / "run.csv").read_bytes()))
        files = [tmp_path / f"run.{kind}" for kind in ("tsv", "parquet", "jsonl", "csv.gz")]
        for source in (*files, frame, frame.to_arrow(), pd.read_csv(tmp_path / "run.csv")):
            assert same(read_items(source), csv), source
        assert read_items(frame).name == "items"

    def test_columns_can_be_mapped_and_cells_separated_otherwise(self, write: Write):
        path = write("patient;item;pred;gt;confidence", "1;a;2;1;0.5")
        assert read_items(path, mapping={"cluster_id": "patient"}, delimiter=";").cluster_ids == ("1",)

    def test_all_abstained_is_a_run(self, write: Write):
        items = read_items(write(HEADER, "1,a,,1,", "2,a,,0,"))
        assert items.cluster_ids == ("1", "2")
        assert not items.predicted.any()

    def test_arrays_and_signals_are_read_only(self, write: Write):
        items = read_items(write(HEADER, *ROWS))
        for array in (items.cluster, items.pred, items.gt, items.signals["confidence"]):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        with pytest.raises(TypeError):
            items.signals["more"] = items.gt

    def test_the_names_are_there_where_users_look_for_them(self):
        assert evidentia.Items is Items
        assert evidentia.read_items is read_items
        assert {"Items", "read_items"} <= set(evidentia.__all__)

    @settings(max_examples=40, deadline=None)
    @given(st.permutations(range(8)), st.sampled_from([["1", "2", "10", "9"], ["1", "x", "10", "9"]]))
    def test_the_order_of_the_rows_says_nothing(self, order, names):
        frame = pl.DataFrame(
            {
                "cluster_id": names * 2,
                "item": ["10"] * 4 + ["2"] * 4,
                "pred": [1.0, None, 3.0, 0.0, None, None, 2.0, 1.0],
                "gt": [0.0, 1.0, 2.0, 3.0] * 2,
                "confidence": [0.5, None, 0.5, 0.1, None, 0.7, 0.5, 0.5],
                "other": [1, None, 3, 4, 5, 6, 7, 8],
            }
        )
        assert same(read_items(frame[list(order)]), read_items(frame))


class TestParts:
    def test_rows_taken_keep_the_codes_of_their_clusters(self, write: Write):
        items = read_items(write(HEADER, *ROWS)).take(np.array([1, 2]))
        assert (items.cluster.tolist(), items.cluster_ids, items.item) == ([1, 1], ("9", "10"), ("a", "b"))
        assert items.signals["confidence"].tolist() == [0.9, 0.5]

    def test_a_restriction_codes_the_clusters_anew(self, write: Write):
        items = read_items(write(HEADER, *ROWS)).restricted_to(["10", "11"])
        assert (items.cluster.tolist(), items.cluster_ids, items.pred.tolist()) == ([0, 0], ("10",), [1, 2])

    def test_two_runs_restricted_to_each_other_have_the_same_order(self, write: Write):
        one = read_items(write(HEADER, "10,a,1,1,1", "9,a,2,2,2", "x,a,0,3,3"))
        two = read_items(write(HEADER, "9,a,2,2,2", "10,a,1,1,1"))
        assert one.cluster_ids == ("10", "9", "x")  # as strings
        assert same(one.restricted_to(two.cluster_ids), two.restricted_to(one.cluster_ids))
        assert same(one.restricted_to(two.cluster_ids), two)

    def test_a_restriction_to_nothing_is_empty(self, write: Write):
        items = read_items(write(HEADER, *ROWS)).restricted_to([])
        assert (len(items), items.cluster_ids) == (0, ())


class TestConfidence:
    def test_an_unknown_signal_lists_what_there_is(self, write: Write):
        items = read_items(write(HEADER, *ROWS, name="items.csv"))
        with pytest.raises(UnknownNameError) as raised:
            items.confidence("llm")
        says(str(raised.value), "items.csv", "'llm'", "'confidence'", "Name one of these")
        assert "item_signals" not in str(raised.value)  # that is for PHQ-8 runs

    def test_a_predicted_item_without_a_value_is_counted(self, write: Write):
        items = read_items(write(f"{HEADER},msp", "10,b,2,1,1,", "9,a,,3,,", "10,a,1,1,1,", "9,b,1,1,1,0.5"))
        with pytest.raises(InputError) as raised:
            items.confidence("msp")
        says(str(raised.value), "2 predicted items without 'msp'", "cluster '10', item 'a'", "another signal")


class TestProblems:
    @pytest.mark.parametrize(
        ("row", "code", "parts"),
        [
            (",c,1,1,1", "MISSING_ID", ("without cluster_id or item",)),
            ("2, ,1,1,1", "MISSING_ID", ("without cluster_id or item",)),
            ("2 ,c,1,1,1", "PADDED_ID", ("the cluster_id", "Remove it")),
            ("2, c,1,1,1", "PADDED_ID", ("the item",)),
            (f"2,{SECRET},1,1,1", "TEXT_AS_LABEL", ("'item'", "5 words")),
            (f"{'x' * 201},c,1,1,1", "TEXT_AS_LABEL", ("'cluster_id'", "200 characters")),
            ("9,a,1,1,1", "DUPLICATE_ITEM", ("cluster '9', item 'a'", "one row per item")),
            ("2,c,two,1,1", "WRONG_TYPE", ("pred is not a number", "'two'")),
            ("2,c,nan,1,1", "PRED_NOT_FINITE", ("pred nan", "empty where the predictor abstained")),
            ("2,c,-inf,1,1", "PRED_NOT_FINITE", ("pred -inf",)),
            ("2,c,1,,1", "GT_NOT_FINITE", ("gt is missing", "Give every row a finite gt.")),
            ("2,c,1,inf,1", "GT_NOT_FINITE", ("gt inf",)),
            ("2,c,1,high,1", "WRONG_TYPE", ("gt is not a number",)),
            ("2,c,1,1,", "MISSING_CONFIDENCE", ("with a pred but without a confidence",)),
            ("2,c,1,1,nan", "MISSING_CONFIDENCE", ("with a pred but without a confidence",)),
            ("2,c,1,1,inf", "CONFIDENCE_NOT_FINITE", ("'confidence' is infinite",)),
            ("2,c,,1,inf", "CONFIDENCE_NOT_FINITE", ("'confidence' is infinite",)),
            ("2,c,1,1,sure", "WRONG_TYPE", ("confidence is not a number",)),
        ],
    )
    def test_a_bad_row_is_counted_and_placed(self, write: Write, row, code, parts):
        message = the_problem(write(HEADER, *ROWS, row, name="items.csv"), code)
        says(message, "items.csv: 1 row ", "first: line 5", *parts)
        assert SECRET not in message

    def test_an_infinite_further_signal(self, write: Write):
        path = write(f"{HEADER},msp", "1,a,1,1,1,0.5", "1,b,,1,,inf")
        says(the_problem(path, "CONFIDENCE_NOT_FINITE"), "1 row whose 'msp' is infinite", "line 3")

    def test_all_problems_come_at_once(self, write: Write):
        with pytest.raises(InputError) as raised:
            read_items(write(HEADER, ",a,1,1,1", "1,a,x,,1", "1,a,1,1,"))
        codes = [problem.code for problem in raised.value.problems]
        assert codes == ["WRONG_TYPE", "MISSING_ID", "DUPLICATE_ITEM", "GT_NOT_FINITE"]

    def test_missing_columns_are_named(self, write: Write):
        says(the_problem(write("cluster_id,item,pred", "1,a,1"), "MISSING_COLUMN"), "lacks gt, confidence", "3 columns")

    def test_no_rows(self, write: Write):
        says(the_problem(write(HEADER), "EMPTY_FILE"), "0 rows", "no data")

    def test_a_phq8_run_under_the_name_of_a_table(self, write: Write):
        path = write('{"run_metadata": {}, "experiments": [{"results": {}}]}', name="run.jsonl")
        says(the_problem(path, "NOT_A_TABLE"), "run.jsonl", "PHQ-8 run", "Name the file .json")

    def test_something_else_is_not_a_table(self):
        says(the_problem([1, 2], "NOT_A_TABLE"), "a list is not a table")

    def test_a_table_has_no_modes(self, write: Write):
        says(the_problem(write(HEADER, *ROWS), "MODE", mode="few_shot"), "'few_shot'", "no modes")


class TestLargestError:
    def test_it_is_what_was_given(self, write: Write):
        assert read_items(write(HEADER, *ROWS), item_max=4).item_max == 4

    @pytest.mark.parametrize("item_max", [0, -1, float("nan"), float("inf")])
    def test_it_is_a_number_above_0(self, write: Write, item_max):
        says(the_problem(write(HEADER, *ROWS), "ITEM_MAX", item_max=item_max), f"item_max is {item_max}", "above 0")

    def test_no_error_may_be_larger(self, write: Write):
        path = write(HEADER, "1,a,2,0,1", "1,b,0,3,1", "1,c,,9,")
        assert read_items(path, item_max=3).item_max == 3
        says(the_problem(path, "ITEM_MAX", item_max=2.5), "1 row ", "line 3", "more than item_max (2.5)")


def test_other_signals_stand_in_for_a_confidence_that_is_not_there() -> None:
    frame = pl.DataFrame(
        {
            "cluster_id": ["a", "b"],
            "item": ["x", "x"],
            "pred": [1, None],
            "gt": [1, 2],
            "llm": [3, 0],
            "note": ["p", "q"],
        }
    )
    items = read_items(frame)
    assert list(items.signals) == ["llm"]
    assert items.confidence("llm").tolist() == [3.0, 0.0]
    with pytest.raises(InputError, match="there is no signal 'confidence'; there is 'llm'"):
        items.confidence("confidence")
    with pytest.raises(InputError, match="confidence"):
        read_items(frame.drop("llm"))
    mapped = read_items(frame, mapping={"confidence": "llm"})
    assert list(mapped.signals) == ["confidence"]


def test_names_of_signals_lose_the_quote_that_a_result_gave_them(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("cluster_id,item,pred,gt,'-logprob,'quoted\n'=a,x,1,1,0.5,2\n")
    items = read_items(tmp_path / "items.csv")
    assert list(items.signals) == ["-logprob", "'quoted"]
    assert items.cluster_ids == ("=a",)


@pytest.mark.parametrize("column", ["pred", "gt"])
def test_scores_whose_losses_would_not_be_numbers_are_refused(column: str) -> None:
    row = {"cluster_id": ["a"], "item": ["x"], "pred": [1.0], "gt": [1.0], "confidence": [0.5]}
    assert "beyond 1e+100" in the_problem(pl.DataFrame(row | {column: [-1e101]}), "SCORE_TOO_LARGE")
    assert len(read_items(pl.DataFrame(row | {column: [-1e100]}))) == 1
