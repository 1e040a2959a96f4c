"""Both graph networks learn what only neighbours tell, repeat to the byte, and come back from their parts as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from evidentia.errors import InputError
from evidentia.pipeline.graphs import Graphs
from evidentia.pipeline.neural.batches import Batches, Scaling
from evidentia.pipeline.neural.models import GraphReranker, NoEvidenceGate
from evidentia.pipeline.neural.networks import GraphSettings
from pipeline.stages.bench import saved

from .toys import WIDTH, Toy, toy

pytestmark = pytest.mark.neural

torch = pytest.importorskip("torch", reason="the neural extra is not installed")
pytest.importorskip("torch_geometric", reason="the neural extra is not installed")

TRAIN, TUNE, EVAL = toy(1, 600), toy(2), toy(3)
Model = type[GraphReranker] | type[NoEvidenceGate]
BOTH = pytest.mark.parametrize("model", [GraphReranker, NoEvidenceGate], ids=["reranker", "gate"])
CONVOLUTIONS = pytest.mark.parametrize("conv", ["gatv2", "gat", "sage"])


def labels(model: Model, data: Toy) -> Any:
    return data.gold if model is GraphReranker else data.has_evidence


def fitted(model: Model, *, epochs: int = 40, seed: int = 7, tuned: bool = True, **settings: Any) -> Any:
    tune = (TUNE.graphs, labels(model, TUNE)) if tuned else None
    given = GraphSettings(**settings)
    return model.fit(TRAIN.graphs, labels(model, TRAIN), tune=tune, seed=seed, epochs=epochs, settings=given)


@BOTH
@CONVOLUTIONS
def test_it_learns_what_only_the_neighbours_tell(model: Model, conv: str) -> None:
    """Without layers a node knows itself and the criterion only; two marks in a query are all it can know."""
    truth = labels(model, EVAL)
    by_neighbours = roc_auc_score(truth, fitted(model, conv=conv).score(EVAL.graphs))
    alone = roc_auc_score(truth, fitted(model, conv=conv, layers=0).score(EVAL.graphs))
    assert by_neighbours > 0.99
    assert alone < 0.96


def test_the_reranker_puts_gold_first() -> None:
    scores = fitted(GraphReranker).score(EVAL.graphs)
    offsets = EVAL.graphs.offsets
    queries = np.flatnonzero(EVAL.has_evidence)
    best = [offsets[query] + np.argmax(scores[offsets[query] : offsets[query + 1]]) for query in queries]
    assert EVAL.gold[best].mean() > 0.98


@BOTH
def test_the_same_seed_gives_the_same_bytes_and_another_one_others(model: Model) -> None:
    made = []
    for seed in (7, 7, 8):
        torch.rand(3)  # what torch drew before does not matter
        parts = fitted(model, epochs=3, seed=seed).to_parts()
        made.append((parts.document, {name: value.tobytes() for name, value in parts.arrays.items()}))
    assert made[0] == made[1]
    assert made[0][1] != made[2][1]


@BOTH
def test_the_number_of_threads_changes_nothing(model: Model) -> None:
    before, said = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            said.append(fitted(model, epochs=2).score(EVAL.graphs).tobytes())
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert said[0] == said[1]


@BOTH
def test_fitting_leaves_torch_as_it_was(model: Model) -> None:
    torch.manual_seed(5)
    expected = torch.rand(4)
    torch.manual_seed(5)
    fitted(model, epochs=1)
    assert torch.equal(torch.rand(4), expected)
    assert not torch.are_deterministic_algorithms_enabled()


@BOTH
@CONVOLUTIONS
def test_a_network_scores_as_before_when_it_was_kept(model: Model, conv: str) -> None:
    made = fitted(model, epochs=2, conv=conv)
    loaded = model.from_parts(saved(made.to_parts()))
    assert loaded.score(EVAL.graphs).tobytes() == made.score(EVAL.graphs).tobytes()
    assert loaded.settings == made.settings
    assert loaded.training == made.training


@BOTH
def test_learning_stops_where_tune_stops_getting_better(model: Model) -> None:
    tune = (TUNE.graphs, labels(model, TUNE))
    made = model.fit(TRAIN.graphs, labels(model, TRAIN), tune=tune, seed=1, epochs=60, patience=2)
    how = made.training
    assert len(how.tune_curve) == len(how.train_curve) == how.epochs_run < 60
    assert how.epochs_used == int(np.argmin(how.tune_curve)) + 1 == how.epochs_run - 2
    again = model.fit(TRAIN.graphs, labels(model, TRAIN), seed=1, epochs=how.epochs_used)
    assert again.training.tune_curve == ()
    assert again.score(EVAL.graphs).tobytes() == made.score(EVAL.graphs).tobytes()


def test_the_gates_tune_curve_is_its_log_loss() -> None:
    made = fitted(NoEvidenceGate, epochs=4)
    odds = made.score(TUNE.graphs)
    loss = np.mean(np.log1p(np.exp(np.where(TUNE.has_evidence, -odds, odds))))
    assert min(made.training.tune_curve) == pytest.approx(loss, rel=1e-5)


@BOTH
def test_queries_without_sentences_are_scored_too(model: Model) -> None:
    holes = toy(5, 20, empty=True)
    scores = fitted(model, epochs=2).score(holes.graphs)
    assert scores.shape == labels(model, holes).shape
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    made = model.fit(holes.graphs, labels(model, holes), seed=1, epochs=2)
    assert np.isfinite(made.score(holes.graphs)).all()


@BOTH
def test_no_queries_give_no_scores(model: Model) -> None:
    ints = np.zeros(0, np.int64)
    nothing = Graphs(
        np.zeros(1, np.int64),
        np.zeros((0, 4), np.float32),
        np.zeros((2, 0), np.int64),
        np.zeros(0),
        ints,
        ints,
        np.zeros((0, WIDTH), np.float32),
    )
    assert fitted(model, epochs=1).score(nothing).shape == (0,)


@BOTH
def test_each_query_is_scored_by_itself(model: Model) -> None:
    """A query's scores do not change, beyond rounding, with the queries around it."""
    made = fitted(model, epochs=2)
    whole, graphs = made.score(EVAL.graphs), EVAL.graphs
    stop = int(graphs.offsets[10])
    kept = (graphs.edges < stop).all(axis=0)
    few = Graphs(
        graphs.offsets[:11],
        graphs.features[:stop],
        graphs.edges[:, kept],
        graphs.weight[kept],
        graphs.step[kept],
        graphs.criterion[:10],
        graphs.criterion_vectors,
    )
    np.testing.assert_allclose(made.score(few), whole[: stop if model is GraphReranker else 10], atol=1e-5)


