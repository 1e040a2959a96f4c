"""Tuned values as a file: strict JSON, written at once or not at all, and refused if it is not what was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidentia.errors import InputError, OutputError
from evidentia.protocol.plain import read_plain
from evidentia.protocol.provenance import SCORES
from evidentia.protocol.tuning import FoldTuning, Tuning
from evidentia.results import dumps_by_line, loads
from evidentia.results.folder import replace_file
from evidentia.tables.document import read_document
from evidentia.tables.files import read_content
from evidentia.tables.run import Source

SCHEMA = "evidentia.thresholds/1"
_CHOICES = {"targets": Mapping[str, float] | None, "certify": float | None, "seed": int}


def to_document(tuning: Tuning, *, grids: bool = True) -> dict[str, Any]:
    """The content of a thresholds file; it has no time in it, so the same run gives the same bytes.

    Without ``grids`` it has all that is needed to apply the values and to see what they were tuned on.
    """
    folds = [fold.to_dict() for fold in tuning.folds]
    if not grids:
        folds = [fold | {"three_state": fold["three_state"] and fold["three_state"] | {"grid": {}}} for fold in folds]
    return {
        "schema": SCHEMA,
        "score": tuning.score,
        "choices": dict(tuning.choices),
        "inputs": [dict(source) for source in tuning.inputs],
        "folds": folds,
    }


def from_document(content: Mapping[str, Any], *, name: str) -> Tuning:
    """Read a thresholds file's content; anything that it cannot mean is an InputError."""
    if not isinstance(content, Mapping) or content.get("schema") != SCHEMA:
        raise InputError(f"{name}: not a thresholds file ({SCHEMA}). Make one with `evidentia tune`.")
    try:
        for choice in _CHOICES.keys() & content["choices"].keys():
            read_plain(_CHOICES[choice], content["choices"][choice], f"choices.{choice}")
        if content["choices"].get("cross_fit", True) is not True:
            raise ValueError("choices.cross_fit is true or not there")
        folds = tuple(FoldTuning.from_dict(fold, f"folds[{at}]") for at, fold in enumerate(content["folds"]))
        if content["score"] not in SCORES or len({fold.fold for fold in folds}) != len(folds) or not folds:
            raise ValueError("every fold must be there once, under a score column that is known")
        if any(fold.threshold is None for fold in folds) and any(fold.three_state is None for fold in folds):
            raise ValueError("all folds must have the same kind of thresholds")
        return Tuning(content["score"], dict(content["choices"]), folds, tuple(content["inputs"]))
    except InputError as error:
        raise InputError(
            *(replace(problem, message=f"{name}: {problem.message}") for problem in error.problems)
        ) from None
    except KeyError as error:
        raise InputError(f"{name}: {error.args[0]} is missing. Make the file again with `evidentia tune`.") from None
    except (TypeError, ValueError, AttributeError) as error:
        reason = error if isinstance(error, ValueError) else "a value is of the wrong type"
        raise InputError(f"{name}: damaged ({reason}). Make the file again with `evidentia tune`.") from None


def read_tuning(path: str | Path) -> tuple[Tuning, Source]:
    """Read a thresholds file, and what a manifest says about it."""
    content = read_content(Path(path))
    tuning = from_document(read_document(content), name=content.name)
    return tuning, Source("thresholds", content.name, content.sha256, len(tuning.folds))


def ensure_tuning_writable(path: Path, *, force: bool) -> None:
    """Refuse a file that may not be written or replaced."""
    if not path.exists():
        return
    if not path.is_file() or not force:
        raise OutputError(f"{path.name} exists. Choose another file with -o, or replace it with --force.")
    try:
        ours = loads(path.read_bytes()).get("schema") == SCHEMA
    except (OSError, ValueError, AttributeError):
        ours = False
    if not ours:
        raise OutputError(f"{path.name} is not a thresholds file: --force leaves it alone. Choose another with -o.")


def write_tuning(path: Path, tuning: Tuning, *, force: bool = False) -> None:
    """Write a thresholds file under a temporary name and move it into place; on failure nothing changes."""
    ensure_tuning_writable(path, force=force)
    text = dumps_by_line(to_document(tuning), ("folds", "inputs"))
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise OutputError(f"Cannot write {path.name}: {error.strerror}. Choose another file with -o.") from None
