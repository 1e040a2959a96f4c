"""A comparison is recomputed from what its own folder keeps of each system."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from cli.command import refused
from compare.systems import read, save, sharp_and_blunt, system
from evidentia.report import write_report
from evidentia.results import loads
from evidentia.synth import synthetic_run

from .made import Copy, copied

SMALL = {"resamples": 40, "report": False}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems with TUNE rows, on disk."""
    home = tmp_path_factory.mktemp("systems")
    for name, difficulty in (("easy", 0.3), ("usual", 0.5), ("hard", 0.8)):
        save(system(difficulty, splits=True), home / name)
    return home


@pytest.fixture(scope="module")
def compared(home: Path) -> Path:
    evidentia.compare(home / "easy", home / "hard", measures="all", out=home / "compared", **SMALL)
    return home / "compared"


def checked(folder: Path) -> Any:
    found = evidentia.verify_result(folder, read_only=True)
    assert found.passed, found.mismatches[:5]
    assert found.comparisons > 100
    return found


def test_a_sound_comparison_passes_and_needs_nothing_else(compared: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    shutil.copytree(compared, alone)
    ran = command("verify", alone)
    assert (ran.code, ran.err) == (0, "")
    assert "Everything matches." in ran.out
    assert loads((alone / "verification.json").read_text())["comparisons"] > 10_000
    assert {p.name for p in (alone / "systems").iterdir()} == {"easy", "hard"}
    assert (alone / "systems/easy/tune.parquet").is_file()  # tuned measures were compared


@pytest.mark.slow
def test_steps_and_several_systems(home: Path, tmp_path: Path) -> None:
    names = ("easy", "usual", "hard")
    for at, successive in enumerate((True, False)):
        out = tmp_path / str(at)
        evidentia.compare(*(home / name for name in names), successive=successive, out=out, **SMALL)
        checked(out)


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("profile", ["contract", "e2e", "paper", "audit"])
def test_every_profile(profile: str, tmp_path: Path) -> None:
    for name, difficulty in (("a", 0.4), ("b", 0.7)):
        made = synthetic_run(seed=7, posts=25, criteria=3, positives=25, splits=True, difficulty=difficulty)
        run = evidentia.read_run(made.per_query, candidates=made.candidates)
        evidentia.evaluate(run, profile=profile, resamples=0, report=False).save(tmp_path / name)
    evidentia.compare(tmp_path / "a", tmp_path / "b", out=tmp_path / "out", **SMALL)
    checked(tmp_path / "out")
    has_candidates = any("level=candidate" in one for one in (tmp_path / "out/comparison.json").read_text().split("\n"))
    assert (tmp_path / "out/systems/a/candidates.parquet").exists() == has_candidates


@pytest.mark.slow
def test_results_that_differ_in_their_measures_and_queries(tmp_path: Path) -> None:
    frame = system(0.3)
    save(frame, tmp_path / "a", k=[1, 5])
    save(system(0.8).head(100), tmp_path / "b", k=[5, 10], dual=True)
    save(frame, tmp_path / "c", measures=["AUROC", "Brier", "AUROC[criterion=A.1]", "Queries"])
    save(system(0.8), tmp_path / "d", measures=["AUROC", "nDCG@10", "Brier", "Queries"])
    one = evidentia.compare(tmp_path / "a", tmp_path / "b", on_mismatch="intersect", out=tmp_path / "ab", **SMALL)
    two = evidentia.compare(tmp_path / "c", tmp_path / "d", out=tmp_path / "cd", **SMALL)
    assert (len(one.notes), len(two.notes)) >= (2, 3)
    checked(tmp_path / "ab")
    checked(tmp_path / "cd")


def test_runs_in_memory_and_names_that_are_no_folders(tmp_path: Path) -> None:
    names = ["a/../b: 'c'", "A_.._B_ _C_"]
    evidentia.compare(*sharp_and_blunt(), names=names, out=tmp_path / "out", **SMALL)
    checked(tmp_path / "out")
    assert len(list((tmp_path / "out/systems").iterdir())) == 2


def test_many_and_few_resamples_change_the_verdicts_alike(tmp_path: Path) -> None:
    for resamples in (2, 1_000):
        runs = [read(system(difficulty)) for difficulty in (0.2, 0.9)]
        out = tmp_path / str(resamples)
        made = evidentia.compare(*runs, measures=["AUROC", "SelectedK"], resamples=resamples, out=out, report=False)
        assert any(delta.verdict in {"cannot tell", "loss", "win"} for delta in made.deltas)
        checked(out)


@pytest.fixture
def copy(compared: Path, tmp_path: Path) -> Copy:
    return copied(compared, tmp_path / "copy")


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("delta", 0.2),
        ("p", 0.0001),
        ("p_holm", 0.0001),
        ("verdict", "win"),
        ("ci", [0.1, 0.3]),
        ("n", 1),
        ("warnings", []),
    ],
)
def test_a_difference_written_by_hand_is_named(key: str, value: object, copy: Copy) -> None:
    def edit(content: dict[str, Any]) -> None:
        at = next(i for i, delta in enumerate(content["deltas"]) if delta[key] not in (value, None))
        content["deltas"][at][key] = value

    copy.json("comparison.json", edit)
    ran = command("verify", copy.folder, "--read-only")
    assert ran.code == 1
    assert "comparison.json: deltas[" in ran.out
    assert f": {key}" in ran.out


