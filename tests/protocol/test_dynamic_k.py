"""Dynamic K: the smallest K with a share gamma, within its limits; gamma matters, and a pinned K is reported."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evidentia
from evidentia.protocol import KPolicy, gamma_sweep
from evidentia.protocol.dynamic_k import GAMMAS, wanted_k
from evidentia.synth import synthetic_run
from evidentia.tables import Candidates, read_run

OPEN = KPolicy(k_min=0, hard_cap=100, ratio=1.0)


def pool(
    *queries: list[float], gold: list[list[int]] | None = None, score: list[list[float]] | None = None
) -> Candidates:
    offsets = np.cumsum([0, *map(len, queries)])
    marks = [[at in g for at in range(len(q))] for q, g in zip(queries, gold or [[]] * len(queries), strict=True)]
    prob = np.array([p for q in queries for p in q], float)
    ranked = prob if score is None else np.array([s for q in score for s in q], float)
    return Candidates(offsets, ranked, np.array([m for q in marks for m in q], bool), prob)


@given(st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=6), st.sampled_from([*GAMMAS, 0.5, 1.0]))
def test_k_is_that_of_exact_arithmetic(queries: list[list[int]], gamma: float) -> None:
    expected = []
    for query in queries:
        mass = sorted((query if sum(query) else [1] * len(query)), reverse=True)
        shares = [Fraction(part, sum(mass)) for part in itertools.accumulate(mass)]
        expected.append(next((k for k, share in enumerate(shares, 1) if share >= Fraction(str(gamma))), 0))
    assert wanted_k(pool(*[[p / 10 for p in query] for query in queries]), gamma).tolist() == expected


def test_k_grows_with_gamma_on_realistic_runs() -> None:
    """The bug seen elsewhere: raw sigmoids were cumulated, and 0.8, 0.9 and 0.95 gave the same K."""
    made = synthetic_run(seed=7, posts=60, criteria=4, positives=40)
    run = read_run(made.per_query, candidates=made.candidates)
    points = gamma_sweep(run.queries.candidates, policy=OPEN)
    assert [point.gamma for point in points] == [0.7, 0.8, 0.9, 0.95]
    ks = [point.mean_k for point in points]
    recalls = [point.evidence_recall for point in points]
    assert all(more > less + 0.5 for less, more in itertools.pairwise(ks)), ks
    assert recalls == sorted(recalls)
    assert recalls[-1] > recalls[0]
    assert [point.pinned for point in points] == [None] * 4


def test_a_hand_worked_sweep() -> None:
    """Shares 0.5, 0.3, 0.2: 0.7 wants 2, 0.9 wants 3. The ranking by score puts the gold sentence second."""
    candidates = pool([0.5, 0.2, 0.3], [0.1], gold=[[2], []], score=[[3, 1, 2], [1]])
    two, three = gamma_sweep(candidates, policy=OPEN, gammas=(0.7, 0.9))
    assert (two.mean_k, two.evidence_recall, two.sentences) == (1.5, 1.0, 3)
    assert (three.mean_k, three.sentences) == (2.0, 4)
    stopped, _ = gamma_sweep(candidates, policy=OPEN, gammas=(0.7, 0.9), gate=np.array([False, True]))
    assert (stopped.mean_k, stopped.evidence_recall, stopped.sentences) == (1.0, 0.0, 1)


def test_the_selection_is_the_top_of_the_ranking_not_of_the_probabilities() -> None:
    candidates = pool([0.9, 0.1], gold=[[1]], score=[[1, 2]])
    (point,) = gamma_sweep(candidates, policy=OPEN, gammas=(0.8,))
    assert (point.mean_k, point.evidence_recall) == (1.0, 1.0)


def test_a_pinned_k_is_reported() -> None:
    flat = pool(*[[0.1] * 40] * 3)
    assert {(p.pinned, p.at_cap, p.mean_k) for p in gamma_sweep(flat)} == {("cap", 1.0, 10.0)}
    steep = pool(*[[0.99, *[0.0001] * 9]] * 3)
    assert {(p.pinned, p.at_floor, p.mean_k) for p in gamma_sweep(steep)} == {("floor", 1.0, 2.0)}


@given(st.integers(0, 60), st.integers(0, 5), st.integers(0, 20), st.sampled_from([0.1, 0.29, 0.3, 0.5, 0.7, 1.0]))
def test_limits_are_those_of_the_erratum(n: int, k_min: int, more: int, ratio: float) -> None:
    policy = KPolicy(k_min, k_min + more, ratio)
    k_max = min(policy.hard_cap, math.floor(n * Fraction(str(ratio))))
    floor, cap = policy.limits(np.array([n]))
    assert floor.tolist() == [min(k_min, n)]
    assert cap.tolist() == [max(min(k_max, n), min(k_min, n))]


@pytest.mark.parametrize("wrong", [(3, 2, 0.5), (2, 10, 0.0), (2, 10, 1.5), (-1, 2, 0.5)])
def test_impossible_limits_are_refused(wrong: tuple[int, int, float]) -> None:
    with pytest.raises(evidentia.InputError, match="k_min <= hard_cap"):
        KPolicy(*wrong)


def test_impossible_masses_and_gammas_are_refused() -> None:
    with pytest.raises(evidentia.InputError, match="below 0"):
        wanted_k(pool([-1.0, 2.0]), 0.5)
    with pytest.raises(evidentia.InputError, match="gamma"):
        wanted_k(pool([1.0]), 1.5)


def test_a_sweep_on_the_tune_rows_of_a_fold() -> None:
    """They are read as a run of their own, as the page on the protocol says."""
    made = synthetic_run(seed=7, posts=60, criteria=4, positives=40, splits=True)
    tune = made.per_query.filter(fold=0, split="TUNE").drop("split", "fold")
    theirs = made.candidates.join(tune.select("post_id").unique(), on="post_id").drop("split", "fold")
    run = read_run(tune, candidates=theirs)
    low, *_, high = gamma_sweep(run.queries.candidates, gate=run.queries.gate, policy=OPEN)
    assert 0 < low.mean_k < high.mean_k
    assert low.sentences == round(low.mean_k * run.queries.gate.sum())
