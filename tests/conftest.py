"""What holds for every test.

Most tests read numbers and never look at a page: they go without, unless they ask for it (`report=True`). The conformance
suite reads the hand-worked tests of the measures, so it must be able to import them.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from sampling import is_default, mark_the_rest_slow

os.environ["EVIDENTIA_NO_REPORT"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process that a test starts compiles the package anew
sys.dont_write_bytecode = False
for library in (
    "OPENBLAS",
    "OMP",
):  # as many processes as cores run tests: threads beside them only wait for each other
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")
assert not {"numpy", "polars"} & sys.modules.keys()  # they read the number when they are imported
sys.path.insert(0, str(Path(__file__).parent / "measures"))


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are collected: they stay, and need not be looked through again and again
    settings.load_profile("sample" if is_default(config) else "whole")  # no test depends on the speed of a machine


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_the_rest_slow(items, whole=config.option.markexpr == "slow")


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()
