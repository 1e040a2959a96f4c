"""`evidentia gate --against`: the interval of the paired difference says whether a result falls behind; for any CI."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import evidentia as package
from cli.command import contents, evidentia, refused
from evidentia.checks.drops import Drop, judge_drops, parse_drop
from evidentia.results import Comparison, Delta
from evidentia.synth import synthetic_run

DELTA = Delta("AUROC", "AUROC", "old", "new", 0.9, 0.895, -0.005, "higher", 100, 20, 100, 20, ci=(-0.012, 0.002), p=0.2)
ERROR = replace(DELTA, name="Brier", definition="Brier", direction="lower", delta=0.005, ci=(-0.002, 0.012))
QUICK = ("--resamples", 100)


def judged(delta: Delta, most: float) -> tuple[str, str]:
    comparison = Comparison("contract", ("old", "new"), 7, 100, 0.05, 100, 20, (delta,))
    (judgement,) = judge_drops([Drop(delta.name, most)], comparison)
    return judgement.decision, judgement.reason


@pytest.mark.parametrize("delta", [DELTA, ERROR], ids=["more is better", "less is better"])
@pytest.mark.parametrize(
    ("most", "decision"), [(0.02, "met"), (0.012, "met"), (0.01, "not decidable"), (0.0, "not decidable")]
)
def test_the_end_of_the_interval_that_is_worse_decides(delta: Delta, most: float, decision: str) -> None:
    assert judged(delta, most)[0] == decision


@pytest.mark.parametrize(("low", "high"), [(-0.09, -0.03)])
def test_a_drop_that_is_shown_to_be_larger_is_not_met(low: float, high: float) -> None:
    assert judged(replace(DELTA, ci=(low, high)), 0.02) == ("not met", "")
    assert judged(replace(ERROR, ci=(-high, -low)), 0.02) == ("not met", "")
    assert judged(replace(ERROR, ci=(low, high)), 0.02) == ("met", "")  # an error that falls is no drop


def test_what_agrees_in_every_resample_has_not_dropped() -> None:
    assert judged(replace(DELTA, delta=0.0, ci=None, p=1.0), 0.0) == ("met", "")


def test_without_an_interval_nothing_can_be_said() -> None:
    unknown = replace(DELTA, delta=None, ci=None, p=None, warnings=("undefined for at least one of the two",))
    assert judged(unknown, 1.0) == ("not decidable", "undefined for at least one of the two")
    constant = replace(DELTA, ci=None, p=None)
    assert judged(constant, 1.0)[0] == "not decidable"


def test_how_drops_are_written() -> None:
    assert parse_drop("nDCG(pop=all)@10 : 1.5%") == Drop("nDCG(pop=all)@10", 0.015)
    for text in ("AUROC", "AUROC:", "AUROC:-0.1", "AUROC>0.1", ":0.1", "AUROC:x"):
        with pytest.raises(package.InputError, match="is not a largest drop"):
            parse_drop(text)


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results `good` and `bad` of detectors that need no thresholds."""
    home = tmp_path_factory.mktemp("against")
    for name, difficulty in {"good": 0.3, "bad": 0.9}.items():
        made = synthetic_run(seed=7, posts=60, criteria=4, positives=None, candidates=False, difficulty=difficulty)
        frame = made.per_query.drop("tau_neg", "tau_pos", "state", "selected_sent_uids")
        package.evaluate(frame, resamples=60, report=False, measures="AUROC,Brier,AUPRC").save(home / name)
    return home


def test_0_where_it_does_not_fall_behind_and_1_where_it_does(systems: Path) -> None:
    before = contents(systems)
    words = ("--max-drop", "roc_auc:0.01", "--max-drop", "Brier:0.5%,AUPRC:0.01", *QUICK)
    better = evidentia("gate", systems / "good", "--against", systems / "bad", *words)
    assert (better.code, better.err) == (0, "")
    assert "against bad" in better.out
    assert "The gate is open: 3 of 3 targets met, 5 of 5 conditions hold." in better.out
    worse = evidentia("gate", systems / "bad", "--against", systems / "good", *words)
    assert worse.code == 1
    assert "The gate is closed: 0 of 3 targets met" in worse.out
    assert contents(systems) == before


