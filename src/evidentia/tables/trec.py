"""TREC qrels and run files: a topic is a post with one nameless criterion."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import InputError, InputWarning, Problem, counted, shown
from evidentia.tables.build import build, canonical_order, completed, written
from evidentia.tables.files import Content, read_content
from evidentia.tables.kinds import refuse
from evidentia.tables.labels import text_as_label
from evidentia.tables.limits import unpacking
from evidentia.tables.overlap import overlap
from evidentia.tables.run import Run, Source
from evidentia.tables.table import ROW, Table
from evidentia.tables.uids import coded, keys, repeated

_LAYOUTS = {
    "qrels": ("topic", "iteration", "document", "relevance"),
    "trec_run": ("topic", "Q0", "document", "rank", "score", "tag"),
}
_GAP, _FIELD = r"[\t-\r ]+", r"[^\t-\r ]+"  # spelled out, because \s and \S know all of Unicode and take thrice as long
_NAMED = {"topic": "topic", "document": "doc", "relevance": "value", "score": "value"}  # the fields that are read
_BLOCK = 1 << 20  # bytes that are taken apart at a time, so that the cells of a file are never all there at once


def read_trec(
    qrels: str | Path,
    run: str | Path,
    *,
    ties: Literal["input", "trec"] = "input",
    max_bytes: int | None = None,
    allow_disjoint: bool = False,
) -> Run:
    """Read TREC qrels and a TREC run; a topic is a post with one nameless criterion.

    Parameters
    ----------
    qrels : path
        Judgements: topic, iteration, document, relevance. Relevance of 1 and more is gold.
    run : path
        Ranking: topic, Q0, document, rank, score, tag. Documents are ordered by score.
    ties : {"input", "trec"}, default="input"
        Equal scores keep the order of the file ("input"), or go by document number descending, with scores compared as float32,
        as in trec_eval ("trec").
    max_bytes : int, default=None
        Largest unpacked size of a gzip file; None means 1,000,000,000.
    allow_disjoint : bool, default=False
        Whether to accept a run without any relevant document; it is an InputWarning otherwise.

    Returns
    -------
    Run
        One query per judged topic.

    Raises
    ------
    InputError
        If a file cannot be read, or ``ties`` is unknown.

    Notes
    -----
    A judged topic that the run lacks has an empty ranking. A topic without judgements is left out. ``notes`` counts both.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qrels, ranking = Path(folder, "qrels"), Path(folder, "run")
    ...     _ = qrels.write_text("q1 0 d1 1"), ranking.write_text("q1 Q0 d2 1 0.9 x\\nq1 Q0 d1 2 0.5 x")
    ...     run = read_trec(qrels, ranking)
    >>> run.queries.gold_ranks.values
    array([2])
    """
    if ties not in ("input", "trec"):
        raise InputError(Problem("UNKNOWN_TIES", f"ties is {shown(ties)}; it must be 'input' or 'trec'."))
    with unpacking(max_bytes):
        judged, ranked = _read_both(Path(qrels), Path(run))
    frame = _frame(judged, ranked.frame, ties)
    table = coded([Table(run_name := ranked.source.name, frame, str)])[0][0]
    table = table.take(canonical_order(table))
    table = replace(table, frame=completed(table))
    warned = () if allow_disjoint else overlap(table, list_sep=None).warnings
    for words in warned:
        warnings.warn(words, InputWarning, stacklevel=2)
    lost = [t for t in judged.topics if t not in ranked.topics]
    unjudged = [t for t in ranked.topics if t not in judged.topics]
    return Run(
        queries=build(table),
        frame=written(table.frame),
        sources=(judged.source, ranked.source),
        left_out=MappingProxyType({"topics that are not in the qrels": len(unjudged)} if unjudged else {}),
        notes=(
            *warned,
            *_topics(run_name, lost, "judged topic", "not in the run, kept with an empty ranking"),
            *_topics(run_name, unjudged, "topic", "not in the qrels, left out"),
            _clusters(run_name, len(judged.topics)),
        ),
    )


def validate_trec(qrels: str | Path, run: str | Path, **options: Any) -> tuple[Problem, ...]:
    """List every problem that ``read_trec`` would raise with the same arguments; empty if the files are valid."""
    try:
        read_trec(qrels, run, **options)
    except InputError as error:
        return error.problems
    return ()


@dataclass(frozen=True, eq=False)
class _Trec:
    frame: pl.DataFrame  # topic, doc, value; of the qrels only what is relevant
    topics: dict[str, None]
    source: Source


def _read_both(qrels: Path, run: Path) -> tuple[_Trec, _Trec]:
    problems: list[Problem] = []
    read: list[_Trec] = []
    for role, path in (("qrels", qrels), ("trec_run", run)):
        try:
            read.append(_read(role, read_content(path)))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*problems)
    return read[0], read[1]


def _read(role: str, content: Content) -> _Trec:
    text = content.text()
    table = Table(content.name, _fields(text, role), _line)
    if not table.frame.height:
        raise refuse("EMPTY_FILE", f"{content.name}: 0 lines that are not blank. Write the file again.")
    if problems := _line_problems(table, role) + _doc_problems(table):
        raise InputError(*problems)
    topics = dict.fromkeys(table.frame["topic"].unique(maintain_order=True).to_list())
    kept = table.frame.select("topic", "doc", "value")
    if role == "qrels":
        kept = kept.filter(pl.col("value") >= 1)
    return _Trec(kept, topics, Source(role, content.name, content.sha256, table.frame.height))


def _line_problems(table: Table, role: str) -> list[Problem]:
    malformed = pl.col("topic").is_null()
    wrong = pl.col("value").cast(pl.Float64).is_finite().fill_null(False).not_() & malformed.not_()
    count, fields = len(_LAYOUTS[role]), " ".join(_LAYOUTS[role])
    value = "relevance is not a whole number" if role == "qrels" else "score is not a finite number"
    return [
        *table.problem("MALFORMED_LINE", malformed, count=count, fields=fields),
        *table.problem("WRONG_TREC_VALUE", wrong, value=value, count=count, fields=fields),
        *text_as_label(table, "topic"),
    ]


def _doc_problems(table: Table) -> list[Problem]:
    def key(row: int) -> str:
        return f"topic {shown(table.frame['topic'][row])}, document {shown(table.frame['doc'][row])}"

    whole = table.rows(pl.col("doc").is_not_null())
    topic, doc = (_numbered(table.frame[column]) for column in ("topic", "doc"))
    twice = whole[repeated(keys(topic, doc, int(doc.max(initial=0)) + 1))]
    return [
        *table.problem("DUPLICATE_DOCUMENT", twice, detail=key),
        *table.problem("BAR_IN_UID", pl.col("doc").str.contains("|", literal=True), place="the document number"),
    ]


def _numbered(column: pl.Series) -> Ints:
    return column.drop_nulls().cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)


def _fields(text: bytes, role: str) -> pl.DataFrame:
    """Topic, document and value of every line that is not blank; a malformed line has none of them."""
    parts, start, line, ascii_only = [], 0, 0, text.isascii()
    while start < len(text):
        end = text.find(b"\n", start + _BLOCK)
        end = len(text) if end < 0 else end
        piece = text[start:end]
        cells = _plain_cells(piece, line, role) if ascii_only else None
        if cells is None:
            lines = piece.decode().split("\n")
            if not ascii_only:  # then a gap may be any white space
                lines = [" ".join(line.split()) for line in lines]
            cells = _cells(lines, line, role)
        parts.append(cells)
        start, line = end + 1, line + piece.count(b"\n") + 1
    return pl.concat(parts)


def _plain_cells(piece: bytes, first: int, role: str) -> pl.DataFrame | None:
    """The same as ``_cells``, faster, where one space or one tab stands between all fields; None where that is not so."""
    separator = b"\t" if b"\t" in piece else b" "
    if any(odd in piece for odd in (b"\r", b"\v", b"\f")) or (separator == b"\t" and b" " in piece):
        return None
    layout, letters = (
        _LAYOUTS[role],
        np.frombuffer(piece.rstrip(b"\n"), np.uint8),
    )  # counted by numpy in a tenth of the time
    gap, end = letters == ord(separator), letters == ord("\n")
    lines, white = np.count_nonzero(end) + 1, gap | end
    if white[:1].any() or (white[1:] & white[:-1]).any() or np.count_nonzero(gap) != lines * (len(layout) - 1):
        return None
    read = [
        at for at, field in enumerate(layout) if field in _NAMED or field == layout[-1]
    ]  # with the last, all are there
    try:
        frame = pl.read_csv(
            piece, separator=separator.decode(), has_header=False, quote_char=None, infer_schema=False, columns=read
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.height != lines or frame.null_count().sum_horizontal().item():
        return None
    named = {_NAMED[layout[at]]: frame[:, place] for place, at in enumerate(read) if layout[at] in _NAMED}
    return _typed(pl.DataFrame(named).with_row_index(ROW, offset=first), role)


def _typed(cells: pl.DataFrame, role: str) -> pl.DataFrame:
    return cells.with_columns(pl.col("value").cast(pl.Int64 if role == "qrels" else pl.Float64, strict=False))


def _cells(lines: list[str], first: int, role: str) -> pl.DataFrame:
    fields = (f"(?P<{_NAMED[field]}>{_FIELD})" if field in _NAMED else _FIELD for field in _LAYOUTS[role])
    pattern = f"^(?:{_GAP})?{_GAP.join(fields)}(?:{_GAP})?$"
    frame = pl.Series("line", lines).to_frame().with_row_index(ROW, offset=first)
    cells = (
        frame.filter(pl.col("line").str.contains(_FIELD))
        .select(ROW, pl.col("line").str.extract_groups(pattern).alias("cells"))
        .unnest("cells")
    )
    return _typed(cells, role)


def _line(row: int) -> str:
    return f"line {row + 1}"


def _frame(judged: _Trec, run: pl.DataFrame, ties: str) -> pl.DataFrame:
    if ties == "trec":
        # trec_eval keeps scores as float32 and breaks ties by document number, both descending
        ordered = run.with_columns(pl.col("value").cast(pl.Float32)).sort("value", "doc", descending=True)
    else:
        ordered = run.sort("value", descending=True, maintain_order=True)
    gold, ranked = (
        frame.group_by("topic", maintain_order=True).agg(pl.col("doc").alias(f"{name}_sent_uids"))
        for name, frame in (("gold", judged.frame), ("ranked", ordered))
    )
    topics = pl.DataFrame({"topic": list(judged.topics)}, schema={"topic": pl.String})
    frame = topics.join(gold, on="topic", how="left", maintain_order="left").join(ranked, on="topic", how="left")
    ids = [pl.col("topic").alias("post_id"), pl.lit("").alias("criterion_id")]
    return frame.select(*ids, pl.col("gold_sent_uids", "ranked_sent_uids").fill_null([])).with_row_index(ROW)


def _topics(name: str, topics: list[str], unit: str, words: str) -> list[str]:
    return [f"{name}: {counted(len(topics), unit)} {words} (first: {shown(topics[0])})."] if topics else []


def _clusters(name: str, topics: int) -> str:
    """Posts are drawn in a bootstrap, and a topic stands for a post: topics that belong together are not known here."""
    size = f"{name}: {counted(topics, 'topic')}, each a cluster of its own"
    return f"{size}: intervals take topics for independent. Where topics share an author or a post, give a table with post_id."
