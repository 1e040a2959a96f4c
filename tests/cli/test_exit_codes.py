"""Exit codes: 0 done, 1 a check failed and everything is written, 2 refused and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.runs import Files
from evidentia import workflow
from evidentia.results import loads

from .command import contents, evidentia, evidentia_apart, refused

Write = Callable[..., Path]
HEAD = "post_id,criterion_id,gold_sent_uids,ranked_sent_uids,selected_sent_uids,state"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def writer(*lines: str, name: str = "run.csv") -> Path:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    return writer


@pytest.fixture
def tiny(write: Write) -> Path:
    return write(HEAD, "p1,A,s1,s1,s1,POS", "p2,A,,s2,,NEG")


def test_0_when_all_is_well(tiny: Path, tmp_path: Path) -> None:
    assert evidentia("evaluate", tiny, "-o", tmp_path / "out", "--quiet").code == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        *("manifest.json", "per_query.csv", "summary.json", "tables"),
    ]


def test_1_when_the_counts_disagree_with_the_card(tiny: Path, write: Write, tmp_path: Path) -> None:
    card = write('name = "mine"', "posts = 3", "positives = 1", name="card.toml")
    ran = evidentia("evaluate", tiny, "--card", card, "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (1, "")
    assert "check failed CARD001" in ran.out
    check = failed_checks(tmp_path / "out")
    assert [c["code"] for c in check] == ["CARD001"]
    assert "posts: the card says 3, the run has 2" in check[0]["message"]
    assert (tmp_path / "out" / "manifest.json").is_file()
    assert (tmp_path / "out" / "tables" / "measures.csv").is_file()


def test_0_when_the_counts_agree_with_the_card(tiny: Path, write: Write, tmp_path: Path) -> None:
    card = write('name = "mine"', "posts = 2", "positives = 1", name="card.toml")
    assert evidentia("evaluate", tiny, "--card", card, "-o", tmp_path / "out").code == 0
    summary = loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["dataset"]["card"] == "mine"
    assert {c["code"]: c["status"] for c in summary["checks"]}["CARD001"] == "passed"


def test_1_when_a_query_in_state_neg_returns_sentences(write: Write, tmp_path: Path) -> None:
    run = write(HEAD, "p1,A,s1,s1,s1,NEG", "p2,A,,s2,,POS")
    ran = evidentia("evaluate", run, "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (1, "")
    assert "check failed GATE001" in ran.out
    (check,) = failed_checks(tmp_path / "out")
    assert check["message"].startswith("1 queries in state NEG return sentences; 1 query in state NEG looked at")


def test_1_also_when_only_json_is_printed(write: Write) -> None:
    run = write(HEAD, "p1,A,s1,s1,s1,NEG", "p2,A,,s2,,POS")
    ran = evidentia("evaluate", run, "--json")
    assert ran.code == 1
    assert [c["code"] for c in loads(ran.out)["checks"] if c["status"] == "failed"] == ["GATE001"]


def test_1_in_a_process_of_its_own(write: Write) -> None:
    ran = evidentia_apart("evaluate", write(HEAD, "p1,A,s1,s1,s1,NEG"), "--quiet")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_0_for_selections_without_gold(write: Write) -> None:
    run = write("post_id,criterion_id,has_evidence,selected_sent_uids", "p1,A,1,s1|s2", "p2,A,0,")
    ran = evidentia("evaluate", run, "--json")
    assert ran.code == 0
    assert loads(ran.out)["measures"]["SelectedK"]["value"] == 1.0
    assert "EvidenceRecall" in {name for gap in loads(ran.out)["not_computed"] for name in gap["measures"]}


def failed_checks(folder: Path) -> list[dict]:
    checks = loads((folder / "summary.json").read_text())["checks"]
    return [check for check in checks if check["status"] == "failed"]


REFUSED = {
    "a file that is not there": (("nope.csv",), "nope.csv: no such file"),
    "a folder in place of a file": ((".",), "holds no Parquet file"),
    "an unknown measure": (("run.csv", "--measures", "nDGC@10"), "Did you mean nDCG@10"),
    "an unknown parameter": (("run.csv", "--measures", "MAP(norm=max)@10"), "norm=gold|found|min|min_eff"),
    "a mean that needs a choice": (("run.csv", "--measures", "F1(avg=pooled)"), "t="),
    "an unknown profile": (("run.csv", "--profile", "mine"), "contract, e2e, paper, audit"),
    "an unknown column to map": (("run.csv", "--map", "prob=p_yes"), "'p_yes'"),
    "an unknown name to map to": (("run.csv", "--map", "proba=state"), "'proba'"),
    "a mapping without a column": (("run.csv", "--map", "prob"), "NAME=COLUMN"),
    "a name mapped twice": (("run.csv", "--map", "prob=a,prob=b"), "twice"),
    "an unknown column to slice by": (("run.csv", "--by", "gender"), "'gender'"),
    "an unknown group": (("run.csv", "--measures", "Queries[state=MAYBE]"), "[state=MAYBE]"),
    "a depth of 0": (("run.csv", "--k", "0"), "whole number above 0 or ALL"),
    "a depth that is no number": (("run.csv", "--k", "5,ten"), "'ten'"),
    "a single resample": (("run.csv", "--resamples", "1"), "at least 2"),
    "a run and TREC files": (("run.csv", "--qrels", "q", "--run", "r"), "not both"),
    "qrels without a run": (("--qrels", "run.csv"), "together with --run"),
    "no input at all": ((), "Give a run table"),
    "an unknown card": (("run.csv", "--card", "nope"), "redsm5"),
    "an unknown way with ties": (("--qrels", "q", "--run", "r", "--ties", "random"), "--ties must be input or trec"),
    "a mapping of TREC files": (("--qrels", "q", "--run", "r", "--map", "prob=x"), "do not apply to TREC"),
    "a card for TREC files": (("--qrels", "q", "--run", "r", "--card", "redsm5"), "--card"),
    "an unknown option": (("run.csv", "--resample", "5"), "No such option"),
    "a seed that is no number": (("run.csv", "--seed", "abc"), "--seed"),
    "a file of an unknown kind": (("run.ods",), "unknown format"),
    "a delimiter of two characters": (("run.csv", "--delimiter", ";;"), "one character"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_2_for(what: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, part = REFUSED[what]
    monkeypatch.chdir(tmp_path)
    Path("q").write_text("t 0 a 1\n")
    Path("r").write_text("t Q0 a 1 0.5 x\n")
    Path("run.ods").write_bytes(b"PK")
    before = contents(tmp_path)
    refused(evidentia("evaluate", *words, "-o", "out"), part)
    assert contents(tmp_path) == before
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "empty"),
        (b"post_id,criterion_id,has_evidence\n", "0 rows"),
        (b"post_id,criterion_id,has_evidence\np1,A,1,extra,cells\n", "line 2"),
        (b"post_id,criterion_id,has_evidence\np\xff,A,1\n", "UTF-8"),
        (b"\x1f\x8bnot gzip", "gzip"),
        (b"post_id,has_evidence\np1,1\n", "criterion_id"),
        (b"post_id,criterion_id,has_evidence,prob\np1,A,1,1.01\n", "calibrated to [0, 1]"),
        (b"post_id,criterion_id,has_evidence,prob\np1,A,1,nan\n", "prob"),
    ],
)
def test_2_for_a_bad_file(content: bytes, part: str, tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_bytes(content)
    for command in ("evaluate", "validate"):
        refused(evidentia(command, tmp_path / "run.csv"), part)
    refused(evidentia("explain", "Queries", tmp_path / "run.csv"), part)


def test_2_without_a_traceback_in_a_process_of_its_own(tmp_path: Path) -> None:
    ran = evidentia_apart("evaluate", "nope.csv", "-o", "out", cwd=tmp_path)
    refused(ran, "evidentia: nope.csv: no such file")
    assert ran.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("explain", "FOO"), ("explain", "MAP@10", "--profile", "x"), ("measures", "--profile", "x")]
)
def test_2_for_unknown_names_in_other_commands(words: tuple[str, ...]) -> None:
    refused(evidentia(*words), "Unknown")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--posts", "0"), "posts"),
        (("--posts", "3", "--criteria", "2", "--positives", "7"), "6 queries"),
        (("--difficulty", "2"), "difficulty"),
        (("--posts", "3", "--format", "xml"), "csv, parquet, jsonl"),
    ],
)
def test_2_for_a_synthetic_run_that_cannot_be(words: tuple[str, ...], part: str, tmp_path: Path) -> None:
    refused(evidentia("synth", *words, "-o", tmp_path / "out"), part)
    assert list(tmp_path.iterdir()) == []


def test_2_where_the_output_cannot_be_written(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    before = contents(tmp_path)
    refused(evidentia("evaluate", tiny, "-o", tmp_path / "file"), "file exists and is not a folder")
    refused(evidentia("evaluate", tiny, "-o", tmp_path / "file", "--force"), "file exists and is not a folder")
    refused(evidentia("evaluate", tiny, "-o", tmp_path / "file" / "out"), "Choose another folder")
    refused(evidentia("synth", "--posts", "3", "-o", tmp_path / "file"), "Choose another")
    assert contents(tmp_path) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_2_in_a_folder_without_write_permission(tiny: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    refused(evidentia("evaluate", tiny, "-o", locked / "out"), "Permission denied")
    assert list(locked.iterdir()) == []


@pytest.mark.parametrize("command", ["evaluate", "demo"])
def test_2_when_the_output_is_taken_and_before_the_work_is_done(
    command: str, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(*_: object, **__: object) -> None:
        pytest.fail("the work was done before looking whether its result can be written")

    monkeypatch.setattr(workflow, "evaluate_run", too_late)
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("precious")
    words = ("evaluate", files.per_query) if command == "evaluate" else ("demo",)
    refused(evidentia(*words, "-o", out), "out exists", "--force")
    assert contents(tmp_path) == {"out/mine.txt": b"precious"}
