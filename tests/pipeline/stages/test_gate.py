"""What the candidates of a query look like together, and the classifier over that."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from builders.posts import lesson_on, posts_of, scored, spans, taught
from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.pipeline.stage import View
from evidentia.pipeline.stages.gate import BestCandidate, PooledGate, query_features
from evidentia.synth import synthetic_corpus

Scored = tuple[Floats, Bools, Bools, Ints]


def known(view: View, sources: tuple[str, ...], post: int, criterion: int) -> dict[str, float]:
    names, values = query_features(view, sources)
    return dict(zip(names, values[post, criterion].tolist(), strict=True))


def test_the_features_of_a_query_of_two_candidates() -> None:
    """Chances 1/2 and 3/4: 1.25 gold sentences expected, and none at all with chance 1/8. A third best there is not."""
    score = np.array([[0.0, -1], [math.log(3), -2], [9, 0]])
    view = View(posts_of(["a", "b", "c"]), {"graph": score}, np.array([[True, True], [True, True], [False, True]]))
    found = known(view, ("graph",), 0, 0)
    assert found == {
        "graph 1": pytest.approx(math.log(3)),
        "graph 2": 0.0,
        "graph 3": 0.0,
        "graph 4": 0.0,
        "graph expected": pytest.approx(1.25),
        "graph any": pytest.approx(math.log(8)),
        "graph elsewhere": 0.0,
        "sentences": 3.0,
        "criterion": 0.0,
    }


def test_other_stages_are_heard_without_the_cut() -> None:
    view = View(
        posts_of(["a", "b"]),
        {"graph": np.zeros((2, 2)), "words": np.array([[1.0, 0], [7, 0]])},
        np.array([[True, True], [False, True]]),
    )
    assert known(view, ("graph",), 0, 0)["words best"] == 7.0  # the second sentence is no candidate any more


def test_certain_scores_stay_finite() -> None:
    view = View.of(posts_of(["a", "b"])).with_scores("graph", np.array([[1e4, -1e4], [1e4, -1e4]]))
    assert np.isfinite(query_features(view, ("graph",))[1]).all()


@settings(deadline=None)
@given(scored())
def test_pooling_against_loops(case: Scored) -> None:
    score, kept, _, offsets = case
    posts = posts_of(
        *(["x"] * len(span) for span in spans(offsets)), criteria=posts_of(["x"]).criteria[:1] * score.shape[1]
    )
    names, values = query_features(View(posts, {"graph": score}, kept), ("graph",))
    for post, span in enumerate(spans(offsets)):
        tops = []
        for column in range(score.shape[1]):
            mine = sorted((float(score[row, column]) for row in span if kept[row, column]), reverse=True)
            chances = [1 / (1 + math.exp(-value)) for value in mine]
            tops.append(mine[0])
            found = dict(zip(names, values[post, column].tolist(), strict=True))
            best_four = [found[f"graph {at}"] for at in (1, 2, 3, 4)]
            assert best_four == (mine + [mine[-1]] * 3)[:4]  # the lowest stands in for those that are missing
            assert found["graph expected"] == pytest.approx(sum(chances), abs=1e-5)
            assert found["graph any"] == pytest.approx(-sum(math.log(1 - chance) for chance in chances), abs=1e-5)
            assert found["sentences"] == len(span)
            assert found["criterion"] == column
        for column, top in enumerate(tops):
            others = tops[:column] + tops[column + 1 :]
            assert values[post, column, names.index("graph elsewhere")] == max(others, default=top)


@pytest.fixture(scope="module")
def posts() -> Posts:
    return synthetic_corpus(posts=60, mean_sentences=6, seed=5)


@pytest.fixture(scope="module")
def view(posts: Posts) -> View:
    assert posts.gold is not None
    told = 6.0 * posts.gold - 3 + np.random.default_rng(0).normal(size=posts.gold.shape)
    return View.of(posts).with_scores("graph", told)


@pytest.mark.parametrize("model", ["blend", "boosting", "logistic"])
def test_queries_with_evidence_are_told_from_those_without(posts: Posts, view: View, model: str) -> None:
    _, learnt, odds = taught(PooledGate(model, trees=30), posts, view)  # type: ignore[arg-type]
    assert odds.shape == (60, 10)
    has = posts.has_evidence()
    assert np.mean((odds > 0) == has) > 0.95
    assert learnt.document["features"][0] == "graph 1"


def test_the_blend_is_the_mean_of_both(posts: Posts, view: View) -> None:
    blend, trees, weights = (
        taught(PooledGate(model, trees=10), posts, view)[2]  # type: ignore[arg-type]
        for model in ("blend", "boosting", "logistic")
    )
    np.testing.assert_allclose(blend, (trees + weights) / 2, atol=1e-12)


def test_labels_of_other_posts_are_not_read(posts: Posts, view: View) -> None:
    assert posts.gold is not None
    stage, learn = PooledGate(trees=5), np.arange(0, 60, 2)
    inputs = stage.inputs(stage.space(view), view)
    turned = posts.relabelled(posts.gold ^ (posts.owner % 2 == 1)[:, None])
    models = [stage.fit(inputs, lesson_on(which, learn), seed=0) for which in (posts, turned)]
    for name, part in models[0].arrays.items():
        assert part.tobytes() == models[1].arrays[name].tobytes()


@pytest.mark.parametrize(("label", "odds"), [(0, -6.0), (1, 6.0)])
@pytest.mark.parametrize("model", ["blend", "boosting", "logistic"])
def test_one_kind_of_label_gives_a_constant(model: str, label: int, odds: float) -> None:
    posts = posts_of(["a", "b"], ["c"], gold=[[label] * 2] * 3)
    heard = View.of(posts).with_scores("graph", np.arange(6.0).reshape(3, 2))
    assert taught(PooledGate(model), posts, heard)[2].tolist() == [[odds, odds]] * 2  # type: ignore[arg-type]


def test_the_best_candidate_stands_in_for_a_gate() -> None:
    posts = posts_of(["a", "b"], ["c"], gold=[[0, 0]] * 3)
    heard = View.of(posts).with_scores("graph", np.array([[1.0, 2], [3, 0], [5, 4]]))
    assert taught(BestCandidate(), posts, heard)[2].tolist() == [[3.0, 2.0], [5.0, 4.0]]


def test_gates_speak_of_posts() -> None:
    assert PooledGate().per == BestCandidate().per == "post"
    assert PooledGate().learns
    assert not BestCandidate().learns
