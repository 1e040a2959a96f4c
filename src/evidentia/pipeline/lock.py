"""One command at a time in a folder: a lock that the system takes back when its holder ends, however it ends."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from evidentia.errors import OutputError
from evidentia.results.locking import is_at, try_lock


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


def acquire_lock(path: Path) -> Lock:
    """Lock a file, made if need be with the folders above it; an OutputError where another process has it."""
    name = path.parent.parent.resolve().name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            lock = Lock(handle := os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
            if try_lock(handle) is False:  # where there are no locks, nobody is kept out
                raise OutputError(
                    f"{name} is being written by another command{_holder(path)}. Wait for it, or choose another folder with -o."
                )
            if is_at(handle, path):
                break
            lock.release()  # its holder has finished and removed it
    except OSError as error:
        raise OutputError(f"Cannot write into {name}: {error.strerror}. Choose another folder with -o.") from None
    with suppress(OSError):  # only for people to read
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
    return lock


def _holder(path: Path) -> str:
    try:
        return f" (process {int(path.read_text())})"
    except (OSError, ValueError):
        return ""
