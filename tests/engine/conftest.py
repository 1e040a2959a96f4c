"""The small run that these tests share."""

from __future__ import annotations

import pytest

from engine.made import Made, made


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("engine"))
