"""What a comparison writes is what its JSON Schemas describe, and a broken file is noticed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from results.schemas import faults

from .systems import gated, save, sharp_and_blunt, strict, system

Break = Callable[[dict], object]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison with tuned measures, notes, and numbers that are undefined in one system."""
    home = tmp_path_factory.mktemp("described")
    good, bad = (system(difficulty, splits=True) for difficulty in (0.3, 0.9))
    silent = bad.with_columns(state=pl.lit("NEG")).drop("tau", "tau_neg", "tau_pos", strict=False)
    fewer = good.filter(pl.col("post_id") != "post-00007")
    folders = [save(frame, home / name, dual=True) for name, frame in {"good": fewer, "silent": silent}.items()]
    evidentia.compare(*folders, measures="all", resamples=200, on_mismatch="intersect", out=home / "out")
    return home / "out"


@pytest.fixture(scope="module")
def comparison(written: Path) -> dict:
    return strict((written / "comparison.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def manifest(written: Path) -> dict:
    return strict((written / "manifest.json").read_text(encoding="utf-8"))


def test_both_files_are_what_the_schemas_describe(comparison: dict, manifest: dict) -> None:
    deltas = comparison["deltas"]
    assert {delta["family"] for delta in deltas} == {"measures", "criteria"}
    assert any(delta["verdict"] == "undefined" for delta in deltas)
    assert any("(tuned)" in delta["name"] for delta in deltas)
    assert any("left out" in note for note in comparison["notes"])
    assert faults("comparison", comparison) == []
    assert faults("comparison-manifest", manifest) == []


def test_what_the_json_option_prints_is_described_too(folders: Path) -> None:
    ran = command("compare", *(folders / s for s in ("good", "bad", "middling")), "--resamples", 20, "--json")
    assert faults("comparison", strict(ran.out)) == []


def test_comparisons_of_runs_in_memory_are_described(tmp_path: Path) -> None:
    evidentia.compare(*sharp_and_blunt(), measures=["Brier"], resamples=200, out=tmp_path / "out")
    assert faults("comparison", strict((tmp_path / "out" / "comparison.json").read_text())) == []
    manifest = strict((tmp_path / "out" / "manifest.json").read_text())
    assert faults("comparison-manifest", manifest) == []
    assert [source["sha256"] for source in manifest["inputs"]] == [None, None]
    silent, loud = gated(["NEG"] * 40, [1, 0] * 20), gated(["POS", "NEG"] * 20, [1, 0] * 20)
    undefined = evidentia.compare(silent, loud, measures=["AlertPrecision"], resamples=20).to_dict()
    assert [delta["verdict"] for delta in undefined["deltas"]] == ["undefined"]
    assert faults("comparison", undefined) == []


def _auroc(comparison: dict) -> dict:
    return next(delta for delta in comparison["deltas"] if delta["name"] == "AUROC")


def _alerts(comparison: dict) -> dict:
    return next(delta for delta in comparison["deltas"] if delta["name"] == "AlertPrecision")


BROKEN_COMPARISONS: dict[str, Break] = {
    "another schema number": lambda c: c.update(schema="evidentia.comparison/2"),
    "an unknown key": lambda c: c.update(extra=1),
    "no deltas": lambda c: c.pop("deltas"),
    "one system": lambda c: c.update(systems=["good"]),
    "the same system twice": lambda c: c.update(systems=["good", "good"]),
    "no resamples": lambda c: c.update(resamples=0),
    "an alpha of 0": lambda c: c.update(alpha=0),
    "no queries": lambda c: c.update(queries=0),
    "an empty note": lambda c: c.update(notes=[""]),
    "a level of 95": lambda c: c["interval"].update(level=95),
    "another method": lambda c: c["interval"].update(method="bca"),
    "an unknown key of the interval": lambda c: c["interval"].update(width=1),
    "an unknown key of a delta": lambda c: _auroc(c).update(comment="good"),
    "a name that is no name": lambda c: _auroc(c).update(name="AUROC @ "),
    "no definition": lambda c: _auroc(c).pop("definition"),
    "a value that is text": lambda c: _auroc(c).update(system_value="0.5"),
    "a value that is missing": lambda c: _auroc(c).update(baseline_value=None),
    "half an interval": lambda c: _auroc(c).update(ci=[0.1]),
    "no interval and no word about it": lambda c: _auroc(c).update(ci=None, warnings=[]),
    "a negative n": lambda c: _auroc(c).update(system_n=-1),
    "a fractional n": lambda c: _auroc(c).update(n=1.5),
    "no size of the system": lambda c: _auroc(c).pop("system_n_clusters"),
    "a p of 0": lambda c: _auroc(c).update(p=0),
    "a p above 1": lambda c: _auroc(c).update(p_holm=1.5),
    "a p without its correction": lambda c: _auroc(c).update(p_holm=None),
    "an unknown direction": lambda c: _auroc(c).update(direction="up"),
    "an unknown family": lambda c: _auroc(c).update(family="folds"),
    "an unknown verdict": lambda c: _auroc(c).update(verdict="better"),
    "a verdict of undefined on a tested number": lambda c: _auroc(c).update(verdict="undefined"),
    "a verdict on a number that is undefined": lambda c: _alerts(c).update(verdict="win"),
    "an interval around no difference": lambda c: _alerts(c).update(ci=[0.1, 0.2]),
    "a p of no difference": lambda c: _alerts(c).update(p=0.5, p_holm=0.5, verdict="tie"),
    "an empty warning": lambda c: _auroc(c).update(warnings=[""]),
}


@pytest.mark.parametrize("what", BROKEN_COMPARISONS)
def test_the_schema_rejects_a_comparison_with(what: str, comparison: dict) -> None:
    broken = copy.deepcopy(comparison | {"deltas": [_auroc(comparison), _alerts(comparison)]})
    assert faults("comparison", broken) == []
    BROKEN_COMPARISONS[what](broken)
    assert len(faults("comparison", broken)) >= 1


BROKEN_MANIFESTS: dict[str, Break] = {
    "the schema of another manifest": lambda m: m.update(schema="evidentia.manifest/1"),
    "one input": lambda m: m.update(inputs=m["inputs"][:1]),
    "a path in place of a name": lambda m: m["inputs"][0].update(name="good/per_query.csv"),
    "a hash that is too short": lambda m: m["inputs"][0].update(sha256="abc"),
    "an input without rows": lambda m: m["inputs"][0].update(rows=0),
    "an unknown policy": lambda m: m["options"].update(on_mismatch="ignore"),
    "no hash of the comparison": lambda m: m["files"].pop("comparison.json"),
    "a file outside the folder": lambda m: m["files"].update({"../x": "0" * 64}),
    "its own hash": lambda m: m["files"].update({"manifest.json": "0" * 64}),
    "an unknown key": lambda m: m.update(user="me"),
}


@pytest.mark.parametrize("what", BROKEN_MANIFESTS)
def test_the_schema_rejects_a_manifest_with(what: str, manifest: dict) -> None:
    broken = copy.deepcopy(manifest)
    BROKEN_MANIFESTS[what](broken)
    assert len(faults("comparison-manifest", broken)) >= 1
