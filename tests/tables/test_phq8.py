"""PHQ-8 runs: who is included, what becomes a signal, and which files and modes are refused."""

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

from .conftest import Write, says
from .phq8_runs import ITEMS, SECRET, changed, experiment, failed, result, run, signals, the_problem
from .test_items_table import same


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


def test_reading_changes_nothing():
    whole = run(result(), failed())
    before = copy.deepcopy(whole)
    read_items(whole)
    assert whole == before
