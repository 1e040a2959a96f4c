"""Certified thresholds keep their promise over 500 draws; thresholds by a sample's own share do not."""

from __future__ import annotations

import pytest

from slow.certified import experiment


@pytest.mark.slow
def test_five_hundred_draws() -> None:
    for broken in experiment(500):
        assert broken.draws == 500
        assert broken.given > 400, broken
        assert broken.share <= broken.allowed, broken
        assert broken.by_point / broken.draws > 0.25, broken
