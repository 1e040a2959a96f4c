"""A folder of answers about any number of posts: begun, continued after a kill, and complete once its manifest is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evidentia.corpus.post_files import Partition, PostFile, hashed, post_files
from evidentia.corpus.splitter import check_name
from evidentia.corpus.survey import survey
from evidentia.errors import InputError, OutputError
from evidentia.pipeline.answering import (
    WORK,
    AnswerJob,
    ModelSource,
    answer,
    answer_in_worker,
    model_identity,
    part_name,
    record_of,
)
from evidentia.pipeline.lock import acquire_lock
from evidentia.pipeline.predict import Trained
from evidentia.pipeline.reuse import COMPUTES, versions_of
from evidentia.pipeline.store import write_file
from evidentia.pipeline.workspace import abandon, sweep
from evidentia.protocol.answer_parts import MANIFEST, THRESHOLDS
from evidentia.results import dumps_by_line, loads
from evidentia.results.folder import another_folder
from evidentia.tables.queries import STATES
from evidentia.workers import in_processes

PARTITION = 10_000  # posts
PLAN, LOCK = f"{WORK}/plan.json", "lock"
SCHEMA = "evidentia.answers/1"
_IDENTITY = {"model": "another model", "posts": "other posts", "options": "other options", "versions": "other versions"}


@dataclass(frozen=True, eq=False)
class Answering:
    """What is to be answered by what, and where to."""

    source: ModelSource
    trained: Trained
    files: Sequence[PostFile]
    splitter: str
    texts: bool
    partition: int
    out: Path

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides the answers and how they are divided."""
        options = {"partition": self.partition, "splitter": self.splitter, "texts": self.texts}
        posts = [{"name": file.path.name, "bytes": file.size, "sha256": file.sha256} for file in self.files]
        versions = versions_of((*COMPUTES, "polars", self.splitter))
        return {"model": model_identity(self.trained), "posts": posts, "options": options, "versions": versions}

    @property
    def paths(self) -> list[Path]:
        """Where the posts are."""
        return [file.path for file in self.files]


