"""Fitted networks as files: weights in safetensors, everything else in JSON, nothing that runs when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.errors import InputError, OutputError, typed

WEIGHTS = "model.safetensors"
DOCUMENT = "model.json"
SCHEMA = "evidentia.graph-model/1"
Arrays = Mapping[str, NDArray[np.float32]]


def save_model(folder: Path, kind: str, arrays: Arrays, about: Mapping[str, Any]) -> None:
    """Write a network; the same network gives the same bytes."""
    from safetensors.numpy import save

    content = save({name: np.ascontiguousarray(value) for name, value in arrays.items()})
    document = {"schema": SCHEMA, "kind": kind, "weights_sha256": sha256(content).hexdigest(), **about}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / WEIGHTS).write_bytes(content)
        text = json.dumps(document, indent=2, allow_nan=False) + "\n"
        (folder / DOCUMENT).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"Cannot write the network into {folder.name}: {error.strerror}.") from None


def load_model(folder: Path, kind: str) -> tuple[dict[str, NDArray[np.float32]], dict[str, Any]]:
    """Read a network; another kind, another form or weights that do not belong to the document are refused."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        document = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))
        content = (folder / WEIGHTS).read_bytes()
    except (OSError, ValueError):
        raise InputError(f"{typed(folder.name)} holds no network: it needs {DOCUMENT} and {WEIGHTS}.") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or document.get("kind") != kind:
        raise InputError(f"{typed(folder.name)} does not hold a {kind} that this version can read.")
    if document.get("weights_sha256") != sha256(content).hexdigest():
        raise InputError(f"{typed(folder.name)}: {WEIGHTS} is damaged or from another network than {DOCUMENT}.")
    try:
        return load(content), document
    except SafetensorError:
        raise InputError(f"{typed(folder.name)}: {WEIGHTS} cannot be read.") from None
