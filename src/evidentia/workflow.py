"""The whole job: read, evaluate, and write every file of the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidentia.evaluation import evaluate_run, may_write, write_folder, write_manifest, write_result
from evidentia.report import write_tables
from evidentia.results import Evaluation
from evidentia.tables import Run

__all__ = ["evaluate", "may_write"]


def evaluate(
    run: Run,
    *,
    profile: str = "contract",
    measures: str | Iterable[str] | None = None,
    by: str | Sequence[str] = (),
    k: Sequence[int | str] | None = None,
    dual: bool = False,
    seed: int = 7,
    resamples: int = 0,
    command: str | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Compute every measure of a profile (or the named ones) over a run, its folds, criteria, states and slices.

    The result is indexed by measure name, and ``save(folder)`` writes all its files.
    """
    named = None if measures is None else _words(measures)
    by = _words(by)
    evaluation = evaluate_run(
        run, profile=profile, measures=named, by=by, k=k, dual=dual, seed=seed, resamples=resamples
    )
    options: Mapping[str, Any] = {
        "measures": None if named is None else list(named),
        "by": list(by),
        "k": None if k is None else [str(depth) for depth in k],
        "dual": dual,
        "reading": dict(reading or {}),
    }

    def save(result: Evaluation, folder: Path, force: bool) -> None:
        def fill(temporary: Path) -> None:
            write_result(temporary, run, result, by=by)
            write_tables(result, temporary / "tables")
            write_manifest(temporary, run, result, command=command, options=options)

        write_folder(folder, fill, force=force)

    return replace(evaluation, writer=save)


def _words(names: str | Iterable[str]) -> tuple[str, ...]:
    """A single name is one name, not its letters."""
    return (names,) if isinstance(names, str) else tuple(names)
