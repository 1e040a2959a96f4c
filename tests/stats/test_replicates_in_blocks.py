"""One driver makes every replicate: in order, on any number of cores, with progress that ends at the last."""

from __future__ import annotations

import numpy as np
import pytest

from evidentia.stats.resampling import LeaveOneOut, ResamplingPlan, each_block, over_replicates


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("block", [1, 7, None])
def test_blocks_are_joined_in_order(workers: int, block: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidentia.stats.resampling.os.cpu_count", lambda: workers)
    plan = ResamplingPlan(5, 20, 7, block=block)
    values = over_replicates(lambda weights: {"first": weights[0], "all": weights}, plan)
    assert values["all"].tolist() == plan.multiplicities(0, 20).T.tolist()
    assert values["first"].tolist() == values["all"][0].tolist()


def test_progress_ends_at_the_last_replicate() -> None:
    seen: list[tuple[int, int]] = []
    blocks = each_block(
        lambda weights: weights.shape[1], ResamplingPlan(5, 20, 7, block=8), lambda *at: seen.append(at)
    )
    assert [count for _, count in blocks] == [8, 8, 4]
    assert seen == [(8, 20), (16, 20), (20, 20)]


def test_a_jackknife_is_a_plan_too() -> None:
    assert over_replicates(lambda weights: {0: weights.sum(axis=0)}, LeaveOneOut(4))[0].tolist() == [3.0] * 4


def test_what_fails_in_a_thread_is_raised() -> None:
    def broken(weights: np.ndarray) -> dict[int, np.ndarray]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        over_replicates(broken, ResamplingPlan(5, 20, 7))
