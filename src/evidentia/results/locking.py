"""Locks that the system takes back when their holder ends, however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def try_lock(handle: int) -> bool | None:
    """Whether the lock of an open file or folder is ours now; None where there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def is_at(handle: int, path: Path) -> bool:
    """Whether an open file or folder is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
