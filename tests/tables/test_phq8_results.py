"""The results of PHQ-8 runs: what is wrong with a participant, a score or a signal is counted and refused."""

from __future__ import annotations

import json

import pytest

from evidentia.errors import InputError
from evidentia.tables import read_items

from .conftest import Write, says
from .phq8_runs import ITEMS, SECRET, changed, failed, result, run, signals, the_problem, without

WRONG_SCORES = [4, -1, 1.5, True, "2", "N/A", [1], 10**400]


class TestResults:
    @pytest.mark.parametrize("bad", [None, True, 3.5, "", " 300", "300\n", "a\u2028b", "x" * 201, [300], 10**300])
    def test_a_participant_id_is_a_number_or_a_short_text(self, bad):
        says(the_problem(run(result(), result(bad)), "PARTICIPANT_ID"), "1 result ", "first: result 2", "whole number")

    def test_a_participant_once(self):
        message = the_problem(run(result(300), result(9), result("300"), failed(9)), "DUPLICATE_PARTICIPANT")
        says(message, "2 results repeating a participant", "participant '300'", "300 and '300' are the same")

    def test_a_participant_is_not_both_007_and_7(self):
        message = the_problem(run(result("007"), result(9), result(7), failed("P01"), result("P1")), "LEADING_ZEROS")
        says(message, "2 results whose participant_id differs from another only by zeros", "first: result 3")

    def test_zeros_that_are_digits_of_an_id_matter(self):
        assert read_items(run(result("70"), result("7"), result("1.05"), result("1.5"))).cluster_ids[-1] == "70"

    def test_a_result_is_an_object(self):
        says(the_problem(run(result(), 3, SECRET), "SHAPE"), "2 results other than an object", "result 2")

    @pytest.mark.parametrize("success", [None, 1, "true"])
    def test_success_is_true_or_false(self, success):
        message = the_problem(run(result(9), result(success=success)), "SUCCESS")
        says(message, "1 result whose success", "participant '300'", "true or false")

    @pytest.mark.parametrize(
        ("key", "code"), [("predicted_items", "MISSING_PREDICTIONS"), ("ground_truth_items", "MISSING_TRUTH")]
    )
    @pytest.mark.parametrize("bad", [None, [1], "none"])
    def test_success_needs_predictions_and_truth(self, key, code, bad):
        says(
            the_problem(run(result(**{key: bad})), code), f"1 successful participant without {key}", "'300'", "8 items"
        )

    @pytest.mark.parametrize("key", ["predicted_items", "ground_truth_items", "item_signals"])
    def test_missing_items_are_counted(self, key):
        message = the_problem(run(result(9), without(key, "Sleep", "Moving")), "MISSING_ITEM")
        says(message, "2 items missing", f"participant '300' lacks 2 of 8 in {key}, item Sleep")

    @pytest.mark.parametrize("key", ["predicted_items", "ground_truth_items", "item_signals"])
    def test_unknown_items_are_named(self, key):
        says(the_problem(run(changed(key, "Mood", 1)), "UNKNOWN_ITEM"), "1 item name", f"'300', 'Mood' in {key}")
        says(the_problem(run(changed(key, SECRET, 1)), "UNKNOWN_ITEM"), "not shown")

    @pytest.mark.parametrize("key", ["predicted_items", "ground_truth_items"])
    @pytest.mark.parametrize("bad", WRONG_SCORES)
    def test_scores_are_whole_numbers_from_0_to_3(self, key, bad):
        message = the_problem(run(result(9), changed(key, "Sleep", bad)), "SCORE")
        says(message, "1 score other than 0, 1, 2 or 3", "participant '300', item Sleep", f"in {key}")

    def test_a_text_as_a_score_is_not_shown(self):
        says(the_problem(run(changed("predicted_items", "Sleep", SECRET)), "SCORE"), "not shown")

    def test_truth_has_no_gaps(self):
        message = the_problem(run(changed("ground_truth_items", "Sleep", None)), "MISSING_TRUTH")
        says(message, "1 item whose score in ground_truth_items is null", "participant '300', item Sleep")

    def test_a_failed_participant_needs_nothing_but_an_id(self):
        assert read_items(run(result(), {"participant_id": 1, "success": False})).failed == ("1",)

    def test_all_problems_come_at_once(self):
        bad = changed("predicted_items", "Sleep", 9)
        bad["ground_truth_items"]["Tired"] = None
        bad["item_signals"]["Moving"] = signals(llm=-1)
        with pytest.raises(InputError) as raised:
            read_items(run(bad, result(None)))
        codes = [problem.code for problem in raised.value.problems]
        assert codes == ["SCORE", "MISSING_TRUTH", "PARTICIPANT_ID", "EVIDENCE_COUNT"]


class TestSignals:
    @pytest.mark.parametrize("bad", [-1, 1.5, True, "3", [1], 10**400])
    @pytest.mark.parametrize("key", ["llm", "keyword"])
    def test_evidence_counts_are_counts(self, key, bad):
        message = the_problem(run(changed("item_signals", "Sleep", signals(**{key: bad}))), "EVIDENCE_COUNT")
        says(message, "1 evidence count ", "participant '300', item Sleep", f"'{key}_evidence_count'")

    def test_counts_that_are_all_texts_are_no_older_run(self):
        made = result(item_signals={item: signals(llm="2") for item in ITEMS})
        says(the_problem(run(made), "EVIDENCE_COUNT"), "8 evidence counts ", "item NoInterest")

    def test_a_text_among_numbers(self):
        made = result(item_signals={item: signals(msp=0.5) for item in ITEMS})
        made["item_signals"]["Sleep"]["msp"] = SECRET
        says(the_problem(run(made), "WRONG_TYPE"), "1 signal other than a number", "item Sleep, 'msp'", "not shown")

    def test_a_number_too_large_for_the_machine(self, write: Write):
        made = result(item_signals={item: signals(msp=0.5) for item in ITEMS})
        text = json.dumps(run(made)).replace("0.5", "1e999", 1)
        message = the_problem(write(text, name="run.json"), "CONFIDENCE_NOT_FINITE")
        says(message, "run.json: 1 signal without a finite value", "participant '300', item NoInterest, 'msp' inf")

    def test_signals_for_some_participants_only(self):
        older = result(9)
        del older["item_signals"]
        message = the_problem(run(result(), older, failed()), "MISSING_SIGNALS")
        says(message, "1 successful participant without item_signals, which others have", "participant '9'")

    @pytest.mark.parametrize("bad", [3, [1], SECRET])
    def test_the_signals_are_an_object_of_objects(self, bad):
        says(
            the_problem(run(result(item_signals=bad)), "SHAPE"), "1 successful participant whose item_signals", "'300'"
        )
        says(
            the_problem(run(changed("item_signals", "Sleep", bad)), "SHAPE"), "1 item whose item_signals", "item Sleep"
        )

    @pytest.mark.parametrize("name", ["llm", "keyword", "total_evidence"])
    def test_a_signal_may_not_take_the_name_of_the_counts(self, name):
        made = result(item_signals={item: signals() | {name: 0.5} for item in ITEMS})
        says(the_problem(run(made), "SIGNAL_NAME"), "1 signal under a name", f"'{name}'", "another name")
