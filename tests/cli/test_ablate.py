"""`evidentia ablate`: a row for every stage, each figure that of its own result, the same bytes again and after a stop."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import stdev
from types import SimpleNamespace
from typing import Any

import pytest

from builders.pipelines import small_config, small_corpus
from evidentia import ablating
from evidentia.pipeline import work
from evidentia.results import dumps, loads
from evidentia.verifying import verify_result

from .command import Ran, contents, evidentia, refused, without_progress

NAMES = (
    *("baseline: words of a sentence", "retriever", "+ reranker", "+ graph reranker"),
    *("+ dynamic K", "+ no-evidence gate", "+ three-state gate"),
)
STEPS = (
    *("0-baseline", "1-retriever", "2-reranker", "3-graph-reranker"),
    *("4-dynamic-K", "5-no-evidence-gate", "6-three-state-gate"),
)
RANKING = {"nDCG@10", "AUROC", "AUPRC", "Recall@10", "MRR", "Brier"}
SELECTION = {"EvidenceRecall", "EvidencePrecision", "SelectedK(given=gate)"}
STATES = {"ScreeningSensitivity", "AlertPrecision", "AlertsPer1000"}
BARE = {"reranker": "none", "graph": "none", "more": '[retriever]\nkind = "bm25"\n'}
BRIEF = ("--no-report", "--no-verify")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    small_corpus(home / "corpus", criteria=3)
    return home


@pytest.fixture(scope="module")
def screen(home: Path) -> Ran:
    """What the ablation in `whole` printed."""
    return evidentia("ablate", small_config(home), "-o", home / "whole", "--resamples", 50, "--no-report")


@pytest.fixture(scope="module")
def whole(home: Path, screen: Ran) -> Path:
    """An ablation of all stages, with intervals."""
    assert (screen.code, without_progress(screen.err)) == (0, ""), screen
    return home / "whole"


@pytest.fixture(scope="module")
def bare(home: Path) -> Path:
    """An ablation without rerankers, with two seeds."""
    config = small_config(home, "bare.toml", **BARE)
    ran = evidentia("ablate", config, "-o", home / "bare", "--seeds", 2, "--resamples", 20, "--quiet", *BRIEF)
    assert ran == Ran(0, "", "")
    return home / "bare"


@pytest.fixture(scope="module")
def plain(home: Path) -> Path:
    """The same with the second of these seeds alone, without intervals."""
    config = small_config(home, "plain.toml", seed=8, **BARE)
    out = home / "[red]plain"  # which is no colour
    ran = evidentia("ablate", config, "-o", out, "--resamples", 0, *BRIEF)
    assert ran.code == 0, ran
    assert f"written to {out}: ablation.json, ablation.csv, ablation.md, steps" in ran.out.splitlines()
    assert "gain" not in ran.out.lower()
    return out


def rows(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = loads((out / "ablation.json").read_text())["configurations"]
    return found


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_what_is_written(whole: Path) -> None:
    assert sorted(path.name for path in whole.iterdir()) == [
        *("ablation.csv", "ablation.json", "ablation.md"),
        *("comparison-baseline", "comparison-ranking", "comparison-selection"),
        *("gamma_sweep.csv", "manifest.json", "run.log", "steps", "threshold_grid.csv"),
    ]
    assert sorted(path.name for path in (whole / "steps").iterdir()) == sorted(STEPS)
    for step in STEPS:
        tables = {"per_query.parquet", "candidates.parquet", "tune.parquet", "thresholds.json", "tuned.json"}
        assert tables | {"result/summary.json"} <= set(contents(whole / "steps" / step))
    for path in whole.rglob("*.json"):
        loads(path.read_bytes())  # no NaN, no Infinity
    assert list(whole.rglob(".*")) == []


def test_a_baseline_and_six_configurations_each_with_what_it_can_have(whole: Path) -> None:
    found = rows(whole)
    assert [row["configuration"] for row in found] == list(NAMES)
    assert [row["folder"] for row in found] == [f"steps/{step}" for step in STEPS]
    for row in found[:4]:
        assert set(row["figures"]) == RANKING
    for row in found[4:6]:
        assert set(row["figures"]) == RANKING | SELECTION
    assert set(found[6]["figures"]) == RANKING | SELECTION | STATES


def test_every_figure_is_that_of_its_own_result(whole: Path) -> None:
    for row in rows(whole):
        measures = loads((whole / row["folder"] / "result" / "summary.json").read_bytes())["measures"]
        for name, figure in row["figures"].items():
            assert figure.pop("seed_std") is None
            assert figure == {key: measures[name][key] for key in figure}, name
            assert set(figure) == {"value", "ci", "fold_mean", "fold_std", "n"}
    for row in rows(whole):
        low, high = row["figures"]["nDCG@10"]["ci"]
        assert low < row["figures"]["nDCG@10"]["value"] < high


def test_only_the_last_configuration_has_more_than_the_table_shows(whole: Path) -> None:
    for row in rows(whole):
        measures = loads((whole / row["folder"] / "result" / "summary.json").read_bytes())["measures"]
        own = {name for name in measures if "[" not in name}
        assert own >= set(row["figures"])
        assert (own == set(row["figures"])) == (row["configuration"] != NAMES[-1])


def test_gains_are_paired_with_the_configuration_before(whole: Path) -> None:
    found = rows(whole)
    assert [set(row["deltas"]) for row in found] == [
        *(set(), set(), RANKING, RANKING, RANKING, RANKING | SELECTION, RANKING | SELECTION),
    ]
    for before, row in pairwise(found):
        for name, gain in row["deltas"].items():
            values = [one["figures"][name]["value"] for one in (before, row)]
            assert gain["delta"] == pytest.approx(values[1] - values[0], abs=1e-12)
    for row, name in ((found[2], "nDCG@10"), (found[5], "AUROC"), (found[6], "EvidenceRecall")):
        low, high = row["deltas"][name]["ci"]
        assert low < row["deltas"][name]["delta"] < high
    assert found[4]["deltas"]["nDCG@10"] == {"delta": 0, "ci": None}  # K changes no ranking


def test_what_cannot_exist_is_said_to_be_absent(whole: Path, screen: Ran) -> None:
    lines = [line.strip("| ").split(" | ") for line in (whole / "ablation.md").read_text().splitlines()]
    head, _, *figures = lines[2:11]
    assert head[5:] == ["EvidenceRecall", "SelectedK(given=gate)", "AlertPrecision"]
    assert [cells[0] for cells in figures] == list(NAMES)
    assert [[cell == "n/a" for cell in cells[5:]] for cells in figures] == [
        *([[True] * 3] * 4),
        *([[False, False, True]] * 2),
        [False] * 3,
    ]
    assert not any(cell == "n/a" for cells in figures for cell in cells[:5])
    printed = {line[:30].strip(): line[30:].split() for line in screen.out.splitlines()}
    assert [printed[name].count("n/a") for name in NAMES] == [3, 3, 3, 3, 1, 1, 0]
    for row in rows(whole):
        assert printed[row["configuration"]][0] == f"{row['figures']['nDCG@10']['value']:.4f}"
    assert screen.out.count("  gained") == 5


def test_a_table_has_every_figure_and_no_formula(whole: Path) -> None:
    lines = table(whole / "ablation.csv")
    wanted = [
        {
            "configuration": row["configuration"].replace("+", "'+"),
            "measure": name,
            **{"value": one["value"], "n": one["n"], "fold_mean": one["fold_mean"], "fold_std": one["fold_std"]},
            **dict(zip(("ci_low", "ci_high"), one["ci"] or (None, None), strict=True)),
            **dict(zip(("delta", "delta_low", "delta_high"), gain(row, name), strict=True)),
            "seed_std": None,
        }
        for row in rows(whole)
        for name, one in row["figures"].items()
    ]
    assert lines == [{key: "" if cell is None else str(cell) for key, cell in line.items()} for line in wanted]
    for name in ("ablation.csv", "gamma_sweep.csv", "threshold_grid.csv"):
        for line in table(whole / name):
            for cell in (*line, *line.values()):
                assert not cell.startswith(("=", "+", "-", "@")) or re.fullmatch(r"-[\d.e-]+", cell), cell


def gain(row: dict[str, Any], name: str) -> tuple[float | None, ...]:
    found = row["deltas"].get(name, {"delta": None, "ci": None})
    return found["delta"], *(found["ci"] or (None, None))


def test_more_gamma_returns_more_sentences(whole: Path) -> None:
    points = loads((whole / "ablation.json").read_text())["gamma_sweep"]
    for name in ("gamma", "mean_k", "workload", "evidence_recall"):
        values = [point[name] for point in points]
        assert values == sorted(values)
    assert points[0]["mean_k"] < points[-1]["mean_k"]
    assert table(whole / "gamma_sweep.csv") == [{key: str(cell) for key, cell in point.items()} for point in points]


def test_the_grid_has_the_pairs_that_every_fold_was_tuned_from(whole: Path) -> None:
    points = loads((whole / "ablation.json").read_text())["threshold_grid"]
    assert table(whole / "threshold_grid.csv") == [{key: str(cell) for key, cell in point.items()} for point in points]
    tuned = loads((whole / "steps" / STEPS[-1] / "thresholds.json").read_bytes())["folds"]
    assert [fold["fold"] for fold in tuned] == ["0", "1"]
    for fold in tuned:
        taus = [point["tau"] for point in points if point["fold"] == fold["fold"]]
        assert taus == sorted(taus)
        assert fold["three_state"]["tau_neg"] in taus


def test_the_whole_pipeline_can_be_verified(whole: Path) -> None:
    result = whole / "steps" / STEPS[-1] / "result"
    found = loads((result / "verification.json").read_bytes())
    assert found["comparisons"] > 1000
    assert found["mismatches"] == []
    assert evidentia("verify", result).code == 0
    assert not (whole / "steps" / STEPS[0] / "result" / "verification.json").exists()


@pytest.mark.slow
def test_what_a_system_does_not_have_is_left_out(bare: Path) -> None:
    names = [NAMES[1], *NAMES[4:]]
    assert [row["configuration"] for row in rows(bare)] == names
    assert sorted(path.name for path in (bare / "steps").iterdir()) == [
        *("0-retriever", "1-dynamic-K", "2-no-evidence-gate", "3-three-state-gate"),
    ]
    assert sorted(path.name for path in bare.glob("comparison-*")) == ["comparison-ranking", "comparison-selection"]
    assert [set(row["deltas"]) for row in rows(bare)] == [set(), RANKING, RANKING | SELECTION, RANKING | SELECTION]


@pytest.mark.slow
def test_the_spread_over_seeds_is_that_of_each_alone(bare: Path, plain: Path) -> None:
    assert loads((bare / "ablation.json").read_text())["seeds"] == [7, 8]
    for both, second in zip(rows(bare), rows(plain), strict=True):
        assert set(both["figures"]) == set(second["figures"])
        for name, figure in both["figures"].items():
            assert figure["seed_std"] == stdev([figure["value"], second["figures"][name]["value"]])
    assert {line["seed_std"] for line in table(bare / "ablation.csv")} > {"0.0"}
    text = (bare / "ablation.md").read_text()
    assert "Seeds 7, 8: the spread over them stands behind ±s." in text
    assert text.count(" ±s ") == 4 * 4 + 3 * 2 + 1


def test_without_resamples_there_are_no_intervals_and_no_gains(plain: Path) -> None:
    assert loads((plain / "ablation.json").read_text())["seeds"] == [8]
    for row in rows(plain):
        assert row["deltas"] == {}
        assert {figure["ci"] for figure in row["figures"].values()} == {None}
        assert {figure["seed_std"] for figure in row["figures"].values()} == {None}
    for name in ("ci_low", "ci_high", "delta", "delta_low", "delta_high", "seed_std"):
        assert {line[name] for line in table(plain / "ablation.csv")} == {""}
    assert not list(plain.glob("comparison-*"))
    text = (plain / "ablation.md").read_text()
    assert "gained" not in text
    assert "±s" not in text


def stopping(function: Callable[..., Any], *, after: int) -> Callable[..., Any]:
    """The function, and from its next call on the keyboard."""
    calls = []

    def stop(*words: Any, **named: Any) -> Any:
        calls.append(None)
        if len(calls) > after:
            raise KeyboardInterrupt
        return function(*words, **named)

    return stop


def timeless(folder: Path) -> dict[str, Any]:
    """Every file below a folder; of a manifest what it says beside times."""
    files = {name: content for name, content in contents(folder).items() if not name.endswith(".log")}
    found = {name: loads(content) for name, content in files.items() if name.endswith("manifest.json")}
    for document in found.values():  # the manifests in it hold times
        document["files"] = {name: one for name, one in document["files"].items() if not name.endswith("manifest.json")}
    times = {"time", "finished", "seconds"}
    said = {name: {key: document[key] for key in document if key not in times} for name, document in found.items()}
    return {**files, **said}


@pytest.mark.slow
def test_an_ablation_that_was_stopped_over_and_over_ends_with_the_same_bytes(bare: Path, home: Path) -> None:
    out = home / "stopped"
    words = ("ablate", home / "bare.toml", "-o", out, "--seeds", 2, "--resamples", 20, "--workers", 1, *BRIEF)
    for place, name, calls in ((work, "run_fold", 1), (ablating, "judge", 5)):  # then it is with the second seed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(place, name, stopping(getattr(place, name), after=calls))
            ran = evidentia(*words, *(["--resume"] if out.exists() else []))
        said = "evidentia: stopped. What was done is kept: continue with --resume.\n"
        assert (ran.code, ran.out, without_progress(ran.err)) == (130, "", said)
        assert (out / "work" / "state.json").is_file()
    assert (out / "seeds" / "8" / "work" / "state.json").is_file()
    before = contents(out)
    refused(evidentia(*words), "stopped holds a run that was begun. Continue it with --resume")
    assert contents(out) == before
    removed = []

    def remove(folder: Path, **_: object) -> None:
        removed.append(folder.name)
        shutil.rmtree(folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ablating, "shutil", SimpleNamespace(rmtree=remove))
        assert evidentia(*words, "--resume").code == 0
    assert removed == ["seeds", "work"]  # without work nothing can be continued, so it goes last
    assert timeless(out) == timeless(bare)
    for name in ("work", "seeds"):
        assert not (out / name).exists()
        assert not (bare / name).exists()


def test_comparisons_of_a_stop_are_not_those_of_the_next_start(home: Path, bare: Path) -> None:
    out = home / "interrupted"
    words = ("ablate", home / "bare.toml", "-o", out, "--workers", 1, *BRIEF)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ablating, "write_ablation", stopping(ablating.write_ablation, after=0))
        assert evidentia(*words, "--resamples", 20).code == 130
    assert list(out.glob("comparison-*"))
    assert evidentia(*words, "--resamples", 0, "--resume").code == 0
    assert not list(out.glob("comparison-*"))
    assert all(not row["deltas"] for row in rows(out))


REFUSED = {
    "no seeds": (("--seeds", 0), "", "An ablation needs one seed or more."),
    "fewer": (("--seeds", -1), "", "An ablation needs one seed or more."),
    "a resample": (("--resamples", 1), "", "The number of resamples must be 0 (no intervals) or at least 2"),
    "one threshold": ((), '[three_state]\nrule = "max-f1"\n', "An ablation ends with the three-state gate."),
}


def test_neither_verification_nor_intervals_with_several_workers(home: Path, plain: Path) -> None:
    config = small_config(home, "several.toml", seed=8, **BARE)
    out = home / "several"
    assert evidentia("ablate", config, "-o", out, "--workers", 2, "--resamples", 0, "--quiet", *BRIEF) == Ran(0, "", "")
    assert rows(out) == rows(plain)


@pytest.mark.parametrize("which", REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_trained(which: str, home: Path) -> None:
    words, more, said = REFUSED[which]
    config = small_config(home, "refused.toml", more=more)
    refused(evidentia("ablate", config, "-o", home / "refused", *words, *BRIEF), said)
    assert not (home / "refused").exists()


def test_a_folder_that_holds_something_else(home: Path, bare: Path) -> None:
    (home / "other").mkdir()
    (home / "other" / "thesis.txt").write_text("mine")
    (home / "file").write_text("mine")
    before = contents(home)
    for name, said in (
        ("other", "other exists and is not empty. Choose another folder with -o."),
        ("file", "file exists and is not a folder. Choose another folder with -o."),
    ):
        for resume in ((), ("--resume",)):
            refused(evidentia("ablate", home / "bare.toml", "-o", home / name, *resume, *BRIEF), said)
    assert contents(home) == before


def test_a_finished_ablation_is_finished(home: Path, bare: Path) -> None:
    out = home / "done"
    shutil.copytree(bare, out)
    words = ("ablate", home / "bare.toml", "-o", out, *BRIEF)
    before = contents(out)
    (out / "work" / "0").mkdir(parents=True)  # it had no time to remove this
    (out / "seeds" / "8").mkdir(parents=True)
    assert evidentia(*words, "--seeds", 2, "--resume") == Ran(0, "done is finished already: nothing was changed.\n", "")
    assert not (out / "work").exists()
    assert not (out / "seeds").exists()
    refused(evidentia(*words, "--seeds", 2), "done exists and is not empty. Choose another folder with -o.")
    refused(
        evidentia(*words, "--seeds", 3, "--resume"), "done is finished, and was made with another configuration, seeds,"
    )
    refused(evidentia("run", home / "bare.toml", "-o", out, "--resume"), "done exists and is not empty.")
    assert contents(out) == before
    summary = min((out / "steps").iterdir()) / "result" / "summary.json"
    summary.write_text(summary.read_text().replace('"passed"', '"failed"', 1))
    said = "done is finished already, and a check or its verification failed: nothing was changed.\n"
    assert evidentia(*words, "--seeds", 2, "--resume") == Ran(1, said, "")


def test_what_failed_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(result: Path, **named: Any) -> None:
        verify_result(result, **named)
        path = result / "verification.json"
        found = loads(path.read_bytes())
        path.write_text(dumps({**found, "mismatches": [{"where": "AUROC", "reported": 1, "recomputed": 0}]}))

    monkeypatch.setattr(ablating, "verify_result", wrong)
    small_config(home, "wrong.toml", **BARE)
    words = ("--resamples", 0, "--no-report", "--workers", 1)
    ran = evidentia("ablate", home / "wrong.toml", "-o", home / "wrong", *words)
    assert ran.code == 1, ran
    assert "comparisons, 1 MISMATCH." in ran.out
    last = max((home / "wrong" / "steps").iterdir()).name
    assert f"FAILED: a check or the verification of steps/{last}/result" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bare", "whole"])
def test_an_ablation_verifies_from_its_own_folder(name: str, request: pytest.FixtureRequest) -> None:
    ran = evidentia("verify", request.getfixturevalue(name), "--read-only")
    assert (ran.code, without_progress(ran.err)) == (0, ""), ran.out
    assert "comparison-ranking" in ran.out


def test_a_spread_is_kept_where_there_are_more_seeds(whole: Path, bare: Path) -> None:
    assert {path.name for path in (bare / "spread").iterdir()} == {"8"}
    assert not (whole / "spread").exists()
