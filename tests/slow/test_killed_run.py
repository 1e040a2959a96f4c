"""The default pipeline on a corpus of full size, killed ten times and more: the same bytes as if it had been left alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pipeline import stopping

STEPS = 6 * 6  # five folds and the model for use: words, bm25, retriever, characters, reranker, gate


@pytest.mark.slow
def test_killed_over_and_over_at_full_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "LONG", 4 * 3600.0)
    config = tmp_path / "pipeline.toml"
    config.write_text('[corpus]\npath = "synthetic"\n', encoding="utf-8")
    whole, words = tmp_path / "whole", ("--resamples", 200, "--no-report")
    undisturbed = stopping.begin(config, whole, *words)
    assert undisturbed.wait() == 0, undisturbed.words
    landed = stopping.kill_often(config, tmp_path / "out", whole, *words, steps=STEPS, trainings=5, seed=12)
    stopping.same(tmp_path / "out", whole)
    assert len(landed) >= 10
    assert set(Counter(landed)) >= {"training", "deciding", "evaluating", "writing", "verifying"}
