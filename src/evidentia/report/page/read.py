"""A result folder as the content of a page."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.errors import InputError
from evidentia.evaluation.files import (
    COMPARISON_MANIFEST_SCHEMA,
    CONTRACT_COLUMNS,
    EARLIER_COMPARISON_SCHEMA,
    MANIFEST_SCHEMA,
    SELECTIVE_MANIFEST_SCHEMA,
    manifest_of,
)
from evidentia.report.page.content import Content, PageKind
from evidentia.report.page.errors import errors_of
from evidentia.report.page.mentions import Mentions, group_names, hidden_manifest, hidden_summary, posts_named
from evidentia.report.page.participants import with_items
from evidentia.report.page.pseudonyms import Aliases, in_order, key_of, pseudonyms, sentence_aliases
from evidentia.report.page.texts import texts_of
from evidentia.report.page.tune_grid import tune_grid
from evidentia.report.tables import TITLES, Table, Value
from evidentia.results import dumps_by_line, loads
from evidentia.results.folder import refuse_without_rows
from evidentia.tables import Run, read_run
from evidentia.tables.cells import QUOTED

KINDS: dict[str, PageKind] = {
    MANIFEST_SCHEMA: "evaluation",
    SELECTIVE_MANIFEST_SCHEMA: "selective",
    COMPARISON_MANIFEST_SCHEMA: "comparison",
    EARLIER_COMPARISON_SCHEMA: "comparison",
}
BY_LINE = ("measures", "not_computed", "other_definitions", "checks")  # as summary.json is written
UIDS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")
TUNE_COLUMNS = ("post_id", "criterion_id", "fold", "split", "has_evidence", "prob", "raw_prob", "detection_score")


def read_content(
    folder: Path,
    *,
    show_ids: bool = False,
    texts: Mapping[str, str] | None = None,
    title: str | None = None,
    read: Run | None = None,
) -> Content:
    """Everything that a page of this folder shows; ``texts`` gives sentences by uid, and only then are any shown.

    ``read`` is the run of the folder where it is at hand: reading it again takes a third of the time.
    """
    folder = folder.resolve()
    manifest = manifest_of(folder)
    kind = KINDS.get(str(manifest.get("schema")))
    refuse_without_rows(folder, manifest)
    if kind is None:
        raise InputError(f"{folder.name} is not a result folder of Evidentia.")
    run = _run(folder, manifest, read, show_ids=show_ids) if kind == "evaluation" else NOTHING
    content = Content(
        kind=kind,
        name=_name(manifest, kind),
        summary=_summary(folder, kind, run),
        manifest=_told(manifest, run),
        verification=verification_of(folder),
        tables=tuple(_table(path, run) for path in sorted((folder / "tables").glob("*.csv"))),
        figures=(
            *(_figure(path) for path in sorted((folder / "figures").glob("*.csv"))),
            *tune_grid(folder, manifest),
        ),
        queries=_columns(run.queries),
        tune=_columns(run.tune),
        errors=run.errors,
        texts=texts_of(run.frame, run.errors, run.aliases, texts) if texts is not None else {},
        ids="shown" if show_ids else "hashed",
        title=title,
    )
    return with_items(content, folder) if kind == "selective" else content


@dataclass(frozen=True, eq=False)
class _Run:
    """The queries as they are in the folder (``frame``) and as the page has them."""

    frame: pl.DataFrame
    queries: pl.DataFrame
    tune: pl.DataFrame
    aliases: Aliases
    errors: Mapping[str, Any]

    @cached_property
    def mentions(self) -> Mentions:
        """What hides ids in messages; criteria and folds may be named."""
        named = [
            self.frame[column].unique().to_list() for column in ("criterion_id", "fold") if column in self.frame.columns
        ]
        return Mentions(self.aliases, {name for names in named for name in names})

    @cached_property
    def named(self) -> Callable[[str], str]:
        """Names of measures as the page has them."""
        return group_names(self.aliases)


NOTHING = _Run(pl.DataFrame(), pl.DataFrame(), pl.DataFrame(), Aliases({}, {}), {})


def _run(folder: Path, manifest: Mapping[str, Any], read: Run | None, *, show_ids: bool) -> _Run:
    """The queries and the TUNE rows, with pseudonyms for posts and sentences."""
    slices = (manifest.get("options") or {}).get("slices", ())
    frame = _read_columns(folder / "per_query.csv", dict.fromkeys((*CONTRACT_COLUMNS, *slices)))
    tune = _tune(folder)
    aliases = Aliases({}, {})
    if not show_ids:
        tuned = tune["post_id"].unique().to_list() if len(tune.columns) else []
        ids = in_order(frame["post_id"].unique().to_list(), tuned, posts_named(manifest))
        posts = pseudonyms(ids, key_of(folder))
        aliases = Aliases(posts, sentence_aliases(_sentences(frame), posts))
    listed = folder / "candidates.parquet"
    kept = listed if listed.name in manifest.get("files", {}) else None
    if read is None:
        read = read_run(frame.select(c for c in CONTRACT_COLUMNS if c in frame.columns), allow_disjoint=True)
    errors = errors_of(read, aliases, kept)
    return _Run(frame, _hidden(frame, aliases), _hidden(tune, aliases), aliases, errors)


def _read_columns(path: Path, columns: Iterable[str]) -> pl.DataFrame:
    """Those of the columns that the file has, as texts; the others, one for every measure, are not kept in memory."""
    named = {_plain_name(column): column for column in pl.read_csv(path, n_rows=0, infer_schema=False).columns}
    wanted = [column for column in columns if column in named]
    whole = pl.read_csv(path, columns=[named[column] for column in wanted], infer_schema=False).rename(_plain_name)
    return whole.select(_plain(column) for column in wanted)


def _tune(folder: Path) -> pl.DataFrame:
    if not (folder / "tune.parquet").is_file():
        return pl.DataFrame()
    frame = pl.read_parquet(folder / "tune.parquet")
    return frame.select(pl.col(c).cast(pl.String).fill_null("") for c in TUNE_COLUMNS if c in frame.columns)


def _sentences(frame: pl.DataFrame) -> dict[str, list[str]]:
    """The distinct uids of every post."""
    parts = [
        frame.select("post_id", uid=pl.col(column).str.split("|")).explode("uid").unique(maintain_order=True)
        for column in UIDS
        if column in frame.columns
    ]
    if not parts:
        return {}
    seen = pl.concat(parts).filter(pl.col("uid") != "").unique(maintain_order=True)
    by_post = dict(seen.group_by("post_id", maintain_order=True).agg("uid").iter_rows())
    return {post: by_post[post] for post in in_order(by_post)}


def _hidden(frame: pl.DataFrame, aliases: Aliases) -> pl.DataFrame:
    """Pseudonyms instead of ids; a sentence of the query's own post by its number alone."""
    if not len(frame.columns) or not aliases.posts:
        return frame
    posts = pl.DataFrame({"post_id": list(aliases.posts), "_post": list(aliases.posts.values())}, _TEXTS)
    named = {"_uid": list(aliases.sentences), "_alias": list(aliases.sentences.values())}
    sentences = pl.DataFrame(named, dict.fromkeys(named, pl.String))
    joined = frame.join(posts, on="post_id", how="left", maintain_order="left")
    cells = [_short(joined, column, sentences) for column in UIDS if column in frame.columns]
    return joined.with_columns(cells).with_columns(post_id="_post").drop("_post")


