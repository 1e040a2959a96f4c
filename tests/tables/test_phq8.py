"""PHQ-8 runs: who is included, what becomes a signal, and what is refused."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidentia.errors import InputError, UnknownNameError
from evidentia.tables import Items, read_items

from .conftest import Write, only, says
from .test_items_table import same

ITEMS = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")
SECRET = "I have not slept in days"


def signals(llm: Any = 2, keyword: Any = 1, **more: Any) -> dict[str, Any]:
    return {"llm_evidence_count": llm, "keyword_evidence_count": keyword, "evidence_source": "both", **more}


def result(participant: Any = 300, **changes: Any) -> dict[str, Any]:
    """A successful participant: predicted 0 to 3 twice, truth 1 everywhere."""
    return {
        "participant_id": participant,
        "success": True,
        "predicted_items": {item: at % 4 for at, item in enumerate(ITEMS)},
        "ground_truth_items": dict.fromkeys(ITEMS, 1),
        "item_signals": {item: signals() for item in ITEMS},
    } | changes


def failed(participant: Any = 301) -> dict[str, Any]:
    return {"participant_id": participant, "success": False, "error": SECRET}


def experiment(*results: Any, mode: str = "few_shot") -> dict[str, Any]:
    return {"provenance": {"mode": mode}, "results": {"mode": mode, "results": list(results)}}


def run(*results: Any) -> dict[str, Any]:
    return {"run_metadata": {"run_id": "r1"}, "experiments": [experiment(*results)]}


def changed(key: str, item: str, value: Any) -> dict[str, Any]:
    """A participant with one item changed under one key."""
    made = result()
    made[key][item] = value
    return made


def without(key: str, *items: str) -> dict[str, Any]:
    made = result()
    made[key] = {item: value for item, value in made[key].items() if item not in items}
    return made


def the_problem(source: object, code: str, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        read_items(source, **options)
    message = only(raised.value.problems, code)
    assert SECRET not in message
    return message


class TestReading:
    def test_participants_go_by_number_and_items_in_the_order_of_the_questionnaire(self):
        backwards = {item: at % 4 for at, item in reversed(list(enumerate(ITEMS)))}
        items = read_items(run(result(300), failed("x"), result("9", predicted_items=backwards), failed(12)))
        assert items.cluster_ids == ("9", "300")
        assert items.item == ITEMS * 2
        assert items.cluster.tolist() == [0] * 8 + [1] * 8
        assert items.pred.tolist() == [0, 1, 2, 3] * 4
        assert items.gt.tolist() == [1] * 16
        assert (items.mode, items.item_max, items.name) == ("few_shot", 3.0, "items")

    def test_failed_participants_are_named_and_have_no_rows(self):
        items = read_items(run(failed(310), result(), failed(9)))
        assert (items.failed, items.cluster_ids, len(items)) == (("9", "310"), ("300",), 8)
        assert items.notes == ("<mapping>: 2 participants with success = false, left out (first: '9').",)

    def test_a_participant_without_a_prediction_stays_in(self):
        items = read_items(run(result(), result(302, predicted_items=dict.fromkeys(ITEMS))))
        assert items.cluster_ids == ("300", "302")
        assert items.predicted.tolist() == [True] * 8 + [False] * 8

    def test_a_score_may_be_written_with_a_point(self):
        assert read_items(run(changed("predicted_items", "Sleep", 3.0))).pred[2] == 3

    def test_the_evidence_counts_and_their_sum(self):
        made = result()
        made["item_signals"]["Sleep"] = signals(llm=4, keyword=0)
        made["item_signals"]["Tired"] = signals(llm=4, keyword=None)
        items = read_items(run(made))
        assert list(items.signals) == ["llm", "keyword", "total_evidence"]
        assert items.signals["llm"].tolist() == [2, 2, 4, 4, 2, 2, 2, 2]
        np.testing.assert_array_equal(items.signals["total_evidence"], [3, 3, 4, np.nan, 3, 3, 3, 3])

    def test_other_numbers_are_signals_under_their_own_names_and_nothing_else_is(self):
        made = result()
        made["item_signals"] = {
            item: signals(token_msp=0.5, verbalized_confidence=4, sure=True, note=SECRET, samples=[1], nothing=None)
            for item in ITEMS
        }
        made["item_signals"]["Moving"] |= {"token_msp": None, "consistency": -1}
        items = read_items(run(made))
        assert list(items.signals)[3:] == ["token_msp", "verbalized_confidence", "consistency"]
        np.testing.assert_array_equal(items.signals["token_msp"], [0.5] * 7 + [np.nan])
        np.testing.assert_array_equal(items.signals["consistency"], [np.nan] * 7 + [-1])

    @pytest.mark.parametrize("older", [{}, {"item_signals": None}])
    def test_an_older_run_has_no_signals(self, older):
        made = result()
        del made["item_signals"]
        assert dict(read_items(run(made | older)).signals) == {}

    @pytest.mark.parametrize("name", ["run.json", "RUN.JSON"])
    def test_a_file_is_named_and_hashed(self, write: Write, name):
        text = json.dumps(run(result()))
        items = read_items(str(write("\ufeff" + text, name=name)))
        digest = hashlib.sha256(f"\ufeff{text}\n".encode()).hexdigest()
        assert items.name == name
        assert [(s.role, s.name, s.sha256, s.rows) for s in items.sources] == [("phq8", name, digest, 8)]

    @settings(max_examples=30, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from([0, 1, 2, 3, None]), min_size=8, max_size=8),
                st.lists(st.integers(0, 3), min_size=8, max_size=8),
                st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=8, max_size=8),
            ),
            min_size=1,
            max_size=4,
        )
    )
    def test_a_run_comes_back_from_its_file(self, tmp_path_factory, drawn):
        results = [
            result(
                400 + at,
                predicted_items=dict(zip(ITEMS, pred, strict=True)),
                ground_truth_items=dict(zip(ITEMS, gt, strict=True)),
                item_signals={item: signals(msp=value) for item, value in zip(ITEMS, msp, strict=True)},
            )
            for at, (pred, gt, msp) in enumerate(drawn)
        ]
        whole = run(*results, failed(399))
        path = tmp_path_factory.mktemp("run") / "run.json.gz"
        path.write_bytes(gzip.compress(json.dumps(whole).encode()))
        items = read_items(path)
        assert same(items, read_items(whole))
        assert same(items, read_items(run(failed(399), *reversed(results))))
        expected = [np.nan if score is None else score for pred, _, _ in drawn for score in pred]
        np.testing.assert_array_equal(items.pred, expected)


class TestConfidence:
    def read(self, **own: Any) -> Items:
        return read_items(run(result(item_signals=dict.fromkeys(ITEMS, own))))

    @pytest.mark.parametrize(
        ("own", "name", "parts"),
        [
            ({}, "llm", ("none at all", "llm needs llm_evidence_count in item_signals")),
            ({"keyword_evidence_count": 1}, "total_evidence", ("'keyword'", "needs llm_evidence_count in")),
            ({"llm_evidence_count": 1}, "total_evidence", ("needs keyword_evidence_count in",)),
            ({}, "total_evidence", ("needs llm_evidence_count and keyword_evidence_count in item_signals",)),
            ({"token_msp": 1}, "token_pe", ("no signal 'token_pe'", "'token_msp'", "Name one of these")),
        ],
    )
    def test_a_signal_that_is_not_there_names_the_missing_key(self, own, name, parts):
        with pytest.raises(UnknownNameError) as raised:
            self.read(**own).confidence(name)
        says(str(raised.value), *parts)

    def test_only_predicted_items_need_a_value(self):
        made = result()
        made["item_signals"]["Sleep"]["llm_evidence_count"] = None
        with pytest.raises(InputError) as raised:
            read_items(run(made)).confidence("llm")
        says(str(raised.value), "1 predicted item without 'llm'", "participant '300', item 'Sleep'")
        made["predicted_items"]["Sleep"] = None
        assert np.isnan(read_items(run(made)).confidence("llm")[2])


TWO = {"experiments": [experiment(result(), mode="zero_shot"), experiment(result(9), mode="few_shot")]}


class TestModes:
    def test_the_mode_chooses_the_experiment(self):
        items = read_items(TWO, mode="few_shot")
        assert (items.mode, items.cluster_ids) == ("few_shot", ("9",))

    def test_several_without_a_choice_are_listed(self):
        says(the_problem(TWO, "MODE"), "2 experiments", "no mode was chosen", "'zero_shot', 'few_shot'")

    def test_an_unknown_mode_lists_the_known_ones(self):
        says(the_problem(TWO, "MODE", mode="many_shot"), "no mode 'many_shot'", "'zero_shot', 'few_shot'")

    def test_two_experiments_of_one_mode(self):
        twice = {"experiments": [experiment(result()), experiment(result(9))]}
        for mode in (None, "few_shot"):
            says(the_problem(twice, "MODE", mode=mode), "2 experiments of the mode 'few_shot'", "Keep one")

    @pytest.mark.parametrize("silent", ["results", "provenance"])
    def test_one_of_the_two_places_is_enough(self, silent):
        whole = run(result())
        del whole["experiments"][0][silent]["mode"]
        assert read_items(whole, mode="few_shot").mode == "few_shot"

    def test_one_experiment_needs_no_mode(self):
        whole = run(result())
        del whole["experiments"][0]["provenance"], whole["experiments"][0]["results"]["mode"]
        assert read_items(whole).mode is None
        says(the_problem(whole, "MODE", mode="few_shot"), "no mode 'few_shot'", "one without a mode")
        twice = {"experiments": whole["experiments"] * 2}
        says(the_problem(twice, "MODE"), "2 experiments without a mode")

    def test_the_two_places_may_not_differ(self):
        whole = run(result())
        whole["experiments"][0]["provenance"]["mode"] = "zero_shot"
        says(the_problem(whole, "MODE"), "experiments[0] has two modes", "'few_shot' in results", "'zero_shot' in prov")

    @pytest.mark.parametrize("mode", [3, ["few_shot"], "", " few_shot"])
    def test_a_mode_is_a_name(self, mode):
        whole = run(result())
        whole["experiments"][0]["results"]["mode"] = mode
        says(the_problem(whole, "MODE"), "experiments[0].results.mode is not a name")


class TestShape:
    @pytest.mark.parametrize(
        ("whole", "part"),
        [
            ({}, "the document lacks the key experiments"),
            ({"experiments": {}}, "experiments is not a list"),
            ({"experiments": []}, "experiments is empty"),
            ({"experiments": [3]}, "experiments[0] is not an object"),
            ({"experiments": [experiment(result()), {}]}, "experiments[1] lacks the key results"),
            ({"experiments": [{"results": []}]}, "experiments[0].results is not an object"),
            ({"experiments": [{"results": {}}]}, "experiments[0].results lacks the key results"),
            ({"experiments": [{"results": {"results": {}}}]}, "experiments[0].results.results is not a list"),
        ],
    )
    def test_what_is_missing_where(self, whole, part):
        says(the_problem(whole, "SHAPE"), part, "A PHQ-8 run is")

    @pytest.mark.parametrize("text", ["[]", "3", '"run"', "null"])
    def test_a_document_is_an_object(self, write: Write, text):
        says(the_problem(write(text, name="run.json"), "SHAPE"), "run.json: the document is not an object")

    @pytest.mark.parametrize(("results", "of"), [((), "0 participants"), ((failed(), failed(9)), "2 participants")])
    def test_nobody_succeeded(self, results, of):
        says(the_problem(run(*results), "NO_SUCCESS"), f"0 of {of} with success = true", "nothing to judge")

    @pytest.mark.parametrize(
        ("options", "code", "part"),
        [
            ({"item_max": 4}, "ITEM_MAX", "from 0 to 3"),
            ({"mapping": {"pred": "p"}}, "MAPPING", "no columns to map"),
        ],
    )
    def test_what_is_only_for_tables(self, options, code, part):
        says(the_problem(run(result()), code, **options), part)

    def test_3_is_the_largest_error_and_may_be_said(self):
        assert read_items(run(result()), item_max=3).item_max == 3


class TestFiles:
    @pytest.mark.parametrize(
        ("lines", "parts"),
        [
            (('{"experiments": [', '{"a": 1,}]}'), ("line 2, column 9", "one JSON document")),
            (('{"experiments": [',), ("line 2", "cut short")),
            (('{"cluster_id": 1}', '{"cluster_id": 2}'), ("line 2, column 1", "JSON Lines", ".jsonl")),
            (("cluster_id,item", "1,a"), ("line 1, column 1", "If this is a table", ".csv")),
            (('{"a": ' + "9" * 5000 + "}",), ("too many digits",)),
            (("[" * 200_000,), ("nested too deeply",)),
        ],
    )
    def test_what_is_not_json(self, write: Write, lines, parts):
        says(the_problem(write(*lines, name="run.json"), "BROKEN_JSON"), "run.json: cannot be read as JSON", *parts)

    @pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
    def test_numbers_that_json_does_not_have(self, write: Write, word):
        path = write('{"note": "NaN \\" Infinity",', f'"a": {word}, "b": {word}}}', name="run.json")
        says(the_problem(path, "BROKEN_JSON"), "2 values that JSON does not have", f"line 2, {word})", "Write null")

    def test_a_repeated_key(self, write: Write):
        text = json.dumps(run(result())).replace('"Sleep": 2', '"Sleep": 2, "Sleep": 1')
        says(the_problem(write(text, name="run.json"), "DUPLICATE_KEY"), "1 key given twice", "'Sleep'", "Keep one")

    def test_an_empty_file(self, write: Write):
        says(the_problem(write(name="run.json"), "EMPTY_FILE"), "run.json", "empty")

    def test_a_missing_file(self, tmp_path):
        says(the_problem(tmp_path / "run.json", "MISSING_FILE"), "run.json: no such file")

    def test_a_damaged_gzip_file(self, write: Write):
        path = write(gzip.compress(b"{}")[:-5], name="run.json.gz")
        says(the_problem(path, "BROKEN_GZIP"), "run.json.gz", "cut short")


WRONG_SCORES = [4, -1, 1.5, True, "2", "N/A", [1], 10**400]


class TestResults:
    @pytest.mark.parametrize("bad", [None, True, 3.5, "", " 300", "300\n", "a\u2028b", "x" * 201, [300], 10**300])
    def test_a_participant_id_is_a_number_or_a_short_text(self, bad):
        says(the_problem(run(result(), result(bad)), "PARTICIPANT_ID"), "1 result ", "first: result 2", "whole number")

    def test_a_participant_once(self):
        message = the_problem(run(result(300), result(9), result("300"), failed(9)), "DUPLICATE_PARTICIPANT")
        says(message, "2 results repeating a participant", "participant '300'", "300 and '300' are the same")

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


def test_reading_changes_nothing():
    whole = run(result(), failed())
    before = copy.deepcopy(whole)
    read_items(whole)
    assert whole == before
