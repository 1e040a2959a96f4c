"""The bootstrap p and Holm's correction against hand-worked examples and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evidentia.stats.testing import bootstrap_p, holm


def plain_p(differences: list[float]) -> float:
    """The formula, one replicate at a time."""
    used = [d for d in differences if not math.isnan(d)]
    below = sum(1 for d in used if d <= 0)
    above = sum(1 for d in used if d >= 0)
    return min(1.0, 2 * (1 + min(below, above)) / (len(used) + 1))


def plain_holm(p: list[float]) -> list[float]:
    """Holm by its definition: the largest of the step-down products of all tests with a p as small or smaller."""
    ranked = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = [0.0] * len(p)
    for rank, i in enumerate(ranked):
        adjusted[i] = min(1.0, max((len(p) - r) * p[ranked[r]] for r in range(rank + 1)))
    return adjusted


def rejected(p: list[float], alpha: float) -> set[int]:
    """Holm as the procedure that its author describes: reject the smallest while it is at most alpha / (tests left)."""
    left = sorted(range(len(p)), key=lambda i: p[i])
    out: set[int] = set()
    while left and p[left[0]] <= alpha / len(left):
        out.add(left.pop(0))
    return out


def test_p_of_hand_worked_rows() -> None:
    rows = np.array([[1.0, 2.0, -1.0, 3.0], [-1.0, -2.0, -3.0, -4.0], [1.0, -1.0, 1.0, -1.0]])
    # one of four below: 2 (1 + 1) / 5; none above: 2 (1 + 0) / 5; two each: 2 (1 + 2) / 5, at most 1
    assert bootstrap_p(rows).tolist() == [0.8, 0.4, 1.0]


@pytest.mark.parametrize("resamples", [2, 39, 200, 10_000])
def test_the_smallest_p_is_two_over_one_more_than_the_resamples(resamples: int) -> None:
    for sign in (1.0, -1.0):
        assert bootstrap_p(np.full((1, resamples), sign)).tolist() == [2 / (resamples + 1)]


def test_a_tie_at_zero_counts_on_both_sides() -> None:
    assert bootstrap_p(np.zeros((1, 50))).tolist() == [1.0]
    one_tie = np.concatenate([[0.0], np.ones(98)])
    assert bootstrap_p(one_tie[None]).tolist() == [2 * (1 + 1) / 100]
    assert bootstrap_p(-one_tie[None]).tolist() == [2 * (1 + 1) / 100]


def test_nan_is_left_out_and_nothing_but_nan_has_no_p() -> None:
    some = np.array([[np.nan, 1.0, np.nan, 1.0, 1.0], [np.nan] * 5])
    first, second = bootstrap_p(some)
    assert first == 2 / (3 + 1)
    assert np.isnan(second)


def test_p_equals_the_plain_formula_and_does_not_depend_on_the_sign() -> None:
    random = np.random.default_rng(3)
    rows = random.integers(-2, 4, size=(200, 41)).astype(float)
    rows[random.random(rows.shape) < 0.1] = np.nan
    expected = [plain_p(row) for row in rows.tolist()]
    assert bootstrap_p(rows).tolist() == expected
    assert bootstrap_p(-rows).tolist() == expected
    assert min(expected) > 0
    assert max(expected) <= 1


def test_holm_of_a_hand_worked_example() -> None:
    # sorted 0.005 0.01 0.03 0.04, times 4 3 2 1: 0.02 0.03 0.06 0.04; the last may not be below the one before it
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02], abs=1e-15)


def test_holm_of_none_one_ties_and_large() -> None:
    assert holm(np.zeros(0)).tolist() == []
    assert holm(np.array([0.03])).tolist() == [0.03]
    assert holm(np.array([0.02, 0.02, 0.02])) == pytest.approx([0.06] * 3)
    assert holm(np.array([0.9, 0.8, 0.7])).tolist() == [1.0, 1.0, 1.0]


def test_holm_equals_brute_force_in_any_order() -> None:
    random = np.random.default_rng(5)
    for tests in range(1, 25):
        p = np.round(random.random(tests) ** 3, 2)  # rounded, so that there are ties
        adjusted = holm(p)
        assert adjusted == pytest.approx(plain_holm(p.tolist()), abs=1e-15)
        assert np.all(adjusted >= p)
        order = random.permutation(tests)
        assert holm(p[order]) == pytest.approx(adjusted[order], abs=1e-15)


def test_an_adjusted_p_rejects_exactly_what_holms_procedure_rejects() -> None:
    random = np.random.default_rng(6)
    rejections = 0
    for _ in range(300):
        p = random.random(int(random.integers(1, 12))) ** 4
        alpha = float(random.uniform(0.01, 0.3))
        expected = rejected(p.tolist(), alpha)
        assert set(np.flatnonzero(holm(p) <= alpha).tolist()) == expected
        rejections += len(expected)
    assert rejections > 300
