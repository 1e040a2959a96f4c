"""Read a corpus: three files, checked in one pass, and every problem raised together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.array_types import Bools
from evidentia.corpus.criteria import Criteria, parse_criteria
from evidentia.corpus.documents import Documents, check_documents, read_documents
from evidentia.corpus.labels import parse_labels
from evidentia.corpus.posts import Criterion, Posts
from evidentia.corpus.rows import row_records
from evidentia.corpus.splitter import DEFAULT, check_name
from evidentia.errors import InputError, Problem
from evidentia.tables.document import Faults
from evidentia.tables.files import PARQUET, Content, load, load_parquet, read_content
from evidentia.tables.run import Source

DOCUMENTS, CRITERIA, LABELS = "documents.jsonl", "criteria.jsonl", "labels.csv"


@dataclass(frozen=True, eq=False)
class Corpus:
    """A corpus that was read and checked. ``splitter`` is None where all sentences were given."""

    posts: Posts = field(repr=False)
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    splitter: str | None = None

    def __len__(self) -> int:
        return len(self.posts)


def read_corpus(folder: Path | str, *, splitter: str = DEFAULT, labels: bool = True) -> Corpus:
    """Read and check a folder with documents.jsonl, criteria.jsonl and labels.csv, each also gzipped.

    Posts that have a text instead of sentences are cut by the ``splitter``. With ``labels=False`` the labels are neither
    needed nor read, and there is no gold. All problems that one pass can find are raised together in one InputError.
    """
    check_name(splitter)  # a wrong name should not cost the reading
    folder = Path(folder)
    if not folder.is_dir():
        message = f"{folder}: no such folder. Name a folder with {DOCUMENTS}, {CRITERIA} and {LABELS}."
        raise InputError(Problem("MISSING_FOLDER", message))
    reader = _CorpusReader(folder, splitter)
    documents, criteria = reader.documents(), reader.criteria()
    gold = reader.gold(documents, criteria) if labels else None
    if reader.problems or documents is None or criteria is None:
        raise InputError(*reader.problems)
    return reader.corpus(documents, criteria.criteria, gold)


def read_posts(path: Path | str, *, criteria: Sequence[Criterion], splitter: str = DEFAULT) -> Corpus:
    """Read and check posts alone, to be asked about the given criteria: a documents.jsonl, or a folder that holds one.

    A Parquet file with the columns post_id, and text or sentences, holds posts too.
    """
    check_name(splitter)
    path = Path(path)
    reader = _CorpusReader(path, splitter)
    documents = reader.documents() if path.is_dir() else reader.documents(path)
    if reader.problems or documents is None:
        raise InputError(*reader.problems)
    return reader.corpus(documents, tuple(criteria), None)


def read_criteria(path: Path | str) -> tuple[Criterion, ...]:
    """Read and check criteria alone: a criteria.jsonl, or a folder that holds one."""
    path = Path(path)
    reader = _CorpusReader(path, "lines")
    criteria = reader.criteria() if path.is_dir() else reader.criteria(path)
    if reader.problems or criteria is None:
        raise InputError(*reader.problems)
    return criteria.criteria


def validate_corpus(folder: Path | str, **options: Any) -> tuple[Problem, ...]:
    """Every problem that read_corpus would raise, given the same arguments; empty if the corpus is fine."""
    try:
        read_corpus(folder, **options)
    except InputError as error:
        return error.problems
    return ()


@dataclass(frozen=True, eq=False)
class _CorpusReader:
    """Reads one file after the other, and keeps what was wrong with them for the end."""

    folder: Path
    splitter: str
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Keep what is wrong with a file, and go on."""
        try:
            yield
        except InputError as error:
            self.problems.extend(error.problems)

    def _note(self, role: str, content: Content, rows: int, parsed: Documents | Criteria) -> None:
        self.sources.append(Source(role, content.name, content.sha256, rows))
        self.problems.extend(parsed.problems)
        self.notes.extend(parsed.notes)

    def documents(self, path: Path | None = None) -> Documents | None:
        with self._noting():
            content = read_content(path or find(self.folder, DOCUMENTS))
            documents = _documents(content, self.splitter)
            self._note("documents", content, len(documents.post_ids), documents)
            return documents
        return None

    def criteria(self, path: Path | None = None) -> Criteria | None:
        with self._noting():
            content = read_content(path or find(self.folder, CRITERIA))
            criteria = parse_criteria(content)
            self._note("criteria", content, len(criteria.criteria), criteria)
            return criteria
        return None

    def gold(self, documents: Documents | None, criteria: Criteria | None) -> Bools | None:
        with self._noting():
            loaded = load(find(self.folder, LABELS))
            self.sources.append(Source("labels", loaded.name, loaded.sha256, loaded.frame.height))
            if documents is not None and criteria is not None:
                labels = parse_labels(loaded, documents, criteria)
                self.problems.extend(labels.problems)
                return labels.gold
        return None

    def corpus(self, documents: Documents, criteria: tuple[Criterion, ...], gold: Bools | None) -> Corpus:
        posts = laid_out(documents, criteria, gold)
        return Corpus(posts, tuple(self.sources), tuple(self.notes), self.splitter if documents.cut else None)


def _documents(content: Content, splitter: str) -> Documents:
    if content.data[:4] != PARQUET:
        return read_documents(content, splitter)
    table = load_parquet(content).frame
    return check_documents(row_records(table, content.name), splitter, Faults(content.name))


def laid_out(documents: Documents, criteria: Sequence[Criterion], gold: Bools | None = None) -> Posts:
    """Posts that were checked, flat."""
    return Posts(
        post_ids=tuple(documents.post_ids),
        sent_uids=tuple(documents.sent_uids),
        texts=tuple(documents.texts),
        offsets=np.concatenate([[0], np.cumsum(documents.lengths, dtype=np.int64)]),
        criteria=tuple(criteria),
        gold=gold,
    )


def find(folder: Path, name: str) -> Path:
    """The file of this name in a folder, plain or gzipped; one of them must be there, and not both."""
    plain, packed = folder / name, folder / f"{name}.gz"
    there = [path for path in (plain, packed) if path.exists()]
    if not there:
        raise InputError(Problem("MISSING_FILE", f"{plain}: no such file. Check the name and the folder."))
    if len(there) > 1:
        message = f"{folder.name}: both {plain.name} and {packed.name}. Keep the one that is right."
        raise InputError(Problem("TWO_FILES", message))
    return there[0]