def test_a_result_never_falls_behind_itself(systems: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(systems / "bad", tmp_path / "copy")
    assert evidentia("gate", systems / "bad", "--against", copy, "--max-drop", "AUROC:0", *QUICK).code == 0


def test_a_baseline_that_was_made_worse_closes_the_gate(systems: Path, tmp_path: Path) -> None:
    baseline = shutil.copytree(systems / "good", tmp_path / "turned")
    assert evidentia("verify", baseline, "-q").code == 0
    rows = pl.read_csv(baseline / "per_query.csv", infer_schema=False)
    turned = rows.with_columns(prob=(1 - pl.col("prob").cast(float)).cast(str))
    turned.write_csv(baseline / "per_query.csv")
    before = contents(baseline)
    words = ("gate", systems / "bad", "--against", baseline, "--max-drop", "AUROC:0.01", *QUICK)
    ran = evidentia(*words)
    assert (ran.code, ran.err) == (1, "")
    assert "1 of 1 targets met, 4 of 5 conditions hold." in ran.out
    assert "no Baseline independently verified: " in " ".join(ran.out.split())
    assert contents(baseline) == before
    trusting = " ".join(evidentia(*words, "--trust-verification").out.split())
    assert "no Baseline independently verified: files were changed after the verification" in trusting


def test_a_trusted_baseline_is_named_as_such(systems: Path, tmp_path: Path) -> None:
    new, baseline = (shutil.copytree(systems / name, tmp_path / name) for name in ("good", "bad"))
    words = ("gate", new, "--against", baseline, "--max-drop", "AUROC:0.01", *QUICK, "--trust-verification")
    assert evidentia("verify", new, "-q").code == 0
    assert "no Baseline independently verified: there is no verification.json" in " ".join(
        evidentia(*words).out.split()
    )
    assert evidentia("verify", baseline, "-q").code == 0
    ran = evidentia(*words)
    assert ran.code == 0
    assert " ".join(ran.out.split()).count("(as verification.json says; not recomputed here)") == 2


def test_targets_are_asked_for_beside_drops_only_where_they_are_named(systems: Path) -> None:
    words = ("gate", systems / "good", "--against", systems / "bad", "--max-drop", "AUROC:0.01", *QUICK, "--json")
    alone, both = (json.loads(evidentia(*words, *more).out) for more in ((), ("--target", "AUROC>=0.9999")))
    assert (alone["open"], alone["targets"]) == (True, [])
    assert (both["open"], [t["decision"] for t in both["targets"]]) == (False, ["not met"])


def test_the_json_says_what_the_comparison_says(systems: Path) -> None:
    words = ("--max-drop", "Brier:0.005", "--target", "AUROC>=0.5", *QUICK, "--json")
    ran = evidentia("gate", systems / "bad", "--against", systems / "good", *words)
    assert (ran.code, ran.err) == (1, "")
    content = json.loads(ran.out)
    assert (content["schema"], content["name"], content["open"]) == ("evidentia.gate/1", "bad", False)
    delta = package.compare(systems / "good", systems / "bad", measures="Brier", resamples=100)["Brier"]
    assert content["drops"] == [
        {"measure": "Brier", "max_drop": 0.005, "against": "good", "delta": delta.delta, "ci": list(delta.ci)}
        | {"decision": "not met", "reason": ""}
    ]
    entry = json.loads((systems / "bad" / "summary.json").read_text())["measures"]["AUROC"]
    asked = {"measure": "AUROC", "relation": ">=", "bound": 0.5, "decision": "met", "reason": ""}
    assert content["targets"] == [asked | {key: entry[key] for key in ("value", "ci", "n")}]
    assert all(condition["holds"] for condition in content["conditions"])
    assert len(content["checks"]) > 10


@pytest.mark.parametrize("which", [("good", "bad"), ("bad", "good")], ids=["open", "closed"])
def test_the_junit_file_fails_where_the_gate_is_closed(which: tuple[str, str], systems: Path, tmp_path: Path) -> None:
    words = ("--max-drop", "AUROC:0.01,Brier:0.01", *QUICK, "--junit", tmp_path / "gate.xml", "--json")
    ran = evidentia("gate", systems / which[0], "--against", systems / which[1], *words)
    content = json.loads(ran.out)
    root = ElementTree.parse(tmp_path / "gate.xml").getroot()
    (suite,) = root
    cases = list(suite)
    outcomes = [case[0].tag for case in cases]
    assert (root.tag, suite.tag, {case.tag for case in cases}) == ("testsuites", "testsuite", {"testcase"})
    assert set(outcomes) <= {"failure", "skipped", "system-out"}
    assert len(cases) == 2 + 5 + len(content["checks"])
    counts = {
        "tests": len(cases),
        "failures": outcomes.count("failure"),
        "skipped": outcomes.count("skipped"),
        "errors": 0,
    }
    assert {key: int(suite.attrib[key]) for key in counts} == counts
    assert {key: root.attrib[key] for key in ("tests", "failures", "errors")} == {
        key: suite.attrib[key] for key in ("tests", "failures", "errors")
    }
    assert (counts["failures"] == 0) == content["open"] == (ran.code == 0) == (which == ("good", "bad"))
    assert all(case.attrib["classname"].startswith("evidentia.gate.") and case.attrib["name"] for case in cases)


def test_a_gate_that_nothing_was_asked_of_fails_in_junit_too(tmp_path: Path) -> None:
    table = tmp_path / "items.csv"
    rows = [f"p{i // 4},{i % 4},{i % 3},{i % 2},{i / 40}" for i in range(40)]
    table.write_text("\n".join(["cluster_id,item,pred,gt,confidence", *rows]) + "\n")
    words = ("--seed", 7, "--resamples", 20, "--no-report", "-o", tmp_path / "out", "--quiet")
    assert evidentia("selective", table, *words).code == 0
    assert evidentia("gate", tmp_path / "out", "--junit", tmp_path / "gate.xml", "-q").code == 1
    assert "no target was named" in (tmp_path / "gate.xml").read_text()


def test_junit_has_no_letter_that_xml_lacks(systems: Path, tmp_path: Path) -> None:
    odd = shutil.copytree(systems / "good", tmp_path / 'a<b>&"\x01')
    words = ("--target", "AUROC>=0.5", "--junit", tmp_path / "gate.xml", "-q")
    assert evidentia("gate", odd, *words).code == 0
    assert (
        ElementTree.parse(tmp_path / "gate.xml").getroot().attrib["name"]
        == 'evidentia gate a<b>&"\N{REPLACEMENT CHARACTER}'
    )


def test_the_checklist_names_what_must_not_drop(systems: Path, tmp_path: Path) -> None:
    words = ("--max-drop", "AUROC:0.01", *QUICK, "--markdown", tmp_path / "gate.md", "-q")
    assert evidentia("gate", systems / "good", "--against", systems / "bad", *words).code == 0
    text = (tmp_path / "gate.md").read_text()
    assert "## Against bad\n\n- [x] AUROC drops by 0.01 at most (difference +0." in text
    assert "no target was named" not in text


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--max-drop", "AUROC:0.01"], "--against and --max-drop belong together"),
        (["--against", "BAD"], "--against and --max-drop belong together"),
        (["--against", "BAD", "--max-drop", "AUROC"], "is not a largest drop"),
        (["--against", "BAD", "--max-drop", "Nonsense:0.1"], "Unknown measure 'Nonsense'"),
        (["--against", "BAD", "--max-drop", "CalibrationSlope:0.1"], "has no better side"),
        (["--against", "nowhere", "--max-drop", "AUROC:0.1"], "nowhere is not a result folder"),
        (["--junit", "GOOD/gate.xml"], "gate.xml belongs beside the result good"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_computed(words: list[str], part: str, systems: Path) -> None:
    before = contents(systems)
    given = [w.replace("BAD", str(systems / "bad")).replace("GOOD", str(systems / "good")) for w in words]
    refused(evidentia("gate", systems / "good", *given, *QUICK), part)
    assert contents(systems) == before


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_only_what_an_earlier_gate_wrote_is_replaced(option: str, systems: Path, tmp_path: Path) -> None:
    words = ("gate", systems / "good", "--target", "AUROC>=0.5", "-q")
    keep, other = tmp_path / "keep.csv", tmp_path / "other.xml"
    keep.write_text("<?xml version='1.0' encoding='utf-8'?>\n<testsuites name='mine'/>\n")
    refused(evidentia(*words, option, keep), "keep.csv exists and was not written by " + option)
    refused(evidentia(*words, option, tmp_path / ("x" * 300)), "Cannot write xxx")
    refused(evidentia(*words, option, tmp_path), "exists and was not written by " + option)
    assert evidentia(*words, "--markdown" if option == "--junit" else "--junit", other).code == 0
    before = contents(tmp_path)
    refused(evidentia(*words, option, other), "other.xml exists and was not written by " + option)
    assert contents(tmp_path) == before
    again = tmp_path / "again"
    again.touch()  # as mktemp leaves it
    assert [evidentia(*words, option, again).code for _ in range(2)] == [0, 0]  # as a CI does on each run


def test_a_gate_writes_no_two_files_into_one(systems: Path, tmp_path: Path) -> None:
    for second in (tmp_path / "g.x", tmp_path / "b" / ".." / "g.x"):
        words = ("--target", "AUROC>=0.5", "--junit", tmp_path / "g.x", "--markdown", second)
        refused(evidentia("gate", systems / "good", *words), "--markdown and --junit are both g.x")
    assert list(tmp_path.iterdir()) == []
