"""A result folder as the content of a page."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.errors import InputError
from evidentia.evaluation.files import (
    COMPARISON_MANIFEST_SCHEMA,
    MANIFEST_SCHEMA,
    SELECTIVE_MANIFEST_SCHEMA,
    manifest_of,
)
from evidentia.evaluation.load import load_result
from evidentia.report.page.content import Content, Kind
from evidentia.report.page.errors import errors_of
from evidentia.report.page.pseudonyms import Aliases, in_order, key_of, pseudonyms, sentence_aliases
from evidentia.report.tables import Table, Value

KINDS: dict[str, Kind] = {
    MANIFEST_SCHEMA: "evaluation",
    SELECTIVE_MANIFEST_SCHEMA: "selective",
    COMPARISON_MANIFEST_SCHEMA: "comparison",
}
UIDS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")
TUNE_COLUMNS = ("post_id", "criterion_id", "fold", "split", "has_evidence", "prob", "raw_prob", "detection_score")
OWN = re.compile(r"^'('*[=+\-@\t\r])")
TITLES = {
    "measures": "All measures",
    "folds": "Per fold",
    "criteria": "Per criterion",
    "states": "Per state",
    "evidence": "With and without evidence",
    "confusion": "Confusion at each operating point",
    "reliability": "Reliability",
    "other_definitions": "Same name, other definition",
    "attribution": "Where evidence was lost",
    "dynamic_k": "Chosen K against the best K",
    "matched_coverage": "Mean loss at matched coverage",
    "tie_sensitivity": "How much the order of tied confidences matters",
    "signals": "Confidence signals, best first",
    "deltas_measures": "Differences",
    "deltas_criteria": "Differences per criterion",
    "deltas_coverage": "Differences at matched coverage",
    "deltas_truncated": "Differences of areas up to a coverage",
    "coverages": "Where the two can be compared",
}


def read_content(folder: Path, *, show_ids: bool = False, texts: Mapping[str, str] | None = None) -> Content:
    """Everything that a page of this folder shows; ``texts`` gives sentences by uid, and only then are any shown."""
    folder = folder.resolve()
    manifest = manifest_of(folder)
    kind = KINDS.get(str(manifest.get("schema")))
    if kind is None:
        raise InputError(f"{folder.name} is not a result folder of Evidentia.")
    aliases, queries, tune = _queries(folder, manifest, show_ids=show_ids) if kind == "evaluation" else (NOBODY, {}, {})
    errors = errors_of(load_result(folder).run, _local(aliases, show_ids=show_ids)) if queries else {}
    return Content(
        kind=kind,
        name=_name(manifest, folder),
        summary=_summary(folder, kind, aliases),
        manifest=_told(manifest, aliases),
        verification=_verification(folder),
        tables=tuple(_table(path, TITLES) for path in sorted((folder / "tables").glob("*.csv"))),
        figures=tuple(_figure(path) for path in sorted((folder / "figures").glob("*.csv"))),
        queries=queries,
        tune=tune,
        errors=errors,
        ids="shown" if show_ids else "hashed",
    )


NOBODY = Aliases({}, {})


def _local(aliases: Aliases, *, show_ids: bool) -> Aliases:
    """Sentences by their number alone: in a page the post stands beside them."""
    if show_ids:
        return aliases
    return Aliases(aliases.posts, {uid: alias.partition(".")[2] for uid, alias in aliases.sentences.items()})


def _queries(
    folder: Path, manifest: Mapping[str, Any], *, show_ids: bool
) -> tuple[Aliases, dict[str, list[Any]], dict[str, list[Any]]]:
    """The queries and the TUNE rows, with pseudonyms for posts and sentences."""
    slices = (manifest.get("options") or {}).get("slices", ())
    from evidentia.evaluation.files import CONTRACT_COLUMNS

    frame = pl.read_csv(folder / "per_query.csv", infer_schema=False)
    frame = frame.select(_plain(c) for c in dict.fromkeys((*CONTRACT_COLUMNS, *slices)) if c in frame.columns)
    tune = _tune(folder)
    if show_ids:
        return NOBODY, _columns(frame), _columns(tune)
    ids = in_order(frame["post_id"]) if "post_id" in frame.columns else []
    later = [one for one in in_order(tune["post_id"]) if one not in set(ids)] if len(tune.columns) else []
    key = key_of(folder, "per_query.csv")
    posts = _in_this_order([*ids, *later], key)
    aliases = Aliases(posts, sentence_aliases(_sentences(frame), posts))
    return aliases, _columns(_hidden(frame, aliases)), _columns(_hidden(tune, aliases))


def _in_this_order(ids: list[str], key: bytes) -> dict[str, str]:
    named = pseudonyms(ids, key)
    width = len(str(len(ids)))
    return {one: f"p{place:0{width}}-{named[one].partition('-')[2]}" for place, one in enumerate(ids, 1)}


def _tune(folder: Path) -> pl.DataFrame:
    if not (folder / "tune.parquet").is_file():
        return pl.DataFrame()
    frame = pl.read_parquet(folder / "tune.parquet")
    return frame.select(pl.col(c).cast(pl.String).fill_null("") for c in TUNE_COLUMNS if c in frame.columns)


def _sentences(frame: pl.DataFrame) -> dict[str, list[str]]:
    """The distinct uids of every post."""
    parts = [
        frame.select("post_id", uid=pl.col(column).str.split("|")).explode("uid")
        for column in UIDS
        if column in frame.columns
    ]
    if not parts:
        return {}
    seen = pl.concat(parts).filter(pl.col("uid") != "").unique(maintain_order=True)
    found = dict(seen.group_by("post_id", maintain_order=True).agg("uid").iter_rows())
    return {post: found[post] for post in in_order(found)}


def _hidden(frame: pl.DataFrame, aliases: Aliases) -> pl.DataFrame:
    """Pseudonyms instead of ids; a sentence of the query's own post by its number alone."""
    if not len(frame.columns):
        return frame
    posts = [aliases.post(one) for one in frame["post_id"]]
    made = [pl.Series("post_id", posts, pl.String)]
    for column in UIDS:
        if column in frame.columns:
            cells = [_short(cell, f"{post}.", aliases) for cell, post in zip(frame[column], posts, strict=True)]
            made.append(pl.Series(column, cells, pl.String))
    return frame.with_columns(made)