def test_a_query_that_was_changed_is_noticed(copy: Copy) -> None:
    copy.cell("systems/hard/per_query.csv", 3, "prob", lambda text: str(1 - float(text)))
    assert command("verify", copy.folder, "--read-only", "-q").code == 1


@pytest.mark.parametrize(
    ("figure", "row", "column"),
    [("roc", 3, "fpr"), ("pr", 120, "precision"), ("reliability", 2, "positive_share"), ("pr", 120, "system")],
)
def test_a_point_of_a_systems_curve_is_recomputed(figure: str, row: int, column: str, copy: Copy) -> None:
    name = f"figures/{figure}_systems.csv"
    copy.cell(name, row, column, lambda text: "easy" if column == "system" else str(float(text) + 1e-6))
    ran = command("verify", copy.folder, "--read-only")
    assert ran.code == 1
    assert name in ran.out


def test_what_is_drawn_from_an_edited_comparison_says_that_it_was_not_verified(copy: Copy) -> None:
    assert command("verify", copy.folder, "-q").code == 0
    write_report(copy.folder, formats=("html",))
    page = copy.folder / "report.html"
    assert "Independently verified" in page.read_text(encoding="utf-8")
    text = (copy.folder / "comparison.json").read_text(encoding="utf-8")
    (copy.folder / "comparison.json").write_text(
        text.replace('"verdict": "tie"', '"verdict": "win"', 1), encoding="utf-8"
    )
    write_report(copy.folder, formats=("html",))
    assert "Not yet verified" in page.read_text(encoding="utf-8")
    assert command("verify", copy.folder, "-q").code == 1
    assert "Verification failed" in page.read_text(encoding="utf-8")


def test_a_folder_of_an_earlier_version_and_inputs_are_refused_in_words(copy: Copy, tmp_path: Path) -> None:
    refused(command("verify", copy.folder, "--inputs", tmp_path), "inputs of a comparison are results")
    copy.manifest(lambda manifest: manifest.update(schema="evidentia.comparison-manifest/1"))
    refused(command("verify", copy.folder), "keeps nothing of its systems")


def test_no_text_of_a_user_is_kept(tmp_path: Path) -> None:
    frame = system(0.5).with_columns(note=pl.lit("a sentence of somebody"))
    save(frame, tmp_path / "a")
    save(system(0.7), tmp_path / "b")
    evidentia.compare(tmp_path / "a", tmp_path / "b", out=tmp_path / "out", **SMALL)
    assert "somebody" not in (tmp_path / "out/systems/a/per_query.csv").read_text()
