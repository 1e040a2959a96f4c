"""Where the weights of a local model come from, and which weights they are: a folder by its content, a hub name by its commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, TypeVar

from evidentia.errors import InputError, typed
from evidentia.pipeline.extras import neural

T = TypeVar("T")
OWN_CODE = "would run code of its own: read it, then set trust_remote_code = true."


@dataclass(frozen=True)
class WeightSource:
    """A model to load: ``name`` is a folder or a hub name, ``identity`` changes when the weights do.

    ``snapshot`` is its folder in the hub's cache on this machine, which may lack files.
    """

    name: str
    revision: str | None
    identity: Mapping[str, Any]
    snapshot: Path | None = None


def find_source(name: str, revision: str | None = None) -> WeightSource:
    """Look at the folder, or find out which commit of a hub model is meant."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return WeightSource(str(folder), None, {"files": file_hashes(folder)})
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or not name:
        raise InputError(f"There is no folder {typed(name)}. Give the folder of a model, or its name on the hub.")
    snapshot = _snapshot(name, revision)
    commit = _hub_commit(name, revision) if snapshot is None else snapshot.name
    return WeightSource(name, commit, {"name": name, "revision": commit}, snapshot)


def file_hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file of a model, without hidden ones and read-me texts, which decide nothing."""
    hashes = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and path.suffix != ".md" and not any(part.startswith(".") for part in inside.parts):
            with path.open("rb") as file:
                hashes[inside.as_posix()] = file_digest(file, "sha256").hexdigest()
    return hashes


def refuse_own_code(source: WeightSource, trust: bool) -> None:
    """Refuse a folder whose modules are not those of the library: it runs the code of a folder without being asked."""
    listed = Path(source.name) / "modules.json"
    if trust or not listed.is_file():
        return
    try:
        types = [str(module["type"]) for module in json.loads(listed.read_bytes())]
    except (OSError, ValueError, LookupError, TypeError):
        types = [""]
    if not all(kind.startswith("sentence_transformers.") for kind in types):
        raise InputError(f"{typed(source.name)} {OWN_CODE}")


def loaded(source: WeightSource, load: Callable[[], T]) -> T:
    """Load the model; whatever a library raises becomes one message that says what to do."""
    try:
        return load()
    except (OSError, ValueError, ImportError, KeyError, AttributeError, TypeError, RuntimeError) as error:
        text = str(error)
        asks = "trust_remote_code" in text
        hint = " It brings code of its own: read it, then set trust_remote_code = true." if asks else ""
        first = next(iter(text.strip().splitlines()), "")[:200]
        raise InputError(f"{typed(source.name)} cannot be loaded: {type(error).__name__}: {first}{hint}") from None


def _snapshot(name: str, revision: str | None) -> Path | None:
    """The folder of the commit that is on this machine already."""
    try:
        return Path(neural("huggingface_hub").snapshot_download(name, revision=revision, local_files_only=True))
    except (OSError, ValueError):
        return None


def _hub_commit(name: str, revision: str | None) -> str:
    """The commit that the hub has now."""
    try:
        return str(neural("huggingface_hub").HfApi().model_info(name, revision=revision).sha)
    except Exception as error:  # whatever the HTTP client of the library raises
        raise InputError(
            f"{typed(name)} is neither a folder nor in the hub's cache on this machine, and the hub did not answer "
            f"({type(error).__name__}). Download the model where there is a network and give its folder."
        ) from None
