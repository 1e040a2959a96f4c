"""Every leaf of the summary of a selective result is compared: whatever is changed, removed or added is noticed."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evidentia import selective
from evidentia.synth.phq8 import synthetic_phq8
from evidentia.verifying import verify_numbers

Place = tuple[str | int, ...]
NAMED = [
    "Cmax",
    "MAE",
    "AURC",
    "AURC(order=oracle)",
    "eaurc",
    "AUGRC",
    "MAE@coverage=95%",
    "AURC@C=0.95",
    "AURC@C=common",
]
FEW = {"seed": 7, "resamples": 20, "coverage": [0.95]}


def alone(folder: Path) -> None:
    """A table whose cells lack a signal, without a largest score, so that notes and gaps are there."""
    rows = {"cluster_id": [1, 1, 2, 2, 3], "item": list("ababa"), "pred": [2, 3, 0, None, 1], "gt": [2, 1, 1, 2, 1]}
    frame = pl.DataFrame(rows | {"confidence": [5, 4, 4, None, 1], "other": [1, None, 1, None, 1]})
    selective.evaluate(frame, confidence="all", measures=NAMED, **FEW).save(folder)


def compared(folder: Path) -> None:
    """Two modes with failures, of which one lacks a participant that the other has."""
    run = synthetic_phq8(seed=5, participants=7, failures=1)
    run["experiments"][0]["results"]["results"].pop()
    modes = [experiment["provenance"]["mode"] for experiment in run["experiments"]]
    both = {"mode": modes[1], "against_mode": modes[0], "on_mismatch": "intersect", "confidence": "llm"}
    selective.evaluate(run, **both, **FEW).save(folder)


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value inside a document, containers too."""
    yield place, value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from leaves(one, (*place, key))


def shape(place: Place, value: Any) -> str:
    """What places have in common: no names of measures, no numbers of lists, the type of the value."""
    parts = ["#" if isinstance(part, int) or place[at - 1] == "measures" else part for at, part in enumerate(place)]
    return f"{'/'.join(parts)}: {type(value).__name__}"


def edited(value: Any) -> Any:
    """The value, a little different."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 0.001
    if isinstance(value, dict):
        return {**value, "more": 1}
    if isinstance(value, list):
        return [*value, 0]
    return 0 if value is None else value + "x"


def with_edit(document: Any, place: Place, value: Any) -> Any:
    changed = copy.deepcopy(document)
    inside = changed
    for part in place[:-1]:
        inside = inside[part]
    inside[place[-1]] = value
    return changed


def without(document: Any, place: Place) -> Any:
    changed = copy.deepcopy(document)
    inside = changed
    for part in place[:-1]:
        inside = inside[part]
    del inside[place[-1]]
    return changed


def edits(summary: Any) -> Iterator[tuple[str, Any]]:
    """One change and one removal for every shape of place, and a key too many at the top."""
    seen: set[str] = set()
    yield "a key more", {**summary, "more": 1}
    for place, value in leaves(summary):
        kind = shape(place, value)
        if not place or kind in seen:
            continue
        seen.add(kind)
        yield f"{place} changed", with_edit(summary, place, edited(value))
        yield f"{place} removed", without(summary, place)


def write(folder: Path, summary: Any) -> None:
    """Write the summary and its hash, so that only its content can give an edit away."""
    path, manifest = folder / "summary.json", json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    path.write_text(json.dumps(summary), encoding="utf-8")
    manifest["files"]["summary.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.sample(every=6)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("make", [alone, compared])
def test_every_leaf_is_compared(make: Any, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third edit, so that the default run need not make them all."""
    folder = tmp_path / "result"
    make(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert verify_numbers(folder).mismatches == ()
    drawn_once(monkeypatch)
    tried, missed = 0, []
    for what, changed in islice(edits(summary), part, None, 3):
        write(folder, changed)
        tried += 1
        # tables repeat the summary, so what they notice is not counted
        if not any("tables/" not in mismatch.where for mismatch in verify_numbers(folder).mismatches):
            missed.append(what)
    assert missed == []
    assert tried > 40


def drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw every replicate once: the items stay as they are, and only the summary is edited."""
    from evidentia.verify import risk_coverage, selective_study

    kept: dict[Any, Any] = {}
    draw = selective_study.replicated

    def once(recipes: Any, draws: Any, report: Any) -> Any:
        key = (type(draws), len(recipes), recipes[0].side if recipes else None)
        if key not in kept:
            kept[key] = draw(recipes, draws, report)
        return kept[key]

    monkeypatch.setattr(risk_coverage, "LOOPS", 0)
    monkeypatch.setattr(selective_study, "replicated", once)


def test_signals_that_a_spreadsheet_would_run_are_verified(tmp_path: Path) -> None:
    rows = {"cluster_id": [1, 2, 3], "item": list("aaa"), "pred": [2, 3, 0], "gt": [2, 1, 1], "=sure": [5, 4, 4]}
    selective.evaluate(pl.DataFrame(rows), confidence="=sure", **FEW).save(tmp_path / "out")
    assert verify_numbers(tmp_path / "out").mismatches == ()


def test_an_input_more_is_noticed(tmp_path: Path) -> None:
    compared(tmp_path / "out")
    shutil.copy(tmp_path / "out" / "items.csv", tmp_path / "out" / "against_items.csv")
    assert verify_numbers(tmp_path / "out").mismatches
