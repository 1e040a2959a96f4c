"""`evidentia run --reuse`: what a change leaves alone is not trained again, and not a byte tells."""

from __future__ import annotations

import json
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from builders.pipelines import small_config, small_pipeline
from evidentia import running
from evidentia.pipeline.config import read_config
from evidentia.pipeline.reuse import step_keys
from evidentia.running import planned, read_posts_of
from pipeline.stopping import same

from .command import Ran, evidentia, refused, without_progress

QUICK = ("--resamples", 0, "--no-report", "--no-verify")
STEPS = ("words", "bm25", "retriever", "reranker", "graph", "gate")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and in `run` what was learnt from it."""
    return small_pipeline(tmp_path_factory)


def copied(home: Path, folder: Path) -> Path:
    """The corpus and its configuration, to be changed."""
    shutil.copytree(home / "corpus", folder / "corpus")
    small_config(folder)
    return folder


def rerun(folder: Path, earlier: Path | None, out: str) -> Ran:
    more = () if earlier is None else ("--reuse", earlier)
    ran = evidentia("run", folder / "pipeline.toml", "-o", folder / out, *QUICK, *more)
    assert ran.code == 0, ran
    return ran


def report(reused: tuple[str, ...], note: str = "") -> str:
    trained = [name for name in STEPS if name not in reused]
    counts = "(2 folds and the model for use)"
    return f"{note}evidentia: reused: {', '.join(reused) or 'nothing'}; trained: {', '.join(trained) or 'nothing'} {counts}\n"


def other_reranker(folder: Path) -> None:
    path = folder / "pipeline.toml"
    path.write_text(path.read_text().replace('model = "logistic"', 'model = "boosting"\ntrees = 3', 1))


def other_cut(folder: Path) -> None:
    path = folder / "pipeline.toml"
    path.write_text(path.read_text().replace('kind = "ltr"', 'kind = "ltr"\nkeep = 7'))


def other_labels(folder: Path) -> None:
    """The gold sentence of one query is taken away."""
    path = folder / "corpus" / "labels.csv"
    lines = path.read_text().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if at and line.count(",") == 2 and line.strip()[-1] != ",")
    post, criterion, _ = lines[at].split(",")
    path.write_text("".join([*lines[:at], f"{post},{criterion},\n", *lines[at + 1 :]]))


CHANGES = {
    "nothing": (lambda folder: None, STEPS),
    "the reranker": (other_reranker, STEPS[:3]),
    "how many candidates the reranker keeps": (other_cut, STEPS[:4]),
    "a label": (other_labels, ()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_lies_before_a_change_is_reused_and_the_bytes_are_those_of_a_fresh_run(
    change: str, home: Path, tmp_path: Path
) -> None:
    edit, reused = CHANGES[change]
    edit(copied(home, tmp_path))
    assert without_progress(rerun(tmp_path, home / "run", "second").err) == report(reused)
    manifest = json.loads((tmp_path / "second" / "manifest.json").read_text())
    assert manifest["reused"] == dict.fromkeys(sorted(reused), 3)
    assert all(manifest["seconds"][name] == 0 for name in reused)
    fresh = home / "run" if change == "nothing" else tmp_path / "fresh"
    if change != "nothing":
        rerun(tmp_path, None, "fresh")
    same(tmp_path / "second", fresh)


DAMAGE = {
    "scores": "steps/0/words/scores.safetensors",
    "model": "models/fold-0/words/model.safetensors",
    "record": "steps/0/words/step.json",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_step_is_trained_again(damage: str, home: Path, tmp_path: Path) -> None:
    earlier = Path(shutil.copytree(home / "run", tmp_path / "earlier"))
    path = earlier / DAMAGE[damage]
    path.write_bytes(path.read_bytes()[:-9])
    folder = copied(home, tmp_path)
    note = "evidentia: steps/0/words of the run to reuse is damaged: this step is trained again.\n"
    expected = report(STEPS, "" if damage == "record" else note).replace("words,", "words (in 2 of 3),")
    assert without_progress(rerun(folder, earlier, "second").err) == expected.replace(
        "trained: nothing", "trained: words"
    )
    same(folder / "second", home / "run")


def test_what_is_kept_is_for_its_owner_alone_and_holds_no_time(home: Path) -> None:
    kept = home / "run" / "steps"
    assert {path.name for path in kept.rglob("*") if path.is_file()} == {"scores.safetensors", "step.json"}
    for path in (kept / "0", *(kept / "0").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_folder_that_keeps_no_steps_is_refused_before_anything_is_begun(home: Path, tmp_path: Path) -> None:
    folder = copied(home, tmp_path)
    words = ("run", folder / "pipeline.toml", "-o", folder / "out", *QUICK, "--reuse", home / "corpus")
    refused(evidentia(*words), "corpus keeps no steps to reuse")
    assert not (folder / "out").exists()


def keys(config: Path, **of_run: object) -> dict[tuple[str, str], str]:
    read = read_config(config)
    read = replace(read, run=replace(read.run, **of_run))
    return step_keys(planned(read, read_posts_of(read)))


def test_a_key_holds_what_decides_and_nothing_else(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = copied(home, tmp_path) / "pipeline.toml"
    before = keys(config)
    assert keys(config, workers=2, cache=False) == before
    assert len(set(before.values())) == len(before) == 3 * len(STEPS)
    small_config(tmp_path, seed=8)
    assert not set(keys(config).values()) & set(before.values())
    small_config(tmp_path)
    monkeypatch.setattr("evidentia.pipeline.reuse.version", lambda name: "another")
    assert not set(keys(config).values()) & set(before.values())


def test_a_run_that_was_stopped_after_it_reused_steps_goes_on(home: Path, tmp_path: Path) -> None:
    folder = copied(home, tmp_path)
    other_reranker(folder)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    words = ("run", folder / "pipeline.toml", "-o", folder / "out", *QUICK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "compute", stop)
        assert evidentia(*words, "--reuse", home / "run").code == 130
    assert evidentia(*words, "--resume").code == 0
    assert json.loads((folder / "out" / "manifest.json").read_text())["reused"] == dict.fromkeys(
        ("bm25", "retriever", "words"), 3
    )
    rerun(folder, None, "fresh")
    same(folder / "out", folder / "fresh")
