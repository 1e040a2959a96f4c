"""The two tests say what scipy says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom, mannwhitneyu

from evidentia.monitoring.two_samples import order_difference, rate_difference

counts = st.integers(1, 60)


@given(n=counts, m=counts, hits=st.floats(0, 1), others=st.floats(0, 1))
def test_shares_have_twice_the_smaller_tail_of_fisher(n: int, m: int, hits: float, others: float) -> None:
    k, j = round(hits * n), round(others * m)
    batch, reference = np.arange(n) < k, np.arange(m) < j
    difference = rate_difference(batch.astype(float), reference.astype(float))
    tails = hypergeom(n + m, k + j, n)
    assert difference.p == pytest.approx(min(1.0, 2 * min(tails.cdf(k), tails.sf(k - 1))), rel=1e-9)
    assert difference.effect == pytest.approx(k / n - j / m)


@given(
    batch=st.lists(st.integers(0, 5).map(float), min_size=20, max_size=40),
    reference=st.lists(st.integers(0, 5).map(float), min_size=20, max_size=40),
)
def test_orders_have_the_rank_sum_test_with_ties(batch: list[float], reference: list[float]) -> None:
    difference = order_difference(np.array(batch), np.array(reference))
    if len({*batch, *reference}) > 1:
        theirs = mannwhitneyu(batch, reference, method="asymptotic", use_continuity=True)
        assert difference.p == pytest.approx(theirs.pvalue, rel=1e-9)
        assert difference.effect == pytest.approx(theirs.statistic / (len(batch) * len(reference)) - 0.5)
    else:
        assert (difference.effect, difference.p) == (0.0, 1.0)


def test_far_tails_do_not_round_to_zero() -> None:
    ones, zeros = np.ones(200), np.zeros(200)
    assert 0 < rate_difference(ones, zeros).p < 1e-100
    assert 0 < order_difference(np.arange(200) + 500.0, np.arange(200.0)).p < 1e-60
