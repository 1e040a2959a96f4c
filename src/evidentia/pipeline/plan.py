"""What is to be run, and where it is kept meanwhile: folds, the folder of a run, and whether it is the same run again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.corpus import Posts
from evidentia.errors import InputError, OutputError
from evidentia.pipeline.fold import Division
from evidentia.pipeline.lock import acquire_lock
from evidentia.pipeline.store import Checkpoints, write_file
from evidentia.pipeline.system import System
from evidentia.pipeline.work import Job, Progress, run_jobs
from evidentia.protocol import outer_folds
from evidentia.protocol.folds import Folds, InnerSplit
from evidentia.protocol.near_duplicates import text_groups
from evidentia.results import dumps, loads
from evidentia.results.folder import PARTIAL

FINAL = "final"
WORK = "work"
STATE, LOCK = "state.json", "lock"
Note = Callable[[str], None]


def no_note(words: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be run: the system, the posts with their gold, the folds, and whether a model for use is wanted too."""

    system: System
    posts: Posts
    folds: Folds
    final: bool = True

    @classmethod
    def of(cls, system: System, posts: Posts, *, folds: int, group_copies: bool = True, final: bool = True) -> Plan:
        """Deal the posts into folds; posts of the same or nearly the same text are never parted."""
        texts = [
            " ".join(posts.texts[start:stop]) for start, stop in zip(posts.offsets, posts.offsets[1:], strict=False)
        ]
        groups = text_groups(texts) if group_copies else None
        dealt = outer_folds(posts.post_ids, seed=system.seed, folds=folds, groups=groups)
        return cls(system, posts, dealt, final)

    def divisions(self) -> list[Division]:
        """The posts of every fold, and of the model for use."""
        splits = self.folds.splits()
        if self.final:
            splits += (self.folds.whole(FINAL),)
        return [self._division(split, code) for code, split in enumerate(splits)]

    def _division(self, split: InnerSplit, code: int) -> Division:
        groups = dict(zip(self.folds.post_ids, self.folds.group.tolist(), strict=True))
        seed = [self.system.seed, code, 1]
        return Division.of(split, self.posts, parts=self.system.cross_fit, seed=seed, groups=groups)


def identity(plan: Plan, config: Mapping[str, Any], means: Sequence[Any]) -> str:
    """A hash of everything that decides the outcome: configuration, posts, labels, and by what means."""
    posts = plan.posts
    assert posts.gold is not None
    encoded = json.dumps([means, config, plan.folds.seed, plan.final], sort_keys=True)
    digest = hashlib.sha256(encoded.encode())
    for part in (posts.post_ids, posts.sent_uids, posts.texts, [str(criterion) for criterion in posts.criteria]):
        digest.update(json.dumps(part).encode())
    digest.update(posts.offsets.tobytes() + np.packbits(posts.gold).tobytes())
    return digest.hexdigest()


def start(out: Path, mark: str, *, resume: bool, note: Note = no_note) -> Checkpoints:
    """Open the folder of a run: a new one, or with ``resume`` one that was begun with the same configuration and corpus.

    The folder is locked until the result is released. What is refused is left as it was.
    """
    _refuse(out, mark, resume=resume)
    lock = acquire_lock(out / WORK / LOCK)
    try:
        _refuse(out, mark, resume=resume)  # somebody may have been faster
        if not (out / WORK / STATE).is_file():
            write_file(out / WORK / STATE, dumps({"schema": "evidentia.work/1", "identity": mark}).encode())
        sweep(out)
        store = Checkpoints(out / WORK, lock)
        for step in store.discard_damaged():
            note(f"{WORK}/{step} is damaged and is done again.")
    except BaseException:
        lock.release()
        raise
    return store


def _refuse(out: Path, mark: str, *, resume: bool) -> None:
    name, state = out.resolve().name, out / WORK / STATE
    if not out.is_dir():
        if out.exists() or out.is_symlink():
            raise OutputError(f"{name} exists and is not a folder. Choose another folder with -o.")
    elif state.is_file():
        if not resume:
            raise OutputError(
                f"{name} holds a run that was begun. Continue it with --resume, or choose another folder with -o."
            )
        known = _mark_of(state)
        if known is None:
            raise InputError(
                f"{name}/{WORK}/{STATE} cannot be read. Delete {name} and begin anew, or choose another folder with -o."
            )
        if known != mark:
            raise InputError(
                f"{name} was begun with another configuration, corpus or version. Delete it to begin anew, or choose another "
                "folder with -o."
            )
    elif not _is_empty(out):
        raise OutputError(f"{name} exists and is not empty. Choose another folder with -o.")


def _is_empty(out: Path) -> bool:
    """Whether there is nothing, or only what a run leaves that was stopped as it opened the folder."""
    work = out / WORK
    try:
        if any(path != work for path in out.iterdir()):
            return False
        return not work.exists() or all(path.name == LOCK or path.name.endswith(PARTIAL) for path in work.iterdir())
    except OSError as error:
        raise OutputError(
            f"Cannot read {out.resolve().name}: {error.strerror}. Choose another folder with -o."
        ) from None


def abandon(out: Path) -> None:
    """Remove the folder of a run that did nothing, so that it does not stand in the way of the next."""
    shutil.rmtree(out / WORK, ignore_errors=True)
    with suppress(OSError):  # it holds something, or is not ours to remove
        out.rmdir()


def sweep(out: Path) -> None:
    """Remove what was being written when a run was killed."""
    for path in list(out.rglob(f".*{PARTIAL}")):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _mark_of(state: Path) -> str | None:
    try:
        return str(loads(state.read_bytes())["identity"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def compute(plan: Plan, store: Checkpoints, *, workers: int, progress: Progress | None = None) -> None:
    """Run all folds; what is kept is not done again."""
    jobs = [Job(plan.system, plan.posts, division, store) for division in plan.divisions()]
    run_jobs(jobs, workers=workers or min(os.cpu_count() or 1, len(jobs)), progress=progress)
