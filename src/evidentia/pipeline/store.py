"""What was learnt and said, on a disk: safetensors and JSON, each step whole or not there at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats
from evidentia.errors import InputError, OutputError
from evidentia.pipeline.lock import Lock
from evidentia.pipeline.stage import Parts, StepResult
from evidentia.results import dumps, loads
from evidentia.results.folder import PARTIAL, owners_only, replace_file

KEEP = "What was done is kept: make room (or the folder writable), then continue with --resume."
MODEL, SCORES = ("model.json", "model.safetensors"), "scores.safetensors"
SECONDS, SUMS = "seconds.json", "sums.json"
_OF_MODELS = {".json", ".safetensors"}


def save_parts(folder: Path, parts: Mapping[str, Parts]) -> None:
    """Write parts under their names into one document and one file of arrays."""
    for name, content in _files_of(parts).items():
        (folder / name).write_bytes(content)


def _files_of(parts: Mapping[str, Parts]) -> dict[str, bytes]:
    from safetensors.numpy import save

    document = {name: dict(part.document) for name, part in parts.items()}
    arrays = {
        f"{name}/{key}": np.ascontiguousarray(array)
        for name, part in parts.items()
        for key, array in part.arrays.items()
    }
    return dict(zip(MODEL, (dumps(document).encode(), save(arrays)), strict=True))


def load_parts(folder: Path) -> dict[str, Parts]:
    """Read parts back; a folder that does not hold them is an InputError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        document = loads((folder / "model.json").read_bytes())
        arrays = load_file(folder / "model.safetensors")
    except (OSError, ValueError, SafetensorError):
        raise InputError(f"{folder.name}: the model cannot be read. Train it again with `evidentia run`.") from None
    found: dict[str, dict[str, NDArray[Any]]] = {name: {} for name in document}
    for key, array in arrays.items():
        name, _, rest = key.partition("/")
        found[name][rest] = array
    return {name: Parts(content, found[name]) for name, content in document.items()}


def write_sums(folder: Path) -> None:
    """Write the hashes of all files below a folder beside them."""
    (folder / SUMS).write_bytes(_sums_of(folder))


def folder_sha256(folder: Path) -> str:
    """One hash of all files of a model: that of its ``sums.json`` as it is when nothing has changed."""
    return sha256(_sums_of(folder)).hexdigest()


def _sums_of(folder: Path) -> bytes:
    return _sums({name: (folder / name).read_bytes() for name in _files_in(folder)})


def _sums(files: Mapping[str, bytes]) -> bytes:
    return dumps({name: sha256(content).hexdigest() for name, content in files.items()}).encode()


def first_damaged(folder: Path) -> str | None:
    """The first file that is not what was written, by the hashes beside it; None where all are."""
    try:
        sums: dict[str, str] = dict(loads((folder / SUMS).read_bytes()))
    except (OSError, ValueError, TypeError):
        return SUMS
    names = sorted({*sums, *_files_in(folder)})
    return next((name for name in names if _sum_of(folder / name) != sums.get(name)), None)


def _files_in(folder: Path) -> list[str]:
    """All that a model consists of; what a desktop leaves in a folder is not part of it."""
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in _OF_MODELS)
    return sorted(name for name in files if name != SUMS)


