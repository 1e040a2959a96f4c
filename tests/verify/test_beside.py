"""Intervals that are checked in a process of their own, beside the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evidentia.verify import beside, intervals
from evidentia.verifying import verify_numbers

from .interval_runs import result, tables


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every result is large enough for a process, and there are two cores."""
    monkeypatch.setattr(beside, "VALUES", 0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def _never(*args: Any) -> None:
    raise AssertionError("the intervals were checked here")


@pytest.mark.usefixtures("large")
def test_the_process_makes_the_same_comparisons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = result(tmp_path / "out", tables()[0], measures=["AUROC", "nDCG@1"])
    there = verify_numbers(written)
    with monkeypatch.context() as here:
        here.setattr(beside, "check_intervals", _never)
        assert verify_numbers(written) == there
    monkeypatch.setattr(beside, "VALUES", 10**12)
    assert verify_numbers(written) == there
    assert there.passed
    assert next(check.comparisons for check in there.checks if check.name == "intervals") > 20


@pytest.mark.usefixtures("large")
def test_a_wrong_limit_is_found_and_named(tmp_path: Path) -> None:
    written = result(tmp_path / "out", tables()[0], measures=["AUROC", "nDCG@1"])
    summary = json.loads((written / "summary.json").read_text())
    summary["measures"]["AUROC"]["ci"][0] -= 1e-6
    (written / "summary.json").write_text(json.dumps(summary))
    assert "AUROC: ci low" in [mismatch.where for mismatch in verify_numbers(written).mismatches]


@pytest.mark.usefixtures("large")
def test_without_a_process_the_work_is_done_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, made = result(tmp_path / "out", tables()[0], measures=["AUROC", "nDCG@1"]), []

    def here(*args: Any) -> None:
        made.append(args)
        intervals.check_intervals(*args)

    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setattr(beside, "check_intervals", here)
    assert verify_numbers(written).passed
    assert len(made) == 1
