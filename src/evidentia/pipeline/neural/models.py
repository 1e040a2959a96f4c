"""Both networks as models: scaled graphs in, logits out, and parts that can be kept.

One gives the order of a query's sentences, seen together with their neighbours (P3); one says whether a query has any evidence
at all, from all its sentences and the criterion together (P4).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Self

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError
from evidentia.pipeline import stage
from evidentia.pipeline.encoders.interface import Progress
from evidentia.pipeline.extras import neural
from evidentia.pipeline.graphs import Graphs
from evidentia.pipeline.learning import Training, one_thread, reproducible, shuffled, train
from evidentia.pipeline.neural import networks
from evidentia.pipeline.neural.batches import Batch, Batches, Scaling, Tensor, check_widths
from evidentia.pipeline.neural.networks import GraphSettings, Parts, graph_settings

_AT_ONCE = 512  # graphs that are scored together


class GraphModel(ABC):
    """A fitted network. Made by ``fit`` or ``from_parts``, not by hand."""

    def __init__(self, settings: GraphSettings, scaling: Scaling, parts: Parts, training: Training) -> None:
        self.settings = settings
        self.scaling = scaling
        self.training = training
        self._parts = parts

    @staticmethod
    @abstractmethod
    def build(settings: GraphSettings, features: int, criterion: int) -> Parts:
        """The parts, with weights from torch's generator."""

    @staticmethod
    @abstractmethod
    def logits(parts: Parts, batch: Batch, settings: GraphSettings) -> Tensor:
        """What the parts say of a batch."""

    @staticmethod
    @abstractmethod
    def drawn(graphs: Graphs, labels: Bools, settings: GraphSettings, rng: np.random.Generator) -> Ints:
        """The queries of an epoch, by their places; none where there is nothing to learn."""

    @staticmethod
    @abstractmethod
    def loss(parts: Parts, batch: Batch, labels: Bools, settings: GraphSettings) -> Tensor:
        """The loss of a batch."""

    @classmethod
    @abstractmethod
    def tune_loss(
        cls, parts: Parts, batches: Batches, tune: tuple[Graphs, Bools], settings: GraphSettings, *, seed: int
    ) -> Callable[[], float]:
        """What gives the loss on TUNE, which decides when to stop."""

    @classmethod
    def fit(
        cls,
        graphs: Graphs,
        labels: Bools,
        *,
        tune: tuple[Graphs, Bools] | None = None,
        seed: int,
        epochs: int = 30,
        patience: int = 5,
        settings: GraphSettings | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from labels of nodes (reranker) or of queries (gate); TUNE decides when to stop."""
        chosen = settings or GraphSettings()
        scaling = Scaling.fitted(graphs)
        batches = Batches(graphs, scaling)
        cls.check(graphs, labels)
        with reproducible(seed):
            parts = cls.build(chosen, graphs.node_width, graphs.query_width)
            judge = None
            if tune is not None:
                judge = cls.tune_loss(parts, Batches(tune[0], scaling), tune, chosen, seed=seed)
            training = train(
                parts,
                lambda places: cls.loss(parts, batches.take(places), labels, chosen),
                lambda rng: shuffled(cls.drawn(graphs, labels, chosen, rng), chosen.batch_size, rng),
                tune_loss=judge,
                optimizer={"lr": chosen.learning_rate, "weight_decay": chosen.weight_decay},
                seed=seed,
                epochs=epochs,
                patience=patience,
                progress=progress,
            )
        return cls(chosen, scaling, parts, training)

    @staticmethod
    @abstractmethod
    def check(graphs: Graphs, labels: Bools) -> None:
        """Refuse labels that teach nothing."""

    def score(self, graphs: Graphs, *, at_once: int = _AT_ONCE) -> Floats:
        """The logits, larger where there is more likely evidence.

        The last bits of a product of matrices depend on its size, so who wants the same bytes for a graph whatever is asked
        with it must ask for as many ``at_once`` as always belong together.
        """
        check_widths(graphs, *_widths(self._parts))
        batches = Batches(graphs, self.scaling)
        with neural("torch").inference_mode(), one_thread():
            cut = (batches.take(places) for places in batches.in_order(at_once))
            parts = [self.logits(self._parts, batch, self.settings).numpy() for batch in cut]
        return np.concatenate([np.zeros(0), *parts])

    def to_parts(self) -> stage.Parts:
        """The network as a document and arrays."""
        features, criterion = _widths(self._parts)
        weights = {f"network.{name}": value.numpy() for name, value in self._parts.state_dict().items()}
        scaling = {f"scaling.{name}": value for name, value in vars(self.scaling).items()}
        about = {"settings": asdict(self.settings), "features": features, "criterion": criterion}
        return stage.Parts({**about, "training": self.training.to_dict()}, weights | scaling)

    @classmethod
    def from_parts(cls, saved: stage.Parts) -> Self:
        """The network that ``to_parts`` wrote down."""
        torch, document, arrays = neural("torch"), saved.document, saved.arrays
        settings = graph_settings(document["settings"])
        parts = cls.build(settings, int(document["features"]), int(document["criterion"]))
        weights = {
            name.removeprefix("network."): torch.from_numpy(value.copy())
            for name, value in arrays.items()
            if name.startswith("network.")
        }
        parts.load_state_dict(weights)
        scaling = Scaling(**{each.name: arrays[f"scaling.{each.name}"] for each in fields(Scaling)})
        return cls(settings, scaling, parts.eval(), Training.from_dict(document["training"]))


def _widths(parts: Parts) -> tuple[int, int]:
    return int(parts["nodes"].in_features), int(parts["criterion"].in_features)


class GraphReranker(GraphModel):
    """Gives every sentence of a query a logit, from its features, its neighbours and the criterion.

    It learns from queries with gold, and each epoch from as many others as ``negatives`` says, drawn anew; TUNE has one fixed
    draw of them. The loss is that of ranking gold above the rest of its query, plus that of every sentence by itself.
    """

    build = staticmethod(networks.build_reranker)
    logits = staticmethod(networks.reranker_logits)

    @staticmethod
    def check(graphs: Graphs, labels: Bools) -> None:
        """Refuse labels without gold."""
        if not labels.any():
            raise InputError("No TRAIN query has gold among its candidates: there is nothing to learn an order from.")

    @staticmethod
    def drawn(graphs: Graphs, labels: Bools, settings: GraphSettings, rng: np.random.Generator) -> Ints:
        """All queries with gold, and some without."""
        totals = np.concatenate([[0], np.cumsum(labels)])[graphs.offsets]
        has_gold = np.diff(totals) > 0
        gold, others = np.flatnonzero(has_gold), np.flatnonzero(~has_gold)
        count = min(len(others), round(settings.negatives * len(gold)))
        return np.concatenate([gold, rng.choice(others, count, replace=False)])

    @staticmethod
    def loss(parts: Parts, batch: Batch, labels: Bools, settings: GraphSettings) -> Tensor:
        """The mean over queries with gold of the listwise loss (ListNet), plus the mean over nodes of the log-loss."""
        torch = neural("torch")
        logits = networks.reranker_logits(parts, batch, settings)
        gold = torch.from_numpy(labels[batch.rows].astype(np.float32))
        counts = networks.sums_by_query(gold, batch.query, batch.size)
        shares = gold / counts.clamp(min=1)[batch.query]
        logarithms = networks.log_softmax_by_query(logits, batch.query, batch.size)
        ranking = -(shares * logarithms).sum() / (counts > 0).sum().clamp(min=1)
        if not len(logits):
            return ranking
        alone = torch.nn.functional.binary_cross_entropy_with_logits(logits, gold)
        return ranking + settings.node_loss * alone

    @classmethod
    def tune_loss(
        cls, parts: Parts, batches: Batches, tune: tuple[Graphs, Bools], settings: GraphSettings, *, seed: int
    ) -> Callable[[], float]:
        """The loss of one fixed draw of queries, as one batch."""
        places = np.sort(cls.drawn(*tune, settings, np.random.default_rng(seed)))
        whole = batches.take(places if len(places) else np.arange(len(batches)))
        return lambda: float(cls.loss(parts, whole, tune[1], settings))


class NoEvidenceGate(GraphModel):
    """Gives every query a logit: sentences and criterion are nodes of two kinds that read each other, then are pooled.

    It learns from every query by its log-loss, or in each epoch from a random share of them.
    """

    build = staticmethod(networks.build_gate)
    logits = staticmethod(networks.gate_logits)

    @staticmethod
    def check(graphs: Graphs, labels: Bools) -> None:
        """Refuse labels of one kind."""
        if labels.all() or not labels.any():
            raise InputError(
                "TRAIN has queries of one kind only, with or without evidence: there is nothing to tell apart."
            )

    @staticmethod
    def drawn(graphs: Graphs, labels: Bools, settings: GraphSettings, rng: np.random.Generator) -> Ints:
        """Some of the queries, drawn anew in every epoch."""
        places, share = np.arange(len(graphs)), settings.share
        return places if share == 1 else rng.choice(places, max(1, round(share * len(places))), replace=False)

    @staticmethod
    def loss(parts: Parts, batch: Batch, labels: Bools, settings: GraphSettings, reduction: str = "mean") -> Tensor:
        """The log-loss of the queries of a batch."""
        torch = neural("torch")
        truth = torch.from_numpy(labels[batch.places].astype(np.float32))
        loss = torch.nn.functional.binary_cross_entropy_with_logits
        return loss(networks.gate_logits(parts, batch, settings), truth, reduction=reduction)

    @classmethod
    def tune_loss(
        cls, parts: Parts, batches: Batches, tune: tuple[Graphs, Bools], settings: GraphSettings, *, seed: int
    ) -> Callable[[], float]:
        """The mean log-loss of all queries."""
        cut = [batches.take(places) for places in batches.in_order(_AT_ONCE)]
        labels = tune[1]
        return lambda: sum(float(cls.loss(parts, batch, labels, settings, "sum")) for batch in cut) / len(labels)
