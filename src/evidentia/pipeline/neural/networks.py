"""The two networks, as parts and as functions of their parts.

Sentences take in their neighbours by attention (GAT, GATv2) or weighted means (SAGE), along edges that know their weight and
whether they are steps in the text. The criterion is mixed into every sentence; for the gate it is a node of its own, which
reads the sentences by attention and is read by them, layer by layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evidentia.errors import InputError
from evidentia.pipeline.extras import neural
from evidentia.pipeline.neural.batches import Batch, Tensor
from evidentia.pipeline.settings import read_settings

Parts = Any  # a torch.nn.ModuleDict
EDGE_FEATURES = 2
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


def build_reranker(settings: GraphSettings, features: int, criterion: int) -> Parts:
    """The parts of the network that gives every sentence a score; weights are drawn from torch's generator."""
    nn, size = neural("torch").nn, settings.hidden
    parts = _trunk(settings, features, criterion)
    parts["head"] = _head(2 * size, settings)
    return nn.ModuleDict(parts)


def reranker_logits(parts: Parts, batch: Batch, settings: GraphSettings) -> Tensor:
    """One logit per node."""
    first = _mixed(parts, batch, parts["criterion"](batch.criterion))
    hidden = first
    for layer in range(settings.layers):
        hidden = _neighbour_messages(parts, layer, hidden, batch, settings)
    return parts["head"](neural("torch").cat([first, hidden], dim=1)).squeeze(1)


def build_gate(settings: GraphSettings, features: int, criterion: int) -> Parts:
    """The parts of the network that gives every query a score."""
    nn, size = neural("torch").nn, settings.hidden
    parts = _trunk(settings, features, criterion)
    for layer in range(settings.layers):
        for name in ("ask", "offer", "content", "taken"):
            parts[f"{name}{layer}"] = nn.Linear(size, size)
        parts[f"open{layer}"] = nn.Linear(2 * size, size)
        parts[f"told{layer}"] = nn.Linear(size, size)
        parts[f"criterion_norm{layer}"] = nn.LayerNorm(size)
        parts[f"told_norm{layer}"] = nn.LayerNorm(size)
    parts["weigh"] = nn.Linear(size, 1)
    parts["head"] = _head(4 * size, settings)
    return nn.ModuleDict(parts)


def gate_logits(parts: Parts, batch: Batch, settings: GraphSettings) -> Tensor:
    """One logit per graph."""
    criterion = parts["criterion"](batch.criterion)
    hidden = _mixed(parts, batch, criterion)
    for layer in range(settings.layers):
        hidden = _neighbour_messages(parts, layer, hidden, batch, settings)
        criterion = _sentence_messages(parts, layer, criterion, hidden, batch, heads=settings.heads)
        hidden = _criterion_message(parts, layer, criterion, hidden, batch)
    pooled = [criterion, *_pooled(parts, criterion, hidden, batch)]
    return parts["head"](neural("torch").cat(pooled, dim=1)).squeeze(1)


def log_softmax_by_query(logits: Tensor, query: Tensor, count: int) -> Tensor:
    """The logarithm of each node's share among the nodes of its query."""
    torch = neural("torch")
    highest = logits.new_full((count,), -torch.inf).scatter_reduce(0, query, logits.detach(), "amax")
    shifted = logits - highest[query]
    return shifted - sums_by_query(shifted.exp(), query, count).log()[query]


def sums_by_query(values: Tensor, query: Tensor, count: int) -> Tensor:
    """The sum over the nodes of every query; 0 for a query without nodes."""
    return values.new_zeros((count, *values.shape[1:])).index_add(0, query, values)


def _trunk(settings: GraphSettings, features: int, criterion: int) -> dict[str, Any]:
    nn, size = neural("torch").nn, settings.hidden
    parts: dict[str, Any] = {
        "nodes": nn.Linear(features, size),
        "criterion": nn.Linear(criterion, size),
        "mix": nn.Sequential(nn.Linear(3 * size, size), nn.LayerNorm(size), nn.GELU()),
        "dropout": nn.Dropout(settings.dropout),
    }
    for layer in range(settings.layers):
        parts |= {f"{name}{layer}": module for name, module in _convolution(settings).items()}
        parts[f"norm{layer}"] = nn.LayerNorm(size)
    return parts


