"""`evidentia verify`: what it prints, writes and returns; and that neither broken files nor an old verification fool it."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import evidentia
from cli.command import evidentia as command
from cli.command import refused
from evidentia.results import loads
from evidentia.verify.course import CheckCount, Verification
from evidentia.verify.tally import Mismatch
from evidentia.verifying import verify_numbers
from results.schemas import faults, schema

from .made import FEW, Copy, copied, evaluated, few, result, small_run

__all__ = ["few", "result"]


@pytest.fixture
def copy(few: Path, tmp_path: Path) -> Copy:
    return copied(few, tmp_path / "out")


def written(copy: Copy) -> dict:
    return loads((copy.folder / "verification.json").read_text(encoding="utf-8"))


def test_a_sound_result_passes_and_the_count_is_printed_and_written(result: Path, tmp_path: Path) -> None:
    copy = copied(result, tmp_path / "out")
    ran = command("verify", copy.folder)
    assert (ran.code, ran.err) == (0, "")
    said = written(copy)
    assert said["comparisons"] > 20_000
    assert said["mismatches"] == []
    assert f"{said['comparisons']:,} comparisons, 0 mismatches" in ran.out
    assert "Everything matches." in ran.out
    assert faults("verification", said) == []
    assert [check["name"] for check in said["checks"]] == [
        line.rsplit(None, 1)[0] for line in ran.out.splitlines()[:-1]
    ]


def test_a_mismatch_is_shown_with_both_values_and_fails(copy: Copy) -> None:
    copy.measure("AUROC", value=0.25)
    ran = command("verify", copy.folder)
    assert ran.code == 1
    assert "summary.json: AUROC: value\n  reported   0.25\n  recomputed 0." in ran.out
    assert "1 mismatch, " in ran.out
    assert "does not verify" in ran.out
    assert faults("verification", written(copy)) == []


def test_only_the_first_twenty_mismatches_are_shown(copy: Copy) -> None:
    copy.summary(lambda s: [entry.update(n=entry["n"] + 1) for entry in s["measures"].values()])
    ran = command("verify", copy.folder)
    assert (ran.code, ran.out.count("  reported   ")) == (1, 20)
    assert f"and {len(written(copy)['mismatches']) - 20:,} more in verification.json" in ran.out


def test_json_and_quiet(copy: Copy) -> None:
    ran = command("verify", copy.folder, "--json")
    assert (ran.code, loads(ran.out)) == (0, written(copy))
    assert (command("verify", copy.folder, "-q").out, command("verify", copy.folder, "--quiet").out) == ("", "")


def test_an_earlier_verification_is_neither_a_stranger_nor_a_proof(copy: Copy) -> None:
    assert command("verify", copy.folder, "-q").code == 0
    assert command("verify", copy.folder, "-q").code == 0
    copy.measure("AUROC", value=0.25)
    assert command("verify", copy.folder, "-q").code == 1
    assert written(copy)["mismatches"]


def test_a_verification_names_the_manifest_that_it_is_about(copy: Copy) -> None:
    command("verify", copy.folder, "-q")
    assert written(copy)["manifest_sha256"] == hashlib.sha256((copy.folder / "manifest.json").read_bytes()).hexdigest()


@pytest.mark.slow
def test_the_same_result_gives_the_same_bytes(copy: Copy) -> None:
    command("verify", copy.folder, "-q")
    first = (copy.folder / "verification.json").read_bytes()
    command("verify", copy.folder, "-q")
    assert (copy.folder / "verification.json").read_bytes() == first
    assert sorted(path.name for path in copy.folder.glob(".*")) == []


def test_what_is_no_result_is_refused_and_nothing_is_written(tmp_path: Path, copy: Copy) -> None:
    refused(command("verify", tmp_path / "nowhere"), "nowhere is not a result folder")
    (tmp_path / "empty").mkdir()
    refused(command("verify", tmp_path / "empty"), "empty is not a result folder")
    copy.manifest(lambda m: m.update(schema="evidentia.another-manifest/1"))
    refused(command("verify", copy.folder), "not a result folder")
    (copy.folder / "manifest.json").write_text('{"schema": NaN}')
    refused(command("verify", copy.folder), "strict JSON")
    assert not (copy.folder / "verification.json").exists()
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("name", ["per_query.csv", "tune.parquet", "candidates.parquet", "tables/folds.csv"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe not what it was"])
def test_a_broken_file_is_a_mismatch_and_no_crash(name: str, content: bytes | None, copy: Copy) -> None:
    path = copy.folder / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
        copy.renew(name)
    ran = command("verify", copy.folder)
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert faults("verification", written(copy)) == []


def test_inputs_are_compared_by_their_bytes(tmp_path: Path) -> None:
    run = small_run(tmp_path / "run")
    out = evaluated(run, tmp_path / "out", measures=FEW)
    assert command("verify", out, "--inputs", run, "-q").code == 0
    text = (run / "candidates.csv").read_text()
    (run / "candidates.csv").write_text(text.replace("0", "1", 1))
    ran = command("verify", out, "--inputs", run)
    assert (ran.code, ran.out.count("  reported   ")) == (1, 1)
    assert "input candidates.csv: SHA-256" in ran.out
    shutil.rmtree(run)
    assert len(verify_numbers(out, inputs=run).mismatches) == 2


def test_a_selective_result_is_not_passed_by_its_hashes_alone(copy: Copy) -> None:
    copy.manifest(lambda m: m.update(schema="evidentia.selective-manifest/2"))
    assert command("verify", copy.folder, "-q").code in {1, 2}


def test_from_python(copy: Copy) -> None:
    found = evidentia.verify_result(copy.folder)
    assert isinstance(found, evidentia.Verification)
    assert found.passed
    assert loads(found.to_json()) == written(copy)


def test_nothing_compared_is_a_failure() -> None:
    assert not Verification("0" * 64, (), ()).passed
    assert not Verification("0" * 64, (CheckCount("files", 0, 0),), ()).passed
    assert not Verification("0" * 64, (CheckCount("files", 1, 1),), (Mismatch("x", 1, 2),)).passed


@pytest.mark.slow
def test_progress_is_told(result: Path) -> None:
    seen: list[tuple[int, int]] = []
    verify_numbers(result, lambda done, total: seen.append((done, total)))
    assert len(seen) > 10
    assert all(0 <= done <= total for done, total in seen)


def test_the_schema_notices_what_is_wrong(copy: Copy) -> None:
    assert schema("verification")["$id"] == schema("verification")["properties"]["schema"]["const"]
    command("verify", copy.folder, "-q")
    said = written(copy)
    for wrong in ({"comparisons": -1}, {"schema": "x"}, {"checks": []}, {"mismatches": [{"where": "x"}]}, {"more": 1}):
        assert faults("verification", said | wrong), wrong
    assert json.loads(json.dumps(said)) == said


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe not what it was", b'{"schema": "evidentia.summary/1", "mea'])
def test_a_summary_that_cannot_be_read_is_refused_in_words(content: bytes | None, copy: Copy) -> None:
    path = copy.folder / "summary.json"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
        copy.renew("summary.json")
    refused(command("verify", copy.folder), "summary.json cannot be read as strict JSON")
    assert not (copy.folder / "verification.json").exists()
