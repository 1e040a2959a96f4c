"""Verify a page alone: recompute its numbers from the queries that it carries, and draw it again from what it carries."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.checks import check_again
from evidentia.errors import InputError
from evidentia.report.page.content import Content, unpack
from evidentia.report.page.differences import page_differences
from evidentia.report.page.read import UIDS
from evidentia.report.page.render import render
from evidentia.report.tables import Table
from evidentia.report.write import csv_cell, csv_text
from evidentia.results import dumps
from evidentia.verify.course import CheckCount, Verification
from evidentia.verify.run import Progress, verify_carried
from evidentia.verify.tally import Mismatch

OF_CANDIDATES = "level=candidate"
GAMMA, GRID = "gamma_sweep", "tune_grid"


@dataclass(frozen=True)
class PageVerification:
    """What was found, and what a page does not carry enough for."""

    verification: Verification
    left_out: tuple[str, ...]


def verify_page(path: Path, progress: Progress | None = None) -> PageVerification:
    """Verify a report that somebody sent, with nothing else at hand."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} cannot be read ({type(error).__name__}).") from None
    content = unpack(text)
    if content.kind == "comparison":
        raise InputError(
            "A page of a comparison carries no queries. Verify the folder of the comparison, which keeps them."
        )
    with tempfile.TemporaryDirectory() as folder:
        left_out = rebuild(content, Path(folder))
        verification = verify_carried(Path(folder), progress, checks=None if left_out else check_again)
    drawn, why = _drawn_again(content, text)
    return PageVerification(
        replace(
            verification, checks=(*verification.checks, drawn[0]), mismatches=(*verification.mismatches, *drawn[1])
        ),
        (*left_out, *why),
    )


def _drawn_again(content: Content, text: str) -> tuple[tuple[CheckCount, tuple[Mismatch, ...]], tuple[str, ...]]:
    """Whether the page shows what it carries: the same version draws the same bytes."""
    ours = version("evidentia")
    if f'content="Evidentia {ours}"' not in text:
        return (CheckCount("page", 0, 0), ()), (f"what is visible: the page was drawn by another version than {ours}",)
    redrawn = render(content)
    wrong = () if redrawn == text else tuple(page_differences("the page", text, redrawn))
    return (CheckCount("page", max(1, len(wrong)), len(wrong)), wrong), ()


def rebuild(content: Content, folder: Path) -> tuple[str, ...]:
    """Write what a page carries as a result folder; returns in words what is not in it."""
    manifest = {**content.manifest, "time": "not in the page"}
    lacking = "candidates.parquet" in manifest.get("files", {})
    summary, gone = _without_candidates(content.numbers) if lacking else (content.numbers, set())
    pruned = len(gone) + len(content.numbers["other_definitions"]) - len(summary["other_definitions"])
    (folder / "summary.json").write_text(dumps(summary), encoding="utf-8")
    (folder / "manifest.json").write_text(dumps(manifest), encoding="utf-8")
    dropped = (
        {GRID, GAMMA} if lacking else {GRID}
    )  # made from candidates, or of thresholds.json: a page carries neither
    figures = [figure for figure in content.figures if figure.name not in dropped]
    for name, tables in (("tables", content.tables), ("figures", figures)):
        (folder / name).mkdir()
        for table in tables:
            kept = _without(table, gone) if lacking else table
            (folder / name / f"{table.name}.csv").write_text(csv_text(kept), encoding="utf-8", newline="")
    if content.queries:
        _write(folder / "per_query.csv", _expanded(content.queries))
    if content.tune:
        pl.DataFrame(_expanded(content.tune)).write_parquet(folder / "tune.parquet")
    for name, columns in content.items.items():
        _write(folder / f"{name}.csv", columns)
    return _left_out(content, pruned if lacking else None)


def _left_out(content: Content, pruned: int | None) -> tuple[str, ...]:
    """What a page does not carry enough for, in words; ``pruned`` numbers rest on a candidates table, if there was one."""
    left_out = []
    if pruned is not None:
        left_out.append(f"{pruned:,} numbers that rest on the candidates table, and the checks that read it")
    if pruned is not None and content.figure(GAMMA) is not None:
        left_out.append("the sweep over gamma, which rests on that table too")
    if "applied_thresholds" in content.manifest:
        left_out.append("the thresholds that were given, beyond their use, and the grid they were chosen from")
    return tuple(left_out)


def _without(table: Table, gone: Collection[str]) -> Table:
    """A table without the rows of numbers that the page does not carry enough for."""
    spoken = [at for at, column in enumerate(table.columns) if column in {"definition", "other definition"}]
    rows = [row for row in table.rows if not any(OF_CANDIDATES in str(row[at]) for at in spoken) and row[0] not in gone]
    return replace(table, rows=tuple(rows))


def _without_candidates(summary: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """A summary without the numbers at the level of candidates, and their names."""
    measures = {name: e for name, e in summary["measures"].items() if OF_CANDIDATES not in e["definition"]}
    others = [other for other in summary["other_definitions"] if OF_CANDIDATES not in other["definition"]]
    gone = summary["measures"].keys() - measures.keys()
    return {**summary, "measures": measures, "other_definitions": others}, set(gone)


def _expanded(columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The columns with whole names of sentences: in a page those of the query's own post are bare numbers."""
    expanded = {name: list(values) for name, values in columns.items()}
    for name in UIDS:
        if name in expanded:
            expanded[name] = [
                _whole(cell, post) for cell, post in zip(expanded[name], expanded["post_id"], strict=True)
            ]
    return expanded


def _whole(cell: str, post: str) -> str:
    return "|".join(f"{post}.{uid}" if uid.isdigit() else uid for uid in cell.split("|")) if cell else ""


def _write(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([csv_cell(name) for name in columns])
        writer.writerows([[csv_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True)])
