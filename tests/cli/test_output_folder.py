"""The output folder: all or nothing, never over somebody's files, and no trace of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.runs import Files, Saved
from evidentia import workflow
from evidentia.results import loads

from .command import contents, evidentia, refused

FEW = ("--measures", "AUROC,MRR", "--quiet")


def test_force_replaces_an_earlier_result(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert evidentia("evaluate", files.per_query, "-o", out, *FEW).code == 0
    refused(evidentia("evaluate", files.per_query, "-o", out, *FEW), "out exists", "--force")
    assert evidentia("evaluate", files.per_query, "-o", out, "--force", "--measures", "Brier", "--quiet").code == 0
    assert "Brier" in loads((out / "summary.json").read_text())["measures"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_force_leaves_a_result_alone_that_holds_somebody_elses_file(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert evidentia("evaluate", files.per_query, "-o", out, *FEW).code == 0
    (out / "notes.txt").write_text("mine")
    refused(evidentia("evaluate", files.per_query, "-o", out, *FEW, "--force"), "1 file that Evidentia did not write")
    assert (out / "notes.txt").read_text() == "mine"


def test_an_empty_folder_may_be_filled(files: Files, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert evidentia("evaluate", files.per_query, "-o", tmp_path / "out", *FEW).code == 0
    assert (tmp_path / "out" / "summary.json").is_file()


def test_folders_above_are_made(files: Files, tmp_path: Path) -> None:
    assert evidentia("evaluate", files.per_query, "-o", tmp_path / "a" / "b", *FEW).code == 0
    assert (tmp_path / "a" / "b" / "summary.json").is_file()


FOREIGN = {
    "without a manifest": {"code.js": "precious"},
    "with the manifest of a web page": {"manifest.json": '{"name": "my app", "icons": []}', "code.js": "precious"},
    "with a manifest that is not JSON": {"manifest.json": "CACHE MANIFEST", "code.js": "precious"},
    "with a manifest that is a list": {"manifest.json": "[]", "code.js": "precious"},
}


@pytest.mark.parametrize("what", FOREIGN)
def test_force_refuses_a_folder_that_evidentia_did_not_write(what: str, files: Files, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, text in FOREIGN[what].items():
        (mine / name).write_text(text)
    before = contents(tmp_path)
    refused(evidentia("evaluate", files.per_query, "-o", mine, "--force", *FEW), "not written by Evidentia")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("earlier", [False, True])
def test_a_failure_on_the_way_changes_nothing_and_leaves_nothing(
    earlier: bool, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "deep" / "out"
    if earlier:
        assert evidentia("evaluate", files.per_query, "-o", out, *FEW).code == 0
    before = contents(tmp_path)
    monkeypatch.setattr(workflow, "write_tables", full_disk)
    refused(evidentia("evaluate", files.per_query, "-o", out, "--force", *FEW), "No space left", "Nothing was changed")
    assert contents(tmp_path) == before
    assert [p.name for p in tmp_path.rglob(".*")] == []


def test_the_folder_can_be_read_by_others_as_any_folder(saved: Saved) -> None:
    assert saved.folder.stat().st_mode & 0o555 == 0o555


def test_paths_of_this_machine_appear_nowhere(files: Files, tmp_path: Path) -> None:
    words = ("evaluate", files.per_query, f"--candidates={files.candidates}", "--card", tmp_path / "card.toml")
    (tmp_path / "card.toml").write_text('name = "mine"\nposts = 60\n')
    assert evidentia(*words, "-o", tmp_path / "some" / "where", "--quiet").code == 0
    for name, content in contents(tmp_path / "some" / "where").items():
        for folder in (files.per_query.parent, tmp_path):
            assert str(folder).encode() not in content, name
            assert folder.name.encode() not in content, name
    manifest = loads((tmp_path / "some" / "where" / "manifest.json").read_text())
    shown = "evidentia evaluate per_query.csv --candidates=candidates.csv --card card.toml -o OUT --quiet --resamples 0"
    assert manifest["command"] == shown


@pytest.mark.parametrize("way", ["-o {}", "--out {}", "--out={}", "-o{}"])
def test_the_command_is_recorded_with_out_in_place_of_the_folder(way: str, files: Files, tmp_path: Path) -> None:
    words = way.format(tmp_path / "results").split(" ")
    assert evidentia("evaluate", files.per_query, *words, *FEW).code == 0
    command = loads((tmp_path / "results" / "manifest.json").read_text())["command"]
    assert "results" not in command
    assert way.format("OUT") in command


def test_a_slash_in_a_name_is_not_a_path(tmp_path: Path) -> None:
    run = tmp_path / "run.csv"
    run.write_text("post_id,criterion_id,has_evidence,prob,w/m\np1,A,1,0.5,w\np2,A,0,0.5,m\n")
    words = ("evaluate", run, "--by", "w/m", "--measures", "AUROC[w/m=w]", "-o", tmp_path / "out", "--quiet")
    assert evidentia(*words).code == 0
    command = loads((tmp_path / "out" / "manifest.json").read_text())["command"]
    assert command == "evidentia evaluate run.csv --by w/m --measures 'AUROC[w/m=w]' -o OUT --quiet --resamples 0"
