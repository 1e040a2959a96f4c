"""What a check looks at: a result, the queries behind it, and the folder it was written to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidentia.errors import Problem
from evidentia.results import Evaluation
from evidentia.tables import Items, Run

ELSEWHERE = "ROWS_ELSEWHERE"  # the problem of a result that was made block by block
Row = Mapping[str, str]
UNMEASURED = Evaluation(profile="contract", seed=0, resamples=0, measures={})


@dataclass(frozen=True)
class Folder:
    """The files of a written result: its tables as text, and the hashes that its manifest gives."""

    path: Path
    tables: Mapping[str, tuple[Row, ...]]
    hashes: Mapping[str, str]


@dataclass(frozen=True)
class Texts:
    """The texts of posts, and how similar two must be to count as near-identical."""

    by_post: Mapping[str, str]
    similarity: float


@dataclass(frozen=True)
class Subject:
    """A result under scrutiny. ``problems`` says why the queries of a folder could not be read."""

    evaluation: Evaluation = UNMEASURED
    run: Run | None = None
    folder: Folder | None = None
    problems: tuple[Problem, ...] = ()
    features: tuple[str, ...] | None = None  # the names of what a model was given, where they are known
    texts: Texts | None = None
    applied: Mapping[str, Any] | None = None  # thresholds that were tuned before and given to the evaluation
    items: Items | None = None  # of a predictor that may abstain

    @property
    def rows_are_elsewhere(self) -> bool:
        """Whether the queries stayed in the tables that the result was made of."""
        return any(problem.code == ELSEWHERE for problem in self.problems)

    @property
    def of_items(self) -> bool:
        """Whether the result is one of a predictor that may abstain."""
        return self.evaluation.profile == "selective"

    @property
    def thresholds(self) -> tuple[Mapping[str, Any], ...]:
        """Every threshold and calibrator on record, chosen by the evaluation or given to it, each with its tuning posts."""
        return (*self.evaluation.thresholds, *self.given)

    @property
    def given(self) -> tuple[Mapping[str, Any], ...]:
        """What was given to the evaluation: the thresholds of such a result are these, whatever else was chosen."""
        folds = () if self.applied is None else self.applied["folds"]
        kinds = ("calibrator", "threshold", "three_state")
        return tuple(fold[kind] for fold in folds for kind in kinds if fold[kind] is not None)
