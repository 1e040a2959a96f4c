"""Bugs put into the fast side, or into the replicates of the check itself, are caught."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidentia.stats import intervals as limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.verify import detection, twins
from evidentia.verify.sweeps import ThresholdSweep
from evidentia.verifying import verify_numbers
from verify.interval_runs import checked, result, tables, where

NAMES = ("AUROC", "Brier", "F1(t=gate)", "nDCG@10", "ScreeningSensitivity(unit=post)", "CalibrationSlope", "HitRate@1")


def _without_replacement(self: Any, start: int, stop: int) -> Any:
    rng = np.random.default_rng(start)
    return np.array([rng.permuted(np.arange(self.clusters) % 2 * 2) for _ in range(start, stop)], np.uint16)


def _one_stream(self: Any, start: int, stop: int) -> Any:
    rng = np.random.default_rng(self.seed)
    picks = rng.integers(self.clusters, size=(self.resamples, self.clusters))
    return np.array([np.bincount(row, minlength=self.clusters) for row in picks[start:stop]], np.uint16)


def _next_replicate(self: Any, start: int, stop: int) -> Any:
    return DRAW(self, start + 1, stop + 1)


def _lower_rank(ranked: Any, left_out: Any, share: Any) -> Any:
    at = (ranked.shape[1] - left_out - 1) * np.broadcast_to(share, len(ranked))
    return ranked[np.arange(len(ranked)), np.maximum(np.floor(at), 0).astype(int)]


def _undefined_counted_as_zero(values: Any, level: float) -> Any:
    return PERCENTILE(np.nan_to_num(values), level)


DRAW, PERCENTILE = ResamplingPlan._draw, limits.percentile_limits


@pytest.mark.parametrize("draw", [_without_replacement, _one_stream, _next_replicate])
def test_wrong_draws_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draw: Any) -> None:
    monkeypatch.setattr(ResamplingPlan, "_draw", draw)
    found = where(checked(result(tmp_path / "out", tables()[0], measures=NAMES)))
    assert len([place for place in found if ": ci " in place]) > 3
    assert any(place.startswith("figures/roc.csv") for place in found)


def test_queries_drawn_one_by_one_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evidentia.evaluation import cluster_sums

    gather = cluster_sums._scatter

    def scattered(columns: Any, codes: Any, size: int) -> Any:
        return gather(columns, np.random.default_rng(1).permutation(codes), size)

    monkeypatch.setattr(cluster_sums, "_scatter", scattered)
    found = where(checked(result(tmp_path / "out", tables()[0], measures=NAMES)))
    assert {"Brier: ci low", "F1(t=gate): ci high"} <= {*found}


def test_a_wrong_quantile_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_quantile", _lower_rank)
    written = result(tmp_path / "out", tables()[0], measures=NAMES, ci_method="percentile")
    assert {"AUROC: ci high", "Brier: ci low"} <= {*where(checked(written))}


def _normal(effective: Any, level: float) -> Any:
    return np.full(np.shape(effective), 1.96)


def _posts_alike(sizes: Any) -> Any:
    return np.count_nonzero(sizes, axis=0).astype(float)


def _uncorrected(values: Any, effective: Any) -> Any:
    return np.nanstd(values, axis=1)


@pytest.mark.parametrize(
    ("function", "wrong"),
    [("t_quantile", _normal), ("effective_clusters", _posts_alike), ("standard_errors", _uncorrected)],
)
def test_a_wrong_t_interval_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, wrong: Any
) -> None:
    for module in ("stats.intervals", "evaluation.compute"):
        if hasattr(import_module(f"evidentia.{module}"), function):
            monkeypatch.setattr(f"evidentia.{module}.{function}", wrong)
    found = where(checked(result(tmp_path / "out", tables()[0], measures=NAMES)))
    assert {"AUROC: ci high", "F1(t=gate): ci low"} <= {*found} or "AUROC: ci low" in found


@pytest.mark.parametrize("name", ["ECE", "ECE(debiased)"])
def test_a_calibration_error_whose_noise_is_forgotten_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(
        "evidentia.evaluation.intervals.gap_limits",
        lambda gaps, replicates, effective, level: limits.percentile_limits(np.abs(replicates).sum(axis=2), level),
    )
    found = where(checked(result(tmp_path / "out", tables()[0], measures=[name])))
    assert {f"{name}: ci low", f"{name}: ci high"} & {*found}


def test_undefined_replicates_that_count_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidentia.evaluation.intervals.percentile_limits", _undefined_counted_as_zero)
    frame = tables(20, 3, 6)[0]
    found = where(checked(result(tmp_path / "out", frame, measures=["Recall@5"], ci_method="percentile")))
    assert {"Recall@5[fold=0]: replicates_left_out", "Recall@5[fold=0]: ci low"} <= {*found}


def test_clopper_pearson_over_queries_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = limits.clopper_pearson
    monkeypatch.setattr(
        "evidentia.evaluation.intervals.clopper_pearson", lambda k, n, level: exact(3 * k, 3 * n, level)
    )
    found = where(checked(result(tmp_path / "out", tables()[0], measures=["Sensitivity(t=0)"])))
    assert "Sensitivity(t=0): ci low" in found


def _every_post_once(self: Any, weights: Any) -> Any:
    return PASSED(self, np.ones_like(weights))


def _sums_of_another_number(self: Any, recipe: Any) -> Any:
    return self.products[(self.places[id(recipe)] + 1) % len(self.products)]


PASSED = ThresholdSweep.passed


@pytest.mark.parametrize(
    ("target", "wrong", "caught"),
    [
        ("sweeps.ThresholdSweep.passed", _every_post_once, "AUROC"),
        ("recipes.DrawnBlock.sums", _sums_of_another_number, "nDCG@1"),
    ],
)
def test_the_plain_loop_catches_bugs_of_the_check_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, wrong: Any, caught: str
) -> None:
    written = result(tmp_path / "out", tables()[0], measures=["AUROC", "nDCG@1"])
    monkeypatch.setattr(f"evidentia.verify.{target}", wrong)
    assert f"{caught}: replicate 0, by a plain loop" in where(checked(written))


def _half(passed: Any, args: Any) -> Any:
    return detection.auroc(passed, args) / 2


def test_a_wrong_twin_of_a_sweep_never_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop runs the same twin, so that what is wrong in it disagrees with what is reported."""
    written = result(tmp_path / "out", tables()[0], measures=["AUROC", "nDCG@1"])
    monkeypatch.setitem(twins.TWINS, ("detection", "AUROC"), [({}, twins.SweepTwin(read=_half))])
    assert "AUROC: ci low" in where(checked(written))
    assert "summary.json: AUROC: value" in [mismatch.where for mismatch in verify_numbers(written).mismatches]


def test_a_wrong_twin_of_a_mean_never_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = result(tmp_path / "out", tables()[0], measures=["AUROC", "nDCG@3"])
    monkeypatch.setattr("evidentia.verify.ranking.share", lambda top, bottom: top)
    assert "nDCG@3: ci low" in where(checked(written))
    assert "summary.json: nDCG@3: value" in [mismatch.where for mismatch in verify_numbers(written).mismatches]
