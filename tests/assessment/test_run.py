"""Runs: the layout that `selective` judges, failures that stop nobody, and results that survive a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidentia import selective
from evidentia.assessment import Interview, ItemAnswer, ScorerError, load_instrument
from evidentia.assessment.rules import RulesScorer
from evidentia.assessment.run import run_file
from evidentia.assessment.synth import synthetic_interviews
from evidentia.errors import InputError, OutputError
from evidentia.tables.phq8 import read_phq8

PHQ8 = load_instrument("phq8")
DRAWN = synthetic_interviews(6, seed=2)


class Counting:
    """A scorer of twenty lines: rules, a count of what it was asked, and what goes wrong for some."""

    def __init__(self, failing: Mapping[str, Exception | ItemAnswer] | None = None) -> None:
        self.rules, self.asked, self.failing = RulesScorer(PHQ8), list[str](), failing or {}

    def provenance(self) -> Mapping[str, Any]:
        return {"scorer": "counting"}

    def assess(self, interview: Interview) -> Mapping[str, ItemAnswer]:
        self.asked.append(interview.participant_id)
        wrong = self.failing.get(interview.participant_id)
        if isinstance(wrong, BaseException):
            raise wrong
        answers = dict(self.rules.assess(interview))
        return answers | ({"Sleep": wrong} if wrong is not None else {})


def test_the_file_is_what_the_reader_of_selective_reads(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    run_file(DRAWN.interviews, PHQ8, RulesScorer(PHQ8), out, mode="rules", truth=DRAWN.truth)
    items = read_phq8(out, mode="rules")
    assert len(items) == 6 * 8
    assert {"llm", "keyword", "total_evidence", "rules_confidence"} <= set(items.signals)
    document = json.loads(out.read_text())
    for result in document["experiments"][0]["results"]["results"]:
        assert list(result["item_signals"]) == list(PHQ8.item_ids)
        assert {"llm_evidence_count", "keyword_evidence_count", "evidence_source"} <= set(
            result["item_signals"]["Sleep"]
        )
    assert document["run_metadata"]["instrument"]["cuts"] == [5, 10, 15, 20]
    assert "not a medical device" in document["run_metadata"]["notice"]
    assert not any(turn.text in out.read_text() for interview in DRAWN.interviews for turn in interview.turns)
    assert out.stat().st_mode & 0o777 == 0o600


def test_a_reader_that_ignores_the_signals_reads_the_same_scores(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    run_file(DRAWN.interviews, PHQ8, RulesScorer(PHQ8), out, mode="rules", truth=DRAWN.truth)
    items, document = read_phq8(out), json.loads(out.read_text())
    results = document["experiments"][0]["results"]["results"]
    errors = [
        abs(score - result["ground_truth_items"][item])
        for result in results
        if result["success"]
        for item, score in result["predicted_items"].items()
        if score is not None
    ]
    assert np.abs(items.pred - items.gt)[items.predicted].mean() == pytest.approx(np.mean(errors))
    for result in results:
        del result["item_signals"]
    del document["run_metadata"]["instrument"]  # as older files are
    older = read_phq8(document)
    assert not older.signals
    assert older.cluster_ids == items.cluster_ids
    assert np.array_equal(older.pred, items.pred, equal_nan=True)
    assert np.array_equal(older.gt, items.gt)
    with pytest.raises(InputError, match="llm needs llm_evidence_count in item_signals"):
        selective.evaluate(older, seed=1, resamples=0)


def test_several_modes_live_in_one_file_and_none_is_lost(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    for mode in ("strict", "lenient"):
        run_file(DRAWN.interviews, PHQ8, RulesScorer(PHQ8, frequency=mode), out, mode=mode, truth=DRAWN.truth)  # type: ignore[arg-type]
    assert [e["results"]["mode"] for e in json.loads(out.read_text())["experiments"]] == ["strict", "lenient"]
    before = out.read_bytes()
    with pytest.raises(OutputError, match="--force"):
        run_file(DRAWN.interviews, PHQ8, RulesScorer(PHQ8), out, mode="strict")
    gad7 = load_instrument("gad7")
    with pytest.raises(OutputError, match="another instrument"):
        run_file(DRAWN.interviews, gad7, RulesScorer(gad7), out, mode="other")
    assert out.read_bytes() == before


def test_without_truth_selective_refuses_by_name(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    run_file(DRAWN.interviews, PHQ8, RulesScorer(PHQ8), out, mode="rules")
    with pytest.raises(InputError, match="without ground_truth_items"):
        read_phq8(out)


def test_one_failure_stops_nobody_and_holds_no_words(tmp_path: Path) -> None:
    failing = {
        "2": ScorerError("schema", "item Sleep"),
        "3": KeyError("secret words"),
        "4": ItemAnswer(9),
    }
    out = tmp_path / "run.json"
    run_file(DRAWN.interviews, PHQ8, Counting(failing), out, mode="m", truth=DRAWN.truth)
    results = json.loads(out.read_text())["experiments"][0]["results"]["results"]
    failed = {r["participant_id"]: r["error"] for r in results if not r["success"]}
    assert failed["2"] == "schema"
    assert failed["3"].startswith("internal: KeyError in test_run.py")
    assert failed["4"] == "score out of range"
    assert "secret" not in out.read_text()
    assert read_phq8(out).failed == ("2", "3", "4")


def test_after_an_interruption_nobody_is_asked_twice(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    first = Counting({"4": KeyboardInterrupt()})  # type: ignore[dict-item]
    with pytest.raises(KeyboardInterrupt):
        run_file(DRAWN.interviews, PHQ8, first, out, mode="m", truth=DRAWN.truth)
    assert not out.exists()
    with pytest.raises(OutputError, match="--resume"):
        run_file(DRAWN.interviews, PHQ8, Counting(), out, mode="m", truth=DRAWN.truth)
    with pytest.raises(InputError, match="other settings"):
        run_file(DRAWN.interviews[:-1], PHQ8, Counting(), out, mode="m", truth=DRAWN.truth, resume=True)
    journal = tmp_path / "run.json.journal"
    journal.write_bytes(journal.read_bytes() + b'{"participant_id": "4", "succ')  # cut short by a crash
    second = Counting()
    run_file(DRAWN.interviews, PHQ8, second, out, mode="m", truth=DRAWN.truth, resume=True)
    assert (first.asked, second.asked) == (["1", "2", "3", "4"], ["4", "5", "6"])
    assert not journal.exists()
    whole = tmp_path / "whole.json"
    run_file(DRAWN.interviews, PHQ8, Counting(), whole, mode="m", truth=DRAWN.truth)
    one, other = (json.loads(path.read_text())["experiments"][0]["results"] for path in (out, whole))
    assert one == other


SLOW_SCORER = """
import sys, time
from pathlib import Path
from evidentia.assessment import load_instrument
from evidentia.assessment.rules import RulesScorer
from evidentia.assessment.run import run_file
from evidentia.assessment.synth import synthetic_interviews

