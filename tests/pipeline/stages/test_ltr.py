"""The trained reranker, and the logistic regression that it shares with others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.posts import lesson_on, posts_of, taught
from evidentia.array_types import Bools, Floats
from evidentia.corpus import Posts
from evidentia.pipeline.stage import Parts, View
from evidentia.pipeline.stages.ltr import LearnToRank, Model, fit_logistic, one_per_criterion, predict_logistic
from evidentia.synth import synthetic_corpus

MODELS: tuple[Model, ...] = ("boosting", "logistic")


def told(posts: Posts, *, noise: float, seed: int = 0) -> View:
    """A view in which an earlier stage has seen the gold through noise."""
    assert posts.gold is not None
    rng = np.random.default_rng(seed)
    return View.of(posts).with_scores("earlier", posts.gold + noise * rng.normal(size=posts.gold.shape))


@pytest.fixture(scope="module")
def posts() -> Posts:
    return synthetic_corpus(posts=40, mean_sentences=8, seed=5)


class TestReranker:
    @pytest.mark.parametrize("model", MODELS)
    def test_it_learns_to_trust_what_told_the_gold(self, posts: Posts, model: Model) -> None:
        assert posts.gold is not None
        _, learnt, scores = taught(LearnToRank(model, trees=20), posts, told(posts, noise=0.1))
        assert scores[posts.gold].min() > scores[~posts.gold].max()
        assert learnt.document["features"][0] == "earlier"
        assert learnt.document["features"][-1] == "criterion"

    @pytest.mark.parametrize("model", MODELS)
    def test_what_did_not_reach_the_stage_scores_as_the_lowest_of_its_query(self, posts: Posts, model: Model) -> None:
        view = told(posts, noise=1.0).narrowed("earlier", 3)
        _, _, scores = taught(LearnToRank(model, trees=5), posts, view)
        for start, stop in zip(posts.offsets[:-1], posts.offsets[1:], strict=True):
            for column in range(10):
                kept = view.kept[start:stop, column]
                lowest = scores[start:stop, column][kept].min()
                assert set(scores[start:stop, column][~kept].tolist()) <= {lowest}

    @pytest.mark.parametrize("model", MODELS)
    def test_only_candidates_of_the_lesson_are_read(self, posts: Posts, model: Model) -> None:
        """Labels of other posts, and of sentences that are no candidates, change nothing."""
        assert posts.gold is not None
        view = told(posts, noise=1.0).narrowed("earlier", 3)
        stage, learn = LearnToRank(model, trees=5), np.arange(0, 40, 2)
        inputs = stage.inputs(stage.space(view), view)
        outside = ~view.kept | (posts.owner % 2 == 1)[:, None]
        turned = posts.relabelled(posts.gold ^ outside)
        models = [stage.fit(inputs, lesson_on(which, learn), seed=0) for which in (posts, turned)]
        for name, part in models[0].arrays.items():
            assert part.tobytes() == models[1].arrays[name].tobytes()

    @pytest.mark.parametrize("model", MODELS)
    def test_the_order_of_the_corpus_does_not_reach_the_model(self, posts: Posts, model: Model) -> None:
        view, stage = told(posts, noise=1.0), LearnToRank(model, trees=5)
        order = np.random.default_rng(0).permutation(len(posts))
        turned = view.take(order)
        back = np.argsort(order)  # the same posts in the same order of the lesson, elsewhere in the table
        first = stage.fit(stage.inputs(Parts(), view), lesson_on(posts, np.arange(40)), seed=0)
        other = stage.fit(stage.inputs(Parts(), turned), lesson_on(posts.take(order), back), seed=0)
        for name, part in first.arrays.items():
            assert part.tobytes() == other.arrays[name].tobytes()

    @pytest.mark.parametrize(("label", "odds"), [(0, -6.0), (1, 6.0)])
    @pytest.mark.parametrize("model", MODELS)
    def test_one_kind_of_label_gives_a_constant(self, model: Model, label: int, odds: float) -> None:
        _, _, scores = taught(LearnToRank(model), posts_of(["a", "b"], ["c"], gold=[[label] * 2] * 3))
        assert scores.tolist() == [[odds, odds]] * 3


class TestLogistic:
    def test_log_odds_by_hand(self) -> None:
        """(5 - 1) / 2 * 3 + (0 - 4) / 4 * 1 + 0.5 = 5.5"""
        model = Parts(
            {"bias": 0.5}, {"mean": np.array([1.0, 4]), "scale": np.array([2.0, 4]), "weights": np.array([3.0, 1])}
        )
        assert predict_logistic(model, np.array([[5.0, 0.0]])).tolist() == [5.5]

    def test_the_last_column_becomes_one_per_criterion(self) -> None:
        features = np.array([[0.5, 2], [0.25, 0]], np.float32)
        assert one_per_criterion(features, 4).tolist() == [[0.5, 0, 0, 1, 0], [0.25, 1, 0, 0, 0]]

    def test_it_is_as_wide_for_a_post_of_few_criteria(self) -> None:
        assert one_per_criterion(np.zeros((1, 2), np.float32), 10).shape == (1, 11)
        assert one_per_criterion(np.zeros((0, 2), np.float32), 10).shape == (0, 11)

    @pytest.mark.parametrize("value", [0.1, -6.0, 1e-8, 123456.7])
    def test_a_column_that_never_changed_counts_no_more_for_another_value(self, value: float) -> None:
        """The deviation of 1,001 times 0.1 is 1e-17, not 0: divided by it, 0.2 would have been 10^16 deviations away."""
        rng = np.random.default_rng(0)
        features = np.column_stack([rng.normal(size=1001), np.full(1001, value)])
        assert 0 < np.full(1001, 0.1).std() < 1e-16
        model = fit_logistic(features, rng.random(1001) < 0.5)
        assert model.arrays["scale"][1] == 1.0
        assert abs(predict_logistic(model, np.array([[0.0, value + 0.1]]))[0]) < 1

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10_000))
    def test_no_small_step_lowers_the_loss(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        features, labels = rng.normal(3, 5, (40, 2)), rng.random(40) < 0.4
        labels[:2] = [True, False]
        model = fit_logistic(features, labels, strength=0.7)
        standard = (features - features.mean(0)) / features.std(0)

        def loss(weights: Floats, bias: float) -> float:
            odds = standard @ weights + bias
            return float((weights @ weights + bias**2) / 2 + 0.7 * np.logaddexp(0, np.where(labels, -odds, odds)).sum())

        weights, bias = model.arrays["weights"], model.document["bias"]
        for step in 0.02 * np.vstack([np.eye(3), -np.eye(3)]):
            assert loss(weights + step[:2], bias + step[2]) > loss(weights, bias)
        np.testing.assert_allclose(predict_logistic(model, features), standard @ weights + bias, atol=1e-9)

    @settings(deadline=None)
    @given(st.lists(st.booleans(), min_size=1, max_size=12), st.sampled_from([0.0, 1e-300, 1.0, 1e9]))
    def test_scores_are_finite_whatever_the_scale(self, labels: list[bool], scale: float) -> None:
        features: Floats = scale * np.arange(2.0 * len(labels)).reshape(-1, 2)
        given_: Bools = np.array(labels)
        assert np.isfinite(predict_logistic(fit_logistic(features, given_), features)).all()
