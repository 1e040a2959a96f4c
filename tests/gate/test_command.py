"""`evidentia gate`: open, closed or refused, and why."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import evidentia as package
from cli.command import contents, evidentia, refused
from evidentia.synth import synthetic_run

TARGETS = ("--target", "AUROC>=0.6,Brier<0.5")
TRUST = "--trust-verification"


def verified(folder: Path, **changes: Any) -> None:
    """What an independent recomputation writes when all agrees."""
    of = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    content = {"schema": "evidentia.verification/1", "manifest_sha256": of, "comparisons": 5000, "mismatches": []}
    (folder / "verification.json").write_text(json.dumps(content | changes))


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that gives probabilities and leaves the yes or no at one half, so that no threshold needs a provenance."""
    made = synthetic_run(seed=7, posts=60, criteria=4, positives=None)
    frame = made.per_query.drop("tau_neg", "tau_pos", "state", "selected_sent_uids")
    folder = tmp_path_factory.mktemp("gate") / "detector"
    package.evaluate(frame, resamples=200).save(folder)
    return folder


@pytest.fixture
def out(detector: Path, tmp_path: Path) -> Path:
    return shutil.copytree(detector, tmp_path / "out")


def test_0_when_all_targets_are_met_and_everything_passed(out: Path) -> None:
    before = contents(out)
    ran = evidentia("gate", out, *TARGETS)
    assert (ran.code, ran.err) == (0, "")
    assert "comparisons, no mismatch\n" in ran.out
    assert "The gate is open: 2 of 2 targets met, 4 of 4 conditions hold." in ran.out
    assert contents(out) == before


def test_a_handwritten_verification_does_not_help_a_false_number(out: Path) -> None:
    summary = json.loads((out / "summary.json").read_text())
    summary["measures"]["AUROC"]["value"] += 0.001
    (out / "summary.json").write_text(json.dumps(summary))
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["files"]["summary.json"] = hashlib.sha256((out / "summary.json").read_bytes()).hexdigest()
    (out / "manifest.json").write_text(json.dumps(manifest))
    verified(out)
    ran = evidentia("gate", out, *TARGETS)
    assert ran.code == 1
    assert "comparisons do not match: `evidentia verify` lists them" in " ".join(ran.out.split())
    assert evidentia("gate", out, *TARGETS, "--trust-verification").code == 1  # SAME001 sees the mean of the folds


def test_a_trusted_verification_is_named_as_such(out: Path) -> None:
    verified(out)
    ran = evidentia("gate", out, *TARGETS, TRUST)
    assert ran.code == 0
    assert "5,000 comparisons, no mismatch (as verification.json says; not recomputed here)" in " ".join(
        ran.out.split()
    )


def test_1_without_the_verification_that_is_to_be_trusted(out: Path) -> None:
    ran = evidentia("gate", out, *TARGETS, TRUST)
    assert ran.code == 1
    assert "there is no verification.json" in ran.out


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"comparisons": 0}, "the verification compared nothing"),
        ({"mismatches": [{"where": "AUROC"}]}, "1 of 5,000 comparisons do not match"),
        ({"manifest_sha256": "0" * 64}, "is about other files than these"),
    ],
)
def test_1_when_the_verification_does_not_hold(out: Path, changes: dict[str, Any], told: str) -> None:
    verified(out, **changes)
    ran = evidentia("gate", out, *TARGETS, TRUST)
    assert ran.code == 1
    assert told in " ".join(ran.out.split())


def test_1_when_a_file_was_changed_after_the_verification(out: Path) -> None:
    verified(out)
    (out / "tables" / "measures.tex").write_text("AUROC 0.99")
    assert evidentia("gate", out, *TARGETS).code == 1
    ran = evidentia("gate", out, *TARGETS, TRUST)
    assert ran.code == 1
    assert "files were changed after the verification" in " ".join(ran.out.split())
    assert "FILE001 failed" in ran.out


def test_1_when_a_target_is_not_met_or_not_decidable(out: Path) -> None:
    verified(out)
    ran = evidentia("gate", out, "--target", "AUROC>=0.999", "--target", "AUROC>=0.93", TRUST)
    assert ran.code == 1
    assert "not met" in ran.out
    assert "not decidable (the interval holds the target" in " ".join(ran.out.split())


def test_1_with_states_whose_thresholds_nobody_knows(tmp_path: Path) -> None:
    made = synthetic_run(seed=7, posts=60, criteria=4, positives=None)
    package.evaluate(made.per_query, resamples=20).save(tmp_path / "out")
    verified(tmp_path / "out")
    ran = evidentia("gate", tmp_path / "out", *TARGETS, TRUST)
    assert ran.code == 1
    assert "no Thresholds come from TUNE" in " ".join(ran.out.split())


def test_1_without_intervals(tmp_path: Path) -> None:
    made = synthetic_run(seed=7, posts=60, criteria=4, positives=None)
    package.evaluate(made.per_query.drop("tau_neg", "tau_pos", "state"), resamples=0).save(tmp_path / "out")
    verified(tmp_path / "out")
    ran = evidentia("gate", tmp_path / "out", *TARGETS, TRUST)
    assert ran.code == 1
    assert "no Intervals are present: no resamples were drawn" in " ".join(ran.out.split())


@pytest.mark.parametrize("target", ["AUROC", "Nonsense>=0.5", "AUROC>=x"])
def test_2_for_a_malformed_target(out: Path, target: str) -> None:
    refused(evidentia("gate", out, "--target", target), target.partition(">")[0])


def test_2_for_what_is_not_a_result_folder(tmp_path: Path) -> None:
    refused(evidentia("gate", tmp_path), "is not a result folder")
    refused(evidentia("gate", tmp_path / "nowhere"), "is not a result folder")


def test_the_checklist_is_filled_in_as_far_as_the_run_can(out: Path, tmp_path: Path) -> None:
    verified(out)
    page = tmp_path / "gate.md"
    assert evidentia("gate", out, *TARGETS, TRUST, "--markdown", page, "--quiet").code == 0
    text = page.read_text()
    assert "- [x] AUROC &gt;= 0.6 (" in text
    assert (
        "- [x] Independently verified: 5,000 comparisons, no mismatch (as verification.json says; not recomputed here)"
        in text
    )
    assert "| SUM001 | Confusion tables add up | passed |" in text
    assert "**10** sample size and how it was arrived at: 240 queries from 60 posts, 22 with evidence" in text
    assert "**17** ethical approval: for the authors" in text


def test_the_checklist_is_not_written_into_the_result(out: Path) -> None:
    refused(evidentia("gate", out, "--markdown", out / "gate.md"), "belongs beside the result")
    assert not (out / "gate.md").exists()


def test_a_selective_result_needs_targets_of_its_own(tmp_path: Path) -> None:
    table = tmp_path / "items.csv"
    rows = [f"p{i // 4},{i % 4},{i % 3},{i % 2},{i / 40}" for i in range(40)]
    table.write_text("\n".join(["cluster_id,item,pred,gt,confidence", *rows]) + "\n")
    made = evidentia("selective", table, "--seed", "7", "--resamples", "50", "-o", tmp_path / "out", "--quiet")
    assert made.code == 0, made
    ran = evidentia("gate", tmp_path / "out")
    assert ran.code == 1
    assert "No targets: name them with --target" in ran.out
    name = next(iter(json.loads((tmp_path / "out" / "summary.json").read_text())["measures"]))
    assert evidentia("gate", tmp_path / "out", "--target", f"{name}>=0").code == 0
