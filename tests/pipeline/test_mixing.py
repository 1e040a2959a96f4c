"""How much a refined score counts, chosen by nDCG@10."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.posts import scored, spans
from evidentia.array_types import Bools, Floats, Ints
from evidentia.arrays import ndcg
from evidentia.pipeline.graphs import query_nodes
from evidentia.pipeline.stages.mixing import WEIGHTS, choose_weight, mean_ndcg, mixed

Scored = tuple[Floats, Bools, Bools, Ints]
ONE_POST = np.array([0, 3])
ALL = np.ones((3, 1), bool)


def column(*values: float) -> Floats:
    return np.array(values, float)[:, None]


def plain_ndcg(score: Floats, kept: Bools, gold: Bools, offsets: Ints, depth: int) -> float:
    """The mean over queries with gold, each from its own sorted list."""
    values = []
    for span in spans(offsets):
        for at in range(score.shape[1]):
            ranking = sorted((row for row in span if kept[row, at]), key=lambda row: (-score[row, at], row))
            gained = sum(gold[row, at] / math.log2(place + 2) for place, row in enumerate(ranking[:depth]))
            ideal = sum(1 / math.log2(place + 2) for place in range(min(depth, sum(gold[row, at] for row in span))))
            if ideal:
                values.append(gained / ideal)
    return sum(values) / len(values) if values else 0.0


class TestMeanNdcg:
    def test_gold_in_second_place_gains_063(self) -> None:
        value = mean_ndcg(column(3, 2, 1), ALL, column(0, 1, 0) > 0, ONE_POST)
        assert value == pytest.approx(1 / math.log2(3))

    def test_gold_that_is_no_candidate_counts_as_missed(self) -> None:
        """One of two gold sentences is left, in first place: 1 / (1 + 0.6309)."""
        value = mean_ndcg(column(3, 2, 1), column(1, 0, 1) > 0, column(1, 1, 0) > 0, ONE_POST)
        assert value == pytest.approx(1 / (1 + 1 / math.log2(3)))

    def test_without_gold_it_is_0(self) -> None:
        assert mean_ndcg(column(3, 2, 1), ALL, ~ALL, ONE_POST) == 0.0

    def test_without_posts_it_is_0(self) -> None:
        none = np.zeros((0, 2))
        assert mean_ndcg(none, none > 0, none > 0, np.array([0])) == 0.0

    @settings(deadline=None)
    @given(scored(), st.integers(1, 12))
    def test_against_a_loop(self, case: Scored, depth: int) -> None:
        score, kept, gold, offsets = case
        assert mean_ndcg(score, kept, gold, offsets, depth=depth) == pytest.approx(
            plain_ndcg(score, kept, gold, offsets, depth), abs=1e-12
        )

    @settings(deadline=None)
    @given(scored())
    def test_with_every_gold_a_candidate_it_is_the_measure_on_plain_arrays(self, case: Scored) -> None:
        score, kept, gold, offsets = case
        gold = gold & kept
        starts, sentence, criterion = query_nodes(kept, offsets)
        values = ndcg(score[sentence, criterion], gold[sentence, criterion], starts, k=10)
        has_gold = np.add.reduceat(gold[sentence, criterion].astype(int), starts[:-1]) > 0
        expected = values[has_gold].mean() if has_gold.any() else 0.0
        assert mean_ndcg(score, kept, gold, offsets) == pytest.approx(expected, abs=1e-12)


class TestWeight:
    def test_half_of_each(self) -> None:
        assert mixed(column(0, 4), column(2, 0), 0.5).ravel().tolist() == [1.0, 2.0]

    def test_the_ends_are_the_scores_themselves(self) -> None:
        given_, refined = column(0.1, 0.7), column(0.3, -0.2)
        assert mixed(given_, refined, 0.0).tolist() == given_.tolist()
        assert mixed(given_, refined, 1.0).tolist() == refined.tolist()

    def test_the_gold_overtakes_above_one_half(self) -> None:
        """Given 1 against 0, refined 0 against 1: at 0.5 they tie and keep the order of the post, at 0.6 the gold leads."""
        gold = column(0, 1) > 0
        chosen = choose_weight(column(1, 0), column(0, 1), kept=ALL[:2], gold=gold, offsets=np.array([0, 2]))
        assert chosen.weight == 0.6
        assert chosen.ndcg == pytest.approx((1 / math.log2(3),) * 6 + (1.0,) * 5)

    def test_nothing_is_changed_for_nothing(self) -> None:
        gold = column(1, 0) > 0
        chosen = choose_weight(column(1, 0), column(1, 0), kept=ALL[:2], gold=gold, offsets=np.array([0, 2]))
        assert chosen.weight == 0.0

    def test_without_gold_the_given_score_stays(self) -> None:
        chosen = choose_weight(column(1, 0), column(0, 1), kept=ALL[:2], gold=~ALL[:2], offsets=np.array([0, 2]))
        assert chosen.to_dict() == {"weight": 0.0, "weights": list(WEIGHTS), "tune_ndcg": [0.0] * 11}

    @settings(deadline=None)
    @given(scored(), st.integers(0, 99))
    def test_the_best_of_eleven_and_the_smallest_of_equals(self, case: Scored, seed: int) -> None:
        score, kept, gold, offsets = case
        refined = np.random.default_rng(seed).integers(-2, 3, score.shape).astype(float)
        chosen = choose_weight(score, refined, kept=kept, gold=gold, offsets=offsets)
        assert chosen.weight == WEIGHTS[chosen.ndcg.index(max(chosen.ndcg))]
        assert max(chosen.ndcg) >= mean_ndcg(score, kept, gold, offsets)
