"""Sentences for the error browser: read from a file that somebody named, and only those of queries that went wrong.

No message of this module holds a text: a wrong column may hold nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.errors import InputError, Problem, counted, shown
from evidentia.report.page.errors import DEEPEST
from evidentia.report.page.pseudonyms import Aliases
from evidentia.tables.cells import unquoted
from evidentia.tables.files import Loaded, load

SENTENCES = "sentences"  # documents.jsonl of a corpus: {"post_id", "sentences": [{"sent_uid", "text"}, ...]}
COLUMNS = ("sent_uid", "text")
FORM = "Texts have the columns sent_uid and text, or are a corpus whose sentences have them."


def read_texts(path: Path) -> dict[str, str]:
    """The texts of sentences by uid: a table (CSV, JSONL, Parquet) of sent_uid and text, or a corpus of documents."""
    loaded = load(path)
    frame = _sentences(loaded)
    if frame["uid"].null_count():
        bad = frame.filter(pl.col("uid").is_null())
        raise _refused("MISSING_ID", loaded, f"{counted(bad.height, 'sentence')} without a sent_uid", bad)
    twice = frame.filter(pl.col("uid").is_duplicated() & ~pl.col("uid").is_first_distinct())
    if twice.height:
        raise _refused("DUPLICATE_UID", loaded, f"{counted(twice.height, 'sent_uid')} given again", twice)
    texts = frame.filter(pl.col("text").is_not_null() & (pl.col("text") != ""))
    return dict(texts.select("uid", "text").iter_rows())


def _sentences(loaded: Loaded) -> pl.DataFrame:
    """Row, uid and text of every sentence."""
    frame = loaded.frame.with_row_index("row")
    if SENTENCES in frame.columns and "sent_uid" not in frame.columns:
        _require(loaded, _fields(frame[SENTENCES].dtype), "sentences lack")
        frame = (
            frame.filter(pl.col(SENTENCES).list.len() > 0).select("row", SENTENCES).explode(SENTENCES).unnest(SENTENCES)
        )
    else:
        _require(loaded, set(frame.columns), "there is no column")
    for column in COLUMNS:
        if frame[column].dtype.is_nested() or frame[column].dtype in (pl.Binary, pl.Object):
            raise InputError(Problem("WRONG_TYPE", f"{loaded.name}: {column} does not hold plain values. {FORM}"))
    uid = frame["sent_uid"].cast(pl.String)
    uid = (unquoted(uid) if loaded.delimited else uid).alias("uid")
    sentences = frame.select("row", uid, pl.col("text").cast(pl.String))
    return sentences.with_columns(uid=pl.when(pl.col("uid").str.strip_chars() != "").then(pl.col("uid")))


def _fields(kind: pl.DataType) -> set[str]:
    """What the entries of a list of records hold; nothing where a column is not one."""
    if isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
        return {field.name for field in kind.inner.fields}
    return set()


def _require(loaded: Loaded, held: set[str], complaint: str) -> None:
    lacking = [column for column in COLUMNS if column not in held]
    if lacking:
        raise InputError(Problem("MISSING_COLUMN", f"{loaded.name}: {complaint} {' and '.join(lacking)}. {FORM}"))


def _refused(code: str, loaded: Loaded, complaint: str, bad: pl.DataFrame) -> InputError:
    uid = bad["uid"][0]
    named = "" if uid is None else f", {shown(uid)}"
    message = f"{loaded.name}: {complaint} (first: {loaded.place(int(bad['row'][0]))}{named})."
    return InputError(Problem(code, f"{message} Give every sentence once, under the uid that the run has for it."))


def texts_of(
    frame: pl.DataFrame, errors: Mapping[str, Any], aliases: Aliases, texts: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """The texts that the error browser shows, by post and sentence as the page names them.

    These are the gold, selected and first ranked sentences of queries that went wrong; texts of others stay out.
    """
    _some_match(frame, texts)
    by_post: dict[str, dict[str, str]] = {}
    columns = [
        column for column in ("gold_sent_uids", "selected_sent_uids", "ranked_sent_uids") if column in frame.columns
    ]
    wrong = frame[[row["q"] for row in errors.get("rows", ())]].select("post_id", *columns)
    for post, *cells in wrong.iter_rows():
        for column, cell in zip(columns, cells, strict=True):
            uids = cell.split("|") if cell else []
            for uid in uids[:DEEPEST] if column == "ranked_sent_uids" else uids:
                if uid in texts:
                    by_post.setdefault(aliases.post(post), {})[aliases.beside(uid, post)] = texts[uid]
    return by_post


def _some_match(frame: pl.DataFrame, texts: Mapping[str, str]) -> None:
    known = {
        uid
        for column in frame.columns
        if column.endswith("_sent_uids")
        for cell in frame[column]
        for uid in cell.split("|")
    }
    if known.isdisjoint(texts):
        raise InputError(
            Problem(
                "NO_TEXT_MATCHES",
                f"{counted(len(texts), 'sent_uid')} with a text, and none of them is a sentence of this result "
                f"({counted(len(known - {''}), 'sentence')}). Give the texts of its own sentences, under the uids that it has.",
            )
        )
