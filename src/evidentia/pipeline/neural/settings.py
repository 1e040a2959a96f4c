"""What can be set about a graph network and its training, the same for both networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evidentia.errors import InputError
from evidentia.pipeline.settings import read_settings

CONVOLUTIONS = ("gatv2", "gat", "sage")


@dataclass(frozen=True)
class GraphSettings:
    """Sizes, and how to learn.

    ``negatives`` is how many queries without gold the reranker sees in an epoch for each with gold; ``node_loss`` weighs its
    loss per sentence against its loss per ranking. The gate uses neither: it learns from every query, or in each epoch from a
    random ``share`` of them.
    """

    conv: str = field(default="gatv2", metadata={"choices": CONVOLUTIONS})
    hidden: int = field(default=32, metadata={"minimum": 1})
    layers: int = field(default=2, metadata={"minimum": 0})
    heads: int = field(default=4, metadata={"minimum": 1})
    dropout: float = field(default=0.1, metadata={"minimum": 0})
    learning_rate: float = field(default=2e-3, metadata={"minimum": 0})
    weight_decay: float = field(default=1e-2, metadata={"minimum": 0})
    batch_size: int = field(default=128, metadata={"minimum": 1})
    negatives: float = field(default=1.0, metadata={"minimum": 0})
    node_loss: float = field(default=1.0, metadata={"minimum": 0})
    share: float = field(default=1.0, metadata={"minimum": 0})

    def __post_init__(self) -> None:
        if self.hidden % self.heads:
            raise InputError(f"hidden = {self.hidden} must be a multiple of heads = {self.heads}.")
        if self.dropout >= 1:
            raise InputError(f"dropout must be below 1, not {self.dropout}.")
        if not 0 < self.share <= 1:
            raise InputError(f"share must be above 0 and at most 1, not {self.share}.")


def graph_settings(content: Mapping[str, Any], where: str = "graph network") -> GraphSettings:
    """The settings, checked.

    >>> graph_settings({"conv": "sage"}).conv
    'sage'
    """
    return read_settings(GraphSettings, content, where)
