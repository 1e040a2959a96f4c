"""The small run that these tests share, and what it comes to in memory."""

from __future__ import annotations

import pytest

from engine.made import Made, in_memory, made
from evidentia.results import Evaluation


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="session")
def expected(run: Made) -> Evaluation:
    return in_memory(*run.files)
