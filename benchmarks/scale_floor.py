"""The floor of `scale.py`, a process of its own: polars reads every column of a run in a streaming pass, or groups it into queries.

Usage: python scale_floor.py scan|group RUN_FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

NAMES = ("per_query", "candidates")


def tables(folder: Path) -> tuple[Path, Path]:
    """Both tables of a run: folders where it came in parts, else files."""
    first, second = (folder / name if (folder / name).is_dir() else folder / f"{name}.parquet" for name in NAMES)
    return first, second


def scan(table: Path) -> pl.DataFrame:
    """Add up numbers and hashes of everything else."""
    lazy = pl.scan_parquet(table)
    columns = lazy.collect_schema().items()
    every = [(pl.col(name) if kind.is_numeric() else pl.col(name).hash()).sum() for name, kind in columns]
    return lazy.select(every).collect(engine="streaming")


def group(table: Path) -> pl.DataFrame:
    """Group candidates into queries: how many, the sum of their scores, and how much is gold."""
    queries = pl.scan_parquet(table).group_by("post_id", "criterion_id")
    sums = queries.agg(pl.len(), pl.col("score").sum(), pl.col("is_gold").cast(pl.Int64).sum())
    return sums.select(pl.col("len").count(), pl.col("score").sum(), pl.col("is_gold").sum()).collect(
        engine="streaming"
    )


def answer() -> None:
    part, (per_query, candidates) = sys.argv[1], tables(Path(sys.argv[2]))
    for frame in [group(candidates)] if part == "group" else map(scan, (per_query, candidates)):
        print(frame.rows())


if __name__ == "__main__":
    answer()
