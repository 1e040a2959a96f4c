"""A pipeline that learns from sixty invented posts in a second or two."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import evidentia
from evidentia.corpus.write import write_corpus
from evidentia.synth import synthetic_corpus
from sharing import shared_folder

SMALL = """
[corpus]
path = "corpus"
[protocol]
folds = 2
seed = {seed}
[run]
workers = 1
[reranker]
kind = "{reranker}"
learners = ["words"]
model = "logistic"
[graph]
kind = "{graph}"
[gate]
model = "logistic"
calibrate = "platt"
"""


def small_corpus(folder: Path, *, criteria: int = 10) -> None:
    """Enough evidence for thresholds in every fold, whatever the seed; the first criteria of it where all would take long."""
    write_corpus(synthetic_corpus(posts=60, positives=150, mean_sentences=6, seed=3), folder)
    kept = [f"A.{number}" for number in range(1, criteria + 1)]
    asked, labels = folder / "criteria.jsonl", folder / "labels.csv"
    asked.write_text("".join(asked.read_text().splitlines(keepends=True)[:criteria]))
    header, *rows = labels.read_text().splitlines(keepends=True)
    labels.write_text(header + "".join(row for row in rows if row.split(",")[1] in kept))


def small_config(folder: Path, name: str = "pipeline.toml", *, more: str = "", **settings: object) -> Path:
    """The configuration of the pipeline in a file; ``more`` is put behind it."""
    path = folder / name
    path.write_text(SMALL.format(**{"seed": 7, "reranker": "ltr", "graph": "propagation", **settings}) + more)
    return path


def small_pipeline(factory: pytest.TempPathFactory) -> Path:
    """A folder with `corpus`, `pipeline.toml` and in `run` what was learnt; made once, for reading only."""

    def make(home: Path) -> None:
        small_corpus(home / "corpus")
        words = ("--resamples", 0, "--no-report", "--no-verify", "-q")
        ran = evidentia("run", small_config(home), "-o", home / "run", *words)
        assert ran.code == 0, ran

    return shared_folder(factory, "small-pipeline", make)
