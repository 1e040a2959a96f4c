"""Write a synthetic run as the files that users have: CSV, Parquet or JSONL tables, or TREC qrels and run."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from evidentia.errors import InputError, OutputError, shown
from evidentia.synth.run import SyntheticRun

FORMATS = ("csv", "parquet", "jsonl")


def write_run(run: SyntheticRun, folder: Path | str, *, format: str = "csv", stem: str = "") -> list[Path]:
    """Write ``per_query`` and, if the run has them, ``candidates``; returns the paths. Files are replaced.

    ``stem`` goes before the name: ``stem="demo_"`` gives ``demo_per_query.csv``.
    In CSV the uids of a list are joined by ``|``.
    """
    if format not in FORMATS:
        raise InputError(f"There is no format {shown(format)}. Choose one of: {', '.join(FORMATS)}.")
    tables = {"per_query": run.per_query, "candidates": run.candidates}
    target = made_folder(folder)
    written = []
    for name, table in tables.items():
        if table.width:
            path = target / f"{stem}{name}.{format}"
            _write_table(table, path, format)
            written.append(path)
    return written


def write_trec(run: SyntheticRun, folder: Path | str, *, tag: str = "synthetic") -> tuple[Path, Path]:
    """Write ``qrels.txt`` (every candidate, 0 or 1) and ``run.txt`` (best first) for every query.

    A topic is ``post_id::criterion_id``.
    """
    if not run.candidates.width:
        raise InputError("The run has no candidates to write. Make it with candidates=True.")
    topics = run.candidates.select(
        pl.format("{}::{}", "post_id", "criterion_id").alias("topic"), "sent_uid", "score", "is_gold"
    ).with_columns(pl.col("topic").rle_id().alias("query"))
    qrels = topics.select("topic", pl.lit("0").alias("iteration"), "sent_uid", "is_gold")
    ranking = topics.sort("query", "score", descending=[False, True], maintain_order=True).select(
        "topic",
        pl.lit("Q0").alias("q0"),
        "sent_uid",
        pl.int_range(1, pl.len() + 1).over("query").alias("rank"),
        "score",
        pl.lit(tag).alias("tag"),
    )
    target = made_folder(folder)
    for table, name in ((qrels, "qrels.txt"), (ranking, "run.txt")):
        table.write_csv(target / name, separator=" ", include_header=False, quote_style="never")
    return target / "qrels.txt", target / "run.txt"


def made_folder(folder: Path | str) -> Path:
    """Make the folder, and those above it, if it is not there."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot make the folder {target}: {error.strerror}. Choose another.") from error
    return target


def _write_table(table: pl.DataFrame, path: Path, format: str) -> None:
    if format == "parquet":
        table.write_parquet(path)
    elif format == "jsonl":
        table.write_ndjson(path)
    else:
        table.with_columns(pl.col(pl.List(pl.String)).list.join("|")).write_csv(path)
