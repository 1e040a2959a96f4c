"""`evidentia selective` from end to end: what it reads, writes, prints and refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from evidentia import workflow
from evidentia.results import loads
from evidentia.tables import read_items

from .abstaining import FEW, HEAD, ROWS, Abstaining, changed, outspoken, silent, summary_of
from .command import contents, evidentia, evidentia_apart, refused

LLM = "[confidence=llm]"


def test_a_synthetic_run_from_end_to_end_in_a_process_of_its_own(tmp_path: Path) -> None:
    made = evidentia_apart("synth", "--kind", "phq8", "--participants", 12, "--seed", 4, "-o", "data", cwd=tmp_path)
    assert made.code == 0
    words = ("data/phq8.json", "--mode", "few_shot", "--against-mode", "zero_shot", *FEW)
    ran = evidentia_apart("selective", *words, "-o", "out", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "10 participants, 2 failed and left out; N = 80 items" in ran.out
    assert "few_shot (B) minus zero_shot (A): the same 10 participants and draws" in ran.out
    assert "Research software, not a medical device." in ran.out
    written = contents(tmp_path / "out")
    tables = (
        "measures",
        "matched_coverage",
        "tie_sensitivity",
        "signals",
        "coverages",
        "by_item",
        "confusion",
        "cut_offs",
    )
    deltas = tuple(f"deltas_{family}" for family in ("measures", "coverage", "truncated", "questionnaire", "items"))
    curves = [f"risk_coverage_{band}{signal}" for band in ("", "band_") for signal in ("1_llm", "2_total_evidence")]
    assert set(written) == {
        *("summary.json", "manifest.json", "items.csv", "against_items.csv", "figures/totals.csv"),
        *(f"tables/{name}.{ending}" for name in (*tables, *deltas) for ending in ("csv", "tex")),
        *(f"figures/{run}{name}.csv" for run in ("", "against_") for name in curves),
    }
    summary = loads(written["summary.json"].decode())
    assert summary["schema"] == "evidentia.summary/1"
    assert {"Cmax", f"AURC{LLM}", "AURC[confidence=total_evidence]", f"MAE@coverage=0.5{LLM}"} <= set(
        summary["measures"]
    )
    names = [delta["name"] for delta in summary["comparison"]["deltas"]]
    assert {f"AURC@C=common{LLM}", "Cmax", "MAE", f"AUGRC(ties=plateau)@C=0.5{LLM}"} <= set(names)
    assert len(names) == len(set(names))


def test_a_table_from_end_to_end(runs: Abstaining, tmp_path: Path) -> None:
    ran = evidentia("selective", runs.table, *FEW, "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    assert "3 clusters; N = 9 items, 7 predicted;" in ran.out
    assert "not computed AUGRC" in ran.out
    assert "--item-max" in ran.out
    summary = loads((tmp_path / "out" / "summary.json").read_text())
    # by confidence: losses 0 2 | 0 | 0 | 0 2 | 1.5 (ties by cluster), so the risks are 0 1 2/3 1/2 2/5 2/3 11/14
    area = (0 + 1 + 2 / 3 + 1 / 2 + 2 / 5 + 2 / 3 + 5.5 / 7) / 9
    assert summary["measures"]["AURC"]["value"] == pytest.approx(area, abs=1e-12)
    assert summary["measures"]["Cmax"]["value"] == 7 / 9
    assert summary["measures"]["MAE@coverage=0.5"]["value"] == pytest.approx(2 / 5, abs=1e-12)
    assert summary["measures"]["MAE@coverage=0.8"]["value"] is None
    gap = summary["not_computed"][0]
    assert "AUGRC" in gap["measures"]
    assert "--item-max" in gap["reason"]


def test_the_largest_error_of_a_table_makes_its_normalised_loss(runs: Abstaining) -> None:
    raw = summary_of(runs.table, "--item-max", "4")["measures"]
    assert raw["AUGRC"]["value"] == pytest.approx(raw["AUGRC(loss=abs)"]["value"] / 4, abs=1e-15)
    assert summary_of(runs.table, "--item-max", "4")["dataset"]["item_max"] == 4.0


@pytest.mark.parametrize("loss", ["abs", "abs_norm", "zero_one", "squared"])
def test_one_loss_is_that_of_every_measure(loss: str, runs: Abstaining) -> None:
    measures = summary_of(runs.few, "--confidence", "llm", "--loss", loss)["measures"]
    definitions = {name: entry["definition"] for name, entry in measures.items() if name.startswith(("AU", "MAE"))}
    assert len(definitions) > 50
    assert [name for name, definition in definitions.items() if f"loss={loss}" not in definition] == []


def test_one_confidence_has_no_group_and_several_have(runs: Abstaining) -> None:
    assert "AURC" in summary_of(runs.few, "--confidence", "llm")["measures"]
    both = summary_of(runs.few)["measures"]
    assert "AURC" not in both
    assert both[f"AURC{LLM}"]["details"]["confidence"] == "llm"
    assert both["Cmax"]["details"] == {}


def test_all_confidences_are_ranked_by_what_they_cost(runs: Abstaining, tmp_path: Path) -> None:
    ran = evidentia("selective", runs.few, "--confidence", "all", *FEW, "-o", tmp_path / "out")
    summary = loads((tmp_path / "out" / "summary.json").read_text())
    signals = summary["dataset"]["signals"]
    assert signals == ["llm", "keyword", "total_evidence", "verbalized_confidence", "token_msp"]
    cost = {signal: summary["measures"][f"eAURC[confidence={signal}]"]["value"] for signal in signals}
    ranked = sorted(cost, key=cost.__getitem__)
    rows = (tmp_path / "out" / "tables" / "signals.csv").read_text().splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [[str(at), name] for at, name in enumerate(ranked, 1)]
    assert f"1. {ranked[0]} ({cost[ranked[0]]:.4f}), 2. {ranked[1]}" in ran.out.replace("\n", " ")


@pytest.mark.parametrize("words", [("--coverage", "0.25,0.5"), ("--coverage", "0.25", "--coverage", "0.50")])
def test_coverages_are_listed_with_commas_or_one_by_one(words: tuple[str, ...], runs: Abstaining) -> None:
    measures = summary_of(runs.few, "--confidence", "llm", *words)["measures"]
    at = [name for name in measures if name.startswith("MAE@")]
    assert at == ["MAE@coverage=0.25", "MAE@coverage=0.5"]
    assert {"AURC@C=0.25", "AUGRC(ties=plateau)@C=0.5"} <= set(measures)


def test_only_the_measures_that_were_named(runs: Abstaining) -> None:
    ran = evidentia("selective", runs.few, "--measures", "AURC(ties=plateau),AUGRC@C=0.4,Cmax", *FEW)
    assert [name in ran.out for name in ("AURC(ties=plateau)", "AUGRC@C=0.4", "Cmax")] == [True] * 3
    assert "matched coverage" not in ran.out
    measures = list(summary_of(runs.few, "--confidence", "llm", "--measures", "MAE,AURC")["measures"])
    assert measures[:2] == ["MAE", "AURC"]
    assert len(measures) == 2 + 8, "MAE is also reported item by item"
    named = summary_of(runs.few, "--measures", "TotalMAE,MAE[item=Sleep],WeightedKappa[item=Tired]")["measures"]
    assert list(named) == ["TotalMAE", "MAE[item=Sleep]", "WeightedKappa[item=Tired]"]


def test_a_table_has_no_totals_and_an_item_that_is_not_asked_is_refused(runs: Abstaining) -> None:
    table = evidentia("selective", runs.table, "--measures", "TotalMAE", *FEW)
    assert table.code == 2
    assert "needs a run of a questionnaire" in table.err
    unknown = evidentia("selective", runs.few, "--measures", "MAE[item=Joy]", *FEW)
    assert unknown.code == 2
    assert "no group [item=Joy]" in unknown.err


def test_columns_are_mapped_and_cells_are_split_as_in_other_commands(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("person;question;answer;truth;sure\na;1;2;2;0.5\na;2;;1;\nb;1;0;3;0.1\n")
    mapping = "cluster_id=person,item=question,pred=answer,gt=truth,confidence=sure"
    summary = summary_of(tmp_path / "run.csv", "--map", mapping, "--delimiter", ";")
    assert summary["measures"]["MAE"]["value"] == 1.5


# what is compared, and what is refused


def _deltas(summary: dict) -> dict[str, dict]:
    return {delta["name"]: delta for delta in summary["comparison"]["deltas"]}


def test_different_coverages_print_truncated_areas_and_refuse_a_bare_mae(runs: Abstaining) -> None:
    words = (runs.few, "--against", runs.zero)
    ran = evidentia("selective", *words, *FEW)
    text = " ".join(ran.out.split())
    assert "AURC@C=common" in ran.out
    assert "not compared MAE: the two answer different shares of the items (0.6 and 0.7)" in text
    assert "leaves out harder items; compare MAE at a coverage that both reach" in text
    assert "not tested full areas: the areas end at different coverages" in text
    assert "not compared at coverage 0.7: zero_shot reaches only 0.6" in text
    summary = summary_of(*words)
    deltas = _deltas(summary)
    assert (deltas["MAE"]["delta"], deltas["MAE"]["ci"], deltas["MAE"]["p"]) == (None, None, None)
    assert deltas["MAE"]["verdict"] == "undefined"
    assert deltas[f"AURC{LLM}"]["delta"] is not None
    assert deltas[f"AURC{LLM}"]["p"] is None
    assert deltas[f"AURC@C=common{LLM}"]["p"] is not None
    beyond = deltas[f"MAE@coverage=0.7{LLM}"]
    assert (beyond["baseline_value"], beyond["delta"]) == (None, None)
    assert "zero_shot reaches only 0.6" in beyond["warnings"]
    assert summary["comparison"]["common_coverage"] == 0.6


def test_equal_coverages_compare_mae(runs: Abstaining, tmp_path: Path) -> None:
    all_of_it = changed(runs.few, tmp_path / "all.json", outspoken)
    wrong = changed(all_of_it, tmp_path / "wrong.json", lambda r: r.update(predicted_items=_turned(r)))
    deltas = _deltas(summary_of(wrong, "--against", all_of_it))
    assert deltas["MAE"]["delta"] == deltas["MAE"]["system_value"] - deltas["MAE"]["baseline_value"]
    assert deltas["MAE"]["delta"] > 0
    assert deltas["MAE"]["p"] is not None
    assert deltas[f"AURC{LLM}"]["p"] is not None
    assert deltas["Cmax"]["delta"] == 0


def _turned(result: dict) -> dict:
    return {item: 3 if truth < 2 else 0 for item, truth in result["ground_truth_items"].items()}


def test_a_run_is_compared_with_itself(runs: Abstaining) -> None:
    summary = summary_of(runs.few, "--against", runs.few)
    sides = summary["comparison"]["baseline"], summary["comparison"]["system"]
    assert sides == ("few.json (A)", "few.json (B)")
    assert {delta["delta"] for delta in summary["comparison"]["deltas"]} <= {0.0, None}
    assert {delta["verdict"] for delta in summary["comparison"]["deltas"]} <= {"tie", "undefined"}


def test_differences_are_the_run_minus_the_other(runs: Abstaining) -> None:
    comparison = summary_of(runs.few, "--against", runs.zero)["comparison"]
    assert (comparison["baseline"], comparison["system"]) == ("zero_shot", "few_shot")
    assert comparison["cmax"] == {"baseline": 0.6, "system": 0.7}
    assert _deltas({"comparison": comparison})["Cmax"]["delta"] == pytest.approx(0.1)


def test_other_participants_are_an_error_or_left_out_if_that_was_asked_for(runs: Abstaining, tmp_path: Path) -> None:
    document = json.loads(runs.zero.read_text())
    results = document["experiments"][0]["results"]["results"]
    results.remove(next(result for result in results if result["success"]))
    fewer = tmp_path / "fewer.json"
    fewer.write_text(json.dumps(document))
    words = ("selective", runs.few, "--against", fewer, *FEW)
    refused(evidentia(*words), "1 participant that the other run lacks", "--on-mismatch intersect")
    ran = evidentia(*words, "--on-mismatch", "intersect")
    assert "few_shot: 1 participant that the other run lacks are left out" in ran.out
    assert "the same 9 participants" in ran.out
    refused(evidentia(*words, "--on-mismatch", "ignore"), "error or intersect")


def test_a_run_that_answers_nothing_is_marked_and_never_compared(runs: Abstaining, tmp_path: Path) -> None:
    nothing = changed(runs.few, tmp_path / "nothing.json", silent)
    measures = summary_of(nothing)["measures"]
    assert measures["Cmax"]["value"] == 0
    assert measures[f"AURC{LLM}"]["value"] == 0
    assert "no item is predicted" in measures[f"AURC{LLM}"]["degenerate"]
    assert measures[f"nAURC{LLM}"]["value"] is None
    ran = evidentia("selective", nothing, *FEW, "--confidence", "all")
    assert "0.0000 *" in ran.out
    assert "no item is predicted" in ran.out
    assert "best first" not in ran.out
    for words in ((nothing, "--against", runs.zero), (runs.zero, "--against", nothing)):
        ran = evidentia("selective", *words, *FEW, "-o", tmp_path / "out")
        refused(ran, "abstains on every item", "no coverage in common")
        assert not (tmp_path / "out").exists()


# what is refused, with nothing written


def test_a_seed_is_required(runs: Abstaining, tmp_path: Path) -> None:
    refused(evidentia_apart("selective", runs.few, "-o", tmp_path / "out"), "Missing option '--seed'")
    assert not (tmp_path / "out").exists()


def test_a_file_without_signals_names_what_is_missing(runs: Abstaining, tmp_path: Path) -> None:
    older = changed(runs.few, tmp_path / "older.json", lambda result: result.pop("item_signals"))
    refused(evidentia("selective", older, *FEW), "no signal 'llm'", "llm_evidence_count in item_signals")
    refused(evidentia("selective", older, *FEW, "--confidence", "total_evidence"), "keyword_evidence_count")


REFUSED = {
    "several modes and none chosen": (("both",), ("2 experiments", "'zero_shot', 'few_shot'")),
    "a mode that is not there": (("both", "--mode", "one_shot"), ("'one_shot'", "'zero_shot', 'few_shot'")),
    "several modes of the other run": (("few", "--against", "both"), ("both.json", "'zero_shot', 'few_shot'")),
    "a mode of a table": (("table", "--mode", "x"), ("a table has no modes",)),
    "an unknown signal": (("few", "--confidence", "sure"), ("no signal 'sure'", "'token_msp'")),
    "an unknown loss": (("few", "--loss", "cubic"), ("abs, abs_norm, zero_one, squared",)),
    "a largest error of 0": (("table", "--item-max", "0"), ("item_max is 0.0",)),
    "a largest error that is too small": (("table", "--item-max", "1"), ("more than item_max", "line 3")),
    "another largest error of a PHQ-8 run": (("few", "--item-max", "4"), ("scored from 0 to 3",)),
    "a normalised area without a largest error": (("table", "--measures", "AUGRC"), ("--item-max",)),
    "a coverage of 0": (("few", "--coverage", "0"), ("above 0 and at most 1",)),
    "a coverage above 1": (("few", "--coverage", "0.5,1.5"), ("above 0 and at most 1",)),
    "a coverage that is no number": (("few", "--coverage", "half"), ("above 0 and at most 1",)),
    "a list of nothing": (("few", "--coverage", ","), ("--coverage names nothing",)),
    "measures of nothing": (("few", "--measures", ""), ("--measures names nothing",)),
    "a measure of queries": (("few", "--measures", "AUROC"), ("not a measure of selective prediction",)),
    "a measure that is unknown": (("few", "--measures", "AURK"), ("AURC",)),
    "a measure in a group": (("few", "--measures", "AURC[confidence=llm]"), ("without groups",)),
    "an area that needs another run": (("few", "--measures", "AURC@C=common"), ("--against",)),
    "a single resample": (("few", "--resamples", "1"), ("at least 2",)),
    "a comparison without resamples": (("few", "--against", "zero", "--resamples", "0"), ("needs resamples",)),
    "a negative seed": (("few", "--seed", "-1"), ("must not be negative",)),
    "an alpha of 1": (("few", "--against", "zero", "--alpha", "1"), ("alpha",)),
    "a level of 95": (("few", "--ci", "95"), ("0.95",)),
    "an unknown kind of interval": (("few", "--ci-method", "normal"), ("percentile",)),
    "another truth": (("few", "--against", "table"), ("cluster",)),
    "a file that is not there": (("nope.json",), ("nope.json: no such file",)),
    "a run of queries": (("queries.csv",), ("queries.csv", "cluster_id")),
}


@pytest.mark.parametrize("what", REFUSED)
def test_2_and_nothing_written_for(
    what: str, runs: Abstaining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, parts = REFUSED[what]
    monkeypatch.chdir(tmp_path)
    Path("queries.csv").write_text("post_id,criterion_id,has_evidence,prob\np1,A,1,0.5\n")
    before = contents(tmp_path)
    ran = evidentia("selective", *FEW, *(getattr(runs, word, word) for word in words), "-o", "out")
    refused(ran, *parts)
    assert contents(tmp_path) == before
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("evaluate", "TABLE", "--profile", "selective"), ("evidentia selective",)),
        (("evaluate", "RUN"), ("a table in JSON is a list of objects", "evidentia selective")),
        (
            ("evaluate", "QUERIES", "--measures", "AURC"),
            ("AURC needs a run of a predictor that may abstain", "selective"),
        ),
        (("explain", "AURC", "RUN"), ("evidentia selective RUN",)),
        (("compare", "OUT", "OUT"), ("is a result of `evidentia selective`", "--against")),
    ],
)
def test_other_commands_point_to_this_one(
    words: tuple[str, ...], parts: tuple[str, ...], runs: Abstaining, tmp_path: Path
) -> None:
    queries = tmp_path / "queries.csv"
    queries.write_text("post_id,criterion_id,has_evidence,prob\np1,A,1,0.5\n")
    if "OUT" in words:
        assert evidentia("selective", runs.few, *FEW, "-q", "-o", tmp_path / "out").code == 0
    there = {"TABLE": runs.table, "RUN": runs.few, "QUERIES": queries, "OUT": tmp_path / "out"}
    refused(evidentia(*(there.get(word, word) for word in words)), *parts)


def test_measures_are_explained_and_listed_under_their_profile() -> None:
    text = evidentia("explain", "AURC@C=0.5").out
    assert text.startswith("AURC@C=0.5  AURC up to a coverage\n")
    assert "AURC(ties=step,loss=abs)@C=0.5  profile selective\n" in text
    assert "contract" not in text
    assert "`evidentia selective`" in text
    names = evidentia("measures", "--names", "--profile", "selective").out.splitlines()
    assert {"AURC", "AUGRC(ties=plateau)", "MAE@coverage=0.5", "Cmax"} <= set(names)


# the folder


def test_only_json_and_nothing_at_all_are_what_they_say(runs: Abstaining, tmp_path: Path) -> None:
    words = ("selective", runs.few, *FEW)
    ran = evidentia_apart(*words, "--json", "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (tmp_path / "out" / "summary.json").read_text()
    assert loads(ran.out)["profile"] == "selective"
    quiet = evidentia_apart(*words, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(runs: Abstaining, tmp_path: Path) -> None:
    words = ("selective", runs.few, "--against", runs.zero, "--resamples", "200", "-q")
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        assert evidentia(*words, "--seed", seed, "-o", tmp_path / name).code == 0
    a, b, c = (contents(tmp_path / name) for name in "abc")
    assert {name for name in a if a[name] != b[name]} <= {"manifest.json"}  # which has the time
    assert a["summary.json"] != c["summary.json"]
    assert a["items.csv"] == c["items.csv"]


def test_force_replaces_an_earlier_result_and_nothing_else(runs: Abstaining, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("selective", runs.few, *FEW, "-q", "-o", out)
    assert evidentia(*words).code == 0
    before = contents(tmp_path)
    refused(evidentia(*words), "out exists", "--force")
    assert contents(tmp_path) == before
    assert evidentia(*words, "--force", "--confidence", "llm").code == 0
    assert "AURC" in loads((out / "summary.json").read_text())["measures"]
    (out / "mine.txt").write_text("mine")
    refused(evidentia(*words, "--force"), "1 file that Evidentia did not write")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_on_the_way_leaves_nothing(runs: Abstaining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workflow, "write_manifest", full_disk)
    refused(evidentia("selective", runs.few, *FEW, "-o", tmp_path / "deep" / "out"), "No space left")
    assert contents(tmp_path) == {}
    assert [p.name for p in tmp_path.rglob(".*")] == []


def test_paths_of_this_machine_appear_nowhere(runs: Abstaining, tmp_path: Path) -> None:
    out = tmp_path / "some" / "where"
    words = ("selective", runs.few, f"--against={runs.zero}", *FEW, "--coverage", "0.5")
    ran = evidentia(*words, "-q", "-o", out)
    assert ran.code == 0
    for name, content in contents(out).items():
        for folder in (runs.few.parent, tmp_path):
            assert str(folder).encode() not in content, name
            assert folder.name.encode() not in content, name
    command = loads((out / "manifest.json").read_text())["command"]
    expected = "evidentia selective few.json --against=zero.json --seed 5 --resamples 200 --coverage 0.5 -q -o OUT"
    assert command == expected


# reading a result's items again


def test_the_items_of_a_table_give_the_same_numbers_again(runs: Abstaining, tmp_path: Path) -> None:
    words = ("--item-max", "3")
    first = summary_of(runs.table, *words)
    assert evidentia("selective", runs.table, *words, *FEW, "-q", "-o", tmp_path / "out").code == 0
    again = summary_of(tmp_path / "out" / "items.csv", *words)
    assert again["measures"] == first["measures"]


def test_the_items_of_a_phq8_run_are_read_with_their_signals(runs: Abstaining, tmp_path: Path) -> None:
    assert evidentia("selective", runs.few, *FEW, "-q", "-o", tmp_path / "out").code == 0
    items, first = read_items(tmp_path / "out" / "items.csv", item_max=3), read_items(runs.few)
    assert list(items.signals) == list(first.signals)
    assert (len(items), items.predicted.sum()) == (80, 56)
    again = summary_of(tmp_path / "out" / "items.csv", "--item-max", "3")["measures"]
    measures = summary_of(runs.few)["measures"]
    same = [name for name in measures if "plateau" in name or "oracle" in name or name in {"Cmax", "MAE"}]
    assert len(same) > 30
    for name in same:  # the others also depend on the order of items that are tied
        found, known = again[name]["value"], measures[name]["value"]
        assert math.isclose(found, known, abs_tol=1e-12), name


def test_a_table_without_any_signal_is_refused(tmp_path: Path) -> None:
    rows = [line.rpartition(",")[0] for line in (HEAD, *ROWS)]
    (tmp_path / "run.csv").write_text("\n".join(rows) + "\n")
    refused(evidentia("selective", tmp_path / "run.csv", *FEW), "confidence")


def test_an_experiment_is_not_compared_with_itself_by_mistake(runs: Abstaining) -> None:
    words = ("--mode", "few_shot", "--against-mode", "few_shot", "--seed", "7")
    refused(evidentia("selective", runs.both, *words), "both name 'few_shot'", "compared with itself")