def test_features_are_scaled_as_in_train() -> None:
    scaling = Scaling.fitted(TRAIN.graphs)
    assert 101 < scaling.mean[0] < 103
    batches = Batches(TRAIN.graphs, scaling)
    nodes = batches.take(np.arange(len(batches))).nodes.numpy()
    np.testing.assert_allclose(nodes.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(nodes.std(axis=0), 1, atol=1e-4)


def test_a_batch_has_the_nodes_and_edges_of_its_graphs() -> None:
    batches, graphs = Batches(EVAL.graphs, Scaling.fitted(EVAL.graphs)), EVAL.graphs
    batch = batches.take(np.array([5, 2]))
    expected = []
    start = 0
    for query in (5, 2):
        low, high = graphs.offsets[query], graphs.offsets[query + 1]
        inside = (graphs.edges[0] >= low) & (graphs.edges[0] < high)
        expected += (graphs.edges[:, inside] - low + start).T.tolist()
        start += int(high - low)
    assert batch.edges.T.tolist() == expected
    assert batch.rows.tolist() == [*range(*graphs.offsets[5:7]), *range(*graphs.offsets[2:4])]
    assert batch.query.tolist() == [0] * int(np.diff(graphs.offsets)[5]) + [1] * int(np.diff(graphs.offsets)[2])


@BOTH
def test_nothing_to_learn_from_is_told(model: Model) -> None:
    with pytest.raises(InputError, match="TRAIN"):
        model.fit(TRAIN.graphs, np.zeros_like(labels(model, TRAIN)), seed=1)


@BOTH
def test_graphs_with_other_features_are_refused(model: Model) -> None:
    with pytest.raises(InputError, match=r"5 node features and criteria of 6 numbers; .* fitted to 4 and 6"):
        fitted(model, epochs=1).score(toy(4, 10, features=5).graphs)


def test_progress_is_told_per_epoch() -> None:
    told: list[tuple[int, int]] = []
    NoEvidenceGate.fit(
        TRAIN.graphs, TRAIN.has_evidence, seed=1, epochs=2, progress=lambda done, total: told.append((done, total))
    )
    assert told == [(1, 2), (2, 2)]
