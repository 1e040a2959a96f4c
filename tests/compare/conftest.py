"""Result folders that these tests share; nobody writes into them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .systems import save, system


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results `good`, `middling` and `bad` of three systems."""
    home = tmp_path_factory.mktemp("results")
    for name, difficulty in {"good": 0.3, "middling": 0.5, "bad": 0.9}.items():
        save(system(difficulty), home / name)
    return home
