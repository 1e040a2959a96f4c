"""What arrives at a candidate from its neighbours, against loops over them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.posts import posts_of, scored, spans, taught
from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.pipeline.graphs import adjacency, likeness
from evidentia.pipeline.stage import View
from evidentia.pipeline.stages.classifiers import Lexical
from evidentia.pipeline.stages.meaning import Meaning, lsa_vectors
from evidentia.pipeline.stages.propagation import ARRIVALS, Propagation
from evidentia.pipeline.stages.retrievers import Bm25
from evidentia.pipeline.system import Step
from evidentia.synth import synthetic_corpus
from pipeline.stages.bench import WordCounter, after, claims_of_a_stage, corpus, division
from sampling import examples

Scored = tuple[Floats, Bools, Bools, Ints]
STEPS = (Step("retriever", Bm25(), 6), Step("reranker", Lexical()))
TEXTS = ("sleep badly", "badly again", "rain again", "rain and snow", "snow", "sleep snow")


def view_of(score: Floats, kept: Bools, offsets: Ints) -> View:
    texts = [[TEXTS[row % len(TEXTS)] for row in span] for span in spans(offsets)]
    posts = posts_of(*texts, criteria=posts_of(["x"]).criteria[:1] * score.shape[1])
    return View(posts, {"reranker": score}, kept)


def arrived(view: View) -> dict[str, Floats]:
    stage = Propagation()
    values = stage.inputs(stage.space(view), view).features
    return {name: values[:, :, at] for at, name in enumerate(ARRIVALS)}


def mean_of(graph: Floats, score: Floats, kept: Bools, row: int, column: int) -> float:
    near = [other for other in range(len(score)) if graph[row, other] > 0 and kept[other, column]]
    weight = sum(graph[row, other] for other in near)
    return float(
        sum(graph[row, other] * score[other, column] for other in near) / weight if near else score[row, column]
    )


def test_the_middle_of_three_hears_both_sides() -> None:
    """Sentences without a known word are like nobody: they hear themselves, and as their best the lowest of the query."""
    posts = posts_of(["one", "two", "three"])
    view = View.of(posts).with_scores("reranker", np.array([[1.0, 0], [5, 0], [2, 0]]))
    found = arrived(view)
    assert found["beside"][:, 0].tolist() == [5.0, 1.5, 5.0]
    assert found["beside best"][:, 0].tolist() == [5.0, 2.0, 5.0]
    assert found["alike"][:, 0].tolist() == found["alike twice"][:, 0].tolist() == [1.0, 5.0, 2.0]
    assert found["alike best"][:, 0].tolist() == [1.0, 1.0, 1.0]
    assert found["post"][:, 0].tolist() == [5.0, 5.0, 5.0]


def test_what_is_no_candidate_sends_nothing() -> None:
    view = View(
        posts_of(["one", "two"]), {"reranker": np.array([[1.0, 9], [5, 1]])}, np.array([[True, False], [True, True]])
    )
    found = arrived(view)
    assert found["beside"].tolist() == [[5.0, 1.0], [1.0, 1.0]]  # the 9 is not heard: its neighbour keeps its own
    assert found["beside best"].tolist() == [[5.0, 1.0], [1.0, 1.0]]
    assert found["post"].tolist() == [[5.0, 1.0], [5.0, 1.0]]


@examples(60)
@given(scored(most_sentences=7))
def test_against_loops_over_neighbours(case: Scored) -> None:
    score, kept, _, offsets = case
    view = view_of(score, kept, offsets)
    stage = Propagation()
    alike = likeness(lsa_vectors(stage.space(view), view.posts.texts), offsets, 3).toarray()
    beside = adjacency(offsets).toarray()
    expected = {name: np.empty_like(score) for name in ARRIVALS}
    expected["own"] = score
    for name, graph in (("alike", alike), ("beside", beside)):
        for span in spans(offsets):
            for row in span:
                for column in range(score.shape[1]):
                    heard = [float(score[other, column]) for other in span if kept[other, column]]
                    near = [
                        float(score[other, column]) for other in span if graph[row, other] > 0 and kept[other, column]
                    ]
                    expected[name][row, column] = mean_of(graph, score, kept, row, column)
                    expected[f"{name} best"][row, column] = max(near, default=min(heard))
                    expected["post"][row, column] = max(heard)
    for row in range(len(score)):
        for column in range(score.shape[1]):
            expected["alike twice"][row, column] = mean_of(alike, expected["alike"], kept, row, column)
    for name, values in arrived(view).items():
        np.testing.assert_allclose(values, expected[name], atol=1e-6, err_msg=name)  # likeness has single precision


@pytest.fixture(scope="module")
def posts() -> Posts:
    return synthetic_corpus(posts=30, mean_sentences=8, seed=5)


def test_gold_beside_noise_is_found_by_what_arrives(posts: Posts) -> None:
    """The stage before it told only of the sentence beside the gold: its own score is worth nothing, its neighbours' much."""
    gold = np.zeros((len(posts.texts), 10), bool)
    gold[posts.offsets[:-1]] = True
    told = np.roll(gold, 1, axis=0) + 0.1 * np.random.default_rng(0).normal(size=gold.shape)
    view = View.of(posts).with_scores("reranker", told)
    _, model, scores = taught(Propagation(), posts.relabelled(gold), view)
    assert model.document["weight"] > 0
    assert max(model.document["tune_ndcg"]) > model.document["tune_ndcg"][0] + 0.2
    first = np.zeros(len(gold), bool)
    first[posts.offsets[:-1]] = True
    assert scores[first].mean() > scores[~first].mean()


def test_a_perfect_score_is_left_as_it_is(posts: Posts) -> None:
    assert posts.gold is not None
    view = View.of(posts).with_scores("reranker", posts.gold.astype(float))
    _, model, scores = taught(Propagation(), posts, view)
    assert model.document["weight"] == 0.0
    assert scores.tolist() == posts.gold.astype(float).tolist()


def test_without_tune_posts_the_score_stays(posts: Posts) -> None:
    score = np.random.default_rng(0).normal(size=(len(posts.texts), 10))
    view = View.of(posts).with_scores("reranker", score)
    _, model, scores = taught(Propagation(), posts, view, tune=np.array([], np.int64))
    assert model.document["weight"] == 0.0
    assert np.array_equal(scores, score)


@given(st.integers(0, 100))
@examples(10)
def test_the_mixture_never_ranks_tune_worse_than_what_came_in(posts: Posts, seed: int) -> None:
    view = View.of(posts).with_scores("reranker", np.random.default_rng(seed).normal(size=(len(posts.texts), 10)))
    _, model, _ = taught(Propagation(), posts, view)
    assert max(model.document["tune_ndcg"]) >= model.document["tune_ndcg"][0]
    chosen = model.document["weights"].index(model.document["weight"])
    assert model.document["tune_ndcg"][chosen] == max(model.document["tune_ndcg"])


def test_sentences_are_alike_where_the_configuration_says(words: WordCounter) -> None:
    """The graph is the one of the networks: an encoder may say what is alike."""
    stage, view = Propagation(meaning=Meaning("words")), after(STEPS, corpus(), division())
    claims_of_a_stage(stage, view, corpus(), division())
    assert words.asked
    heard = [one.inputs(one.space(view), view).features for one in (stage, Propagation())]
    at = ARRIVALS.index("alike")
    assert not np.array_equal(heard[0][:, :, at], heard[1][:, :, at])
    assert np.array_equal(heard[0][:, :, ARRIVALS.index("beside")], heard[1][:, :, ARRIVALS.index("beside")])
