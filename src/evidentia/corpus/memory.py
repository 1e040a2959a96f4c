"""Posts in memory, checked like those of a file: texts, objects as the lines of a documents.jsonl, or a table of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.corpus.documents import check_documents
from evidentia.corpus.posts import Criterion, Posts
from evidentia.corpus.read import laid_out
from evidentia.corpus.records import Record
from evidentia.corpus.rows import rows_of_posts, with_uids
from evidentia.corpus.splitter import DEFAULT, check_name
from evidentia.errors import InputError
from evidentia.tables.document import Faults, Kind
from evidentia.tables.frames import frame_of
from evidentia.tables.kinds import refusal

NAME = "posts"
_NO_POST = Kind(
    "WRONG_TYPE", "post", "that is neither a text nor an object", "Give texts, or objects with post_id and text."
)


@dataclass(frozen=True, eq=False)
class LoadedPosts:
    """Posts as they were given. ``starts`` says where in its text each sentence begins, -1 where sentences were given."""

    posts: Posts
    starts: tuple[int, ...]
    splitter: str | None

    def __len__(self) -> int:
        return len(self.posts)


def posts_in_memory(
    entries: Sequence[object], *, criteria: Sequence[Criterion], splitter: str = DEFAULT
) -> LoadedPosts:
    """Check posts that are to be asked about criteria. A text without an id is known by its number, from 0."""
    check_name(splitter)
    if isinstance(entries, str | bytes | Mapping) or not isinstance(entries, Sequence):
        raise InputError("Give a list of posts: texts, or objects with post_id and text (or sentences).")
    faults = Faults(NAME)
    documents = check_documents(_records(entries, faults), splitter, faults)
    if documents.problems:
        raise InputError(*documents.problems)
    return LoadedPosts(laid_out(documents, criteria), tuple(documents.starts), splitter if documents.cut else None)


def rows_in_memory(frame: object) -> list[dict[str, Any]]:
    """The rows of a table of polars, pandas or whoever speaks Arrow, as posts; it needs post_id, and text or sentences."""
    table = frame_of(frame)
    if not table.height:
        raise refusal("NO_ROWS", name=NAME)
    return list(rows_of_posts(table, NAME))


def _records(entries: Sequence[object], faults: Faults) -> Iterator[Record]:
    for number, post in enumerate(entries, 1):
        if isinstance(post, str):
            yield Record(number, {"post_id": str(number - 1), "text": post}, "post")
        elif isinstance(post, Mapping):
            yield Record(number, with_uids(post), "post")
        else:
            faults.add(_NO_POST, f"post {number}")
