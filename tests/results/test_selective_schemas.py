"""What `evidentia selective` writes is what its JSON Schemas describe, and a broken file is noticed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cli.abstaining import FEW, Abstaining, changed, outspoken, silent, summary_of
from cli.command import evidentia
from evidentia import selective
from evidentia.results import loads

from .schemas import faults

Break = Callable[[dict], object]


def written(folder: Path, *words: object) -> tuple[dict, dict]:
    """Summary and manifest of a run that is saved."""
    ran = evidentia("selective", *words, *FEW, "-q", "-o", folder)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    return tuple(loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("summary", "manifest"))


@pytest.fixture(scope="module")
def compared(runs: Abstaining, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict]:
    words = (runs.both, "--mode", "few_shot", "--against-mode", "zero_shot")
    return written(tmp_path_factory.mktemp("compared") / "out", *words)


WAYS: dict[str, tuple[str, ...]] = {
    "a single confidence": ("few", "--confidence", "llm"),
    "the usual confidences": ("few",),
    "every confidence": ("few", "--confidence", "all"),
    "one loss": ("few", "--loss", "zero_one"),
    "its own coverages": ("few", "--coverage", "0.25,0.00001"),
    "named measures": ("few", "--measures", "AURC,MAE@coverage=1"),
    "bias-corrected intervals": ("few", "--ci-method", "bca", "--ci", "0.9"),
    "a table": ("table",),
    "a table with its largest error": ("table", "--item-max", "3"),
    "another run": ("few", "--against", "zero"),
    "another run and one confidence": ("few", "--against", "zero", "--confidence", "token_msp"),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("what", WAYS)
def test_both_files_are_what_the_schemas_describe_for(what: str, runs: Abstaining, tmp_path: Path) -> None:
    words = [getattr(runs, word, word) for word in WAYS[what]]
    summary, manifest = written(tmp_path / "out", *words)
    assert ("comparison" in summary) == ("--against" in words)
    assert faults("summary", summary) == []
    assert faults("selective-manifest", manifest) == []
    assert faults("manifest", manifest) != []


def test_a_run_that_answers_nothing_is_described(runs: Abstaining, tmp_path: Path) -> None:
    summary, manifest = written(tmp_path / "out", changed(runs.few, tmp_path / "silent.json", silent))
    assert summary["dataset"]["predicted"] == 0
    assert any(entry["value"] is None for entry in summary["measures"].values())
    assert faults("summary", summary) == []
    assert faults("selective-manifest", manifest) == []


def test_runs_of_equal_coverage_are_described(runs: Abstaining, tmp_path: Path) -> None:
    all_of_it = changed(runs.few, tmp_path / "all.json", outspoken)
    summary = summary_of(all_of_it, "--against", changed(runs.zero, tmp_path / "other.json", outspoken))
    assert {row["valid"] for row in summary["comparison"]["coverages"]} == {True}
    assert faults("summary", summary) == []


def test_a_result_without_intervals_is_described(runs: Abstaining) -> None:
    ran = evidentia("selective", runs.few, "--seed", 1, "--resamples", 0, "--json")
    summary = loads(ran.out)
    assert {entry["ci"] is None for entry in summary["measures"].values()} == {True}
    assert faults("summary", summary) == []


def test_a_result_of_a_data_frame_is_described_and_has_no_hash_of_a_file(runs: Abstaining, tmp_path: Path) -> None:
    selective.evaluate(pl.read_csv(runs.table), seed=1, resamples=20, coverage=[0.5, 1]).save(tmp_path / "out")
    manifest = loads((tmp_path / "out" / "manifest.json").read_text())
    frame = {"role": "items", "name": "<dataframe>", "sha256": None, "rows": 9, "failed": 0, "notes": []}
    assert manifest["inputs"] == [frame]
    assert manifest["command"] is None
    assert manifest["options"]["coverage"] == ["0.5", "1"]
    assert faults("selective-manifest", manifest) == []


def _entry(summary: dict) -> dict:
    return summary["measures"]["AURC[confidence=llm]"]


def _beyond(summary: dict) -> dict:
    return summary["measures"]["MAE@coverage=1[confidence=llm]"]


def _delta(summary: dict, name: str = "AURC@C=common[confidence=llm]") -> dict:
    return next(delta for delta in summary["comparison"]["deltas"] if delta["name"] == name)


BROKEN_SUMMARIES: dict[str, Break] = {
    "the profile of queries": lambda s: s.update(profile="contract"),
    "the dataset of queries": lambda s: s.update(
        dataset={"card": None, "queries": 1, "positives": 0, "posts": 1, "criteria": 1, "folds": None, "left_out": {}}
    ),
    "no participants": lambda s: s["dataset"].update(participants=0),
    "no signals": lambda s: s["dataset"].update(signals=[]),
    "an unknown unit": lambda s: s["dataset"].update(unit="post"),
    "no count of failures": lambda s: s["dataset"].pop("failed"),
    "an unknown key of the dataset": lambda s: s["dataset"].update(site="x"),
    "a missing value without a reason": lambda s: _entry(s).update(value=None, ci=None),
    "a reason that was taken away": lambda s: _beyond(s).update(degenerate=None),
    "an interval around no value": lambda s: _beyond(s).update(ci=[0.1, 0.2]),
    "a value that is text": lambda s: _entry(s).update(value="0.5"),
    "folds": lambda s: _entry(s).update(fold_mean=0.5),
    "another family": lambda s: _entry(s).update(family="ranking"),
    "an unknown detail": lambda s: _entry(s)["details"].update(comment="good"),
    "a coverage of 0": lambda s: _beyond(s)["details"].update(coverage=0),
    "a twin that is no name": lambda s: _entry(s)["details"].update(plateau="the other one"),
    "half a tie sensitivity": lambda s: _entry(s)["details"]["tie_sensitivity"].pop("worst"),
    "a tie sensitivity of nothing": lambda s: _entry(s)["details"].pop("confidence"),
    "a fraction of tied items": lambda s: _entry(s)["details"]["tie_sensitivity"].update(tied_items=1.5),
    "folds in its draws": lambda s: s["interval"].update(stratified_by_fold=True),
    "a comparison without deltas": lambda s: s["comparison"].update(deltas=[]),
    "a comparison without a baseline": lambda s: s["comparison"].pop("baseline"),
    "a comparison without resamples": lambda s: s["comparison"].update(resamples=0),
    "a comparison over no coverage": lambda s: s["comparison"].update(common_coverage=0),
    "a comparison with a silent run": lambda s: s["comparison"]["predicted"].update(system=0),
    "an unknown key of a comparison": lambda s: s["comparison"].update(winner="few_shot"),
    "a coverage beyond 1": lambda s: s["comparison"]["coverages"][0].update(coverage=1.5),
    "a coverage out of reach without a reason": lambda s: s["comparison"]["coverages"][-1].update(reason=None),
    "a coverage in reach with a reason": lambda s: s["comparison"]["coverages"][0].update(reason="too far"),
    "an unknown key of a delta": lambda s: _delta(s).update(comment="good"),
    "an unknown family of a delta": lambda s: _delta(s).update(family="criteria"),
    "a verdict without a test": lambda s: _delta(s, "MAE").update(verdict="win"),
    "a p of a refused delta": lambda s: _delta(s, "MAE").update(p=0.5, p_holm=0.5, verdict="tie"),
    "a refusal without a word": lambda s: _delta(s, "MAE").update(warnings=[]),
    "an untested area without a word": lambda s: _delta(s, "AURC[confidence=llm]").update(warnings=["small"]),
    "a difference to nothing": lambda s: _delta(s).update(baseline_value=None),
    "no definition": lambda s: _delta(s).pop("definition"),
}


@pytest.mark.parametrize("what", BROKEN_SUMMARIES)
def test_the_schema_rejects_a_summary_with(what: str, compared: tuple[dict, dict]) -> None:
    summary = copy.deepcopy(compared[0])
    summary["measures"] = {
        name: summary["measures"][name] for name in ("Cmax", "AURC[confidence=llm]", "MAE@coverage=1[confidence=llm]")
    }
    kept = ("AURC@C=common[confidence=llm]", "AURC[confidence=llm]", "MAE", "MAE@coverage=1[confidence=llm]")
    summary["comparison"]["deltas"] = [d for d in summary["comparison"]["deltas"] if d["name"] in kept]
    assert faults("summary", summary) == []
    BROKEN_SUMMARIES[what](summary)
    assert len(faults("summary", summary)) >= 1


def test_the_schema_rejects_a_comparison_in_a_summary_of_queries(compared: tuple[dict, dict], saved: object) -> None:
    few = dict(list(saved.summary["measures"].items())[:3])
    summary = saved.summary | {"measures": few}
    assert faults("summary", summary) == []
    assert len(faults("summary", summary | {"comparison": compared[0]["comparison"]})) >= 1


def test_the_schema_rejects_a_missing_value_in_a_summary_of_queries(saved: object) -> None:
    name, entry = next(iter(saved.summary["measures"].items()))
    broken = saved.summary | {"measures": {name: entry | {"value": None, "ci": None, "degenerate": "no reason"}}}
    assert len(faults("summary", broken)) >= 1


BROKEN_MANIFESTS: dict[str, Break] = {
    "the schema of another manifest": lambda m: m.update(schema="evidentia.comparison-manifest/1"),
    "another profile": lambda m: m.update(profile="contract"),
    "no seed": lambda m: m.pop("seed"),
    "a single resample": lambda m: m.update(resamples=1),
    "no inputs": lambda m: m.update(inputs=[]),
    "three inputs": lambda m: m["inputs"].append(m["inputs"][0]),
    "an unknown role": lambda m: m["inputs"][0].update(role="run"),
    "a path in place of a name": lambda m: m["inputs"][0].update(name="runs/few.json"),
    "a hash that is too short": lambda m: m["inputs"][0].update(sha256="abc"),
    "no option for the loss": lambda m: m["options"].pop("loss"),
    "an unknown loss": lambda m: m["options"].update(loss="cubic"),
    "a coverage that is no decimal": lambda m: m["options"].update(coverage=["half"]),
    "a coverage of 2": lambda m: m["options"].update(coverage=["2"]),
    "no confidence": lambda m: m["options"].update(confidence=[]),
    "an unknown option": lambda m: m["options"].update(folds=5),
    "no hash of the summary": lambda m: m["files"].pop("summary.json"),
    "no hash of the items": lambda m: m["files"].pop("items.csv"),
    "its own hash": lambda m: m["files"].update({"manifest.json": "0" * 64}),
    "a file outside the folder": lambda m: m["files"].update({"../x": "0" * 64}),
    "a local time": lambda m: m.update(time="2026-01-01T00:00:00+02:00"),
}


@pytest.mark.parametrize("what", BROKEN_MANIFESTS)
def test_the_schema_rejects_a_manifest_with(what: str, compared: tuple[dict, dict]) -> None:
    broken = copy.deepcopy(compared[1])
    assert faults("selective-manifest", broken) == []
    BROKEN_MANIFESTS[what](broken)
    assert len(faults("selective-manifest", broken)) >= 1
