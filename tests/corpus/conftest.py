"""A small corpus that every test can damage in its own way."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.corpora import Make, maker


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return maker(tmp_path / "corpus")
