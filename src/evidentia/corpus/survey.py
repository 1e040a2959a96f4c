"""A first look at files of posts that are larger than memory: every record is checked before the first is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.array_types import Bools
from evidentia.corpus.documents import OTHER_POST, SAME_POST, Documents, check_documents
from evidentia.corpus.post_files import Partition, PartitionReader, partitions
from evidentia.corpus.records import Record
from evidentia.errors import InputError, Problem, shown
from evidentia.tables.document import Faults, Kind
from evidentia.tables.kinds import refusal

Hashes = NDArray[np.uint64]
Keys = Callable[[Record], Iterator[tuple[str, str]]]


def survey(paths: Sequence[Path], posts: int) -> tuple[Partition, ...]:
    """Part files of posts into partitions, and check every record; all problems of all files are raised together.

    Ids of posts and given uids of sentences must be unique over all files: eight bytes are kept of each until the end.
    """
    look = _Survey(list(paths))
    for number, path in enumerate(paths):
        look.over(number, path, posts)
    if not look.partitions and not look.problems:
        raise refusal("EMPTY_FILE", name=paths[0].name)
    if not look.problems:
        look.repeated()
    if look.problems:
        raise InputError(*look.problems)
    return tuple(look.partitions)


@dataclass(eq=False)
class _Survey:
    """What has been looked at: the partitions, what is wrong, and hashes of the ids of each partition."""

    paths: list[Path]
    partitions: list[Partition] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    posts: list[Hashes] = field(default_factory=list)
    uids: list[Hashes] = field(default_factory=list)

    def over(self, number: int, path: Path, posts: int) -> None:
        """Look at a whole file."""
        faults = Faults(path.name)
        try:
            for partition, records in partitions(number, path, posts, faults):
                documents = check_documents(records, None, faults)
                self.partitions.append(partition)
                self.posts.append(_hashes(documents.post_ids))
                self.uids.append(_hashes(_given(documents)))
        except InputError as error:
            self.problems.extend(error.problems)
        self.problems.extend(faults.problems)

    def repeated(self) -> None:
        """Note ids that come again in another partition; within one they were found already."""
        for hashes, kind, keys in ((self.posts, SAME_POST, _post_keys), (self.uids, OTHER_POST, _uid_keys)):
            suspected = _partitions_with_repeats(hashes)
            if suspected.any():
                self._confirm(suspected, kind, keys)

    def _confirm(self, suspected: Bools, kind: Kind, keys: Keys) -> None:
        """Read partitions again whose hashes agree with others, and note the ids that do."""
        seen: set[str] = set()
        by_file: Mapping[int, Faults] = {number: Faults(path.name) for number, path in enumerate(self.paths)}
        reader = PartitionReader(self.paths)
        for at in np.flatnonzero(suspected).tolist():
            partition = self.partitions[at]
            faults = by_file[partition.file]
            for record in reader.records(partition, faults):
                for key, place in keys(record):
                    if key in seen:
                        faults.add(kind, place)
                    seen.add(key)
        reader.close()
        self.problems.extend(problem for faults in by_file.values() for problem in faults.problems)


def _hashes(ids: Sequence[str]) -> Hashes:
    return pl.Series(ids, dtype=pl.String).hash().to_numpy()


def _given(documents: Documents) -> list[str]:
    """The uids that came with the posts; those of texts that are cut follow from the ids of their posts."""
    return [uid for uid, start in zip(documents.sent_uids, documents.starts, strict=True) if start < 0]


def _partitions_with_repeats(hashes: Sequence[Hashes]) -> Bools:
    """Which partitions share a hash with another, or with themselves."""
    together = np.concatenate(hashes)
    order = np.argsort(together, kind="stable")
    same = together[order][1:] == together[order][:-1]
    owner = np.repeat(np.arange(len(hashes)), [len(each) for each in hashes])
    suspected = np.zeros(len(hashes), dtype=np.bool_)
    suspected[owner[order[1:][same]]] = True
    suspected[owner[order[:-1][same]]] = True
    return suspected


def _post_keys(record: Record) -> Iterator[tuple[str, str]]:
    post = str(record.members["post_id"])
    yield post, f"{record.place}, post {shown(post)}"


def _uid_keys(record: Record) -> Iterator[tuple[str, str]]:
    post = shown(str(record.members["post_id"]))
    for at, sentence in enumerate(record.members.get("sentences") or (), 1):
        uid = str(sentence["sent_uid"])
        yield uid, f"{record.place}, post {post}, sentence {at}, uid {shown(uid)}"
