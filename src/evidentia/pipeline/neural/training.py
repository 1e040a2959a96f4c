"""Learning that repeats to the byte: seeded, deterministic, stopped where TUNE stops getting better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Ints
from evidentia.pipeline.encoders.interface import Progress
from evidentia.pipeline.extras import neural
from evidentia.pipeline.neural.batches import Tensor
from evidentia.pipeline.neural.networks import Parts
from evidentia.pipeline.neural.settings import GraphSettings

Epoch = Callable[[np.random.Generator], Iterable[Ints]]


@dataclass(frozen=True)
class Training:
    """How a network was fitted: the losses of every epoch that was run, and the epoch (from 1) whose weights are kept."""

    seed: int
    epochs_run: int
    epochs_used: int
    train_curve: tuple[float, ...]
    tune_curve: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        return {**asdict(self), "train_curve": list(self.train_curve), "tune_curve": list(self.tune_curve)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Training:
        """Read it back."""
        curves = (tuple(map(float, content[name])) for name in ("train_curve", "tune_curve"))
        return cls(int(content["seed"]), int(content["epochs_run"]), int(content["epochs_used"]), *curves)


def train(
    parts: Parts,
    loss: Callable[[Ints], Tensor],
    epoch: Epoch,
    *,
    tune_loss: Callable[[], float] | None,
    settings: GraphSettings,
    seed: int,
    epochs: int,
    patience: int,
    progress: Progress | None = None,
) -> Training:
    """Fit the parts in place, by AdamW. Without TUNE all epochs are run and the last weights kept.

    With TUNE the weights of its best epoch are kept, and learning stops ``patience`` epochs after it.
    """
    torch = neural("torch")
    optimizer = torch.optim.AdamW(parts.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    rng = np.random.default_rng(seed)
    curve: list[float] = []
    tune_curve: list[float] = []
    best = _weights(parts)
    for number in range(1, epochs + 1):
        curve.append(_learn(parts, optimizer, loss, epoch(rng)))
        if tune_loss is not None:
            parts.eval()
            with torch.inference_mode():
                tune_curve.append(tune_loss())
            if tune_curve[-1] == min(tune_curve) and tune_curve.count(tune_curve[-1]) == 1:
                best = _weights(parts)
        if progress is not None:
            progress(number, epochs)
        if tune_curve and number - 1 - int(np.argmin(tune_curve)) >= patience:
            break
    if tune_curve:
        parts.load_state_dict(best)
    parts.eval()
    used = int(np.argmin(tune_curve)) + 1 if tune_curve else len(curve)
    return Training(seed, len(curve), used, tuple(curve), tuple(tune_curve))


def _learn(parts: Parts, optimizer: Any, loss: Callable[[Ints], Tensor], batches: Iterable[Ints]) -> float:
    """One pass; the mean loss over its batches."""
    clip = neural("torch").nn.utils.clip_grad_norm_
    parts.train()
    losses = []
    for places in batches:
        optimizer.zero_grad()
        value = loss(places)
        value.backward()
        clip(parts.parameters(), 1.0)
        optimizer.step()
        losses.append(float(value.detach()))
    return float(np.mean(losses))


def _weights(parts: Parts) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in parts.state_dict().items()}


def shuffled(places: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
    """The places in a random order, cut into batches."""
    order = rng.permutation(places)
    return [order[start : start + size] for start in range(0, len(order), size)]
