"""Thresholds that were tuned before: the result verifies, edits of them are noticed, and the gate accepts their provenance."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evidentia
from evidentia.checks import check_folder
from evidentia.protocol import Choices, parse_rule, to_document, tune
from evidentia.synth import synthetic_run
from evidentia.verifying import verify_numbers
from verify.made import Copy


@pytest.fixture(scope="module", params=["three states", "calibrated"])
def result(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("applied")
    tables = synthetic_run(seed=4, posts=60, criteria=4, positives=70, splits=True)
    run = evidentia.read_run(tables.per_query, candidates=tables.candidates)
    thresholds = folder / "thresholds.json"
    choices = Choices() if request.param == "three states" else Choices(parse_rule("fpr=0.1"), calibrate="platt")
    thresholds.write_text(json.dumps(to_document(tune(run, choices))), encoding="utf-8")
    evidentia.evaluate(run, thresholds=thresholds, resamples=0).save(folder / "result")
    return folder / "result"


def test_the_result_verifies(result: Path) -> None:
    found = verify_numbers(result)
    assert found.mismatches == ()
    assert next(check for check in found.checks if check.name == "given thresholds").comparisons > 400


def test_the_deployed_thresholds_have_an_origin(result: Path) -> None:
    status = {finding.code: finding.status for finding in check_folder(result)}
    assert (status["TUNE001"], status["TUNE002"]) == ("passed", "passed")


def edited_thresholds(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Edit the first fold in both places where a result keeps its thresholds."""

    def edit(folder: Path) -> None:
        copy = Copy(folder)
        copy.json("thresholds.json", lambda content: change(content["folds"][0]))
        copy.manifest(lambda content: change(content["applied_thresholds"]["folds"][0]))

    return edit


def gate_of(fold: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = fold["three_state"] or fold["threshold"]
    return found


def tuned_on_a_judged_post(folder: Path) -> None:
    with (folder / "per_query.csv").open(encoding="utf-8", newline="") as file:
        judged = next(row["post_id"] for row in csv.DictReader(file) if row["fold"] == "0")
    edited_thresholds(lambda fold: gate_of(fold)["tuned_on"]["posts"].append(judged))(folder)


def another_value(folder: Path) -> None:
    def change(fold: dict[str, Any]) -> None:
        gate = gate_of(fold)
        key = "tau_pos" if "tau_pos" in gate else "value"
        gate[key] = gate[key] / 2

    edited_thresholds(change)(folder)


def without_the_block(folder: Path) -> None:
    path = folder / "manifest.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["applied_thresholds"]
    path.write_text(json.dumps(content), encoding="utf-8")


def in_the_manifest_alone(folder: Path) -> None:
    Copy(folder).manifest(lambda content: content["applied_thresholds"]["folds"][1].update(tune_queries=1))


EDITS = {
    "the manifest alone": in_the_manifest_alone,
    "the record removed": without_the_block,
    "tuned on a judged post": tuned_on_a_judged_post,
    "another value": another_value,
    "another hash": edited_thresholds(lambda fold: gate_of(fold)["tuned_on"].update(posts_sha256="0" * 64)),
}


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_is_noticed(result: Path, tmp_path: Path, edit: Callable[[Path], None]) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(result, copy)
    edit(copy)
    assert any("applied_thresholds" in mismatch.where for mismatch in verify_numbers(copy).mismatches)


@pytest.mark.slow
@pytest.mark.parametrize("choices", [Choices(parse_rule("max-f1")), Choices()], ids=["one", "three states"])
def test_a_run_without_folds_verifies_and_its_thresholds_are_looked_at(tmp_path: Path, choices: Choices) -> None:
    tables = synthetic_run(seed=4, posts=60, criteria=4, positives=70, splits=True)
    frame = tables.per_query.filter(pl.col("fold").cast(pl.String) == "0").drop("fold")
    run = evidentia.read_run(frame)
    evidentia.evaluate(run, thresholds=tune(run, choices), resamples=0).save(tmp_path / "out")
    assert verify_numbers(tmp_path / "out").mismatches == ()
    another_value(tmp_path / "out")
    assert any("of its rows" in mismatch.where for mismatch in verify_numbers(tmp_path / "out").mismatches)


@pytest.mark.sample(every=4)
@pytest.mark.parametrize(
    "change",
    [
        lambda summary: summary.update(headline={"AUROC": 0.99}),
        lambda summary: summary["measures"]["AUROC"].update(note="the best so far"),
        lambda summary: summary["checks"].pop(),
        lambda summary: summary["checks"].append(dict(summary["checks"][0])),
    ],
    ids=["a key more", "a key more of a number", "a check less", "a check twice"],
)
def test_what_does_not_belong_into_a_summary_is_noticed(
    result: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(result, copy)
    summary = json.loads((copy / "summary.json").read_text(encoding="utf-8"))
    change(summary)
    (copy / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    assert any(mismatch.where.startswith("summary.json") for mismatch in verify_numbers(copy).mismatches)


def test_thresholds_of_folds_that_a_run_lacks_are_no_leak() -> None:
    tables = synthetic_run(seed=4, posts=60, criteria=4, positives=70, splits=True)
    tuning = tune(evidentia.read_run(tables.per_query), Choices(parse_rule("max-f1")))
    part = evidentia.read_run(tables.per_query.filter(pl.col("fold").cast(pl.String) == "0"))
    found = evidentia.evaluate(part, thresholds=tuning, resamples=0)
    assert {finding.code: finding.status for finding in found.checks}["TUNE001"] == "passed"


def test_thresholds_of_another_file_are_noted(tmp_path: Path) -> None:
    tables = synthetic_run(seed=4, posts=60, criteria=4, positives=70, splits=True)
    for name in ("one.csv", "other.csv"):
        frame = tables.per_query.with_columns(pl.col(pl.List(pl.String)).list.join("|"))
        (frame if name == "one.csv" else frame.reverse()).write_csv(tmp_path / name)
    tuning = tune(evidentia.read_run(tmp_path / "one.csv"), Choices(parse_rule("max-f1")))
    own, foreign = (
        evidentia.evaluate(tmp_path / name, thresholds=tuning, resamples=0).notes for name in ("one.csv", "other.csv")
    )
    assert not any("another file" in note for note in own)
    assert any("tuned on another file than this run" in note for note in foreign)
