"""The last layers of MiniLM and an attention for every criterion, over vectors of tokens.

Each criterion pools the tokens of a sentence with weights that it learns, and weighs what is pooled to one number.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError
from evidentia.pipeline.encoders.forward import padded_length, run_batches
from evidentia.pipeline.encoders.interface import States
from evidentia.pipeline.encoders.minilm import LAYERS, UNHEARD, run_layers, top_layers
from evidentia.pipeline.extras import neural
from evidentia.pipeline.learning import descend, mean_losses, one_thread, plan_batches, reproducible
from evidentia.pipeline.neural.networks import Parts as Network
from evidentia.pipeline.stage import Parts

Tensor = Any
_DROPOUT = 0.1
_HEAD_FASTER = 10.0  # what begins at nothing learns faster than what knows a language
_RARE = -4.0  # log odds to begin with: few sentences are evidence


@dataclass(frozen=True)
class AttentionSettings:
    """How many layers learn, and how; ``negatives`` is how many sentences without gold are drawn for each with gold."""

    layers: int = 2
    epochs: int = 2
    negatives: float = 1.5
    learning_rate: float = 3e-4
    batch_size: int = 16

    def __post_init__(self) -> None:
        sound = 1 <= self.layers <= LAYERS and min(self.epochs, self.batch_size) >= 1
        if not sound or self.negatives < 0 or not self.learning_rate > 0:
            raise InputError(
                f"A reader of tokens needs 1 to {LAYERS} layers, an epoch and a batch of 1 or more, negatives from 0 on, "
                "and a learning rate above 0."
            )


def fit_attention(
    states: States, ends: Ints, rows: Ints, gold: Bools, settings: AttentionSettings, *, seed: int
) -> Parts:
    """Learn from the sentences at ``rows`` by the log loss of every criterion."""
    torch = neural("torch")
    sizes = {"layers": settings.layers, "width": states.shape[1], "criteria": gold.shape[1]}
    with reproducible(seed):
        network = _build(**sizes)

        def loss(batch: list[int]) -> Tensor:
            logits = _logits(network, *_padded(states, ends, np.array(batch)), dropout=_DROPOUT)
            truth = torch.from_numpy(gold[batch].astype(np.float32))
            return torch.nn.functional.binary_cross_entropy_with_logits(logits, truth)

        head = [weights for name, part in network.items() if name != "layers" for weights in part.parameters()]
        rates = {
            settings.learning_rate: network["layers"].parameters(),
            settings.learning_rate * _HEAD_FASTER: head,
        }
        losses = descend(network, loss, _plan(np.diff(ends), rows, gold, settings, seed), rates)
    weights = {name: value.detach().numpy() for name, value in network.state_dict().items()}
    about = {**sizes, "settings": asdict(settings), "losses": list(mean_losses(losses, settings.epochs))}
    return Parts(about, weights)


def predict_attention(model: Parts, states: States, ends: Ints) -> Floats:
    """The log odds of every sentence for every criterion, the same whatever sentences are asked about with it."""
    torch = neural("torch")
    network = _build(**{name: int(model.document[name]) for name in ("layers", "width", "criteria")})
    network.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in model.arrays.items()})
    network.eval()

    def run(batch: list[int]) -> Any:
        with torch.inference_mode():
            return _logits(network, *_padded(states, ends, np.array(batch))).numpy()

    with one_thread():
        return run_batches(np.diff(ends).tolist(), run, int(model.document["criteria"]), None).astype(np.float64)


def _plan(lengths: Ints, rows: Ints, gold: Bools, settings: AttentionSettings, seed: int) -> list[list[int]]:
    """The batches of all epochs: every sentence with gold, and some of the others, drawn anew each time."""
    rng = np.random.default_rng(seed)
    has = gold[rows].any(1)
    others = rows[~has]
    wanted = min(len(others), int(settings.negatives * np.count_nonzero(has)))
    plan = []
    for _ in range(settings.epochs):
        drawn = np.concatenate([rows[has], rng.choice(others, wanted, replace=False)])
        batches = plan_batches(lengths[drawn].tolist(), settings.batch_size, 1, rng)
        plan += [drawn[batch].tolist() for batch in batches]
    return plan


def _build(layers: int, width: int, criteria: int) -> Network:
    """The parts; the weights of ``look`` are drawn from torch's generator, those of ``weigh`` begin at 0."""
    torch = neural("torch")
    look, weigh = (torch.nn.Linear(width, criteria) for _ in range(2))
    with torch.no_grad():
        weigh.weight.fill_(0.0)
        weigh.bias.fill_(_RARE)
    return torch.nn.ModuleDict({"layers": top_layers(layers), "look": look, "weigh": weigh})


def _logits(network: Network, states: Tensor, mask: Tensor, *, dropout: float = 0.0) -> Tensor:
    """Sentences x criteria."""
    torch = neural("torch")
    hidden = run_layers(network["layers"], states, mask)
    share = network["look"](hidden).masked_fill(~mask.unsqueeze(2), UNHEARD).softmax(1)
    pooled = torch.bmm(share.transpose(1, 2), hidden)  # sentences x criteria x width
    kept = torch.nn.functional.dropout(pooled, dropout, training=dropout > 0)
    return (kept * network["weigh"].weight).sum(2) + network["weigh"].bias


def _padded(states: States, ends: Ints, rows: Ints) -> tuple[Tensor, Tensor]:
    """The tokens of some sentences as one block, and a mask of what is not filler."""
    torch = neural("torch")
    starts, lengths = ends[rows], ends[rows + 1] - ends[rows]
    place = np.arange(padded_length(int(lengths.max())))
    mask = place < lengths[:, None]
    block = states[np.where(mask, starts[:, None] + place, 0)].astype(np.float32)
    return torch.from_numpy(block * mask[:, :, None]), torch.from_numpy(mask)
