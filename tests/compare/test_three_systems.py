"""Each system is compared with the first, as if there were no third."""

from __future__ import annotations

from pathlib import Path

import pytest

import evidentia
from cli.command import evidentia as command
from evidentia.results import Comparison

from .systems import FEW, numbers, read, strict, system


@pytest.fixture(scope="module")
def three(folders: Path) -> Comparison:
    return evidentia.compare(*(folders / name for name in ("middling", "good", "bad")), measures="all", resamples=200)


def test_every_system_is_compared_with_the_first(three: Comparison) -> None:
    assert three.systems == ("middling", "good", "bad")
    assert {delta.baseline for delta in three.deltas} == {"middling"}
    assert list(dict.fromkeys(delta.system for delta in three.deltas)) == ["good", "bad"]
    by_system = [[delta.name for delta in three.deltas if delta.system == name] for name in ("good", "bad")]
    assert by_system[0] == by_system[1]
    assert len(by_system[0]) > 100


@pytest.mark.parametrize("other", ["good", "bad"])
def test_a_third_system_changes_nothing_for_the_other_two(other: str, three: Comparison, folders: Path) -> None:
    alone = evidentia.compare(folders / "middling", folders / other, measures="all", resamples=200)
    assert numbers(three, other) == numbers(alone)


def test_the_deltas_add_up(folders: Path, three: Comparison) -> None:
    between = evidentia.compare(folders / "good", folders / "bad", measures=FEW, resamples=20)
    for name in FEW:
        good, bad = (next(d.delta for d in three.deltas if (d.name, d.system) == (name, s)) for s in ("good", "bad"))
        assert between[name].delta == pytest.approx(bad - good, rel=0, abs=1e-12)


def test_the_command_prints_a_table_for_each(folders: Path) -> None:
    words = ("compare", *(folders / name for name in ("middling", "good", "bad")), "--measures", "AUROC,nDCG@10")
    ran = command(*words, "--resamples", 200)
    assert ran.code == 0
    assert "good against middling" in ran.out
    assert "bad against middling" in ran.out
    assert sum(line.startswith("nDCG@10") for line in ran.out.splitlines()) == 2
    content = strict(command(*words, "--resamples", 200, "--json").out)
    assert content["systems"] == ["middling", "good", "bad"]
    assert len(content["deltas"]) == 2 * (2 + 2 * 3)


def test_names_in_python() -> None:
    runs = [read(system(d)) for d in (0.3, 0.5, 0.9)]
    named = evidentia.compare(*runs, names=["x", "y", "z"], measures=["AUROC"], resamples=20)
    assert named.systems == ("x", "y", "z")
    with pytest.raises(evidentia.InputError, match="3 results but 2 names"):
        evidentia.compare(*runs, names=["x", "y"], resamples=20)
    with pytest.raises(evidentia.InputError, match="same name"):
        evidentia.compare(*runs, names=["x", "y", "x"], resamples=20)


def test_a_frame_has_a_row_for_every_delta(three: Comparison) -> None:
    frame = three.to_frame()
    assert frame.height == len(three.deltas)
    assert frame["delta"].to_list() == [delta.delta for delta in three.deltas]
    assert frame["ci_low"].to_list() == [None if delta.ci is None else delta.ci[0] for delta in three.deltas]
    assert three["AUROC"].system == "good"
    with pytest.raises(KeyError):
        three["Nothing"]
