"""Runs with a known number of positive queries per post, and how many of them the gate misses."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

import evidentia


def frame(posts: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """One post for every (positives, misses); all positives have evidence, a miss has the state NEG."""
    rows = [
        (f"p{i:05}", f"A.{unit + 1}", 1, "NEG" if unit < misses else "POS")
        for i, (positives, misses) in enumerate(posts)
        for unit in range(positives)
    ]
    return pl.DataFrame(rows, schema=["post_id", "criterion_id", "has_evidence", "state"], orient="row")


def run(posts: Sequence[tuple[int, int]]) -> evidentia.Run:
    return evidentia.read_run(frame(posts))
