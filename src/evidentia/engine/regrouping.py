"""Tables whose posts are scattered, copied such that the rows of a post stand together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from evidentia.engine.blocks import Block
from evidentia.engine.datasets import Dataset, Span, dataset
from evidentia.engine.reduction import ROW, Job

BUCKET = "evidentia-bucket"
SEED = 7
HELD = 1_000_000


def regrouped(job: Job, posts: tuple[str, str], rows: int, scratch: Path) -> tuple[Job, tuple[Block, ...]]:
    """Deal the posts of both tables into buckets by a hash of their ids; a bucket is a block."""
    total = job.queries.rows + (0 if job.candidates is None else job.candidates.rows)
    buckets = max(1, -(-total // (rows * 3 // 4)))  # some get more than their share
    queries = _dealt(job.queries, job.columns, posts[0], buckets, scratch / "queries")
    candidates = None
    if job.candidates is not None:
        candidates = _dealt(job.candidates, job.candidate_columns, posts[1], buckets, scratch / "candidates")
    blocks: list[Block] = []
    for bucket in range(buckets):
        own = _of_bucket(queries, bucket)
        if own:
            blocks.append(Block(len(blocks), own, () if candidates is None else _of_bucket(candidates, bucket)))
    return replace(job, queries=queries, candidates=candidates), tuple(blocks)


def _dealt(table: Dataset, columns: tuple[str, ...], post: str, buckets: int, folder: Path) -> Dataset:
    bucket = (pl.col(post).cast(pl.String).fill_null("").hash(SEED) % buckets).cast(pl.Int32).alias(BUCKET)
    spans = zip(table.whole(), table.starts[:-1].tolist(), strict=True)
    parts = [
        table.scan(span, columns).with_row_index(ROW).with_columns(pl.col(ROW).cast(pl.Int64) + start)
        for span, start in spans
    ]
    lazy = pl.concat(parts, how="vertical_relaxed").with_columns(bucket)
    target = pl.PartitionBy(folder, key=BUCKET, include_key=False)
    held = max(1_000, HELD // buckets)  # of every bucket so many rows wait in memory until they are written
    lazy.sink_parquet(target, mkdir=True, maintain_order=True, compression="lz4", statistics=False, row_group_size=held)
    return replace(dataset(folder, table.role), origin=table)


def _of_bucket(table: Dataset, bucket: int) -> tuple[Span, ...]:
    prefix = f"{BUCKET}={bucket}/"
    return tuple(span for span in table.whole() if span.file.name.startswith(prefix))
