"""Without --measures a comparison is about the main measures; all others under `--measures all`."""

from __future__ import annotations

from pathlib import Path

import pytest

import evidentia
from cli.command import evidentia as command
from cli.command import refused
from evidentia.results import Comparison, dumps, loads
from evidentia.results.profiles import COMPARED, PROFILES

from .systems import read, save, system

GOOD, BAD = system(0.3), system(0.9)


def compared(comparison: Comparison) -> list[str]:
    return [delta.name for delta in comparison.deltas if delta.family == "measures"]


def sound(folder: Path) -> bool:
    found = evidentia.verify_result(folder, read_only=True)
    return found.passed and found.comparisons > 100


def test_the_main_measures_are_few_and_each_a_test_of_its_own(folders: Path) -> None:
    comparison = evidentia.compare(folders / "good", folders / "bad", resamples=200)
    names = compared(comparison)
    assert len(names) == 18
    assert set(names) == set(COMPARED) - {"MRR@10"}  # which the profile has in place of MRR where it cuts it
    tested = [delta for delta in comparison.deltas if delta.family == "measures" and delta.p is not None]
    assert comparison.tests("bad") == len(tested) == len({delta.test for delta in tested})
    everything = evidentia.compare(folders / "good", folders / "bad", measures="all", resamples=200)
    for delta in comparison.deltas:  # the same numbers, corrected for fewer
        other = everything[delta.name]
        assert (delta.delta, delta.ci, delta.p) == (other.delta, other.ci, other.p)
        assert delta.p is None or delta.p_holm <= other.p_holm
    assert len(compared(everything)) > 90


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_has_them_under_its_own_definitions(profile: str, tmp_path: Path) -> None:
    folders = [save(frame, tmp_path / name, profile) for name, frame in {"good": GOOD, "bad": BAD}.items()]
    names = compared(evidentia.compare(*folders, resamples=200, out=tmp_path / "out", report=False))
    assert ("MRR@10" in names, "MRR" in names) == (PROFILES[profile].cut_mrr, not PROFILES[profile].cut_mrr)
    assert 14 <= len(names) <= 18
    assert sound(tmp_path / "out")


@pytest.mark.parametrize("measures", [None, "all"])
def test_both_families_are_verified_and_a_manifest_that_says_the_other_is_not(
    measures: str | None, folders: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    evidentia.compare(folders / "good", folders / "bad", measures=measures, resamples=40, out=out, report=False)
    assert sound(out)
    manifest = loads((out / "manifest.json").read_text())
    assert manifest["options"]["measures"] == (None if measures else "headline")
    manifest["options"]["measures"] = "headline" if measures else None
    (out / "manifest.json").write_text(dumps(manifest))
    assert not evidentia.verify_result(out, read_only=True).passed


def test_a_made_up_choice_is_not_verified(folders: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    evidentia.compare(folders / "good", folders / "bad", resamples=40, out=out, report=False)
    manifest = (out / "manifest.json").read_text()
    (out / "manifest.json").write_text(manifest.replace('"measures": "headline"', '"measures": "best"'))
    assert not evidentia.verify_result(out, read_only=True).passed


@pytest.mark.parametrize(("k", "depth"), [([2, 5], "5"), ([10, 50], "10")])
def test_rankings_are_cut_at_ten_or_else_at_the_largest_depth(k: list[int], depth: str, tmp_path: Path) -> None:
    folders = [save(frame, tmp_path / name, k=k) for name, frame in {"good": GOOD, "bad": BAD}.items()]
    names = compared(evidentia.compare(*folders, resamples=200, out=tmp_path / "out", report=False))
    assert [name for name in names if "@" in name] == [
        *("TPR@FPR=5%", f"Recall@{depth}", f"MAP@{depth}", f"nDCG@{depth}"),
    ]
    assert sound(tmp_path / "out")


def test_rankings_are_cut_where_all_results_are_whatever_their_order(tmp_path: Path) -> None:
    folders = {
        name: save(GOOD, tmp_path / name, k=k)
        for name, k in {"two": [2, 5], "three": [5, 7, 10], "plain": None}.items()
    }
    for names, depth in {("two", "three"): "5", ("three", "plain"): "10", ("two", "three", "plain"): "5"}.items():
        for order in (names, names[::-1]):
            out = tmp_path / " ".join(order)
            comparison = evidentia.compare(*(folders[n] for n in order), resamples=200, out=out, report=False)
            ranked = {name for name in compared(comparison) if "@" in name} - {"TPR@FPR=5%"}
            assert ranked == {f"Recall@{depth}", f"MAP@{depth}", f"nDCG@{depth}"}
            assert comparison.notes == ()
            assert sound(out)


def test_what_only_some_results_report_is_told(tmp_path: Path) -> None:
    folders = [save(frame, tmp_path / name, k=k) for name, frame, k in (("two", GOOD, [2]), ("three", BAD, [3]))]
    for order in (folders, folders[::-1]):
        out = tmp_path / f"{order[0].name} first"
        comparison = evidentia.compare(*order, resamples=200, out=out, report=False)
        assert comparison.notes == (
            "the results were made with different --k: 15 measures that all of them report are compared, "
            "3 that only some report are left out",
        )
        assert sound(out)


def test_measures_that_a_result_was_asked_for_are_all_compared(tmp_path: Path) -> None:
    asked = ["AUROC", "LogLoss", "HitRate@3"]
    folders = [save(frame, tmp_path / name, measures=asked) for name, frame in {"good": GOOD, "bad": BAD}.items()]
    assert compared(evidentia.compare(*folders, resamples=200, out=tmp_path / "out", report=False)) == asked
    assert sound(tmp_path / "out")


def test_runs_in_memory_are_compared_by_them_too(tmp_path: Path) -> None:
    comparison = evidentia.compare(read(GOOD), read(BAD), resamples=200, out=tmp_path / "out", report=False)
    assert len(compared(comparison)) == 18
    assert sound(tmp_path / "out")


def test_the_screen_has_both_values_and_the_size_of_the_family(folders: Path) -> None:
    words = ("compare", folders / "good", folders / "bad", "--resamples", 200)
    out = command(*words).out
    comparison = evidentia.compare(folders / "good", folders / "bad", resamples=200)
    heads = [line.split() for line in out.splitlines() if line.startswith("measure ")]
    p = ["p", "(Holm,", f"{comparison.tests('bad')})"]
    assert heads == [["measure", "baseline", "value", "delta", "interval", *p]]
    delta = comparison["Brier"]
    (row,) = [line.split() for line in out.splitlines() if line.startswith("Brier")]
    assert row[1:3] == [f"{delta.baseline_value:.4f}", f"{delta.system_value:.4f}"]


def test_a_loss_fails_where_that_was_asked_for(folders: Path, tmp_path: Path) -> None:
    words = ("--resamples", 200, "--measures", "AUROC,nDCG@10", "--fail-on", "loss")
    worse = command("compare", folders / "good", folders / "bad", *words, "-o", tmp_path / "worse", "--no-report")
    assert (worse.code, worse.err) == (1, "")
    assert "2 loss" in worse.out
    deltas = loads((tmp_path / "worse" / "comparison.json").read_text())["deltas"]  # everything is written
    assert [delta["verdict"] for delta in deltas[:2]] == ["loss", "loss"]
    assert command("compare", folders / "bad", folders / "good", *words).code == 0
    assert command("compare", folders / "good", folders / "bad", *words[:4]).code == 0
    refused(command("compare", folders / "good", folders / "bad", "--fail-on", "tie"), "--fail-on must be loss.")
