"""One command at a time in a folder: a lock that the system takes back when its holder ends, however it ends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from evidentia.errors import OutputError


class Lock:
    """A lock that is held until it is released. In another process, as in a worker, it holds nothing."""

    def __init__(self, handle: int | None = None) -> None:
        self._handle = handle

    def release(self) -> None:
        """Let others in."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        self.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


def take(path: Path) -> Lock:
    """Lock a file, made if need be with the folders above it; an OutputError where another process has it."""
    name = path.parent.parent.resolve().name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            lock = Lock(handle := os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
            if not _locked(handle):
                raise OutputError(
                    f"{name} is being written by another command{_holder(path)}. Wait for it, or choose another folder with -o."
                )
            if _is_at(handle, path):
                break
            lock.release()  # its holder has finished and removed it
    except OSError as error:
        raise OutputError(f"Cannot write into {name}: {error.strerror}. Choose another folder with -o.") from None
    with suppress(OSError):  # only for people to read
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
    return lock


def _locked(handle: int) -> bool:
    """Whether the lock is ours now; where there are no locks, nobody is kept out."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    try:
        return f" (process {int(path.read_text())})"
    except (OSError, ValueError):
        return ""
