"""Libraries that only some stages need: loaded on use, so that the rest starts fast and installs small."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from evidentia.errors import InputError


def neural(module: str) -> Any:
    """A module of the ``neural`` extra (torch, torch_geometric, sentence_transformers and what comes with them)."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise InputError(f"This stage needs {library}, which is missing: pip install 'evidentia[neural]'.") from None
