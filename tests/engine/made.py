"""A small run in files of any layout, evaluated in memory and in blocks."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

import evidentia
from evidentia.engine import evaluate as engine
from evidentia.engine.evaluate import Tables, evaluate_blocks
from evidentia.evaluation.intervals import Resampling
from evidentia.measures import profile_named
from evidentia.results import Curve, Evaluation
from evidentia.synth import synthetic_run

# one of each way to compute a measure, and of each table and column that they read
MEASURES = (
    *("Positives", "AUROC", "AUPRC", "TPR(same)@FPR=5%", "AUROC(level=candidate)", "AUPRC(level=candidate)"),
    *(
        "AUROC(avg=criterion)",
        "AUPRC(avg=criterion)",
        "ECE",
        "Brier",
        "LogLoss",
        "CalibrationSlope",
        "CalibrationIntercept",
    ),
    *("NetBenefit@t=0.1", "MCC(t=0.5)", "Precision(t=gate)", "nDCG@10", "MAP@5", "MRR", "Recall(avg=criterion)@10"),
    *("SelectedK(given=gate)", "EvidencePrecision", "EvidenceRecall(pool=micro)", "UncertainRate"),
    *("ScreeningSensitivity(unit=post)", "ExactMatch", "F1(avg=micro)", "F1(avg=post,empty=1)"),
)
FEW = (
    "AUROC",
    "AUPRC(level=candidate)",
    "ECE",
    "CalibrationSlope",
    "nDCG@10",
    "EvidenceRecall(pool=micro)",
    "ExactMatch",
)
CURVES = ("reliability", "roc", "pr", "roc_points")  # those of operating points and decisions need every score
PER_QUERY, CANDIDATES = "per_query.parquet", "candidates.parquet"


@dataclass(frozen=True, repr=False)
class Made:
    """The tables of a run, in memory and in a file each."""

    per_query: pl.DataFrame
    candidates: pl.DataFrame
    folder: Path

    @property
    def files(self) -> tuple[Path, Path]:
        """The file of each table."""
        return self.folder / PER_QUERY, self.folder / CANDIDATES

    @cached_property
    def few(self) -> Evaluation:
        """The same of few measures."""
        return in_memory(*self.files, measures=FEW)

    @cached_property
    def expected(self) -> Evaluation:
        """What all layouts of this run must come to: its evaluation in memory."""
        return in_memory(*self.files)


def made(folder: Path, **settings: Any) -> Made:
    """Write a run of 24 posts, 3 criteria and 2 folds, unless told otherwise."""
    run = synthetic_run(**({"seed": 7, "posts": 24, "criteria": 3, "folds": 2, "positives": 20} | settings))
    run.per_query.write_parquet(folder / PER_QUERY)
    run.candidates.write_parquet(folder / CANDIDATES)
    return Made(run.per_query, run.candidates, folder)


def in_parts(frame: pl.DataFrame, folder: Path, cuts: Iterable[int], *, group: int | None = None) -> Path:
    """Write a table into a file for each stretch of its rows, under names in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    bounds = sorted({0, frame.height, *cuts})
    for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
        frame[start:stop].write_parquet(folder / f"part-{number:03}.parquet", row_group_size=group)
    return folder


class Here:
    """Blocks one after the other in this process."""

    workers = 1

    def map(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        return map(work, tasks)


@contextmanager
def blocks_of(rows: int) -> Iterator[None]:
    """Let blocks have about so many rows, however much memory there is."""
    with patch.object(engine, "rows_of_blocks", lambda memory, workers: rows):
        yield


def in_memory(queries: object, candidates: object = None, *, by: tuple[str, ...] = (), **options: Any) -> Evaluation:
    """The evaluation that all others must equal."""
    reading = {name: options.pop(name) for name in ("mapping", "list_sep", "uids") if name in options}
    run = evidentia.read_run(queries, candidates=candidates, by=by, allow_disjoint=True, **reading)
    options = {"measures": MEASURES, "resamples": 0, "bootstrap": "poisson"} | options
    return evidentia.evaluate(run, **options)


def in_blocks(
    queries: Path,
    candidates: Path | None = None,
    *,
    rows: int = 400,
    profile: str = "contract",
    measures: Sequence[str] | None = MEASURES,
    executor: Any = None,
    scratch: Path | None = None,
    resamples: int = 0,
    **reading: Any,
) -> Evaluation:
    """The evaluation in blocks of about so many rows, in this process."""
    with blocks_of(rows):
        return evaluate_blocks(
            Tables(queries, candidates, **reading),
            profile=profile,
            names=profile_named(profile).names() if measures is None else measures,
            named=measures is not None,
            resampling=Resampling(resamples, bootstrap="poisson"),
            executor=executor or Here(),
            memory=2 * 10**9,
            scratch=scratch,
        )


def numbers(evaluation: Evaluation) -> dict[str, str]:
    """Everything that was computed, by name, digit by digit."""
    summary = evaluation.to_dict()
    parts = {f"{part} {name}": value for part in ("measures",) for name, value in summary[part].items()}
    parts |= {part: summary[part] for part in ("not_computed", "other_definitions", "dataset", "notes")}
    parts |= {f"curve {curve.name}": _without_band(curve) for curve in evaluation.curves if curve.name in CURVES}
    return {name: repr(value) for name, value in parts.items()}


def _without_band(curve: Curve) -> dict[str, object]:
    """The columns of a curve; blocks draw no bands around those of sweeps."""
    band = {"low", "high"} if curve.name in {"roc", "pr"} else set()
    return {name: column for name, column in curve.columns.items() if name not in band}


def same(one: Evaluation, other: Evaluation) -> None:
    """Both hold the same numbers, to the bit."""
    ours, theirs = numbers(one), numbers(other)
    assert len(ours) > len(FEW)
    differ = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    assert not differ, [(name, ours.get(name, "")[:300], theirs.get(name, "")[:300]) for name in differ[:3]]


def beside(folder: Path) -> list[str]:
    """What a folder for temporary files still holds."""
    return os.listdir(folder)
