"""Stage P4: whether a query has any evidence at all, from all its sentences and the criterion together."""

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
from evidentia.pipeline.neural.networks import Parts, build_gate, gate_logits
from evidentia.pipeline.neural.settings import GraphSettings
from evidentia.pipeline.neural.training import shuffled, train
from evidentia.pipeline.reproducible import reproducible

_AT_ONCE = 512


class NoEvidenceGate(GraphModel):
    """Gives every query a logit: sentences and criterion are nodes of two kinds that read each other, then are pooled."""

    build = staticmethod(build_gate)
    logits = staticmethod(gate_logits)

    @classmethod
    def fit(
        cls,
        graphs: Graphs,
        has_evidence: Bools,
        *,
        tune: tuple[Graphs, Bools] | None = None,
        seed: int,
        epochs: int = 30,
        patience: int = 5,
        settings: GraphSettings | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from every query by its log-loss; the log-loss on TUNE decides when to stop."""
        chosen = settings or GraphSettings()
        if has_evidence.all() or not has_evidence.any():
            raise InputError(
                "TRAIN has queries of one kind only, with or without evidence: there is nothing to tell apart."
            )
        scaling = Scaling.fitted(graphs)
        batches, places = Batches(graphs, scaling), np.arange(len(graphs))
        with reproducible(seed):
            parts = build_gate(chosen, graphs.node_width, graphs.query_width)
            training = train(
                parts,
                lambda some: _loss(parts, batches.take(some), has_evidence[some], chosen, "mean"),
                lambda rng: shuffled(_drawn(places, chosen.share, rng), chosen.batch_size, rng),
                tune_loss=None if tune is None else _tune_loss(parts, *tune, scaling, chosen),
                settings=chosen,
                seed=seed,
                epochs=epochs,
                patience=patience,
                progress=progress,
            )
        return cls(chosen, scaling, parts, training)


def _drawn(places: Ints, share: float, rng: np.random.Generator) -> Ints:
    """Some of the places, drawn anew in every epoch."""
    return places if share == 1 else rng.choice(places, max(1, round(share * len(places))), replace=False)


def _loss(parts: Parts, batch: Batch, labels: Bools, settings: GraphSettings, reduction: str) -> Tensor:
    torch = neural("torch")
    truth = torch.from_numpy(labels.astype(np.float32))
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    return loss(gate_logits(parts, batch, settings), truth, reduction=reduction)


def _tune_loss(
    parts: Parts, graphs: Graphs, labels: Bools, scaling: Scaling, settings: GraphSettings
) -> Callable[[], float]:
    batches = Batches(graphs, scaling)
    cut: list[tuple[Ints, Batch]] = [(places, batches.take(places)) for places in batches.in_order(_AT_ONCE)]

    def mean() -> float:
        sums = [float(_loss(parts, batch, labels[places], settings, "sum")) for places, batch in cut]
        return sum(sums) / len(labels)

    return mean
