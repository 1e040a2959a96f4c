"""A nominal 95 % interval holds the truth in about 95 % of data sets, and one that ignores the posts does not."""

from __future__ import annotations

from functools import cache

import pytest

from slow.coverage import NAMES, Coverage, experiment


@cache
def thousand_data_sets() -> tuple[dict[str, Coverage], dict[str, Coverage]]:
    _, clusters, queries = experiment()
    return clusters, queries


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """In one test, so that the simulation is run once even where tests are spread over processes."""
    clusters, queries = thousand_data_sets()
    for name in NAMES:
        assert clusters[name].of == queries[name].of == 1000
        assert 0.93 <= clusters[name].share <= 0.97, (name, clusters[name])
        assert queries[name].share < 0.90, (name, queries[name])
