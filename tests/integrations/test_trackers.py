"""Results in MLflow and Weights & Biases: numbers with limits, how they were made, summary and page; never a post."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from evidentia.integrations import _logged, log_to_mlflow, log_to_wandb, metrics_of
from evidentia.results import Estimate, Evaluation
from evidentia.results.profiles import PROFILES, questionnaire_names, selective_names
from evidentia.synth import synthetic_run

MEASURES = "AUROC,nDCG@10,F1(t=gate),AlertPrecision"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with a page, on posts whose ids would be seen if they got out; it has no alert."""
    made = synthetic_run(seed=7, posts=20, criteria=3, positives=20, candidates=False)
    frame = made.per_query.drop("tau_neg", "tau_pos").with_columns(
        state=pl.lit("NEG"), post_id="secret-" + pl.col("post_id")
    )
    home = tmp_path_factory.mktemp("trackers")
    evidentia.evaluate(frame, measures=MEASURES, resamples=50, report=True).save(home / "result")
    return home / "result"


def summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())["measures"]


def expected(folder: Path) -> dict[str, float]:
    """The numbers of a summary under the names of the trackers, written out by hand."""
    measures, names = summary(folder), {"AUROC": "AUROC", "nDCG@10": "nDCG_10", "F1(t=gate)": "F1_t_gate"}
    numbers = {}
    for name, plain in names.items():
        entry = measures[name]
        assert entry["degenerate"] is None
        numbers[plain] = entry["value"]
        if entry["ci"] is not None:
            numbers[f"{plain}_low"], numbers[f"{plain}_high"] = entry["ci"]
    assert "AUROC_high" in numbers
    assert measures["AlertPrecision"]["degenerate"] == "no alerts"
    return numbers


def no_post_in(home: Path) -> None:
    """No file, and no name of one, holds an id of a post."""
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert b"secret-post" not in path.read_bytes(), path
        assert "secret" not in path.name


@pytest.fixture
def mlflow(tmp_path: Path) -> Iterator[ModuleType]:
    """MLflow itself with a store of files; it has no server, and needs none."""
    module = pytest.importorskip("mlflow", reason="pip install mlflow-skinny, which brings two dozen packages")
    with patch.dict(os.environ, {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}):
        module.set_tracking_uri((tmp_path / "mlruns").as_uri())
        yield module
        while module.active_run() is not None:
            module.end_run()


def artifacts_of(mlflow: ModuleType, run: str, place: str = "") -> dict[str, bytes]:
    client = mlflow.MlflowClient()
    paths = [entry.path for entry in client.list_artifacts(run, place or None) if not entry.is_dir]
    return {path: Path(client.download_artifacts(run, path)).read_bytes() for path in paths}


def test_mlflow_has_the_numbers_the_settings_and_the_files(folder: Path, mlflow: ModuleType, tmp_path: Path) -> None:
    run = log_to_mlflow(folder)
    data = mlflow.get_run(run).data
    assert data.metrics == expected(folder)
    assert {
        key: data.params[key] for key in ("profile", "seed", "resamples", "queries", "posts", "interval_level")
    } == {
        **{"profile": "contract", "seed": "7", "resamples": "50", "queries": "60", "posts": "20"},
        "interval_level": "0.95",
    }
    files = artifacts_of(mlflow, run)
    assert set(files) == {"report.html", "summary.json"}
    assert files["report.html"] == (folder / "report.html").read_bytes()
    assert json.loads(files["summary.json"])["measures"] == summary(folder)
    assert mlflow.active_run() is None
    assert mlflow.get_run(run).info.status == "FINISHED"
    no_post_in(tmp_path / "mlruns")


def test_mlflow_takes_several_results_into_an_active_run(folder: Path, mlflow: ModuleType) -> None:
    other = evidentia.evaluate(pl.read_csv(folder / "per_query.csv"), measures="AUROC", resamples=0, report=False)
    with mlflow.start_run() as run:
        assert log_to_mlflow(folder) == log_to_mlflow(other, prefix="no intervals") == run.info.run_id
        assert mlflow.active_run() is not None
    data = mlflow.get_run(run.info.run_id).data
    assert data.metrics == expected(folder) | {"no_intervals/AUROC": other["AUROC"].value}
    assert (data.params["resamples"], data.params["no_intervals/resamples"]) == ("50", "0")
    assert set(artifacts_of(mlflow, run.info.run_id, "no_intervals")) == {"no_intervals/summary.json"}


