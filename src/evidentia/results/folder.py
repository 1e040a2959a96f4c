"""Folders and files that are written all or nothing: filled under another name beside their place, and renamed at the end.

The hidden name is locked while its command lives: what a command left that was killed is cleared away by the next one.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from evidentia.errors import InputError, OutputError, spelled
from evidentia.results.locking import is_at, try_lock

TABLES_MANIFEST_SCHEMA = "evidentia.tables-manifest/2"
TABLES_COMPARISON_SCHEMA = "evidentia.tables-comparison-manifest/1"  # of results whose rows stayed in tables
PARTIAL = ".partial"  # ends the hidden name of what is being written
_OLD = ".old"  # before the random part: holds what is being replaced
_LEFTOVER = re.compile(r"\..+\.[a-z0-9_]{8}\.partial", re.DOTALL)
_LONGEST = 150  # bytes of a name that a hidden name takes over: 255 are allowed, and it gets longer


def refuse_without_rows(folder: Path, manifest: Mapping[str, object]) -> None:
    """Refuse a result whose rows stayed in the tables that it was made of: nothing can be computed from it again."""
    if manifest.get("schema") == TABLES_MANIFEST_SCHEMA:
        raise InputError(
            f"{folder.resolve().name} was read block by block, and its rows are not in the folder: it cannot be drawn, "
            "tabulated, explained or compared with one that has them. For that, evaluate files in memory, "
            f"{spelled('without --memory, --engine, --workers and --scratch', 'with evaluate')}."
        )
    if manifest.get("schema") == TABLES_COMPARISON_SCHEMA:
        raise InputError(
            f"{folder.resolve().name} compares results whose rows stayed in tables, and no page is drawn of it: its numbers are in "
            "comparison.json and tables."
        )


def another_folder(*, replaceable: bool = False) -> str:
    """What to do where a folder cannot be written, in the words of the command or of Python."""
    more = spelled(", or replace it with --force", ", or give force=True to replace it") if replaceable else ""
    return f"{spelled('Choose another folder with -o', 'Choose another folder')}{more}"


def replace_folder(folder: Path, fill: Callable[[Path], None], *, force: bool) -> None:
    """Let ``fill`` write into a temporary folder beside ``folder`` and move it into place; on failure nothing changes.

    Whether what is there may be replaced is for the caller to say, before. Without ``force`` nothing is: where another
    command has written the folder meanwhile, that is an OutputError.
    """
    folder = folder.resolve()
    with ExitStack() as stack:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            clear_leftovers(folder.parent, folders=True)
            temporary = stack.enter_context(_temporary_folder(folder))
        except OSError as error:
            raise OutputError(f"Cannot write beside {folder.name}: {error.strerror}. {another_folder()}.") from None
        try:
            fill(temporary)
            temporary.chmod(0o777 & ~_umask())
            (_swap if force else _place)(temporary, folder)
        except OSError as error:
            raise OutputError(f"Writing {folder.name} failed: {error.strerror}. Nothing was changed.") from None


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under a hidden name and move it into place; an OSError leaves what was there.

    Others may read it as far as the umask lets them: what is made of posts is as private as its owner wants.
    """
    replace_files(path.parent, {path.name: content})


def replace_files(folder: Path, contents: Mapping[str, bytes], *, mode: int = 0o666) -> None:
    """Write several files of a folder; only when all of them are on the disk are they moved into place."""
    with ExitStack() as stack:
        written = []
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            temporary = stack.enter_context(_temporary_file(folder / name, content))
            temporary.chmod(mode & ~_umask())
            written.append((temporary, folder / name))
        for temporary, path in written:
            temporary.replace(path)


def clear_leftovers(folder: Path, *, folders: bool = False) -> None:
    """Remove what commands left in a folder that were killed while they wrote; what a living one writes is locked.

    With ``folders`` hidden folders right inside are meant, else files at any depth. A folder that was being replaced, and
    is not there any more, is put back.
    """
    paths = folder.glob(f".*{PARTIAL}") if folders else folder.rglob(f".*{PARTIAL}")
    for path in list(paths):
        if not _LEFTOVER.fullmatch(path.name) or path.is_symlink() or path.is_dir() != folders:
            continue
        with suppress(OSError), _held(path) as held:
            if held and not folders:
                path.unlink()
            elif held and path.stat().st_mode & 0o077 == 0:  # as ours are
                _put_back(path)
                shutil.rmtree(path, ignore_errors=True)


def _put_back(leftover: Path) -> None:
    if leftover.name[: -len(PARTIAL) - 9].endswith(_OLD):
        for path in leftover.iterdir():
            if not (leftover.parent / path.name).exists():
                path.rename(leftover.parent / path.name)


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Whether nobody else has the lock of a file or folder; it is ours inside."""
    if sys.platform == "win32":
        yield False
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        yield try_lock(handle) is True and is_at(handle, path)
    finally:
        os.close(handle)


@contextmanager
def _temporary_folder(folder: Path, mark: str = "") -> Iterator[Path]:
    """A hidden folder beside another, locked as long as it is in use."""
    while True:
        name = tempfile.mkdtemp(prefix=_hidden(folder, mark), suffix=PARTIAL, dir=folder.parent)
        handle = None if sys.platform == "win32" else os.open(name, os.O_RDONLY)
        if handle is None or (try_lock(handle) is not False and is_at(handle, Path(name))):
            break
        os.close(handle)  # somebody took it for a leftover
    try:
        yield Path(name)
    finally:
        shutil.rmtree(name, ignore_errors=True)
        if handle is not None:
            os.close(handle)


@contextmanager
def _temporary_file(path: Path, content: bytes) -> Iterator[Path]:
    """A hidden file beside another with all of its content, locked as long as it is in use."""
    handle, name = tempfile.mkstemp(prefix=_hidden(path), suffix=PARTIAL, dir=path.parent)
    held = None
    try:
        with os.fdopen(handle, "wb") as file:
            try_lock(handle)
            held = None if sys.platform == "win32" else os.dup(handle)  # keeps the lock when the file is closed
            file.write(content)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        if held is not None:
            os.close(held)


def _hidden(path: Path, mark: str = "") -> str:
    return f".{path.name.encode(errors='surrogateescape')[:_LONGEST].decode(errors='ignore')}{mark}."


def owners_only(folder: Path) -> None:
    """Close a folder and all that is in it to everybody but its owner."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _place(temporary: Path, folder: Path) -> None:
    """Move a folder where none is, or an empty one; one that another command wrote meanwhile stays."""
    with suppress(OSError):
        folder.rmdir()
    try:
        temporary.rename(folder)
    except OSError:
        if folder.exists():
            raise OutputError(
                f"{folder.name} was written by another command meanwhile, and stays as it is. "
                f"{another_folder(replaceable=True)}."
            ) from None
        raise


def _swap(temporary: Path, folder: Path) -> None:
    """Move a folder into the place of another, which is put back where that fails."""
    with _temporary_folder(folder, _OLD) as old:
        with suppress(FileNotFoundError):
            folder.rename(old / folder.name)
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.exists() and (old / folder.name).exists():
                (old / folder.name).rename(folder)
            raise
