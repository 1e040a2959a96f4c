"""Small systems on the same posts, and what a comparison of them says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl

import evidentia
from evidentia.results import Comparison, Delta
from evidentia.synth import synthetic_run

FEW = ("AUROC", "Brier", "nDCG@10", "SelectedK")
POSTS, CRITERIA = 40, 3


def system(
    difficulty: float = 0.5, *, numeric_ids: bool = False, splits: bool = False, posts: int = POSTS, positives: int = 40
) -> pl.DataFrame:
    """A system on 40 posts, unless told otherwise, and 3 criteria; the difficulty changes what it says and never the truth."""
    made = synthetic_run(
        **{"seed": 7, "posts": posts, "criteria": CRITERIA, "positives": positives, "ties": 0.3, "candidates": False},
        difficulty=difficulty,
        splits=splits,
    )
    frame = made.per_query
    if numeric_ids:
        frame = frame.with_columns(pl.col("post_id").str.slice(5).cast(pl.Int64).cast(pl.String))
    return frame


def read(frame: pl.DataFrame) -> evidentia.Run:
    return evidentia.read_run(frame)


def save(frame: pl.DataFrame, folder: Path, profile: str = "contract", **options: object) -> Path:
    """The result folder of a system; its own intervals are left out, because a comparison makes its own."""
    evidentia.evaluate(read(frame), profile=profile, resamples=0, **options).save(folder)
    return folder


def gated(states: Sequence[str], labels: Sequence[int]) -> evidentia.Run:
    """One query per post with a state and nothing else."""
    rows = len(states)
    ids = [f"p{i:04}" for i in range(rows)]
    return read(
        pl.DataFrame({"post_id": ids, "criterion_id": ["A"] * rows, "has_evidence": labels, "state": list(states)})
    )


def probable(prob: Sequence[float], labels: Sequence[int]) -> evidentia.Run:
    """One query per post with a probability and nothing else."""
    rows = len(prob)
    ids = [f"p{i:04}" for i in range(rows)]
    return read(
        pl.DataFrame({"post_id": ids, "criterion_id": ["A"] * rows, "has_evidence": labels, "prob": list(prob)})
    )


def sharp_and_blunt(rows: int = 60) -> tuple[evidentia.Run, evidentia.Run]:
    """Two forecasters of which the first is better for every post, but not by the same amount."""
    labels = np.arange(rows) % 3 == 0
    off = np.random.default_rng(1).uniform(0.02, 0.2, rows)
    sharp, blunt = (np.where(labels, 1 - miss, miss) for miss in (off, 2 * off))
    return probable(sharp.tolist(), labels.astype(int).tolist()), probable(blunt.tolist(), labels.astype(int).tolist())


def numbers(comparison: Comparison, system: str | None = None) -> list[dict]:
    """Everything that a comparison says about its deltas but for the names of the systems."""
    return [
        {key: value for key, value in asdict(delta).items() if key not in {"baseline", "system"}}
        for delta in comparison.deltas
        if system is None or delta.system == system
    ]


def family(deltas: Sequence[Delta], name: str) -> list[Delta]:
    return [delta for delta in deltas if delta.family == name]


def strict(text: str) -> dict:
    """Read JSON that must be JSON: NaN and Infinity are refused."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)
