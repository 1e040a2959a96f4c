"""A folder of answers, as `evidentia predict` fills it in parts: read as one table, if all of it is there as it was written."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from evidentia.errors import InputError
from evidentia.tables.document import read_document
from evidentia.tables.files import Loaded, load, read_content

MANIFEST = "manifest.json"  # the last file of a folder of answers to be written
THRESHOLDS = "thresholds.json"


def load_answers(answers: Path) -> Loaded:
    """Answers of a single file, or of all parts of a folder."""
    if not answers.is_dir():
        return load(answers)
    name = answers.resolve().name
    if not (answers / MANIFEST).is_file():
        raise InputError(
            f"{name} holds no {MANIFEST}: it is no folder of answers, or not all of them are there. Continue with "
            "`evidentia predict --resume`."
        )
    content = read_content(answers / MANIFEST)
    try:
        parts = [(str(part["name"]), str(part["sha256"])) for part in read_document(content)["parts"]]
        tables = [_part(answers / Path(part).name, sha256) for part, sha256 in parts]
        return Loaded(name, pl.concat(tables), lambda row: f"row {row + 1}", content.sha256)
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise InputError(f"{name}/{MANIFEST} is not what `evidentia predict` wrote. Write the answers again.") from None


def _part(path: Path, sha256: str) -> pl.DataFrame:
    part = load(path)
    if part.sha256 != sha256:
        raise InputError(f"{path.parent.resolve().name}/{path.name} was changed. Write the answers again.")
    return part.frame
