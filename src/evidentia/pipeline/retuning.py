"""Thresholds of a finished run chosen anew: from the TUNE rows that it kept, without training, also for its model for use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from evidentia.errors import InputError, counted
from evidentia.pipeline.outputs import FINAL_ROWS
from evidentia.pipeline.plan import FINAL
from evidentia.protocol import Choices, FoldTuning, Targets, Tuning, parse_rule, read_tuning, tune
from evidentia.protocol.thresholds import REJECT_ALL
from evidentia.protocol.tuning import input_of, tune_rows
from evidentia.results import loads
from evidentia.tables import Run, read_run
from evidentia.tables.files import read_content
from evidentia.tables.run import Source

if TYPE_CHECKING:
    from evidentia.pipeline.predict import Trained

TABLES = ("per_query.parquet", "tune.parquet", "thresholds.json", "tuned.json")
_AGAIN = "Run it again, or give its table and TUNE rows as files."


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """What a run kept for tuning: its tables, its choices, the rows of its model for use, the posts of its other choices."""

    run: Run
    choices: Choices
    final: Run | None
    used: frozenset[str]

    def tune(self, choices: Choices) -> Tuning:
        """Thresholds of every fold, and of the model for use under the name of its own."""
        tuning = tune(self.run, choices, used=self.used)
        if self.final is None:
            return tuning
        (source,) = self.final.sources
        folds = (*tuning.folds, tune_rows(self.final.queries, choices, score=tuning.score, used=self.used, fold=FINAL))
        return replace(tuning, folds=folds, inputs=(*tuning.inputs, input_of(replace(source, role="tune"))))


def is_finished_run(path: Path) -> bool:
    """Whether a path is the folder of a run with its tables."""
    return path.is_dir() and all((path / name).is_file() for name in TABLES)


def read_finished_run(folder: Path) -> FinishedRun:
    """Read the folder of a run; tables that are not those that it wrote are an InputError."""
    tuning, _ = read_tuning(folder / "thresholds.json")
    run = read_run(folder / "per_query.parquet", tune=folder / "tune.parquet", allow_disjoint=True)
    _refuse_changed(folder, tuning, {source.name: source for source in run.sources})
    final = None
    if (folder / FINAL_ROWS).is_file():
        final = _read_final(folder)
    return FinishedRun(run, _choices_of(tuning), final, _used_posts(folder / "tuned.json"))


def _refuse_changed(folder: Path, tuning: Tuning, sources: dict[str, Source]) -> None:
    """The run's thresholds name the TUNE rows that they were chosen on."""
    changed = [i["name"] for i in tuning.inputs if i["name"] in sources and sources[i["name"]].sha256 != i["sha256"]]
    if changed:
        raise InputError(f"{folder.resolve().name}/{changed[0]} is not what the run wrote. {_AGAIN}")


def _read_final(folder: Path) -> Run:
    content = read_content(folder / FINAL_ROWS)
    try:
        frame = pl.read_parquet(content.data).drop("fold", "split")
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(f"{folder.resolve().name}/{FINAL_ROWS} cannot be read. {_AGAIN}") from None
    source = Source("tune", content.name, content.sha256, frame.height)
    return replace(read_run(frame, allow_disjoint=True), sources=(source,))


def _choices_of(tuning: Tuning) -> Choices:
    """What the run asked of its own thresholds."""
    asked: dict[str, Any] = dict(tuning.choices)
    rule = None if asked["rule"] == "three-state" else parse_rule(asked["rule"])
    targets = Targets() if asked["targets"] is None else Targets.from_dict(asked["targets"])
    return Choices(rule, targets, calibrate=asked["calibrate"], seed=asked["seed"])


def _used_posts(path: Path) -> frozenset[str]:
    """The posts on which gamma and the like were chosen: they cannot certify anything."""
    try:
        folds = loads(path.read_bytes())["folds"]
        return frozenset(post for fold in folds for post in fold["tuned_on"]["posts"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path.name} cannot be read. {_AGAIN}") from None


def under_thresholds(trained: Trained, tuning: Tuning, *, name: str) -> Trained:
    """A trained pipeline that decides by other thresholds: only by those that were tuned on its own TUNE rows.

    Gamma, node probabilities and all else that was chosen stay as they are.
    """
    own = trained.decider.tuning.tune_sha256
    chosen = next((fold for fold in tuning.folds if fold.tune_sha256 == own), None)
    if chosen is None or tuning.cross_fit or tuning.score != "detection_score":
        raise InputError(
            f"{name}: none of its {counted(len(tuning.folds), 'fold')} was tuned on the TUNE rows of this model. Make the file "
            "with `evidentia tune` on the folder of the run that the model comes from."
        )
    if chosen.reason not in {None, REJECT_ALL}:
        raise InputError(f"{name}: the model {chosen.reason}. Give it TUNE rows of both classes.")
    _refuse_learnt(chosen, trained.trained_on, name)
    return replace(trained, decider=replace(trained.decider, tuning=chosen), tuned_by=tuning.choices)


def _refuse_learnt(chosen: FoldTuning, trained_on: Iterable[str], name: str) -> None:
    shared = chosen.posts & frozenset(trained_on)
    if shared:
        raise InputError(f"{name}: tuned on {counted(len(shared), 'post')} that the model learnt from. Tune again.")
