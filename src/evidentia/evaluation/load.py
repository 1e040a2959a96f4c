"""A result folder as a run again: everything in it can be recomputed from its own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evidentia.errors import InputError
from evidentia.evaluation.files import MANIFEST_SCHEMA, SELECTIVE_MANIFEST_SCHEMA, RunSource, manifest_of
from evidentia.results.folder import refuse_without_rows
from evidentia.tables import read_run

INSIDE_A_RUN, RUN_SCHEMA = "result", "evidentia.run/1"


def load_result(folder: Path) -> RunSource:
    """Read a folder that `evidentia evaluate` wrote, with its TUNE rows: thresholds are chosen on them again."""
    manifest = manifest_of(folder)
    if manifest.get("schema") == SELECTIVE_MANIFEST_SCHEMA:
        raise InputError(
            f"{folder.name} is a result of `evidentia selective`. Compare such runs with `evidentia selective RUN --against OTHER`."
        )
    refuse_without_rows(folder, manifest)
    if manifest.get("schema") != MANIFEST_SCHEMA:
        raise InputError(
            f"{folder.name} is not a result folder of `evidentia evaluate`. Make one: evidentia evaluate RUN -o FOLDER."
        )
    options = manifest.get("options") or {}
    run = read_run(
        folder / "per_query.csv",
        list_sep="|",
        allow_disjoint=True,  # whoever evaluated it was warned
        candidates=_kept(folder, "candidates.parquet", manifest),
        tune=_kept(folder, "tune.parquet", manifest),
        by=tuple(options.get("by", ())),
    )
    name, profile = result_name(folder.resolve()), str(manifest.get("profile", "contract"))
    return RunSource(name, run, profile, options=options)


def result_name(folder: Path) -> str:
    """Its name; a result inside a run goes by that of the run, since all of them are called alike."""
    inside = folder.name == INSIDE_A_RUN and manifest_of(folder.parent).get("schema") == RUN_SCHEMA
    return folder.parent.name if inside else folder.name


def _kept(folder: Path, name: str, manifest: Mapping[str, Any]) -> Path | None:
    """A file that not every result has; one that the manifest lists must be there to be read."""
    return folder / name if name in manifest.get("files", {}) else None
