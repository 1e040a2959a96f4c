"""A result compared with itself: exactly nothing, and no certainty about it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import evidentia
from cli.command import evidentia as command
from evidentia.results import Comparison

from .systems import read, strict, system


def nothing_differs(comparison: Comparison) -> None:
    assert len(comparison.deltas) > 100
    assert {delta.family for delta in comparison.deltas} == {"measures", "criteria"}
    told = 0
    for delta in comparison.deltas:
        assert delta.ci is None, delta.name
        assert delta.baseline_value == delta.system_value
        if delta.verdict == "undefined":
            assert (delta.delta, delta.p, delta.p_holm) == (None, None, None)
            assert "undefined for at least one of the two" in delta.warnings
            continue
        told += 1
        assert (delta.delta, delta.p, delta.p_holm, delta.verdict) == (0.0, 1.0, 1.0, "tie"), delta.name
        assert "no interval: every resample gives the same difference" in delta.warnings
    assert told > 100


@pytest.mark.parametrize("profile", ["contract", "e2e", "paper", "audit"])
def test_the_same_folder_twice_under_every_profile(profile: str, folders: Path) -> None:
    comparison = evidentia.compare(folders / "bad", folders / "bad", profile=profile, measures="all", resamples=200)
    assert comparison.systems == ("bad", "bad (2)")
    assert comparison.profile == profile
    nothing_differs(comparison)


def test_a_copy_of_the_folder(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "good", tmp_path / "copy")
    comparison = evidentia.compare(folders / "good", tmp_path / "copy", measures="all", resamples=200)
    assert comparison.systems == ("good", "copy")
    nothing_differs(comparison)


def test_a_run_in_memory_against_the_folder_that_was_made_of_it(folders: Path) -> None:
    comparison = evidentia.compare(read(system(0.9)), folders / "bad", measures="all", resamples=200)
    assert comparison.systems == ("system 1", "bad")
    nothing_differs(comparison)


def test_rows_in_another_order_change_nothing(folders: Path) -> None:
    shuffled = system(0.9).sample(fraction=1, shuffle=True, seed=1)
    nothing_differs(evidentia.compare(folders / "bad", read(shuffled), measures="all", resamples=200))


def test_the_values_are_those_of_the_result(folders: Path) -> None:
    """What a comparison reads back from a folder is what was evaluated, to the last digit."""
    summary = strict((folders / "bad" / "summary.json").read_text())["measures"]
    comparison = evidentia.compare(folders / "bad", folders / "bad", measures="all", resamples=20)
    for delta in comparison.deltas:
        assert delta.baseline_value == summary[delta.name]["value"], delta.name
        assert (delta.n, delta.n_clusters) == (summary[delta.name]["n"], summary[delta.name]["n_clusters"])


def test_the_command_says_so_too(folders: Path) -> None:
    ran = command("compare", folders / "good", folders / "good", "--resamples", 200, "--json")
    assert (ran.code, ran.err) == (0, "")
    deltas = strict(ran.out)["deltas"]
    assert {d["delta"] for d in deltas} <= {0.0, None}
    assert {d["verdict"] for d in deltas} <= {"tie", "undefined"}
    assert all(d["ci"] is None for d in deltas)
    shown = command("compare", folders / "good", folders / "good", "--resamples", 200, "--measures", "AUROC,nDCG@10")
    rows = [line.split() for line in shown.out.splitlines() if line.startswith(("AUROC", "nDCG"))]
    assert [row[3:] for row in rows] == [["+0.0000", "none", "1.000", "tie", "*"]] * 2
    assert "* all of these: no interval: every resample gives the same difference" in shown.out
    assert "measures: 2 tie" in shown.out
    assert "per-criterion figures: 6 tie" in shown.out
