"""What was learnt and said, on a disk: safetensors and JSON, each step whole or not there at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.errors import InputError, OutputError
from evidentia.pipeline.fold import Outcome
from evidentia.pipeline.stage import Parts
from evidentia.results import dumps, loads
from evidentia.tables.queries import Floats

KEEP = "What was done is kept: make room (or the folder writable), then continue with --resume."


def save_parts(folder: Path, parts: Mapping[str, Parts]) -> None:
    """Write parts under their names into one document and one file of arrays."""
    from safetensors.numpy import save_file

    document = {name: dict(part.document) for name, part in parts.items()}
    arrays = {f"{name}/{key}": _plain(array) for name, part in parts.items() for key, array in part.arrays.items()}
    (folder / "model.json").write_text(dumps(document), encoding="utf-8")
    save_file(arrays, folder / "model.safetensors")


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


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array)


@dataclass(frozen=True)
class Checkpoints:
    """The steps that are done, a folder for each: ``root/fold/step``. A step is there in full or not at all."""

    root: Path

    def has(self, fold: str, step: str) -> bool:
        """Whether a step of a fold is done."""
        return (self.root / fold / step).is_dir()

    def count(self) -> int:
        """How many steps are done."""
        return sum(1 for path in self.root.glob("*/*") if path.is_dir() and not path.name.startswith("."))

    def write(self, fold: str, step: str, outcome: Outcome, *, seconds: float = 0.0) -> None:
        """Keep what a step learnt and said, and how long it took."""
        from safetensors.numpy import save_file

        def fill(folder: Path) -> None:
            save_parts(folder, {"space": outcome.space, "model": outcome.model})
            save_file({"scores": _plain(outcome.scores)}, folder / "scores.safetensors")
            (folder / "seconds.json").write_text(dumps({"seconds": round(seconds, 3)}), encoding="utf-8")

        into_place(self.root / fold / step, fill)

    def scores(self, fold: str, step: str) -> Floats:
        """What a step said of all posts."""
        from safetensors.numpy import load_file

        scores: Floats = load_file(self.root / fold / step / "scores.safetensors")["scores"]
        return scores

    def seconds(self) -> dict[str, float]:
        """How long each step took, over all folds."""
        total: dict[str, float] = {}
        for path in sorted(self.root.glob("*/*/seconds.json")):
            total[path.parent.name] = total.get(path.parent.name, 0.0) + float(loads(path.read_bytes())["seconds"])
        return {name: round(spent, 1) for name, spent in total.items()}

    def parts(self, fold: str, step: str) -> dict[str, Parts]:
        """What a step learnt."""
        return load_parts(self.root / fold / step)


def into_place(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder under a hidden name and rename it; a full disk or a folder that cannot be written is an OutputError."""
    temporary: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        fill(temporary)
        os.rename(temporary, folder)
    except Exception as error:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) or type(error).__name__ == "SafetensorError":
            reason = getattr(error, "strerror", None) or "the disk may be full"
            raise OutputError(f"Cannot write {folder.parent.name}/{folder.name}: {reason}. {KEEP}") from None
        raise


def write_file(path: Path, content: bytes) -> None:
    """Write a file under another name and move it into place."""
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise OutputError(f"Cannot write {path.name}: {error.strerror}. {KEEP}") from None