class Slow(RulesScorer):
    def assess(self, interview):
        if interview.participant_id == "4":
            Path(sys.argv[2]).touch()
            time.sleep(600)
        return super().assess(interview)

phq8, drawn = load_instrument("phq8"), synthetic_interviews(6, seed=2)
run_file(drawn.interviews, phq8, Slow(phq8), Path(sys.argv[1]), mode="m", truth=drawn.truth)
"""


def test_a_kill_loses_only_what_is_in_hand(tmp_path: Path) -> None:
    out, reached = tmp_path / "run.json", tmp_path / "reached"
    started = subprocess.Popen([sys.executable, "-c", SLOW_SCORER, str(out), str(reached)])
    while not reached.exists():
        assert started.poll() is None
        time.sleep(0.01)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    again = Counting()
    again.provenance = RulesScorer(PHQ8).provenance  # type: ignore[method-assign]
    run_file(DRAWN.interviews, PHQ8, again, out, mode="m", truth=DRAWN.truth, resume=True)
    assert again.asked == ["4", "5", "6"]


def test_several_at_once_give_the_same_results(tmp_path: Path) -> None:
    for jobs in (1, 3):
        run_file(DRAWN.interviews, PHQ8, RulesScorer(PHQ8), tmp_path / f"{jobs}.json", mode="m", jobs=jobs)
    one, three = (json.loads((tmp_path / f"{jobs}.json").read_text())["experiments"][0]["results"] for jobs in (1, 3))
    assert one == three
