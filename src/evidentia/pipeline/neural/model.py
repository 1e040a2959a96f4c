"""What both networks have in common: scaled graphs in, logits out, and parts that can be kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, fields
from typing import Self

import numpy as np

from evidentia.array_types import Floats
from evidentia.pipeline import stage
from evidentia.pipeline.extras import neural
from evidentia.pipeline.graphs import Graphs
from evidentia.pipeline.neural.batches import Batch, Batches, Scaling, Tensor, check_widths
from evidentia.pipeline.neural.networks import Parts
from evidentia.pipeline.neural.settings import GraphSettings, graph_settings
from evidentia.pipeline.neural.training import Training
from evidentia.pipeline.reproducible import one_thread

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
