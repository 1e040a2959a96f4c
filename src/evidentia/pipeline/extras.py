"""Libraries that only some stages need: loaded on use, so that the rest starts fast and installs small."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from evidentia.errors import InputError


def neural(module: str) -> Any:
    """A module of the ``neural`` extra (torch, torch_geometric, sentence_transformers and what comes with them)."""
    try:
        return import_module(module)
    except ImportError:
        raise missing(module, "This stage") from None


def need(module: str, who: str) -> None:
    """Refuse where a library of the extra is not installed; it is not loaded, which takes seconds."""
    if find_spec(module) is None:
        raise missing(module, who)


def missing(module: str, who: str) -> InputError:
    """What to say where a library is not installed."""
    return InputError(
        f"{who} needs {module.partition('.')[0]}, which is missing. Install the neural extra, in the folder of Evidentia: "
        "pip install -c constraints.txt '.[neural]'."
    )