def _convolution(settings: GraphSettings) -> dict[str, Any]:
    """Attention with edge features, or one weighted mean for steps and one for likeness."""
    layers, size = neural("torch_geometric.nn"), settings.hidden
    if settings.conv == "sage":
        return {name: layers.GraphConv(size, size, aggr="mean") for name in ("steps", "likeness")}
    kind = {"gat": layers.GATConv, "gatv2": layers.GATv2Conv}[settings.conv]
    convolution = kind(size, size // settings.heads, settings.heads, edge_dim=EDGE_FEATURES, add_self_loops=False)
    return {"conv": convolution}


def _head(width: int, settings: GraphSettings) -> Any:
    nn = neural("torch").nn
    hidden = settings.hidden
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Dropout(settings.dropout), nn.Linear(hidden, 1))


def _mixed(parts: Parts, batch: Batch, criterion: Tensor) -> Tensor:
    """Every sentence with the criterion it is asked about: both, and what they share."""
    nodes, asked = parts["nodes"](batch.nodes), criterion[batch.query]
    return parts["mix"](neural("torch").cat([nodes, asked, nodes * asked], dim=1))


def _neighbour_messages(parts: Parts, layer: int, hidden: Tensor, batch: Batch, settings: GraphSettings) -> Tensor:
    torch = neural("torch")
    if settings.conv == "sage":
        step = batch.edge_features[:, 1] > 0
        strength = torch.sigmoid(batch.edge_features[:, 0])  # weights are standardised, so they may be negative
        messages = parts[f"steps{layer}"](hidden, batch.edges[:, step], strength[step])
        messages = messages + parts[f"likeness{layer}"](hidden, batch.edges[:, ~step], strength[~step])
    else:
        messages = parts[f"conv{layer}"](hidden, batch.edges, batch.edge_features)
    return hidden + parts["dropout"](torch.nn.functional.gelu(parts[f"norm{layer}"](messages)))


def _sentence_messages(
    parts: Parts, layer: int, criterion: Tensor, hidden: Tensor, batch: Batch, *, heads: int
) -> Tensor:
    """The criterion attends to the sentences of its query, with several heads."""
    asked = parts[f"ask{layer}"](criterion)[batch.query].unflatten(1, (heads, -1))
    offered = parts[f"offer{layer}"](hidden).unflatten(1, (heads, -1))
    content = parts[f"content{layer}"](hidden).unflatten(1, (heads, -1))
    fit = (asked * offered).sum(-1) / asked.shape[-1] ** 0.5
    taken = sums_by_query(_shares(fit, batch).unsqueeze(-1) * content, batch.query, batch.size).flatten(1)
    return parts[f"criterion_norm{layer}"](criterion + parts["dropout"](parts[f"taken{layer}"](taken)))


def _criterion_message(parts: Parts, layer: int, criterion: Tensor, hidden: Tensor, batch: Batch) -> Tensor:
    """Each sentence takes in the criterion's state, as far as its gate is open."""
    torch, state = neural("torch"), criterion[batch.query]
    share = torch.sigmoid(parts[f"open{layer}"](torch.cat([hidden, state], dim=1)))
    return parts[f"told_norm{layer}"](hidden + parts["dropout"](share * parts[f"told{layer}"](state)))


def _pooled(parts: Parts, criterion: Tensor, hidden: Tensor, batch: Batch) -> list[Tensor]:
    """The sentences of a query as one: by attention, their maximum and their mean; zeros where there are none."""
    shares = _shares(parts["weigh"](hidden * criterion[batch.query]), batch)
    attended = sums_by_query(shares * hidden, batch.query, batch.size)
    lowest = hidden.new_full((batch.size, hidden.shape[1]), -neural("torch").inf)
    places = batch.query.unsqueeze(1).expand_as(hidden)
    highest = lowest.scatter_reduce(0, places, hidden, "amax")
    counts = sums_by_query(hidden.new_ones(len(hidden), 1), batch.query, batch.size)
    mean = sums_by_query(hidden, batch.query, batch.size) / counts.clamp(min=1)
    return [attended, highest.masked_fill(counts == 0, 0.0), mean]


def _shares(fit: Tensor, batch: Batch) -> Tensor:
    return neural("torch_geometric.utils").softmax(fit, batch.query, num_nodes=batch.size)
