"""Write a synthetic run as the files that users have: CSV, Parquet or JSONL tables, or TREC qrels and run."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl

from evidentia.errors import InputError, OutputError, shown
from evidentia.results.folder import replace_files
from evidentia.synth.run import SyntheticRun

FORMATS = ("csv", "parquet", "jsonl")


def write_run(run: SyntheticRun, folder: Path | str, *, format: str = "csv", stem: str = "") -> list[Path]:
    """Write ``per_query`` and, if the run has them, ``candidates``; returns the paths. Files are replaced.

    ``stem`` goes before the name: ``stem="demo_"`` gives ``demo_per_query.csv``.
    In CSV the uids of a list are joined by ``|``.
    """
    return write_files(folder, run_files(run, format=format, stem=stem))


def run_files(run: SyntheticRun, *, format: str = "csv", stem: str = "") -> dict[str, bytes]:
    """The files that ``write_run`` writes, by their names."""
    if format not in FORMATS:
        raise InputError(f"There is no format {shown(format)}. Choose one of: {', '.join(FORMATS)}.")
    tables = {"per_query": run.per_query, "candidates": run.candidates}
    return {f"{stem}{name}.{format}": packed(table, format) for name, table in tables.items() if table.width}


def write_trec(run: SyntheticRun, folder: Path | str, *, tag: str = "synthetic") -> tuple[Path, Path]:
    """Write ``qrels.txt`` (every candidate, 0 or 1) and ``run.txt`` (best first) for every query.

    A topic is ``post_id::criterion_id``.
    """
    of_qrels, of_run = write_files(folder, trec_files(run, tag=tag))
    return of_qrels, of_run


def trec_files(run: SyntheticRun, *, tag: str = "synthetic") -> dict[str, bytes]:
    """The files that ``write_trec`` writes, by their names."""
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
    return {
        name: table.write_csv(separator=" ", include_header=False, quote_style="never").encode()
        for table, name in ((qrels, "qrels.txt"), (ranking, "run.txt"))
    }


def write_files(folder: Path | str, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, made if it is not there: all of them or none."""
    target = Path(folder)
    new = not os.path.exists(target)  # the method of Path fails for long names
    try:
        replace_files(target, contents)
    except OSError as error:
        if new:
            with suppress(OSError):
                target.rmdir()
        raise OutputError(
            f"Cannot write into {target.name}: {error.strerror}. Choose another folder, or make room."
        ) from None
    return [target / name for name in contents]


def packed(table: pl.DataFrame, format: str) -> bytes:
    """The bytes of a table in one of the formats."""
    buffer = io.BytesIO()
    if format == "parquet":
        table.write_parquet(buffer)
    elif format == "jsonl":
        table.write_ndjson(buffer)
    else:
        table.with_columns(pl.col(pl.List(pl.String)).list.join("|")).write_csv(buffer)
    return buffer.getvalue()
