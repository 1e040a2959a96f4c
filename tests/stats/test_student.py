"""Student's t of our own is that of scipy, which is too slow to import for it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaincinv, stdtrit

from evidentia.stats.intervals import clopper_pearson
from evidentia.stats.student import MANY, t_quantile


@pytest.mark.parametrize("level", [0.01, 0.5, 0.8, 0.95, 0.99, 0.9999])
def test_quantiles_are_those_of_scipy(level: float) -> None:
    around = np.array([MANY - 1, MANY, MANY + 1])  # where the method changes
    freedom = np.concatenate([np.geomspace(0.1, 1e8, 300), np.arange(1.0, 60.0), around])
    np.testing.assert_allclose(t_quantile(freedom, level), stdtrit(freedom, (1 + level) / 2), rtol=1e-11)


def test_one_degree_of_freedom_is_a_tangent() -> None:
    assert t_quantile(np.array([1.0]), 0.5)[0] == pytest.approx(1.0, rel=1e-14)  # tan(pi / 4)


def test_without_freedom_there_is_none() -> None:
    assert np.isnan(t_quantile(np.array([0.0, -1.0, np.nan]), 0.95)).all()


@pytest.mark.parametrize("trials", [1, 7, 1477])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_limits_of_all_or_none_have_a_closed_form(trials: int, level: float) -> None:
    tail = (1 - level) / 2
    high = betaincinv(1, trials, 1 - tail)
    assert clopper_pearson(0, trials, level) == (0.0, pytest.approx(high, rel=1e-12))
    assert clopper_pearson(trials, trials, level) == (pytest.approx(1 - high, rel=1e-12), 1.0)
