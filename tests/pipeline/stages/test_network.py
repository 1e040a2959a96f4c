"""Graph networks as stages: what every stage promises, and what they make of corpora that teach nothing."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from evidentia.pipeline.plan import Division
from evidentia.pipeline.stage import Parts, Stage, View, best
from evidentia.pipeline.stages.classifiers import Lexical
from evidentia.pipeline.stages.meaning import Meaning
from evidentia.pipeline.stages.network import GraphNetwork, NetworkGate, query_graphs
from evidentia.pipeline.stages.retrievers import Bm25
from evidentia.pipeline.system import Step
from evidentia.pipeline.work import run_step

from .bench import WordCounter, after, claims_of_a_stage, corpus, division

pytestmark = pytest.mark.neural

pytest.importorskip("torch", reason="graph networks need torch")
pytest.importorskip("torch_geometric", reason="graph networks need torch_geometric")

STEPS = (Step("retriever", Bm25(), 6), Step("reranker", Lexical()))
RANKER = GraphNetwork(hidden=8, epochs=3, networks=1)
GATE = NetworkGate(hidden=8, epochs=3, trees=5, networks=1, blend=False, sources=("reranker", "retriever"))


@pytest.fixture(scope="module")
def view() -> View:
    return after(STEPS, corpus(), division())


@pytest.mark.parametrize(
    "stage", [RANKER, GATE, replace(GATE, blend=True, networks=2, conv="gat"), replace(RANKER, networks=2, conv="sage")]
)
def test_a_network_keeps_the_promises_of_a_stage(stage: Stage, view: View) -> None:
    first = claims_of_a_stage(stage, view, corpus(), division())
    again = run_step(Step("it", stage), view, division(), corpus().gold, seed=3)
    assert {name: value.tobytes() for name, value in again.model.arrays.items()} == {
        name: value.tobytes() for name, value in first.model.arrays.items()
    }
    assert pickle.loads(pickle.dumps(stage)) == stage


@pytest.mark.parametrize("stage", [RANKER, GATE])
def test_a_network_reads_the_vectors_of_an_encoder(stage: Stage, view: View, words: WordCounter) -> None:
    claims_of_a_stage(replace(stage, meaning=Meaning("words")), view, corpus(), division())
    assert ("query", 10) in words.asked


def test_the_ranking_is_mixed_by_the_weight_of_tune(view: View) -> None:
    """The mixture lies between what came in and what the network says; with weight 0 nothing is changed."""
    space = RANKER.space(view)
    inputs = RANKER.inputs(space, view)
    model = run_step(Step("it", RANKER), view, division(), corpus().gold, seed=3).model
    said = {
        weight: RANKER.score(space, Parts({**model.document, "weight": weight}, model.arrays), inputs)
        for weight in (0.0, 0.5, 1.0)
    }
    np.testing.assert_array_equal(said[0.0], view.scores["reranker"])
    np.testing.assert_allclose(said[0.5], (said[0.0] + said[1.0]) / 2)
    assert model.document["weight"] in model.document["weights"]
    assert model.document["tune_ndcg"][int(model.document["weight"] * 10)] == max(model.document["tune_ndcg"])


def test_several_networks_count_by_their_mean(view: View) -> None:
    space, two = GATE.space(view), replace(GATE, networks=2)
    inputs = two.inputs(space, view)
    model = run_step(Step("it", two), view, division(), corpus().gold, seed=3).model
    one, other = (GATE.score(space, model.within(at).under("0").joined(Parts({"networks": 1})), inputs) for at in "01")
    assert (one != other).any()
    np.testing.assert_allclose(two.score(space, model, inputs), (one + other) / 2)


def test_what_is_no_candidate_scores_as_the_lowest_of_its_query(view: View) -> None:
    space = RANKER.space(view)
    model = run_step(Step("it", RANKER), view, division(), corpus().gold, seed=3).model
    scores = RANKER.score(space, Parts({**model.document, "weight": 1.0}, model.arrays), RANKER.inputs(space, view))
    lowest = -best(-scores, view.kept, view.posts.offsets)[view.posts.owner]
    assert (~view.kept).any()
    assert (scores[~view.kept] == lowest[~view.kept]).all()


def test_graphs_of_some_posts_are_those_of_all_posts_cut_out(view: View) -> None:
    stage, chosen = RANKER, np.array([7, 2])
    space = stage.space(view)
    whole = query_graphs(stage.meaning, space, view, 3).take(chosen)
    alone = query_graphs(stage.meaning, space, view.take(chosen), 3)
    for name in ("offsets", "features", "criterion", "criterion_vectors"):
        np.testing.assert_array_equal(getattr(whole.graphs, name), getattr(alone.graphs, name))
    np.testing.assert_array_equal(
        whole.graphs.vectors[whole.graphs.sentence], alone.graphs.vectors[alone.graphs.sentence]
    )
    joined = [
        sorted(zip(*part.graphs.edges.tolist(), part.graphs.weight.tolist(), part.graphs.step.tolist(), strict=True))
        for part in (whole, alone)
    ]
    assert joined[0] == joined[1]


@pytest.mark.parametrize("stage", [RANKER, GATE, replace(GATE, blend=True)])
@pytest.mark.parametrize("everything", [False, True])
def test_a_corpus_that_teaches_nothing_gives_a_constant(stage: Stage, view: View, everything: bool) -> None:
    gold = np.full(corpus().gold.shape, everything)
    outcome = run_step(Step("it", stage), view, division(), gold, seed=3)
    assert np.isfinite(outcome.scores).all()
    if stage.per == "post":
        assert (outcome.scores[division().others] == (6 if everything else -6)).all()
    elif not everything:
        others = corpus().sentences_of(division().others)
        np.testing.assert_array_equal(outcome.scores[others], view.scores["reranker"][others])


@pytest.mark.parametrize("stage", [RANKER, GATE])
def test_without_gold_in_tune_nothing_stops_early_and_nothing_fails(stage: Stage, view: View) -> None:
    gold = corpus().gold.copy()
    gold[corpus().sentences_of(division().tune)] = False
    assert np.isfinite(run_step(Step("it", stage), view, division(), gold, seed=3).scores).all()


@pytest.mark.parametrize("stage", [RANKER, GATE])
def test_queries_of_a_single_candidate_have_no_edges_and_do_not_fail(stage: Stage, view: View) -> None:
    alone = view.narrowed("reranker", 1)
    parted: Division = division()
    assert np.isfinite(run_step(Step("it", stage), alone, parted, corpus().gold, seed=3).scores).all()
