"""Measures at tuned thresholds: the TUNE rows of a result folder give the thresholds that the result was made with."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from cli.command import refused
from evidentia.evaluation.load import load_result
from evidentia.results import Comparison

from .systems import read, save, strict, system

TUNED = ("TPR(tuned)@FPR=5%", "F1(tuned)@FPR=10%", "MCC(tuned)@FPR=1%")
SYSTEMS = {"good": 0.3, "bad": 0.9}


@pytest.fixture(scope="module")
def split_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results `good` and `bad` of systems with TUNE rows; a post is TUNE in several folds."""
    home = tmp_path_factory.mktemp("tuned")
    for name, difficulty in SYSTEMS.items():
        save(system(difficulty, splits=True), home / name)
    return home


@pytest.fixture(scope="module")
def compared(split_folders: Path) -> Comparison:
    return evidentia.compare(split_folders / "good", split_folders / "bad", measures="all", resamples=200)


def values(folder: Path) -> dict[str, float]:
    measures = strict((folder / "summary.json").read_text())["measures"]
    return {name: entry["value"] for name, entry in measures.items()}


def test_every_tuned_measure_has_the_values_of_the_two_results(split_folders: Path, compared: Comparison) -> None:
    good, bad = (values(split_folders / name) for name in SYSTEMS)
    tuned = [delta for delta in compared.deltas if "(tuned)" in delta.name]
    assert {delta.name for delta in tuned} == {name for name in good if "(tuned)" in name and "[" not in name}
    assert len(tuned) == 20
    for delta in tuned:
        assert (delta.baseline_value, delta.system_value) == (good[delta.name], bad[delta.name]), delta.name
    assert any(delta.delta for delta in tuned)


def test_a_result_with_itself_has_no_difference_at_tuned_thresholds(split_folders: Path) -> None:
    one = split_folders / "bad"
    deltas = evidentia.compare(one, one, measures=TUNED, resamples=200).deltas
    assert [(delta.name, delta.delta, delta.p, delta.verdict) for delta in deltas] == [
        (name, 0.0, 1.0, "tie") for name in TUNED
    ]


def test_a_run_in_memory_gives_the_same_as_its_folder(split_folders: Path, compared: Comparison) -> None:
    runs = [read(system(difficulty, splits=True)) for difficulty in SYSTEMS.values()]
    assert evidentia.compare(*runs, names=list(SYSTEMS), measures="all", resamples=200) == compared


def test_a_budget_that_the_results_did_not_report_can_be_compared(split_folders: Path) -> None:
    name = "TPR(tuned)@FPR=20%"
    expected = evidentia.evaluate(read(system(0.9, splits=True)), measures=[name], resamples=0)
    comparison = evidentia.compare(split_folders / "good", split_folders / "bad", measures=[name], resamples=20)
    assert comparison[name].system_value == expected[name].value


def test_the_tune_rows_are_an_input_with_its_hash(split_folders: Path, tmp_path: Path) -> None:
    two = [split_folders / name for name in SYSTEMS]
    evidentia.compare(*two, measures=TUNED, resamples=20, out=tmp_path / "out")
    inputs = strict((tmp_path / "out" / "manifest.json").read_text())["inputs"]
    tune = [(source["role"], source["sha256"]) for source in inputs if source["name"] == "tune.parquet"]
    hashes = [hashlib.sha256((folder / "tune.parquet").read_bytes()).hexdigest() for folder in two]
    assert tune == list(zip(SYSTEMS, hashes, strict=True))


def test_a_folder_is_read_back_with_all_its_rows(split_folders: Path) -> None:
    run, again = read(system(0.3, splits=True)), load_result(split_folders / "good").run
    assert again.tune_frame.equals(run.tune_frame.select(again.tune_frame.columns))
    assert again.tune.fold.codes.tolist() == run.tune.fold.codes.tolist()


def test_a_result_that_lost_its_tune_rows_is_refused(tmp_path: Path) -> None:
    folder = save(system(0.3, splits=True), tmp_path / "lost")
    (folder / "tune.parquet").unlink()
    refused(command("compare", folder, folder, "--resamples", 20), "tune.parquet")


def test_only_one_of_two_results_with_tune_rows_is_no_reason_to_fail(split_folders: Path, tmp_path: Path) -> None:
    frame = system(0.9, splits=True).filter(pl.col("split") == "EVAL")
    comparison = evidentia.compare(
        split_folders / "good", save(frame, tmp_path / "plain"), measures=["AUROC", *TUNED], resamples=20
    )
    assert {delta.name for delta in comparison.deltas if "[" not in delta.name} == {"AUROC"}
    assert any(TUNED[0] in note and "not every result has what it needs" in note for note in comparison.notes)
