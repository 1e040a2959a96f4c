"""Posts as the rows of a table: post_id, and a text or a list of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from evidentia.corpus.records import Record
from evidentia.errors import InputError

_COLUMNS = ("post_id", "text", "sentences")


def columns_of(names: list[str], source: str) -> list[str]:
    """The columns that say what a post is; an InputError where they are not there."""
    there = [column for column in _COLUMNS if column in names]
    missing = "post_id" if "post_id" not in there else "text" if len(there) == 1 else None
    if missing:
        raise InputError(f"{source}: no column {missing}. The table needs post_id, and text or sentences.")
    return there


def rows_of_posts(table: pl.DataFrame, source: str) -> Iterator[dict[str, Any]]:
    """Each post as an object; what is null is left out."""
    rows = table.select(columns_of(table.columns, source)).iter_rows(named=True)
    return ({name: value for name, value in row.items() if value is not None} for row in rows)


def row_records(table: pl.DataFrame, source: str, first: int = 1) -> Iterator[Record]:
    """Each post as a record that knows its row; sentences that are plain texts get uids."""
    rows = enumerate(rows_of_posts(table, source), first)
    return (Record(number, with_uids(row), "row") for number, row in rows)


def with_uids(post: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with sentences that are plain texts numbered from 0, as those of a text that is cut here."""
    sentences = post.get("sentences")
    if not isinstance(sentences, list | tuple):
        return post
    named = [
        {"sent_uid": f"{post.get('post_id')}_{at}", "text": each} if isinstance(each, str) else each
        for at, each in enumerate(sentences)
    ]
    return {**post, "sentences": named}
