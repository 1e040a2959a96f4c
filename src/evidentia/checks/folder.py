"""A written result, read back so that its files can be checked against one another."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.checks.registry import Verdict, check, looked_at, not_applicable
from evidentia.checks.subject import ELSEWHERE, Folder, Row, Subject
from evidentia.errors import InputError, Problem
from evidentia.evaluation.files import MANIFEST_SCHEMA, SELECTIVE_MANIFEST_SCHEMA, manifest_of
from evidentia.evaluation.load import load_result
from evidentia.measures import PROFILES, canonical, parse_name, resolve
from evidentia.measures.core import Additive
from evidentia.results import Curve, Distribution, Estimate, Evaluation, Finding, NotComputed, OtherDefinition, loads
from evidentia.results.derived import is_derived
from evidentia.results.folder import TABLES_MANIFEST_SCHEMA, refuse_without_rows
from evidentia.results.profiles import SELECTIVE
from evidentia.tables import DatasetCard, Items, Run, load_card, read_items
from evidentia.tables.card import built_in_cards

_QUOTED = re.compile(r"'+[=+\-@\t\r]")
LATER = {"manifest.json", "verification.json", "report.key"}  # written after the hashes were taken


def read_subject(folder: Path, *, card: DatasetCard | None = None) -> Subject:
    """Everything that checks look at in a folder of `evidentia evaluate` or `evidentia selective`."""
    folder = folder.resolve()
    manifest = manifest_of(folder)
    evaluation = read_evaluation(folder, manifest, without_rows=True)
    run, problems = _queries(folder, manifest)
    if run is not None:
        run = _with_card(run, evaluation, card)
    subject = Subject(evaluation, run, _files(folder, manifest), problems, applied=manifest.get("applied_thresholds"))
    return replace(subject, items=_items(folder)) if subject.of_items else subject


def read_evaluation(folder: Path, manifest: dict[str, Any], *, without_rows: bool = False) -> Evaluation:
    """The numbers of a written result, without the queries behind them; one that holds none is refused unless asked for."""
    if not without_rows:
        refuse_without_rows(folder, manifest)
    if manifest.get("schema") not in {MANIFEST_SCHEMA, SELECTIVE_MANIFEST_SCHEMA, TABLES_MANIFEST_SCHEMA}:
        raise InputError(f"{folder.name} is not a result folder of `evidentia evaluate` or `evidentia selective`.")
    try:
        summary = loads((folder / "summary.json").read_text(encoding="utf-8"))
        return evaluation_of(summary, manifest, _curves(folder))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        message = f"{folder.name}/summary.json is not one that Evidentia wrote ({type(error).__name__})."
        raise InputError(message) from None


def evaluation_of(summary: dict[str, Any], manifest: dict[str, Any], curves: tuple[Curve, ...] = ()) -> Evaluation:
    """The result that a summary and its manifest describe."""
    profile = {**PROFILES, SELECTIVE.name: SELECTIVE}[summary["profile"]]
    return Evaluation(
        profile=profile.name,
        seed=summary["seed"],
        resamples=summary["resamples"],
        interval=summary["interval"],
        measures={name: _estimate(name, entry) for name, entry in summary["measures"].items()},
        not_computed=tuple(NotComputed(**gap) for gap in summary["not_computed"]),
        checks=tuple(Finding(**finding) for finding in summary["checks"]),
        other_definitions=tuple(OtherDefinition(**other) for other in summary["other_definitions"]),
        notes=tuple(summary["notes"]),
        dataset=summary["dataset"],
        curves=curves,
        thresholds=tuple(manifest.get("thresholds", ())),
        resolve=partial(canonical, profile=profile),
    )


def _estimate(name: str, entry: dict[str, Any]) -> Estimate:
    known = dict(entry)
    value, ci, spread = known.pop("value"), known.pop("ci"), known.pop("distribution")
    known["warnings"] = tuple(known["warnings"])
    return Estimate(
        name=name,
        value=math.nan if value is None else float(value),
        ci=None if ci is None else (float(ci[0]), float(ci[1])),
        distribution=None if spread is None else Distribution(**spread),
        group=parse_name(name).group,
        **known,
    )


def _queries(folder: Path, manifest: dict[str, Any]) -> tuple[Run | None, tuple[Problem, ...]]:
    if manifest["schema"] == SELECTIVE_MANIFEST_SCHEMA:
        return None, ()
    if manifest["schema"] == TABLES_MANIFEST_SCHEMA:
        return None, (Problem(ELSEWHERE, "its rows stayed in the tables that it was made of."),)
    try:
        return load_result(folder).run, ()
    except InputError as error:
        return None, error.problems
    except OSError as error:
        return None, (Problem("UNREADABLE", f"{folder.name}: {error.strerror}."),)


def _items(folder: Path) -> Items | None:
    """The items of a selective result; None where they cannot be read, which a check then says."""
    try:
        return read_items(folder / "items.csv")
    except (InputError, OSError):
        return None


def _with_card(run: Run, evaluation: Evaluation, card: DatasetCard | None) -> Run:
    """The run with its dataset card: the one given, or the one of that name that ships with Evidentia."""
    name = evaluation.dataset.get("card")
    if card is None and isinstance(name, str) and name in built_in_cards():
        card = load_card(name)
    return replace(run, card=card)


def _files(folder: Path, manifest: dict[str, Any]) -> Folder:
    tables = {path.stem: _rows(path) for path in sorted((folder / "tables").glob("*.csv"))}
    hashes = {str(name): str(value) for name, value in dict(manifest.get("files") or {}).items()}
    return Folder(folder, tables, hashes)


def _rows(path: Path) -> tuple[Row, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    head = [_plain(cell) for cell in rows[0]] if rows else []
    return tuple(dict(zip(head, map(_plain, row), strict=False)) for row in rows[1:])


def _plain(cell: str) -> str:
    """Undo the quote that keeps a spreadsheet from running a cell."""
    return cell[1:] if _QUOTED.match(cell) else cell


def _curves(folder: Path) -> tuple[Curve, ...]:
    curves = []
    for path in sorted((folder / "figures").glob("*.csv")):
        rows = _rows(path)
        columns = {c: tuple(float(row[c]) if row[c] else None for row in rows) for c in (rows[0] if rows else ())}
        curves.append(Curve(path.stem, path.stem, columns))
    return tuple(curves)


@check("FILE001", title="The files are those that the manifest lists", scope="folder")
def files_are_as_written(subject: Subject) -> Verdict:
    """Every file has the SHA-256 that the manifest gives, none is missing, none was added."""
    folder = subject.folder
    if folder is None:
        return not_applicable("the result is not written")
    there = {p.relative_to(folder.path).as_posix(): p for p in folder.path.rglob("*") if p.is_file()}
    changed = [n for n, h in folder.hashes.items() if n not in there or sha256(there[n]) != h]
    added = sorted(name for name in set(there) - set(folder.hashes) - LATER if not is_derived(name))
    wrong = [*changed, *added]
    fault = f"changed, missing or added (first {wrong[0]})" if wrong else ""
    return looked_at(len(folder.hashes), "file", wrong=len(wrong), fault=fault)


def sha256(path: Path) -> str:
    """The hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def subject_in_memory(folder: Path) -> Subject:
    """A result as it was before it was written, with the card that it was read with and the values behind its means."""
    content = manifest_of(folder).get("read", {}).get("card")
    subject = read_subject(folder, card=None if content is None else _card(content))
    run, evaluation = subject.run, subject.evaluation
    if subject.of_items:  # curves of a run that it is compared with come later
        own = tuple(curve for curve in evaluation.curves if not curve.name.startswith("against_"))
        evaluation = replace(evaluation, curves=own)
    if run is not None:
        run = replace(run, card=run.card if content is not None else None)
        evaluation = replace(evaluation, per_query=_per_query(evaluation, run))
    return replace(subject, evaluation=evaluation, run=run, folder=None)


def _card(content: Mapping[str, Any]) -> DatasetCard:
    """The card of a manifest; targets are not looked at."""
    kept: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}
    return DatasetCard(**(kept | {"targets": {}}))


def _per_query(evaluation: Evaluation, run: Run) -> dict[str, tuple[Floats, Bools]]:
    """The values of every query behind each mean over all of them, and which count."""
    behind = {}
    for estimate in evaluation.overall():
        definition = resolve(estimate.definition, PROFILES[evaluation.profile]).definition
        kind, args = definition.kind, definition.args
        if isinstance(kind, Additive) and kind.per_query is not None:
            mask = definition.population.mask(run.queries, args)
            counted = np.ones(len(run.queries), bool) if mask is None else mask
            behind[estimate.name] = (kind.per_query(run.queries, args), counted)
    return behind
