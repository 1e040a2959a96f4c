"""Nominal 95 % intervals hold the truth about as often as they say; docs/intervals.md has the figures of 1,000 data sets."""

from __future__ import annotations

import math

import pytest

from slow.coverage import DRAWN_TWICE, ERROR_POSTS, ERRORS, NAMES, bars, calibration, cell, drawn_twice, paired
from slow.simulated import SHAPES

SETS = 400
CHANCE = 100 * 3 * math.sqrt(0.05 * 0.95 / SETS)  # three standard errors: some hundred shares are looked at
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("posts", [100, 300])
def test_headline_measures(shape: str, posts: int) -> None:
    held = cell(shape, posts, SETS)
    for name in NAMES:
        seen = held[name, "auto"]
        warned = posts < 300 and 2 * seen.warned > seen.of
        assert seen.share >= 93 - CHANCE or warned, (name, str(seen))
        assert seen.share <= 97 + CHANCE or warned, (name, str(seen))


@pytest.mark.parametrize("shape", SHAPES[:2])
@pytest.mark.parametrize("posts", [40, 200])
def test_poisson_weights_hold_as_often_as_draws(shape: str, posts: int) -> None:
    seen = drawn_twice(shape, posts, SETS)
    for name in DRAWN_TWICE:
        exact, poisson = seen[name, "exact"], seen[name, "poisson"]
        assert abs(poisson.held.share - exact.held.share) <= 2, (name, str(exact.held), str(poisson.held))
        assert 0.95 <= poisson.width / exact.width <= 1.05, name
        warned = 2 * poisson.held.warned > poisson.held.of
        assert 93 - CHANCE <= poisson.held.share <= 97 + CHANCE or warned, (name, str(poisson.held))


@pytest.mark.parametrize("posts", ERROR_POSTS)
@pytest.mark.parametrize("error", ERRORS)
def test_the_calibration_error(error: float, posts: int) -> None:
    seen = calibration(error, posts, 4, SETS)
    assert seen.held.share >= 93 - CHANCE, str(seen.held)
    assert seen.without_point == 0


@pytest.mark.parametrize(
    ("error", "posts", "queries", "sets"),
    [(0.0, 60, 2, SETS), (0.0, 100, 4, SETS), (0.0, 1477, 10, 50), (0.1, 300, 4, SETS)],
)
def test_verdicts_on_the_calibration_error(error: float, posts: int, queries: int, sets: int) -> None:
    seen = calibration(error, posts, queries, sets)
    if error:
        assert seen.not_met >= 0.8 * sets
    else:
        assert seen.not_met <= 0.025 * sets
    if posts == 1477:
        assert seen.met >= 0.9 * sets


@pytest.mark.parametrize("queries", [1, 4, 10])
def test_bars_of_the_reliability_curve(queries: int) -> None:
    assert 92 <= bars(queries, SETS).share <= 98


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("posts", [30, 100])
def test_equal_systems_are_rarely_called_different(shape: str, posts: int) -> None:
    for (name, _), seen in paired(shape, posts, SETS).items():
        warned = 2 * seen.warned > seen.of
        assert (3 - CHANCE) * seen.of <= 100 * seen.above <= (7 + CHANCE) * seen.of or warned, (name, seen)
