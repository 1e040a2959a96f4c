"""A run with TUNE rows that these tests share."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import evidentia
from evidentia.synth import synthetic_run, write_run
from evidentia.tables import Run


@pytest.fixture(scope="session")
def table() -> pl.DataFrame:
    """120 posts, 5 criteria, 5 folds; the gate's own columns are left out."""
    made = synthetic_run(seed=7, posts=120, criteria=5, positives=70, splits=True, candidates=False)
    return made.per_query.with_columns(pl.col("fold").cast(pl.String))


@pytest.fixture(scope="session")
def run(table: pl.DataFrame) -> Run:
    return evidentia.read_run(table)


@pytest.fixture(scope="session")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuned")
    write_run(synthetic_run(seed=7, posts=120, criteria=5, positives=70, splits=True, candidates=False), folder)
    return folder / "per_query.csv"