@pytest.fixture
def wandb(tmp_path: Path) -> Iterator[ModuleType]:
    """Weights & Biases itself, which writes to the disk and sends nothing."""
    module = pytest.importorskip("wandb", reason="pip install wandb, which brings two dozen packages")
    settings = {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path), "WANDB_SILENT": "true"}
    places = {f"WANDB_{name}_DIR": str(tmp_path / name) for name in ("CACHE", "DATA", "CONFIG")}
    with patch.dict(os.environ, settings | places):
        yield module
        module.teardown()  # it keeps its folders from one run to the next


def test_wandb_has_the_numbers_the_settings_and_the_files(folder: Path, wandb: ModuleType, tmp_path: Path) -> None:
    with wandb.init(project="evidence") as run:
        assert log_to_wandb(folder) == run.id
        assert {key: run.summary[key] for key in expected(folder)} == pytest.approx(expected(folder))
        assert (run.config["profile"], run.config["posts"], run.config["resamples"]) == ("contract", 20, 50)
    assert list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))
    kept = {path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert (folder / "report.html").read_bytes() in kept
    no_post_in(tmp_path)


def test_wandb_begins_and_ends_a_run_of_its_own(folder: Path, wandb: ModuleType, tmp_path: Path) -> None:
    run = log_to_wandb(folder, prefix="first")
    assert wandb.run is None
    assert list(tmp_path.glob(f"wandb/offline-run-*-{run}/run-{run}.wandb"))


def test_names_are_those_that_trackers_take_and_stay_different() -> None:
    every = [set(profile.names(dual=True)) for profile in PROFILES.values()]
    every.append({*selective_names(), *questionnaire_names([5, 10])})
    for names in every:
        estimates = {
            name: Estimate(name, 0.5, "", "", "", 1, 1, "", "higher", "", ci=(0.4, 0.6)) for name in sorted(names)
        }
        metrics = metrics_of(Evaluation("contract", 7, 100, estimates))
        assert len(metrics) == 3 * len(names)
        assert all(re.fullmatch(r"[A-Za-z][\w.-]*", name, re.ASCII) for name in metrics)


@pytest.mark.parametrize(("log", "module"), [(log_to_mlflow, "mlflow"), (log_to_wandb, "wandb")])
def test_what_is_not_installed_is_told(log: Any, module: str, folder: Path) -> None:
    with (
        patch.dict(sys.modules, {module: None}),
        pytest.raises(evidentia.InputError, match=f"{module} is not installed: pip"),
    ):
        log(folder)


@pytest.mark.parametrize("option", ["--show-ids", "--include-text", "no record"])
def test_a_page_with_ids_or_sentences_is_not_logged(option: str, folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    if option == "--include-text":
        uids = pl.read_csv(folder / "per_query.csv")["ranked_sent_uids"].str.split("|").explode().unique().sort()
        pl.DataFrame({"sent_uid": uids, "text": ["An invented sentence."] * len(uids)}).write_csv(
            tmp_path / "texts.csv"
        )
    words = [option, tmp_path / "texts.csv"] if option == "--include-text" else [option]
    if option == "no record":
        (copy / "report.json").unlink()
    else:
        assert command("report", copy, "--format", "html", *words).code == 0
    with (
        patch.dict(sys.modules, {"mlflow": ModuleType("mlflow")}),
        pytest.raises(evidentia.InputError, match="do not belong"),
    ):
        log_to_mlflow(copy)


def test_only_results_are_logged(tmp_path: Path) -> None:
    with patch.dict(sys.modules, {"mlflow": ModuleType("mlflow")}):
        with pytest.raises(evidentia.InputError, match="is not a result folder"):
            log_to_mlflow(tmp_path)
        with pytest.raises(evidentia.InputError, match="Give an Evaluation"):
            log_to_mlflow({"AUROC": 0.9})  # type: ignore[arg-type]


def test_no_note_and_no_check_names_a_topic(tmp_path: Path) -> None:
    """The summary in the folder says which judged topic is not in the run; the one for a tracker does not."""
    (tmp_path / "qrels").write_text("secret-post-1 0 a 1\nq2 0 b 1\n")
    (tmp_path / "run").write_text("q2 Q0 b 1 0.5 x\n")
    run = evidentia.read_trec(tmp_path / "qrels", tmp_path / "run")
    evidentia.evaluate(run, measures="MRR", resamples=0, report=False).save(tmp_path / "out")
    assert "secret-post-1" in (tmp_path / "out" / "summary.json").read_text()
    with _logged(tmp_path / "out", "") as logged:
        text = logged.files[0].read_text()
    assert "secret-post-1" not in text
    assert json.loads(text)["measures"] == summary(tmp_path / "out")
