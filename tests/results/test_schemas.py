"""What the program writes is what its JSON Schemas describe, and a broken file is noticed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft202012Validator

import evidentia
from builders.runs import Files, Saved
from cli.command import evidentia as command
from cli.points import point_estimates
from evidentia.measures import PROFILES
from evidentia.results import loads

from .schemas import faults, schema, thinned

SCHEMAS = (
    *("summary", "manifest", "comparison", "comparison-manifest", "selective-manifest", "thresholds"),
    *("verification", "report"),
)
LAYOUTS = {"comparison-manifest": 2, "selective-manifest": 2, "verification": 2}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_itself_valid_and_carries_the_number_of_the_layout(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert (
        schema(name)["$id"]
        == schema(name)["properties"]["schema"]["const"]
        == f"evidentia.{name}/{LAYOUTS.get(name, 1)}"
    )


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_writes_what_the_schemas_describe(profile: str, split_files: Files, tmp_path: Path) -> None:
    run = evidentia.read_run(split_files.per_query, candidates=split_files.candidates)
    point_estimates(run, profile=profile, dual=True).save(tmp_path / "out")
    written = Saved(None, tmp_path / "out")
    assert len(written.summary["measures"]) > 1000
    assert faults("summary", thinned(written.summary, every=19)) == []
    assert faults("manifest", written.manifest) == []


def test_slices_gaps_and_other_definitions_are_described(saved: Saved) -> None:
    assert saved.summary["not_computed"]
    assert saved.summary["other_definitions"]
    assert any("[subreddit=" in name for name in saved.summary["measures"])
    assert faults("summary", saved.summary) == []
    assert faults("manifest", saved.manifest) == []


def test_what_the_json_option_prints_is_described_too(files: Files) -> None:
    ran = command("evaluate", files.per_query, "--json", "--measures", "AUROC,MRR")
    assert faults("summary", loads(ran.out)) == []


def test_a_result_of_trec_files_is_described(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("t1 0 a 1\nt1 0 b 0\n")
    (tmp_path / "run").write_text("t1 Q0 b 1 0.9 x\nt1 Q0 a 2 0.8 x\n")
    trec = ("--qrels", tmp_path / "qrels", "--run", tmp_path / "run")
    assert command("evaluate", *trec, "-o", tmp_path / "out").code == 0
    written = Saved(None, tmp_path / "out")
    assert faults("summary", written.summary) == []
    assert faults("manifest", written.manifest) == []
    assert [source["role"] for source in written.manifest["inputs"]] == ["qrels", "trec_run"]


def test_a_result_of_a_data_frame_is_described_and_has_no_hash_of_a_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"post_id": ["p"], "criterion_id": ["A"], "gold_sent_uids": ["s"], "ranked_sent_uids": ["s"]})
    point_estimates(evidentia.read_run(frame)).save(tmp_path / "out")
    written = Saved(None, tmp_path / "out")
    assert faults("summary", written.summary) == []
    assert faults("manifest", written.manifest) == []
    assert written.manifest["inputs"] == [{"role": "run", "name": "<dataframe>", "sha256": None, "rows": 1}]
    assert written.manifest["command"] is None


def test_a_fold_that_cannot_be_tuned_is_described(split_files: Files, tmp_path: Path) -> None:
    frame = pl.read_csv(split_files.per_query, schema_overrides={"fold": pl.String})
    run, tune = (frame.filter(pl.col("split") == part) for part in ("EVAL", "TUNE"))
    tune = tune.filter(pl.col("fold") != "0")
    point_estimates(evidentia.read_run(run, tune=tune), measures=["TPR(tuned)@FPR=5%"]).save(tmp_path / "out")
    written = Saved(None, tmp_path / "out")
    reasons = {threshold["fold"]: threshold["reason"] for threshold in written.manifest["thresholds"]}
    assert reasons["0"] == "cannot be tuned: no TUNE queries"
    assert [source["role"] for source in written.manifest["inputs"]] == ["run", "tune"]
    assert faults("summary", written.summary) == []
    assert faults("manifest", written.manifest) == []


def _entry(summary: dict) -> dict:
    return summary["measures"]["nDCG@10"]


BROKEN_SUMMARIES: dict[str, Callable[[dict], object]] = {
    "another schema number": lambda s: s.update(schema="evidentia.summary/2"),
    "no profile": lambda s: s.pop("profile"),
    "an unknown key": lambda s: s.update(extra=1),
    "a value that is text": lambda s: _entry(s).update(value="0.5"),
    "a value that is missing": lambda s: _entry(s).update(value=None),
    "no definition": lambda s: _entry(s).pop("definition"),
    "an unknown key of a number": lambda s: _entry(s).update(comment="good"),
    "half an interval": lambda s: _entry(s).update(ci=[0.1]),
    "a negative std": lambda s: _entry(s).update(fold_std=-0.1),
    "a negative n": lambda s: _entry(s).update(n=-1),
    "a fractional n": lambda s: _entry(s).update(n=1.5),
    "an empty reason": lambda s: _entry(s).update(degenerate=""),
    "an unknown direction": lambda s: _entry(s).update(direction="up"),
    "a name that is no name": lambda s: s["measures"].update({"nDCG @ ": _entry(s)}),
    "no check at all": lambda s: s.update(checks=[]),
    "a check with an unknown status": lambda s: s["checks"][0].update(status="ok"),
    "a gap without a reason": lambda s: s["not_computed"][0].update(reason=""),
    "a gap without measures": lambda s: s["not_computed"][0].update(measures=[]),
    "no queries": lambda s: s["dataset"].update(queries=0),
    "a histogram alone": lambda s: _entry(s)["distribution"].update(histogram={"1": 2}),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("what", BROKEN_SUMMARIES)
def test_the_schema_rejects_a_summary_with(what: str, saved: Saved) -> None:
    kept = {name: saved.summary["measures"][name] for name in ("AUROC", "nDCG@10", "nDCG@10[fold=0]")}
    broken = copy.deepcopy(saved.summary | {"measures": kept})
    assert faults("summary", broken) == []
    BROKEN_SUMMARIES[what](broken)
    assert len(faults("summary", broken)) >= 1


def _input(manifest: dict) -> dict:
    return manifest["inputs"][0]


def _threshold(manifest: dict) -> dict:
    return manifest["thresholds"][0]


BROKEN_MANIFESTS: dict[str, Callable[[dict], object]] = {
    "another schema number": lambda m: m.update(schema="evidentia.manifest/0"),
    "no inputs": lambda m: m.update(inputs=[]),
    "a path in place of a name": lambda m: _input(m).update(name="/home/me/run.csv"),
    "a hash that is too short": lambda m: _input(m).update(sha256="abc"),
    "an unknown role": lambda m: _input(m).update(role="gold"),
    "a local time": lambda m: m.update(time="2026-01-01T00:00:00+02:00"),
    "an unknown key": lambda m: m.update(user="me"),
    "no hash of the summary": lambda m: m["files"].pop("summary.json"),
    "a file outside the folder": lambda m: m["files"].update({"../x": "0" * 64}),
    "its own hash": lambda m: m["files"].update({"manifest.json": "0" * 64}),
    "a threshold without its posts": lambda m: _threshold(m).pop("tuned_on_posts"),
    "no threshold and no reason": lambda m: _threshold(m).update(value=None, reason=None),
    "a threshold with a reason for none": lambda m: _threshold(m).update(value=0.5, reason="reject_all"),
    "a reason that nobody gives": lambda m: _threshold(m).update(value=None, reason="none"),
    "an impossible rate": lambda m: _threshold(m).update(tune_fpr=1.5),
}


@pytest.mark.parametrize("what", BROKEN_MANIFESTS)
def test_the_schema_rejects_a_manifest_with(what: str, split_saved: Saved) -> None:
    assert faults("manifest", split_saved.manifest) == []
    broken = copy.deepcopy(split_saved.manifest)
    BROKEN_MANIFESTS[what](broken)
    assert len(faults("manifest", broken)) >= 1