def answer_into_folder(
    source: ModelSource,
    trained: Trained,
    posts: Path | str,
    out: Path | str,
    *,
    splitter: str,
    texts: bool = False,
    partition: int = PARTITION,
    workers: int = 0,
    resume: bool = False,
    force: bool = False,
    look: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Answer posts of any number into ``out/part-00000.parquet``, ... and return the manifest, which says that all are there.

    ``trained`` is what ``source`` loads; every worker loads it again (0: one worker for every core). All posts are checked
    before the first is answered. What was killed goes on with ``resume``, if nothing has changed, and ends in the same bytes.
    """
    check_name(splitter)
    if partition < 1 or workers < 0:
        raise InputError("Give --partition a whole number from 1 on, and --workers one from 0 on.")
    out = Path(out)
    _refuse(out, resume=resume, force=force)
    files = [hashed(path) for path in post_files(posts)]
    work = Answering(source, trained, files, splitter, texts, partition, out)
    lock = acquire_lock(out / WORK / LOCK)
    try:
        _refuse(out, resume=resume, force=force)  # somebody may have been faster
        return _answered(work, workers=workers, resume=resume, look=look or _no_look)
    finally:
        lock.release()


def _answered(work: Answering, *, workers: int, resume: bool, look: Callable[[int, int], None]) -> dict[str, Any]:
    """The manifest of a folder in which all is there that was missing."""
    partitions = _begun(work) if resume else None
    if partitions is None and resume and (done := _read(work, MANIFEST)) is not None:
        shutil.rmtree(work.out / WORK, ignore_errors=True)
        return done
    if partitions is None:
        partitions = _begin(work)
    (work.out / MANIFEST).unlink(missing_ok=True)
    _answer(work, partitions, workers=workers, look=look)
    return _finish(work, partitions)


def _no_look(done: int, total: int) -> None:
    """Nobody watches."""


def _refuse(out: Path, *, resume: bool, force: bool) -> None:
    """Leave alone what is no folder of answers, and a folder of answers unless it may be continued or replaced."""
    name = out.resolve().name
    if not out.is_dir():
        if out.exists() or out.is_symlink():
            raise OutputError(f"{name} exists and is not a folder. {another_folder()}.")
        return
    there = set(os.listdir(out))
    if not there or (there == {WORK} and not (out / PLAN).exists()):
        return  # stopped before it began
    if not ((out / MANIFEST).is_file() or (out / PLAN).is_file()):
        raise OutputError(f"{name} holds other files. {another_folder()}.")
    if not (resume or force):
        raise OutputError(
            f"{name} holds answers already. Continue them with --resume, replace them with --force, or choose another "
            "folder with -o."
        )


def _read(work: Answering, path: str) -> dict[str, Any] | None:
    """A document of the folder, if it is there; refused where the answers were begun with something else."""
    name, place = work.out.resolve().name, work.out / path
    if not place.is_file():
        return None
    try:
        document: dict[str, Any] = loads(place.read_bytes())
        others = [words for key, words in _IDENTITY.items() if document[key] != work.identity[key]]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{name}/{path} cannot be read. Begin anew with --force.") from None
    if others:
        raise InputError(
            f"{name} was begun with {', '.join(others)}. Continue with what it was begun with, begin anew with --force, or "
            "choose another folder with -o."
        )
    return document


def _begun(work: Answering) -> tuple[Partition, ...] | None:
    """The partitions of a folder that was begun."""
    plan = _read(work, PLAN)
    return None if plan is None else tuple(Partition(**each) for each in plan["partitions"])


def _begin(work: Answering) -> tuple[Partition, ...]:
    """Check all posts, and write down what is going to be done."""
    out = work.out
    try:
        partitions = survey(work.paths, work.partition)
    except BaseException:
        if not (out / PLAN).exists():
            abandon(out)
        raise
    for path in (out / WORK).glob("part-*.json"):  # they vouch for parts of other answers
        path.unlink()
    plan = {"schema": SCHEMA, **work.identity, "partitions": [asdict(each) for each in partitions]}
    write_file(out / PLAN, dumps_by_line(plan, ("posts", "partitions")).encode())
    return partitions


def _answer(
    work: Answering, partitions: Sequence[Partition], *, workers: int, look: Callable[[int, int], None]
) -> None:
    """Answer what is missing."""
    sweep(work.out)
    left = [(at, partition) for at, partition in enumerate(partitions) if record_of(work.out, at) is None]
    workers = min(workers or os.cpu_count() or 1, len(left))

    def job(some: Sequence[tuple[int, Partition]]) -> AnswerJob:
        known = model_identity(work.trained)
        return AnswerJob(work.source, known, work.paths, some, work.splitter, work.texts, work.out)

    def count() -> None:
        look(len(list((work.out / WORK).glob("part-*.json"))), len(partitions))

    count()
    if workers > 1:
        jobs = [job(left[at::workers]) for at in range(workers)]
        in_processes(answer_in_worker, jobs, workers=workers, look=count)
    else:
        answer(work.trained, job(left), count)


def _finish(work: Answering, partitions: Sequence[Partition]) -> dict[str, Any]:
    """Write the manifest, and remove what only served to continue."""
    changed = [file.path.name for file in work.files if not file.is_unchanged]
    if changed:
        raise InputError(f"{changed[0]} changed while it was read. Begin anew with --force.")
    records = [record_of(work.out, at) for at in range(len(partitions))]
    found = [record for record in records if record is not None]
    if len(found) < len(records):
        raise OutputError(f"A part of {work.out.resolve().name} was changed meanwhile. Continue with --resume.")
    for path in set(work.out.glob("part-*.parquet")) - {work.out / part_name(at) for at in range(len(records))}:
        path.unlink()  # of the answers that were replaced
    write_file(work.out / THRESHOLDS, dumps_by_line(work.trained.thresholds, ("folds", "inputs")).encode())
    manifest = {"schema": SCHEMA, **work.identity, **_totals(found), "parts": _parts(work, partitions, found)}
    write_file(work.out / MANIFEST, dumps_by_line(manifest, ("posts", "parts")).encode())
    shutil.rmtree(work.out / WORK, ignore_errors=True)
    return manifest


def _totals(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = {key: sum(record[key] for record in records) for key in ("queries", "learnt_from")}
    states = {state: sum(record["states"][state] for record in records) for state in STATES}
    return {"answered": sum(record["posts"] for record in records), **counts, "states": states}


def _parts(
    work: Answering, partitions: Sequence[Partition], records: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Of every part its file, its hash, and the posts that it is about."""
    return [
        {
            "name": part_name(at),
            "sha256": record["sha256"],
            "posts": record["posts"],
            "of": work.paths[partition.file].name,
            "from": partition.first,
            "warnings": record["warnings"],
        }
        for at, (partition, record) in enumerate(zip(partitions, records, strict=True))
    ]
