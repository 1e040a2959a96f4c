"""`evidentia tune` on the folder of a run, `--cross-fit`, and `predict --thresholds`: other thresholds without training."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.pipelines import small_pipeline
from results.schemas import faults

from .command import contents, evidentia, refused

BUDGETS = "ScreeningSensitivity>=0.9,AlertsPer1000<=20,NegRate>=0.99"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and in `run` what was learnt from it."""
    return small_pipeline(tmp_path_factory)


def tuned(run: Path, out: Path, *words: object) -> dict[str, Any]:
    ran = evidentia("tune", run, *words, "-o", out)
    assert (ran.code, ran.err) == (0, ""), ran
    content = json.loads(out.read_text(encoding="utf-8"))
    assert faults("thresholds", content) == []
    return content


def evaluated(home: Path, thresholds: Path, out: Path) -> dict[str, Any]:
    run = home / "run"
    words = ("--candidates", run / "candidates.parquet", "--tune", run / "tune.parquet", "--thresholds", thresholds)
    ran = evidentia("evaluate", run / "per_query.parquet", *words, "-o", out, "-q", "--no-report")
    assert ran.code == 0, ran
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))


def test_a_run_folder_without_options_gives_the_thresholds_of_the_run_and_of_its_model(
    home: Path, tmp_path: Path
) -> None:
    """The same choices on the same rows are the same values; no file of the run changes."""
    before = contents(home / "run")
    content = tuned(home / "run", tmp_path / "t.json")
    own = json.loads((home / "run" / "thresholds.json").read_text(encoding="utf-8"))
    assert content["choices"] == own["choices"]
    *folds, final = content["folds"]
    assert folds == own["folds"]
    model = json.loads((home / "run" / "models" / "final" / "pipeline.json").read_text(encoding="utf-8"))["tuning"]
    assert final["fold"] == "final"
    for name in ("tune_sha256", "tune_queries", "tune_positives"):
        assert final[name] == model[name]
    for name in ("tau_neg", "tau_pos", "metrics", "targets"):
        assert final["three_state"][name] == model["three_state"][name]
    assert contents(home / "run") == before


def test_budgets_move_the_thresholds_of_evaluation_and_of_predictions(home: Path, tmp_path: Path) -> None:
    content = tuned(home / "run", tmp_path / "t.json", "--targets", BUDGETS)
    names = [outcome["name"] for outcome in content["folds"][0]["three_state"]["targets"]]
    assert names[:3] == ["ScreeningSensitivity>=", "AlertsPer1000<=", "NegRate>="]
    summary = evaluated(home, tmp_path / "t.json", tmp_path / "out")
    before = json.loads((home / "run" / "result" / "summary.json").read_text(encoding="utf-8"))
    rate = "NegRate"  # the first target leaves room, so that the last one moves it
    assert summary["measures"][rate]["value"] > before["measures"][rate]["value"]
    verified = evidentia("verify", tmp_path / "out")
    assert verified.code == 0, verified
    assert "Everything matches." in verified.out
    gate = evidentia("gate", tmp_path / "out", "--target", "AUROC>=0")
    assert "yes Thresholds come from TUNE" in gate.out
    posts = home / "corpus"
    for model, fold in (("run", "final"), ("run/models/fold-1", "1")):
        words = ("predict", home / model, posts, "-o", tmp_path / "a.jsonl", "--force", "-q")
        assert evidentia(*words, "--thresholds", tmp_path / "t.json").code == 0
        answers = pl.read_ndjson(tmp_path / "a.jsonl")
        chosen = next(each["three_state"] for each in content["folds"] if each["fold"] == fold)
        assert answers.select("tau_neg", "tau_pos").unique().rows() == [(chosen["tau_neg"], chosen["tau_pos"])]
        state = pl.when(pl.col("prob") < chosen["tau_neg"]).then(pl.lit("NEG"))
        state = state.when(pl.col("prob") >= chosen["tau_pos"]).then(pl.lit("POS")).otherwise(pl.lit("UNCERTAIN"))
        assert answers.select((pl.col("state") == state).all()).item()


def test_what_cannot_be_met_is_named_with_what_is_reached(home: Path, tmp_path: Path) -> None:
    ran = evidentia("tune", home / "run", "--targets", "NegRate>=0.5,UncertainRate<=0", "-o", tmp_path / "t.json")
    assert ran.code == 0, ran
    content = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    for fold in content["folds"]:
        gate = fold["three_state"]
        assert gate["tau_neg"] == gate["tau_pos"]  # UNCERTAIN can always be empty
        for outcome in gate["targets"]:
            target = f"fold {fold['fold']} {outcome['name']}{outcome['target']:g} is missed on TUNE by"
            assert (target in ran.out) == (outcome["missed_by"] > 0)
    assert "is reached, with tau_neg 0." in ran.out


