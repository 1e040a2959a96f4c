"""Stage P3: the order of a query's sentences, seen together with their neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np

from evidentia.array_types import Bools, Ints
from evidentia.errors import InputError
from evidentia.pipeline.encoders.interface import Progress
from evidentia.pipeline.extras import neural
from evidentia.pipeline.graphs import Graphs
from evidentia.pipeline.neural.batches import Batch, Batches, Scaling, Tensor
from evidentia.pipeline.neural.model import GraphModel
from evidentia.pipeline.neural.networks import (
    Parts,
    build_reranker,
    log_softmax_by_query,
    reranker_logits,
    sums_by_query,
)
from evidentia.pipeline.neural.settings import GraphSettings
from evidentia.pipeline.neural.training import shuffled, train
from evidentia.pipeline.reproducible import reproducible


class GraphReranker(GraphModel):
    """Gives every sentence of a query a logit, from its features, its neighbours and the criterion."""

    build = staticmethod(build_reranker)
    logits = staticmethod(reranker_logits)

    @classmethod
    def fit(
        cls,
        graphs: Graphs,
        gold_nodes: Bools,
        *,
        tune: tuple[Graphs, Bools] | None = None,
        seed: int,
        epochs: int = 30,
        patience: int = 5,
        settings: GraphSettings | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from queries with gold, and each epoch from as many others as ``negatives`` says, drawn anew.

        The loss is that of ranking gold above the rest of its query, plus that of every sentence by itself. TUNE, with one
        fixed draw of queries without gold, decides when to stop.
        """
        chosen = settings or GraphSettings()
        scaling = Scaling.fitted(graphs)
        batches, has_gold = Batches(graphs, scaling), _with_gold(graphs, gold_nodes)
        if not has_gold.any():
            raise InputError("No TRAIN query has gold among its candidates: there is nothing to learn an order from.")
        with reproducible(seed):
            parts = build_reranker(chosen, graphs.node_width, graphs.query_width)
            training = train(
                parts,
                lambda places: _loss(parts, batches.take(places), gold_nodes, chosen),
                lambda rng: shuffled(_drawn(has_gold, chosen.negatives, rng), chosen.batch_size, rng),
                tune_loss=None if tune is None else _tune_loss(parts, *tune, scaling, chosen, seed=seed),
                settings=chosen,
                seed=seed,
                epochs=epochs,
                patience=patience,
                progress=progress,
            )
        return cls(chosen, scaling, parts, training)


def _with_gold(graphs: Graphs, gold: Bools) -> Bools:
    """Which queries have gold among their nodes."""
    totals = np.concatenate([[0], np.cumsum(gold)])[graphs.offsets]
    return np.diff(totals) > 0


def _drawn(has_gold: Bools, negatives: float, rng: np.random.Generator) -> Ints:
    """All queries with gold, and some without."""
    gold, others = np.flatnonzero(has_gold), np.flatnonzero(~has_gold)
    count = min(len(others), round(negatives * len(gold)))
    return np.concatenate([gold, rng.choice(others, count, replace=False)])


def _loss(parts: Parts, batch: Batch, gold_nodes: Bools, settings: GraphSettings) -> Tensor:
    """The mean over queries with gold of the listwise loss (ListNet), plus the mean over nodes of the log-loss."""
    torch = neural("torch")
    logits = reranker_logits(parts, batch, settings)
    gold = torch.from_numpy(gold_nodes[batch.rows].astype(np.float32))
    counts = sums_by_query(gold, batch.query, batch.size)
    shares = gold / counts.clamp(min=1)[batch.query]
    ranking = -(shares * log_softmax_by_query(logits, batch.query, batch.size)).sum() / (counts > 0).sum().clamp(min=1)
    if not len(logits):
        return ranking
    alone = torch.nn.functional.binary_cross_entropy_with_logits(logits, gold)
    return ranking + settings.node_loss * alone


def _tune_loss(
    parts: Parts, graphs: Graphs, gold: Bools, scaling: Scaling, settings: GraphSettings, *, seed: int
) -> Callable[[], float]:
    batches = Batches(graphs, scaling)
    places = np.sort(_drawn(_with_gold(graphs, gold), settings.negatives, np.random.default_rng(seed)))
    whole = batches.take(places if len(places) else np.arange(len(graphs)))
    return lambda: float(_loss(parts, whole, gold, settings))