def _sum_of(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


@dataclass(frozen=True)
class Checkpoints:
    """The steps that are done, a folder for each: ``root/fold/step``. A step is there in full or not at all.

    Beside its files lie their hashes, for the disk that breaks or the hand that slips. Who opened the folder holds a lock on
    it, until ``release`` or the end of a ``with``.
    """

    root: Path
    lock: Lock | None = field(default=None, repr=False, compare=False)

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others into the folder."""
        if self.lock is not None:
            self.lock.release()

    def has(self, fold: str, step: str) -> bool:
        """Whether a step of a fold is done."""
        return (self.root / fold / step).is_dir()

    def count(self) -> int:
        """How many steps are done."""
        return sum(1 for _ in self._folders())

    def write(self, fold: str, step: str, result: StepResult, *, seconds: float = 0.0) -> None:
        """Keep what a step learnt and said, and how long it took."""
        from safetensors.numpy import save

        files = _files_of({"space": result.space, "model": result.model})
        files[SCORES] = save({"scores": np.ascontiguousarray(result.scores)})
        self.put(fold, step, files, seconds=seconds)

    def put(self, fold: str, step: str, files: Mapping[str, bytes], *, seconds: float | None = None) -> None:
        """Keep what a step learnt and said; without seconds it was done by an earlier run."""
        spent = {"seconds": round(seconds or 0.0, 3), "reused": seconds is None}
        whole = {**files, SECONDS: dumps(spent).encode()}
        whole[SUMS] = _sums(whole)

        def fill(folder: Path) -> None:
            for name, content in whole.items():
                (folder / name).write_bytes(content)

        into_place(self.root / fold / step, fill)

    def scores(self, fold: str, step: str) -> Floats:
        """What a step said of all posts."""
        from safetensors.numpy import load

        scores: Floats = load(self.files(fold, step, SCORES)[SCORES])["scores"]
        return scores

    def seconds(self) -> dict[str, float]:
        """How long each step took, over all folds."""
        total: dict[str, float] = {}
        for (_, name), seconds in self.spent().items():
            total[name] = total.get(name, 0.0) + seconds
        return {name: round(seconds, 1) for name, seconds in total.items()}

    def reused(self) -> dict[str, int]:
        """In how many folds each step comes from an earlier run."""
        counts: dict[str, int] = {}
        for (_, name), record in self._records():
            if record.get("reused"):
                counts[name] = counts.get(name, 0) + 1
        return counts

    def spent(self) -> dict[tuple[str, str], float]:
        """The seconds of every step that is done, by its fold and name."""
        return {place: float(record["seconds"]) for place, record in self._records()}

    def _records(self) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
        for path in sorted(self.root.glob(f"*/*/{SECONDS}")):
            if not path.parent.name.startswith("."):  # what is being written
                yield (path.parent.parent.name, path.parent.name), loads(path.read_bytes())

    def parts(self, fold: str, step: str) -> dict[str, Parts]:
        """What a step learnt."""
        self.files(fold, step, *MODEL)
        return load_parts(self.root / fold / step)

    def discard_damaged(self) -> list[str]:
        """Remove the steps whose files are not what was written, so that they are done again; says which."""
        discarded = []
        for path in list(self._folders()):
            if first_damaged(path) is not None:
                shutil.rmtree(path, ignore_errors=True)
                discarded.append(f"{path.parent.name}/{path.name}")
        return discarded

    def _folders(self) -> Iterator[Path]:
        yield from (path for path in sorted(self.root.glob("*/*")) if path.is_dir() and not path.name.startswith("."))

    def files(self, fold: str, step: str, *names: str) -> dict[str, bytes]:
        """Some files of a step, as they were written."""
        folder = self.root / fold / step
        try:
            sums = loads((folder / SUMS).read_bytes())
            files = {name: (folder / name).read_bytes() for name in names}
            sound = all(sha256(content).hexdigest() == sums[name] for name, content in files.items())
        except (OSError, ValueError, TypeError, KeyError):
            sound = False
        if not sound:
            raise InputError(
                f"{self.root.name}/{fold}/{step} is damaged. Continue with --resume: this step is then done again."
            )
        return files


def into_place(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder under a hidden name and rename it; a full disk or a folder that cannot be written is an OutputError.

    Only its owner can read it: what was learnt from posts says something of them.
    """
    temporary = folder.parent / f".{folder.name}.{secrets.token_hex(4)}{PARTIAL}"
    try:
        is_first = not folder.parent.exists()
        temporary.mkdir(mode=0o700, parents=True)
        if is_first:
            folder.parent.chmod(0o700)
        fill(temporary)
        owners_only(temporary)
        if folder.exists():
            shutil.rmtree(folder)
        os.rename(temporary, folder)
    except Exception as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            raise OutputError(f"Cannot write {folder.parent.name}/{folder.name}: {error.strerror}. {KEEP}") from None
        raise


def write_file(path: Path, content: bytes, *, remedy: str = KEEP) -> None:
    """Write a file whole or not at all; where that fails, what was done before is still there."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise OutputError(f"Cannot write {path.name}: {error.strerror}. {remedy}") from None
