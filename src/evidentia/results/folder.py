"""Folders and files that are written all or nothing: filled under another name beside their place, and renamed at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from evidentia.errors import OutputError

PARTIAL = ".partial"  # ends the hidden name of what is being written


def replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Let ``fill`` write into a temporary folder beside ``folder`` and move it into place; on failure nothing changes.

    Whether what is there may be replaced is for the caller to say, before.
    """
    folder = folder.resolve()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=PARTIAL, dir=folder.parent))
    except OSError as error:
        raise OutputError(
            f"Cannot write beside {folder.name}: {error.strerror}. Choose another folder with -o."
        ) from None
    try:
        fill(temporary)
        temporary.chmod(0o777 & ~_umask())
        _swap(temporary, folder)
    except OSError as error:
        raise OutputError(f"Writing {folder.name} failed: {error.strerror}. Nothing was changed.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under a hidden name and move it into place; an OSError leaves what was there.

    Others may read it as far as the umask lets them: what is made of posts is as private as its owner wants.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=PARTIAL, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def owners_only(folder: Path) -> None:
    """Close a folder and all that is in it to everybody but its owner."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _swap(temporary: Path, folder: Path) -> None:
    if not folder.exists():
        temporary.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", suffix=PARTIAL, dir=folder.parent))
    folder.rename(old / folder.name)
    try:
        temporary.rename(folder)
    except OSError:
        (old / folder.name).rename(folder)
        raise
    finally:
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
