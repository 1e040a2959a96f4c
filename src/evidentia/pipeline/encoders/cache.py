"""What models have said already, kept on disk: one SQLite file per model, keyed by hashes of texts, without any text.

A cache must never stop a run. A file that is damaged, from a kill or a disk, is given up for a new one; a place that cannot be
read or written costs time only. Both leave a note.
"""

from __future__ import annotations

import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evidentia.pipeline.encoders.interface import Kind

Rows = NDArray[np.float32]
Row = NDArray[np.float32] | NDArray[np.float16]
T = TypeVar("T")

_PATIENCE = 60.0  # seconds to wait for another process that writes
_PER_QUERY = 500  # SQLite takes some thousand parameters at most
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # the last: other tables than ours
_NUMBERED = re.compile(r".*-(\d+)\.sqlite")
_SCHEMA = "CREATE TABLE IF NOT EXISTS kept (hash BLOB PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL)"


class _DamagedError(Exception):
    """The file does not hold what was written."""


def default_cache_folder() -> Path:
    """Where caches lie unless told otherwise: ``$XDG_CACHE_HOME/evidentia/models``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evidentia" / "models"


def text_hash(text: str, kind: Kind) -> bytes:
    """The place of a text's vector; a query and a passage of the same words have different ones."""
    return sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()


def pair_hash(query: str, passage: str, companions: bytes = b"") -> bytes:
    """The place of a pair's score; ``companions`` stands for the passages it was ranked among, where they matter."""
    return sha256(b"pair\0" + text_hash(query, "query") + text_hash(passage, "passage") + companions).digest()


class Store:
    """The rows of numbers that one model gave, by hash. Safe with several processes; survives being killed at any time.

    All rows have the same length, but if they hold the vectors of tokens: then many times ``width``, in half precision.
    """

    def __init__(self, folder: Path, key: str, *, width: int | None = None) -> None:
        self.notes: tuple[str, ...] = ()
        self._folder = folder
        self._key = key
        self.width = width
        self._numbers = np.dtype("<f4" if width is None else "<f2")

    @property
    def path(self) -> Path:
        """The file in use. A damaged file is never repaired but succeeded by the next number: others may have it open."""
        numbers = [0]
        with suppress(OSError):
            matches = (_NUMBERED.fullmatch(file.name) for file in self._folder.glob(f"{self._key}-*.sqlite"))
            numbers += [int(number[1]) for number in matches if number]
        return self._folder / f"{self._key}-{max(numbers)}.sqlite"

    def get(self, hashes: Sequence[bytes]) -> dict[bytes, Row]:
        """What is there, of what is asked for."""

        def read(connection: sqlite3.Connection) -> dict[bytes, Row]:
            rows: dict[bytes, Row] = {}
            for start in range(0, len(hashes), _PER_QUERY):
                rows |= _read(connection, hashes[start : start + _PER_QUERY], self._numbers)
            lengths = {len(row) for row in rows.values()}
            if len(lengths) > 1 if self.width is None else any(length % self.width for length in lengths):
                raise _DamagedError
            return rows

        return self._attempt(read, {})

    def put(self, hashes: Sequence[bytes], rows: Iterable[Row]) -> None:
        """Keep one row of numbers per hash; all of them or, if the process dies, none."""
        values = [row.astype(self._numbers).tobytes() for row in rows]
        kept = [(key, value, _checksum(key, value)) for key, value in zip(hashes, values, strict=True)]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", kept)

        self._attempt(write, None)

    def delete(self) -> None:
        """Forget everything that this model gave."""
        with suppress(OSError):
            for file in self._folder.glob(f"{self._key}-*.sqlite*"):
                file.unlink(missing_ok=True)

    def _attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Work on the file, on a new one if it is damaged, and else go without; what went wrong becomes a note."""
        for _ in range(2):
            path = self.path
            try:
                with closing(_connect(path)) as connection:
                    return work(connection)
            except _DamagedError:
                self._give_up(path)
            except OSError as error:
                self._note(f"The cache {path.name} is not used: {error.strerror or 'its place cannot be written'}.")
                break
            except sqlite3.Error as error:
                if not _is_damage(error):
                    name = getattr(error, "sqlite_errorname", "SQLite failed")
                    self._note(f"The cache {path.name} is not used: {name}.")
                    break
                self._give_up(path)
        return otherwise

    def _give_up(self, path: Path) -> None:
        self._note(f"The cache {path.name} was damaged and is made anew.")
        number = int(path.stem.rpartition("-")[2])
        with suppress(OSError):
            (self._folder / f"{self._key}-{number + 1}.sqlite").touch(mode=0o600)
            for ending in ("", "-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes = (*self.notes, note)


def _connect(path: Path) -> sqlite3.Connection:
    """Open or make the file, readable to its owner only: vectors of private texts are private."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=_PATIENCE)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code & 0xFF in _DAMAGED or code == sqlite3.SQLITE_IOERR_SHORT_READ


def _read(connection: sqlite3.Connection, hashes: Sequence[bytes], numbers: np.dtype[Any]) -> dict[bytes, Row]:
    places = ",".join("?" * len(hashes))
    asked = connection.execute(f"SELECT hash, value, checksum FROM kept WHERE hash IN ({places})", hashes)
    rows = {}
    for key, value, checksum in asked:
        if not isinstance(value, bytes) or len(value) % numbers.itemsize or checksum != _checksum(key, value):
            raise _DamagedError
        rows[key] = np.frombuffer(value, numbers).astype(numbers.newbyteorder("="))
    return rows


def _checksum(key: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(key))
