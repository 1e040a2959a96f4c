"""TREC qrels and run files: a topic is a post with one nameless criterion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import polars as pl

from evidentia.errors import InputError, Problem, counted, shown
from evidentia.tables.build import build, canonical_order, completed, written
from evidentia.tables.files import Content, read_content
from evidentia.tables.run import Run, Source
from evidentia.tables.table import ROW, Table
from evidentia.tables.uids import coded

_QRELS = ("topic", "iteration", "doc", "value")
_RUN = ("topic", "q0", "doc", "rank", "value", "tag")
_LAST, _MORE = "_last", "_more"  # the last field as it was written; what follows it


def read_trec(qrels: str | Path, run: str | Path, *, ties: Literal["input", "trec"] = "input") -> Run:
    """Read TREC qrels and a TREC run; relevance of 1 and more is gold, the ranking is by score.

    Equal scores keep the order of the file; with ``ties="trec"`` they go by document number descending, and
    scores are compared as float32, as in trec_eval. Judged topics that the run lacks are kept with an empty
    ranking; topics that are not judged are left out. Both are counted in the notes.
    """
    if ties not in ("input", "trec"):
        raise InputError(Problem("UNKNOWN_TIES", f"ties is {shown(ties)}; it must be 'input' or 'trec'."))
    judged, found = _read_both(Path(qrels), Path(run))
    frame = _frame(judged.frame, found.frame, ties)
    table = coded([Table(run_name := found.source.name, frame, str)])[0][0]
    table = table.take(canonical_order(table))
    table = replace(table, frame=completed(table))
    lost = [t for t in judged.topics if t not in found.topics]
    unjudged = [t for t in found.topics if t not in judged.topics]
    return Run(
        queries=build(table),
        frame=written(table.frame),
        sources=(judged.source, found.source),
        left_out=MappingProxyType({"topics that are not in the qrels": len(unjudged)} if unjudged else {}),
        notes=(*_lost(run_name, lost), *_unjudged(run_name, unjudged)),
    )


def validate_trec(qrels: str | Path, run: str | Path, **options: Any) -> tuple[Problem, ...]:
    """Every problem that read_trec would raise, given the same arguments; empty if the files are fine."""
    try:
        read_trec(qrels, run, **options)
    except InputError as error:
        return error.problems
    return ()


@dataclass(frozen=True, eq=False)
class _Trec:
    frame: pl.DataFrame  # topic, doc, value
    topics: dict[str, None]
    source: Source


def _read_both(qrels: Path, run: Path) -> tuple[_Trec, _Trec]:
    problems: list[Problem] = []
    read: list[_Trec] = []
    for role, path, columns in (("qrels", qrels, _QRELS), ("trec_run", run, _RUN)):
        try:
            read.append(_read(role, read_content(path), columns))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*problems)
    return read[0], read[1]


def _read(role: str, content: Content, columns: tuple[str, ...]) -> _Trec:
    frame = _fields(content.text(), columns)
    kind = pl.Int64 if role == "qrels" else pl.Float64
    table = Table(content.name, frame.with_columns(pl.col("value").cast(kind, strict=False)), _line)
    if problems := _line_problems(table, role, columns) + _doc_problems(table):
        raise InputError(*problems)
    topics = dict.fromkeys(table.frame["topic"].unique(maintain_order=True).to_list())
    kept = table.frame.select("topic", "doc", "value")
    return _Trec(kept, topics, Source(role, content.name, content.sha256, kept.height))


def _line_problems(table: Table, role: str, columns: tuple[str, ...]) -> list[Problem]:
    malformed = pl.col(_LAST).is_null() | pl.col(_MORE).is_not_null()
    layout = f"Write {len(columns)} fields per line: {' '.join(_NAMES[role])}."
    what = f"that do not have {len(columns)} fields"
    number = pl.col("value").cast(pl.Float64)
    wrong = table.rows(number.is_finite().fill_null(False).not_() & malformed.not_())
    wanted = "relevance is not a whole number" if role == "qrels" else "score is not a finite number"
    return [
        *table.problem("MALFORMED_LINE", table.rows(malformed), what, layout),
        *table.problem("WRONG_TYPE", wrong, f"whose {wanted}", layout),
    ]


def _doc_problems(table: Table) -> list[Problem]:
    def key(row: int) -> str:
        return f"topic {shown(table.frame['topic'][row])}, document {shown(table.frame['doc'][row])}"

    twice = table.rows(pl.struct("topic", "doc").is_first_distinct().not_() & pl.col("doc").is_not_null())
    barred = table.rows(pl.col("doc").str.contains("|", literal=True))
    what, remedy = "that repeat a document of the same topic", "List a document once per topic."
    bar = "Use another character: | joins the uids of a cell."
    return [
        *table.problem("DUPLICATE_UID", twice, what, remedy, key),
        *table.problem("BAR_IN_UID", barred, "with a | in the document number", bar),
    ]


_NAMES = {
    "qrels": ("topic", "iteration", "document", "relevance"),
    "trec_run": ("topic", "Q0", "document", "rank", "score", "tag"),
}


def _fields(text: bytes, columns: tuple[str, ...]) -> pl.DataFrame:
    lines = pl.Series("line", text.decode().split("\n"))
    frame = lines.to_frame().with_row_index(ROW).with_columns(pl.col("line").str.strip_chars())
    cells = pl.col("line").str.replace_all(r"\s+", "\t").str.split_exact("\t", len(columns))
    return (
        frame.filter(pl.col("line") != "")
        .with_columns(cells.struct.rename_fields([*columns, _MORE]).alias("cells"))
        .unnest("cells")
        .with_columns(pl.col(columns[-1]).alias(_LAST))
        .drop("line")
    )


def _line(row: int) -> str:
    return f"line {row + 1}"


def _frame(judged: pl.DataFrame, found: pl.DataFrame, ties: str) -> pl.DataFrame:
    gold = judged.group_by("topic", maintain_order=True).agg(gold_sent_uids=pl.col("doc").filter(pl.col("value") >= 1))
    if ties == "trec":
        # trec_eval keeps scores as float32 and breaks ties by document number, both descending
        ordered = found.with_columns(pl.col("value").cast(pl.Float32)).sort("value", "doc", descending=True)
    else:
        ordered = found.sort("value", descending=True, maintain_order=True)
    ranked = ordered.group_by("topic", maintain_order=True).agg(ranked_sent_uids=pl.col("doc"))
    frame = gold.join(ranked, on="topic", how="left").with_columns(pl.col("ranked_sent_uids").fill_null([]))
    keys = [pl.col("topic").alias("post_id"), pl.lit("").alias("criterion_id")]
    return frame.select(*keys, "gold_sent_uids", "ranked_sent_uids").with_row_index(ROW)


def _lost(name: str, topics: list[str]) -> list[str]:
    if not topics:
        return []
    count = counted(len(topics), "judged topic")
    return [f"{name}: {count} not in the run, kept with an empty ranking (first: {shown(topics[0])})."]


def _unjudged(name: str, topics: list[str]) -> list[str]:
    if not topics:
        return []
    return [f"{name}: {counted(len(topics), 'topic')} not in the qrels, left out (first: {shown(topics[0])})."]