_TEXTS = {"post_id": pl.String, "_post": pl.String}


def _short(frame: pl.DataFrame, column: str, sentences: pl.DataFrame) -> pl.Series:
    """A column of joined uids as names of sentences, joined."""
    each = frame.select("_post", _uid=pl.col(column).str.split("|")).with_row_index("_row").explode("_uid")
    own = pl.col("_alias").str.strip_prefix(pl.col("_post") + ".")
    named = each.join(sentences, on="_uid", how="left", maintain_order="left").select("_row", name=own.fill_null(""))
    return named.group_by("_row", maintain_order=True).agg(pl.col("name").str.join("|"))["name"].rename(column)


def _columns(frame: pl.DataFrame) -> dict[str, list[Any]]:
    return {name: frame[name].to_list() for name in frame.columns}


def _plain_name(column: str) -> str:
    """A column's name without what kept a spreadsheet from running it; polars leaves its quotes doubled."""
    return QUOTED.sub(r"\1", column.replace('""', '"'))


def _plain(column: str) -> pl.Expr:
    """Undo the quote that keeps a spreadsheet from running a cell."""
    return pl.col(column).fill_null("").str.replace(QUOTED.pattern, "$1")


def _summary(folder: Path, kind: PageKind, run: _Run) -> str:
    """The numbers as they were written; only where messages name ids, they do not."""
    text = (folder / ("comparison.json" if kind == "comparison" else "summary.json")).read_text(encoding="utf-8")
    if not run.aliases.posts:
        return text
    summary = loads(text)
    hidden = hidden_summary(summary, run.mentions, run.aliases)
    return text if hidden == summary else dumps_by_line(hidden, BY_LINE)


