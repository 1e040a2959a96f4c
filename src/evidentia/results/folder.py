"""A folder that is written all or nothing: filled under another name beside its place, and renamed at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from evidentia.errors import OutputError


def replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Let ``fill`` write into a temporary folder beside ``folder`` and move it into place; on failure nothing changes.

    Whether what is there may be replaced is for the caller to say, before.
    """
    folder = folder.resolve()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
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


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _swap(temporary: Path, folder: Path) -> None:
    if not folder.exists():
        temporary.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
    folder.rename(old / folder.name)
    try:
        temporary.rename(folder)
    except OSError:
        (old / folder.name).rename(folder)
        raise
    finally:
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