def _short(cell: str, own: str, aliases: Aliases) -> str:
    names = aliases.sentences
    return "|".join([names[uid].removeprefix(own) for uid in cell.split("|")]) if cell else ""


def _columns(frame: pl.DataFrame) -> dict[str, list[Any]]:
    return {name: frame[name].to_list() for name in frame.columns}


def _plain(column: str) -> pl.Expr:
    """Undo the quote that keeps a spreadsheet from running a cell."""
    return pl.col(column).fill_null("").str.replace(OWN.pattern, "$1")


def _summary(folder: Path, kind: Kind, aliases: Aliases) -> str:
    """The numbers as they were written; the ids that messages name are replaced."""
    text = (folder / ("comparison.json" if kind == "comparison" else "summary.json")).read_text(encoding="utf-8")
    if not aliases.posts:
        return text
    return re.sub(r"'([^'\n]{1,200})'", lambda found: f"'{aliases.post(found[1])}'", text)


def _told(manifest: Mapping[str, Any], aliases: Aliases) -> dict[str, Any]:
    """The manifest without the time, which would make every page another one, and with pseudonyms."""
    kept = {key: value for key, value in manifest.items() if key != "time"}
    return _replaced(kept, aliases) if aliases.posts else kept


def _replaced(value: Any, aliases: Aliases) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(one, aliases) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, aliases) for one in value]
    return aliases.post(value) if isinstance(value, str) else value


def _verification(folder: Path) -> dict[str, Any] | None:
    """What was verified, if it was of these files: counts only, for mismatches may name ids."""
    try:
        said = json.loads((folder / "verification.json").read_text(encoding="utf-8"))
        from evidentia.checks.folder import sha256

        current = said["manifest_sha256"] == sha256(folder / "manifest.json")
        return {"comparisons": int(said["comparisons"]), "mismatches": len(said["mismatches"]), "current": current}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _name(manifest: Mapping[str, Any], folder: Path) -> str:
    names = [str(one["name"]) for one in manifest.get("inputs", ()) if one.get("name") not in {None, "<dataframe>"}]
    return names[0] if names else "a run in memory"


def _table(path: Path, titles: Mapping[str, str]) -> Table:
    columns, rows = _csv(path)
    title = titles.get(path.stem) or f"Per {columns[0]}"
    return Table(path.stem, title, columns, tuple((row[0], *map(_cell, row[1:])) for row in rows))


def _figure(path: Path) -> Table:
    columns, rows = _csv(path)
    return Table(path.stem, path.stem, columns, tuple(tuple(map(_cell, row)) for row in rows))


def _csv(path: Path) -> tuple[tuple[str, ...], Iterable[list[str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = [[OWN.sub(r"\1", cell) for cell in row] for row in csv.reader(file)]
    return tuple(rows[0]), rows[1:]


def _cell(text: str) -> Value:
    """A number where the cell is one."""
    if text == "":
        return None
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        return text