REFUSED = {
    "certificates": (("--three-state", "--certify"), "would certify thresholds, but served another choice before"),
    "other rows": (("--tune", "tune.parquet"), "do not apply to the folder of a run"),
    "cross-fit": (("--cross-fit",), "do not apply to the folder of a run"),
    "a target twice": (("--targets", "NegRate>=0.1,NegRate>=0.2"), "Give each once"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_run_folder_cannot_be_asked_is_refused(case: str, home: Path, tmp_path: Path) -> None:
    words, part = REFUSED[case]
    refused(evidentia("tune", home / "run", *words, "-o", tmp_path / "t.json"), part)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["tune.parquet", "tune_final.parquet", "tuned.json"])
def test_a_run_that_was_changed_is_refused(name: str, home: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(home / "run", tmp_path / "run"))
    if name == "tune.parquet":
        pl.read_parquet(run / name).head(100).write_parquet(run / name)
    else:
        (run / name).write_text("{")
    refused(evidentia("tune", run, "-o", tmp_path / "t.json"), name, "Run it again")


def test_thresholds_of_another_model_are_refused(home: Path, tmp_path: Path) -> None:
    """One row less on which it was tuned, and it is not this model's any more."""
    run = Path(shutil.copytree(home / "run", tmp_path / "run"))
    rows = pl.read_parquet(run / "tune_final.parquet")
    rows.head(rows.height - 1).write_parquet(run / "tune_final.parquet")
    tuned(run, tmp_path / "t.json")
    words = ("predict", home / "run", home / "corpus", "-o", tmp_path / "a.jsonl")
    refused(
        evidentia(*words, "--thresholds", tmp_path / "t.json"), "t.json", "was tuned on the TUNE rows of this model"
    )
    assert not (tmp_path / "a.jsonl").exists()


def out_of_fold(home: Path, folder: Path, *, prob: bool) -> Path:
    """The answers of a run as somebody else would write them: one row per query, no TUNE rows."""
    frame = pl.read_parquet(home / "run" / "per_query.parquet").drop("split", "selected_sent_uids")
    if prob:
        frame = frame.with_columns(prob=1 / (1 + (-pl.col("detection_score")).exp())).drop("detection_score")
    frame.write_csv(folder / "oof.csv")
    return folder / "oof.csv"


WAYS = {
    "states": (True, "--three-state", "--targets", "AlertsPer1000<=50"),
    "states of calibrated probabilities": (True, "--three-state", "--calibrate", "beta"),
    "states of scores": (False, "--three-state", "--calibrate", "isotonic"),
    "one threshold": (False, "--rule", "max-f1", "--calibrate", "platt"),
}


@pytest.mark.parametrize("way", WAYS)
def test_cross_fit_thresholds_come_from_the_other_folds_and_say_so(way: str, home: Path, tmp_path: Path) -> None:
    prob, *words = WAYS[way]
    table = out_of_fold(home, tmp_path, prob=prob)
    ran = evidentia("tune", table, "--cross-fit", *words, "-o", tmp_path / "t.json")
    assert ran.code == 0, ran
    assert "cross_fit" in ran.out
    assert "Tuned" not in ran.out
    content = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert faults("thresholds", content) == []
    frame = pl.read_csv(table, schema_overrides={"fold": pl.String, "post_id": pl.String})
    for fold in content["folds"]:
        chosen = fold["three_state"] or fold["threshold"]
        others = frame.filter(pl.col("fold") != fold["fold"])
        assert set(chosen["tuned_on"]["posts"]) == set(others["post_id"])
        assert fold["tune_queries"] == others.height
    out = tmp_path / "out"
    assert evidentia("evaluate", table, "--thresholds", tmp_path / "t.json", "-o", out, "-q").code == 0
    verified = evidentia("verify", out)
    assert verified.code == 0, verified
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert any("cross_fit" in note for note in summary["notes"])
    warned = {name for name, each in summary["measures"].items() if any("cross_fit" in w for w in each["warnings"])}
    assert {"F1(t=gate)", "NPV(t=gate)[fold=1]"} <= warned
    assert not {"AUROC", "nDCG@10"} & warned
    gate = evidentia("gate", out, "--target", "AUROC>=0")
    assert gate.code == 1
    assert "no  Thresholds come from TUNE: cross_fit" in gate.out


EDITS = {
    "that it is cross_fit": lambda content, fold: content["choices"].pop("cross_fit"),
    "a threshold": lambda content, fold: fold["three_state"].update(tau_neg=0.0),
    "a figure": lambda content, fold: fold["three_state"]["metrics"].update(Workload=0.0),
    "a target": lambda content, fold: content["choices"]["targets"].update({"AlertsPer1000<=": 51.0}),
}


def test_edits_of_cross_fit_thresholds_are_noticed(home: Path, tmp_path: Path) -> None:
    from verify.made import Copy

    table = out_of_fold(home, tmp_path, prob=True)
    assert evidentia("tune", table, "--cross-fit", *WAYS["states"][1:], "-o", tmp_path / "t.json").code == 0
    words = ("evaluate", table, "--thresholds", tmp_path / "t.json", "-q", "--no-report", "--measures", "AUROC")
    assert evidentia(*words, "-o", tmp_path / "out").code == 0
    for name, edit in EDITS.items():
        copy = Copy(Path(shutil.copytree(tmp_path / "out", tmp_path / "copy")))
        copy.json("thresholds.json", lambda content, edit=edit: edit(content, content["folds"][0]))
        copy.manifest(
            lambda content, edit=edit: edit(content["applied_thresholds"], content["applied_thresholds"]["folds"][0])
        )
        assert evidentia("verify", copy.folder, "-q").code == 1, name
        shutil.rmtree(copy.folder)


def test_cross_fit_is_refused_where_it_cannot_be(home: Path, tmp_path: Path) -> None:
    table = out_of_fold(home, tmp_path, prob=True)
    out = ("-o", tmp_path / "t.json")
    words = ("--cross-fit", "--three-state", "--certify")
    refused(evidentia("tune", table, *words, *out), "There are no certificates with cross_fit")
    refused(evidentia("tune", table, *out), "has no TUNE rows", "--cross-fit")
    pl.read_csv(table).with_columns(fold=pl.lit("0")).write_csv(tmp_path / "one.csv")
    refused(evidentia("tune", tmp_path / "one.csv", "--cross-fit", *out), "Give a fold column with 2 or more")
    words = ("--tune", home / "run" / "tune.parquet", "--cross-fit", "--calibrate", "platt")
    refused(evidentia("tune", home / "run" / "per_query.parquet", *words, *out), "Leave out --cross-fit")
    assert not (tmp_path / "t.json").exists()
