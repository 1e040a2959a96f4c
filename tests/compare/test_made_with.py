"""Without --measures a comparison is about what the results were made with."""

from __future__ import annotations

from pathlib import Path

import pytest

import evidentia
from cli.command import evidentia as command
from cli.command import refused
from evidentia.results import Comparison

from .systems import read, save, strict, system

GOOD, BAD = system(0.3), system(0.9)


def overall(folder: Path) -> list[str]:
    """The measures of a result over all queries that say something about a system."""
    measures = strict((folder / "summary.json").read_text())["measures"]
    return [name for name, entry in measures.items() if "[" not in name and entry["family"] != "counts"]


def compared(comparison: Comparison) -> list[str]:
    return [delta.name for delta in comparison.deltas if delta.family == "measures"]


def about_options(comparison: Comparison) -> list[str]:
    return [note for note in comparison.notes if "resamples" not in note]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"dual": True}, {"k": [2, "ALL"]}, {"dual": True, "k": [10]}, {"measures": ["AUROC", "nDCG(pop=all)@7"]}],
    ids=["nothing", "dual", "k", "dual and k", "measures"],
)
def test_results_that_were_made_alike_are_compared_by_all_they_report(options: dict, tmp_path: Path) -> None:
    good, bad = save(GOOD, tmp_path / "good", **options), save(BAD, tmp_path / "bad", **options)
    comparison = evidentia.compare(good, bad, measures="all", resamples=20)
    assert compared(comparison) == overall(good) == overall(bad)
    assert about_options(comparison) == []


@pytest.mark.slow
def test_the_options_change_what_is_compared(tmp_path: Path) -> None:
    """Else the test above would hold for options that do nothing."""
    found = {
        name: compared(evidentia.compare(folder, folder, measures="all", resamples=20))
        for name, folder in {
            "plain": save(GOOD, tmp_path / "plain"),
            "dual": save(GOOD, tmp_path / "dual", dual=True),
            "k": save(GOOD, tmp_path / "k", k=[2]),
        }.items()
    }
    assert "nDCG(pop=all)@10" in set(found["dual"]) - set(found["plain"])
    assert "nDCG@2" in set(found["k"]) - set(found["plain"])


def test_named_measures_go_before_those_of_the_results(tmp_path: Path) -> None:
    good, bad = (save(frame, tmp_path / name, dual=True) for name, frame in (("good", GOOD), ("bad", BAD)))
    assert compared(evidentia.compare(good, bad, measures=["MRR"], resamples=20)) == ["MRR"]


def test_results_that_were_made_differently_are_compared_by_what_all_report(tmp_path: Path) -> None:
    plain, dual, deep = (
        save(GOOD, tmp_path / "plain"),
        save(BAD, tmp_path / "dual", dual=True),
        save(BAD, tmp_path / "deep", k=[10, 50]),
    )
    comparison = evidentia.compare(plain, dual, deep, measures="all", resamples=20)
    reported = [overall(folder) for folder in (plain, dual, deep)]
    shared = [name for name in reported[0] if all(name in names for names in reported)]
    assert list(dict.fromkeys(compared(comparison))) == shared
    assert set(shared) < set(reported[0])
    (note,) = about_options(comparison)
    assert note.startswith("the results were made with different --k and --dual: ")


def test_the_note_counts_what_is_left_out(tmp_path: Path) -> None:
    one = save(GOOD, tmp_path / "one", measures=["AUROC", "Brier", "MRR"])
    other = save(BAD, tmp_path / "other", measures=["Brier", "AUROC", "SelectedK"])
    for pair in ((one, other), (other, one)):
        (note,) = about_options(evidentia.compare(*pair, resamples=200))
        assert note == (
            "the results were made with different --measures: 2 measures that all of them report are compared, "
            "2 that only some report are left out"
        )
    ran = command("compare", one, other, "--resamples", 200)
    assert "note the results were made with different --measures" in ran.out


def test_two_ways_to_write_the_same_measure_are_no_difference(tmp_path: Path) -> None:
    one = save(GOOD, tmp_path / "one", measures=["TPR@FPR=5%"])
    other = save(BAD, tmp_path / "other", measures=["TPR(same)@FPR=5%"])
    comparison = evidentia.compare(one, other, resamples=200)
    assert (len(comparison.deltas), about_options(comparison)) == (1, [])


def test_nothing_in_common_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    one, other = save(GOOD, tmp_path / "one", measures=["AUROC"]), save(BAD, tmp_path / "other", measures=["MRR"])
    refused(command("compare", one, other, "--resamples", 20), "no measure in common", "--measures")
    assert compared(evidentia.compare(one, other, measures=["Brier"], resamples=20)) == ["Brier"]


def test_measures_of_single_groups_are_told_and_left_out(tmp_path: Path) -> None:
    asked = ["AUROC", "nDCG@10[criterion=A.1]"]
    good, bad = (save(frame, tmp_path / name, measures=asked) for name, frame in (("good", GOOD), ("bad", BAD)))
    comparison = evidentia.compare(good, bad, resamples=200)
    assert compared(comparison) == ["AUROC"]
    assert about_options(comparison) == ["not compared, because they are of single groups: nDCG@10[criterion=A.1]"]


def test_counts_that_a_result_was_asked_for_are_told(tmp_path: Path) -> None:
    folder = save(GOOD, tmp_path / "one", measures=["Queries", "AUROC"])
    comparison = evidentia.compare(folder, folder, resamples=200)
    assert about_options(comparison) == ["not compared, because they count what all results share: Queries"]


def test_under_another_profile_the_names_mean_what_they_mean_there(tmp_path: Path) -> None:
    folders = [
        save(frame, tmp_path / name, measures=["MAP@10"], profile=name)
        for name, frame in (("contract", GOOD), ("audit", BAD))
    ]
    (delta, *_) = evidentia.compare(*folders, profile="audit", resamples=20).deltas
    assert delta.definition.startswith("MAP(norm=min,")


def test_a_run_in_memory_has_no_say_in_it(tmp_path: Path) -> None:
    folder = save(GOOD, tmp_path / "good", measures=["AUROC"])
    for pair in ((folder, read(BAD)), (read(BAD), folder)):
        comparison = evidentia.compare(*pair, resamples=200)
        assert (compared(comparison), about_options(comparison)) == (["AUROC"], [])
