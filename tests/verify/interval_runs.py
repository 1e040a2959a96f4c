"""Small results on disk for the tests of the interval check."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import evidentia
from evidentia.synth import synthetic_run
from evidentia.tables import read_run
from evidentia.verify.figures import all_figures, asked_curves
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import Settings, check_intervals
from evidentia.verify.run import read_points
from evidentia.verify.sheet import check_csv
from evidentia.verify.tally import Tally


@cache
def tables(posts: int = 40, criteria: int = 3, positives: int = 30, seed: int = 7) -> tuple[pl.DataFrame, pl.DataFrame]:
    made = synthetic_run(
        seed=seed, posts=posts, criteria=criteria, positives=positives, mean_candidates=6, ties=0.3, splits=True
    )
    return made.per_query, made.candidates


def result(
    folder: Path,
    per_query: pl.DataFrame,
    candidates: pl.DataFrame | None = None,
    by: tuple[str, ...] = (),
    **options: Any,
) -> Path:
    """Evaluate with few resamples and write the folder."""
    run = read_run(per_query, candidates=candidates, by=by)
    evidentia.evaluate(run, **{"resamples": 120, **options}).save(folder)
    return folder


def checked(path: Path) -> Tally:
    folder, tally = ResultFolder(path), Tally()
    points = read_points(folder)
    check_intervals(folder, points.study, tally)
    for sheet in all_figures(points, Settings.of(folder.summary), asked_curves(folder)):
        check_csv(folder, sheet, tally)
    return tally


def where(tally: Tally) -> list[str]:
    return [mismatch.where for mismatch in tally.mismatches]


def edited(path: Path, into: Path, change: Callable[[dict[str, Any]], None], file: str = "summary.json") -> Path:
    """A copy of a result with one JSON file changed."""
    shutil.copytree(path, into)
    content = json.loads((into / file).read_text(encoding="utf-8"))
    change(content)
    (into / file).write_text(json.dumps(content), encoding="utf-8")
    return into
