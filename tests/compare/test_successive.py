"""The steps of an ablation: each result against the one before it, as if the two were alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import evidentia
from cli.command import evidentia as command
from evidentia.results import Comparison
from results.schemas import faults

from .systems import FEW, numbers, strict

ORDER = ("bad", "middling", "good")


@pytest.fixture(scope="module")
def steps(folders: Path) -> Comparison:
    return evidentia.compare(*(folders / name for name in ORDER), resamples=200, successive=True)


def test_every_result_is_compared_with_the_one_before_it(steps: Comparison) -> None:
    assert (steps.design, steps.systems) == ("successive", ORDER)
    assert list(dict.fromkeys((d.baseline, d.system) for d in steps.deltas)) == [
        ("bad", "middling"),
        ("middling", "good"),
    ]


@pytest.mark.parametrize(("before", "after"), [("bad", "middling"), ("middling", "good")])
def test_a_step_is_what_its_two_results_give_alone(before: str, after: str, steps: Comparison, folders: Path) -> None:
    """Intervals, p, corrected p and verdicts too: the draws are the same, and each step is corrected on its own."""
    alone = evidentia.compare(folders / before, folders / after, resamples=200)
    assert numbers(steps, after) == numbers(alone)


def test_the_steps_add_up_to_the_whole_way(steps: Comparison, folders: Path) -> None:
    whole = evidentia.compare(folders / "bad", folders / "good", measures=FEW, resamples=20)
    for name in FEW:
        taken = [d for d in steps.deltas if d.name == name]
        assert taken[0].system_value == taken[1].baseline_value
        assert sum(d.delta for d in taken) == pytest.approx(whole[name].delta, rel=0, abs=1e-12)


def test_two_results_have_one_step(folders: Path) -> None:
    two = [folders / "bad", folders / "good"]
    plain, successive = (evidentia.compare(*two, measures=FEW, resamples=20, successive=s) for s in (False, True))
    assert plain.deltas == successive.deltas
    assert (plain.design, successive.design) == ("against first", "successive")


def test_the_command_writes_and_prints_the_steps(folders: Path, tmp_path: Path) -> None:
    words = ("compare", *(folders / name for name in ORDER), "--measures", "AUROC", "--resamples", 200, "--successive")
    ran = command(*words, "-o", tmp_path / "out")
    assert ran.code == 0
    assert "middling against bad" in ran.out
    assert "good against middling" in ran.out
    assert "good against bad" not in ran.out
    content = strict((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert content["design"] == "successive"
    assert faults("comparison", content) == []
    manifest = strict((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["options"]["design"] == "successive"
    assert faults("comparison-manifest", manifest) == []


def test_an_older_comparison_without_a_design_is_still_described(folders: Path) -> None:
    content = evidentia.compare(folders / "bad", folders / "good", measures=FEW, resamples=20).to_dict()
    assert content.pop("design") == "against first"
    assert faults("comparison", content) == []
    assert faults("comparison", content | {"design": "all pairs"}) != []
