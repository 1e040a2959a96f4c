"""Whether labels are separated, told three ways: by both implementations, and by a linear program that knows no curve."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from evidentia.protocol import logistic as first
from evidentia.verify import calibrators as second


def has_a_separating_plane(columns: np.ndarray, labels: np.ndarray) -> bool:
    """Some coefficients are on the right side of every point and off at least one, or vanish everywhere."""
    signed = np.where(labels, 1, -1)[:, None] * columns
    limits = np.concatenate([np.zeros(len(labels)), np.ones(len(labels))])
    sides = np.concatenate([-signed, signed])
    found = linprog(-signed.sum(0), A_ub=sides, b_ub=limits, bounds=[(None, None)] * columns.shape[1])
    return bool(-found.fun > 1e-7) or np.linalg.matrix_rank(columns, tol=1e-9) < columns.shape[1]


def test_separation_is_told_alike_three_ways() -> None:
    random, told = np.random.default_rng(0), {True: 0, False: 0}
    for _ in range(200):
        size = int(random.integers(2, 9))
        prob, labels = random.choice(np.linspace(0.05, 0.95, 6), size), random.random(size) < 0.5
        if labels.all() or not labels.any():
            continue
        yes, no = np.log(prob), -np.log1p(-prob)
        for turns, columns in ((1, [yes + no]), (2, [yes, no])):
            expected = has_a_separating_plane(np.column_stack([*columns, np.ones(size)]), labels)
            assert first.separated(prob, labels, turns) == expected
            assert second.separated(prob.tolist(), labels.tolist(), turns) == expected
            told[expected] += 1
    assert min(told.values()) > 50


def test_both_find_the_same_coefficients() -> None:
    random = np.random.default_rng(5)
    prob = random.random(300)
    labels = random.random(300) < prob**2
    columns = np.column_stack([np.log(prob), -np.log1p(-prob)])
    one, other = (
        first.logistic(columns, labels),
        second.logistic(columns, labels),
    )
    assert np.abs(np.array(one) - np.array(other)).max() < 1e-11
