"""Partitions of posts, answered one after the other: each is a Parquet file and a record of what is in it, or is not there."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evidentia.corpus.documents import check_documents
from evidentia.corpus.post_files import Partition, PartitionReader
from evidentia.corpus.posts import Criterion, Posts
from evidentia.corpus.read import laid_out
from evidentia.errors import InputError
from evidentia.pipeline.predict import Trained, load_trained
from evidentia.pipeline.store import write_file
from evidentia.results import dumps, loads
from evidentia.tables.document import Faults
from evidentia.tables.queries import STATES

TOGETHER = 1_000  # posts that are answered at once: more are no faster, and take more memory
WORK = "work"
_CHANGED = "changed while it was read. Delete the folder of the answers and begin anew."


@dataclass(frozen=True, eq=False)
class ModelSource:
    """Where a trained pipeline is, what it may do, and the thresholds that it decides by if not by its own."""

    folder: Path
    permissions: Mapping[str, Any]
    thresholds: Path | None = None

    def load(self, *, keep_vectors: bool = True) -> Trained:
        """Read it."""
        trained = load_trained(self.folder, **self.permissions, keep_vectors=keep_vectors)
        if self.thresholds is None:
            return trained
        from evidentia.pipeline.retuning import under_thresholds
        from evidentia.protocol import read_tuning

        tuning, source = read_tuning(self.thresholds)
        return under_thresholds(trained, tuning, name=source.name)


@dataclass(frozen=True, eq=False)
class AnswerJob:
    """Partitions by their numbers, and all that decides what the answers are; ``model`` is what ``model_identity`` says."""

    source: ModelSource
    model: Mapping[str, str]
    files: Sequence[Path]
    partitions: Sequence[tuple[int, Partition]]
    splitter: str
    texts: bool
    folder: Path


def model_identity(trained: Trained) -> dict[str, str]:
    """Which model it is, and by which thresholds it decides."""
    return {"sha256": trained.sha256, "thresholds_sha256": sha256(dumps(trained.thresholds).encode()).hexdigest()}


def part_name(number: int) -> str:
    """The file of a partition."""
    return f"part-{number:05d}.parquet"


def record_of(folder: Path, number: int) -> dict[str, Any] | None:
    """What is known of a partition that was answered; None where it was not, or its file is not what was written."""
    try:
        record: dict[str, Any] = loads(_record_path(folder, number).read_bytes())
        content = (folder / part_name(number)).read_bytes()
        return record if record["sha256"] == sha256(content).hexdigest() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _record_path(folder: Path, number: int) -> Path:
    return folder / WORK / f"part-{number:05d}.json"


def answer_in_worker(job: AnswerJob) -> None:
    """In a process of its own: load the model, and answer."""
    trained = job.source.load(keep_vectors=False)
    if model_identity(trained) != job.model:
        raise InputError(f"{job.source.folder.resolve().name} changed while it was used. Continue with --resume.")
    answer(trained, job)


def answer(trained: Trained, job: AnswerJob, look: Callable[[], None] | None = None) -> None:
    """Answer partitions one after the other, with a look at each that is written.

    The linear algebra keeps to one thread, so bytes do not depend on cores.
    """
    import sklearn.ensemble  # noqa: F401 - a limit only holds for libraries that are there when it is set
    from threadpoolctl import threadpool_limits

    reader = PartitionReader(list(job.files))
    try:
        with threadpool_limits(limits=1):
            for number, partition in job.partitions:
                posts, cut = _posts(reader, partition, trained.criteria, job.splitter)
                _write(job.folder, number, trained, posts, cut, texts=job.texts)
                if look is not None:
                    look()
    finally:
        reader.close()


def _posts(
    reader: PartitionReader, partition: Partition, criteria: Sequence[Criterion], splitter: str
) -> tuple[Posts, str | None]:
    """The posts of a partition, and what cut them, if any were cut."""
    name = reader.paths[partition.file].name
    faults = Faults(name)
    documents = check_documents(reader.records(partition, faults), splitter, faults)
    if documents.problems:
        raise InputError(*documents.problems)
    if len(documents.post_ids) != partition.posts:
        raise InputError(f"{name} {_CHANGED}")
    return laid_out(documents, criteria), splitter if documents.cut else None


def _write(folder: Path, number: int, trained: Trained, posts: Posts, cut: str | None, *, texts: bool) -> None:
    """Answer the posts of a partition; its record is written last, and vouches for the file."""
    starts = range(0, len(posts), TOGETHER)
    chunks = (posts.take(np.arange(start, min(start + TOGETHER, len(posts)))) for start in starts)
    rows = pl.concat([trained.rows(chunk, texts=texts) for chunk in chunks])
    content = packed(rows)
    counts = dict(rows["state"].value_counts().iter_rows())
    record = {
        "sha256": sha256(content).hexdigest(),
        "posts": len(posts),
        "queries": rows.height,
        "states": {state: counts.get(state, 0) for state in STATES},
        "learnt_from": trained.seen(posts),
        "warnings": list(trained.differences(posts, cut)),
    }
    write_file(folder / part_name(number), content)
    write_file(_record_path(folder, number), dumps(record).encode())


def packed(rows: pl.DataFrame) -> bytes:
    """Answers as Parquet."""
    buffer = io.BytesIO()
    rows.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
