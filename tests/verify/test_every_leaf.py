"""Every leaf of summary.json, changed, taken out or joined by a stranger: verification notices, by numbers and not by bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evidentia
from evidentia.verify import run
from evidentia.verify.folder import ResultFolder
from evidentia.verifying import verify_numbers

from .made import Content, copied, small_run

MEASURES = (
    *("AUROC", "AUPRC", "TPR@FPR=5%", "TPR(tuned)@FPR=5%", "TP(t=gate)", "FP(t=gate)", "FN(t=gate)", "TN(t=gate)"),
    *("Sensitivity(t=gate)", "ECE", "NetBenefit@t=0.2", "nDCG(pop=all)@10", "SelectedK", "EvidenceRecall"),
)  # one of every kind of entry
PARTS = 18
Path_ = tuple[str | int, ...]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with a measure of every kind, intervals included, that verifies in a moment."""
    home = tmp_path_factory.mktemp("leaves")
    made = small_run(home / "run", posts=10, criteria=2, positives=6)
    read = evidentia.read_run(made / "per_query.csv", candidates=made / "candidates.csv")
    evidentia.evaluate(read, resamples=3, measures=MEASURES).save(home / "out")
    return home / "out"


def walked(content: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every value of a document with its path, containers before what they hold."""
    yield path, content
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inside:
        yield from walked(value, (*path, key))


def shape_of(summary: Content, path: Path_) -> tuple[str, ...]:
    """A path with the names of measures, groups and places collapsed; every check stays a shape of its own."""
    steps = []
    for at, step in enumerate(path):
        if path[0] == "checks" and at == 1:
            steps.append(str(summary["checks"][step]["code"]))
        else:
            steps.append("*" if isinstance(step, int) or (path[0] == "measures" and at == 1) else str(step))
    return tuple(steps)


def one_of_each_shape(summary: Content) -> dict[tuple[tuple[str, ...], str], Path_]:
    """One path for every shape and kind of value."""
    found: dict[tuple[tuple[str, ...], str], Path_] = {}
    for path, value in walked(summary):
        found.setdefault((shape_of(summary, path), type(value).__name__), path)
    return found


def changed(value: Any) -> list[Any]:
    """Another value of the same kind; for a container also with one thing more, and with one less."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 0.001]
    if isinstance(value, str):
        return [value + "x"]
    if isinstance(value, list):
        return [[*value, "x"], *([value[1:], value[::-1]] if len(value) > 1 and value[::-1] != value else [])]
    if isinstance(value, dict):
        return [{**value, "stranger": 0}, *([dict(list(value.items())[1:])] if value else [])]
    return [0]


def edited(summary: Content, path: Path_, value: Any) -> Content:
    """A copy of the summary with another value at a path."""
    made = copy.deepcopy(summary)
    at: Any = made
    for step in path[:-1]:
        at = at[step]
    if not path:
        return dict(value)
    at[path[-1]] = value
    return made


def edits(summary: Content) -> list[tuple[Path_, Any]]:
    """Every path shape with every way to change what is there."""
    made = []
    for path in one_of_each_shape(summary).values():
        value: Any = summary
        for step in path:
            value = value[step]
        made += [(path, other) for other in changed(value)]
    return made


@pytest.mark.sample(every=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_change_of_the_summary_is_noticed(
    part: int, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = run.read_points(ResultFolder(small))
    monkeypatch.setattr(run, "read_points", lambda _: points)  # the rows are never edited, so they are read once
    assert verify_numbers(small).mismatches == ()
    summary = json.loads((small / "summary.json").read_text(encoding="utf-8"))
    all_edits, copy_ = edits(summary), copied(small, tmp_path / "out")
    assert len(all_edits) > 300
    unnoticed = []
    for path, other in all_edits[part::PARTS]:
        (copy_.folder / "summary.json").write_text(json.dumps(edited(summary, path, other)), encoding="utf-8")
        copy_.renew("summary.json")
        if not verify_numbers(copy_.folder).mismatches:
            unnoticed.append((path, other))
    assert unnoticed == []
