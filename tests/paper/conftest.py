"""Two small results with intervals that these tests share; nobody writes into them."""

from __future__ import annotations

from pathlib import Path

import pytest

import evidentia
from evidentia.synth import synthetic_run


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results `plain` and `better_5%` of two systems on the same posts."""
    home = tmp_path_factory.mktemp("paper")
    for name, difficulty in {"plain": 0.7, "better_5%": 0.4}.items():
        made = synthetic_run(seed=7, posts=60, criteria=4, positives=None, candidates=False, difficulty=difficulty)
        evidentia.evaluate(made.per_query, resamples=60, report=False).save(home / name)
    return home
