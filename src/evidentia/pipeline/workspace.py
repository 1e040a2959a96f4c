"""The folder of a run while it is at work: opened or continued, locked, swept, and left alone where it is somebody else's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from evidentia.errors import InputError, OutputError
from evidentia.pipeline.lock import acquire_lock
from evidentia.pipeline.progress import LOG
from evidentia.pipeline.store import Checkpoints, write_file
from evidentia.results import dumps, loads
from evidentia.results.folder import PARTIAL

WORK = "work"
STATE, LOCK = "state.json", "lock"
Note = Callable[[str], None]


def no_note(words: str) -> None:
    """Nobody listens."""


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
    (out / LOG).unlink(missing_ok=True)
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
