"""The real data beside the project; without them the tests say so and are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def folder(name: str) -> Path:
    """A folder of the shared data, or a skip that names it."""
    found = DATA / name
    if not found.is_dir():
        pytest.skip(f"the shared data are not here: {found}")
    return found
