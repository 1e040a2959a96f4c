"""A pipeline that learns from sixty invented posts in a second or two."""

from __future__ import annotations

from pathlib import Path

from evidentia.corpus.write import write_corpus
from evidentia.synth import synthetic_corpus

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


def small_corpus(folder: Path) -> None:
    """Enough evidence for thresholds in every fold, whatever the seed."""
    write_corpus(synthetic_corpus(posts=60, positives=150, mean_sentences=6, seed=3), folder)


def small_config(folder: Path, name: str = "pipeline.toml", *, more: str = "", **settings: object) -> Path:
    """The configuration of the pipeline in a file; ``more`` is put behind it."""
    path = folder / name
    path.write_text(SMALL.format(**{"seed": 7, "reranker": "ltr", "graph": "propagation", **settings}) + more)
    return path
