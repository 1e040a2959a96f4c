"""A result carries data and nothing that writes: a copy of it saves the same files."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.abstaining import HEAD, ROWS
from evidentia.errors import EvidentiaError
from evidentia.results import Evaluation

FRAME = pl.DataFrame(
    {
        "post_id": ["a", "a", "b", "b"],
        "criterion_id": ["1", "2", "1", "2"],
        "has_evidence": [1, 0, 1, 0],
        "prob": [0.9, 0.2, 0.6, 0.7],
    }
)


def of_items(folder: Path) -> Evaluation:
    run = folder / "run.csv"
    run.write_text("\n".join([HEAD, *ROWS]) + "\n")
    return evidentia.selective.evaluate(run, seed=5, resamples=20, report=False)


def of_queries(folder: Path) -> Evaluation:
    return evidentia.evaluate(evidentia.read_run(FRAME), resamples=20, report=False)


def files(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in found.items() if name != "manifest.json"}  # which has a time


@pytest.mark.parametrize("make", [of_items, of_queries])
def test_a_copy_saves_the_same_files(make, tmp_path: Path) -> None:
    result = make(tmp_path)
    again = copy.copy(result.source)
    result.save(tmp_path / "one")
    Evaluation(**{**vars(result), "source": again}).save(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two") != {}
    held = [name for name, value in vars(result.source).items() if inspect.isfunction(value)]
    assert held == []


def test_a_result_without_its_source_says_so(tmp_path: Path) -> None:
    result = of_queries(tmp_path)
    with pytest.raises(EvidentiaError, match="no run to save"):
        Evaluation(**{**vars(result), "source": None}).save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
