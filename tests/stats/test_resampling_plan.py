"""The plan draws as CONTRACT section 4 says, and any part of it can be had alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator, Philox

from evidentia.stats import resampling
from evidentia.stats.resampling import LeaveOneOut, ResamplingPlan

PINNED = [1, 8, 9, 2, 3, 4, 6, 4, 4, 0]


def test_every_replicate_has_a_stream_of_its_own() -> None:
    drawn = ResamplingPlan(20, 5, 7).multiplicities(0, 5)
    for replicate in range(5):
        picks = Generator(Philox(key=[7, replicate])).integers(20, size=20)
        assert drawn[replicate].tolist() == np.bincount(picks, minlength=20).tolist()


def by_contract(clusters: int, seed: int, replicate: int) -> list[int]:
    picks = Generator(Philox(key=[seed, replicate])).integers(clusters, size=clusters)
    return np.bincount(picks, minlength=clusters).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("clusters", [1, 2, 3, 40, 41, 1_477])
@pytest.mark.parametrize("seed", [0, 2**63 + 5])
def test_draws_from_raw_bits_are_those_of_the_contract(clusters: int, seed: int) -> None:
    drawn = ResamplingPlan(clusters, 90, seed).multiplicities(0, 90)
    assert [row.tolist() for row in drawn] == [by_contract(clusters, seed, replicate) for replicate in range(90)]


def test_numbers_that_numpy_throws_away_are_thrown_away_here_too() -> None:
    """Of 300,000 draws among 300,000 clusters numpy rejects about twenty, to be fair to all of them."""
    clusters = 300_000
    raw = Philox(key=[7, 1]).random_raw(clusters // 2).view(np.uint32)
    assert 5 < np.sum((raw * np.uint64(clusters)).astype(np.uint32) < 2**32 % clusters) < 50
    drawn = ResamplingPlan(clusters, 2, 7).multiplicities(0, 2)
    assert drawn[1].tolist() == by_contract(clusters, 7, 1)


def test_another_numpy_that_makes_its_numbers_otherwise_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = np.zeros((90, 20), np.int64), np.zeros(90, np.bool_)
    monkeypatch.setattr(resampling, "_from_raw", lambda source, clusters, replicates: wrong)
    drawn = ResamplingPlan(20, 90, 7).multiplicities(0, 90)
    assert [row.tolist() for row in drawn] == [by_contract(20, 7, replicate) for replicate in range(90)]


def test_draws_are_pinned() -> None:
    """The very numbers, so that neither a release of numpy nor a change here can move every interval unseen."""
    assert Generator(Philox(key=[7, 0])).integers(10, size=10).tolist() == PINNED
    expected = np.bincount(PINNED, minlength=10)
    assert ResamplingPlan(10, 2, 7).multiplicities(0, 1)[0].tolist() == expected.tolist()


def test_every_replicate_draws_as_many_clusters_as_there_are() -> None:
    drawn = ResamplingPlan(31, 40, 3).multiplicities(0, 40)
    assert set(drawn.sum(axis=1).tolist()) == {31}
    assert 0.5 < (drawn > 0).mean() < 0.75  # 1 - 1/e of the clusters are in a replicate


@pytest.mark.parametrize("block", [None, 1, 7, 40, 512])
def test_blocks_cover_every_replicate_once(block: int | None) -> None:
    plan = ResamplingPlan(13, 40, 7, block=block)
    parts = list(plan.blocks())
    assert [i for rows, _ in parts for i in range(rows.start, rows.stop)] == list(range(40))
    assert np.array_equal(np.concatenate([w for _, w in parts], axis=1).T, plan.multiplicities(0, 40))


def test_a_plan_too_large_to_keep_is_drawn_again_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ResamplingPlan(13, 40, 7).multiplicities(20, 30)
    monkeypatch.setattr(resampling, "CACHED", 0)
    assert np.array_equal(ResamplingPlan(13, 40, 7).multiplicities(20, 30), kept)


@pytest.mark.parametrize("clusters", [1, 1_477, 100_000, 5_000_000])
def test_memory_in_work_is_bounded_whatever_the_number_of_clusters(clusters: int) -> None:
    assert resampling.block_size(clusters) * clusters <= max(resampling.BLOCK_CELLS, 8 * clusters)


def test_strata_are_drawn_one_after_another_from_one_stream() -> None:
    strata = (np.array([0, 2, 4]), np.array([1, 3]))
    drawn = ResamplingPlan(5, 6, 7, strata=strata).multiplicities(0, 6)
    for replicate in range(6):
        generator = Generator(Philox(key=[7, replicate]))
        picks = np.concatenate([strata[0][generator.integers(3, size=3)], strata[1][generator.integers(2, size=2)]])
        assert drawn[replicate].tolist() == np.bincount(picks, minlength=5).tolist()


def test_leaving_one_out() -> None:
    plan = LeaveOneOut(3)
    assert plan.resamples == 3
    ((rows, weights),) = plan.blocks()
    assert (rows.start, rows.stop) == (0, 3)
    assert weights.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_leaving_one_out_of_many_comes_in_blocks_that_bound_memory() -> None:
    plan, seen = LeaveOneOut(5000), 0
    for rows, weights in plan.blocks():
        assert weights.shape == (5000, rows.stop - rows.start)
        assert weights.size <= 2**21
        for column, left_out in zip(weights.T, range(rows.start, rows.stop), strict=True):
            assert np.flatnonzero(column == 0).tolist() == [left_out]
            seen += 1
    assert seen == 5000