def _told(manifest: Mapping[str, Any], run: _Run) -> dict[str, Any]:
    """The manifest without the time, which would make every page another one, and with pseudonyms."""
    kept = {key: value for key, value in manifest.items() if key != "time"}
    if not run.aliases.posts:
        return kept
    hidden = hidden_manifest(kept, run.mentions, run.aliases)
    assert isinstance(hidden, dict)
    return hidden


def verification_of(folder: Path) -> dict[str, Any] | None:
    """What was verified, if it was of these files: counts only, for mismatches may name ids.

    A verification that passed says nothing any more where a file was changed since.
    """
    try:
        report = loads((folder / "verification.json").read_text(encoding="utf-8"))
        from evidentia.checks.folder import sha256

        wrong = len(report["mismatches"])
        current = report["manifest_sha256"] == sha256(folder / "manifest.json")
        if current and not wrong:
            files = loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
            current = all(sha256(folder / name) == hashed for name, hashed in files.items())
        return {"comparisons": int(report["comparisons"]), "mismatches": wrong, "current": current}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _name(manifest: Mapping[str, Any], kind: PageKind) -> str:
    if kind == "comparison":
        first, *others = dict.fromkeys(str(entry["role"]) for entry in manifest["inputs"])
        return f"{', '.join(others)} against {first}"
    command = str(manifest.get("command"))
    if command.startswith("evidentia demo"):
        return "the demo's synthetic run"
    for verb in ("run", "ablate"):
        if command.startswith(f"evidentia {verb} "):
            return command.removeprefix(f"evidentia {verb} ").removesuffix(" -o OUT")
    names = [
        str(entry["name"]) for entry in manifest.get("inputs", ()) if entry.get("name") not in {None, "<dataframe>"}
    ]
    return names[0] if names else "a run in memory"


def _table(path: Path, run: _Run) -> Table:
    columns, rows = _csv(path)
    title = TITLES.get(path.stem) or f"Per {columns[0]}"
    name = run.aliases.post if columns[0] == "post_id" else run.named
    return Table(path.stem, title, columns, tuple((name(row[0]), *map(_cell, row[1:])) for row in rows))


def _figure(path: Path) -> Table:
    columns, rows = _csv(path)
    named = columns[0] == "system"  # a name stays text, also where it is digits
    cells = ((row[0] if named else _cell(row[0]), *map(_cell, row[1:])) for row in rows)
    return Table(path.stem, path.stem, columns, tuple(cells))


def _csv(path: Path) -> tuple[tuple[str, ...], Iterable[list[str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = [[QUOTED.sub(r"\1", cell) for cell in row] for row in csv.reader(file)]
    return tuple(rows[0]), rows[1:]


def _cell(text: str) -> Value:
    """A number where the cell is one."""
    if text == "":
        return None
    try:
        value = int(text) if re.fullmatch(r"-?[0-9]+", text) else float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text
