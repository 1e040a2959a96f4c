"""Going down the loss of a torch model: batches of like length, AdamW, and a rate that rises for a tenth and then falls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from evidentia.array_types import Ints
from evidentia.pipeline.encoders.interface import Progress
from evidentia.pipeline.extras import neural

_SORTED_TOGETHER = 20  # batches whose texts are sorted by length, so that little is padding


def plan_batches(lengths: Sequence[int], size: int, epochs: int, rng: np.random.Generator) -> list[list[int]]:
    """The batches of all epochs: random, with texts of like length together."""
    batches: list[list[int]] = []
    known: Ints = np.array(lengths)
    for _ in range(epochs):
        order = rng.permutation(len(known))
        pools = [
            order[start : start + size * _SORTED_TOGETHER] for start in range(0, len(order), size * _SORTED_TOGETHER)
        ]
        cut = [pool[np.argsort(known[pool], kind="stable")] for pool in pools]
        pieces = [pool[start : start + size].tolist() for pool in cut for start in range(0, len(pool), size)]
        batches += [pieces[place] for place in rng.permutation(len(pieces)).tolist()]
    return batches


def descend(
    model: Any,
    loss_of: Callable[[list[int]], Any],
    plan: Sequence[list[int]],
    rates: Mapping[float, Iterable[Any]],
    *,
    progress: Progress | None = None,
) -> list[float]:
    """Walk through the plan once; the loss of every batch. The model is left ready to be asked.

    ``rates`` has the weights that learn at each rate.
    """
    torch = neural("torch")
    groups = [{"params": list(weights), "lr": rate} for rate, weights in rates.items()]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    rising = max(1, len(plan) // 10)
    losses = []
    model.train()
    for step, batch in enumerate(plan):
        share = min((step + 1) / rising, (len(plan) - step) / max(1, len(plan) - rising))
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * share
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        if progress is not None:
            progress(step + 1, len(plan))
    model.eval()
    return losses


def mean_losses(losses: Sequence[float], epochs: int) -> tuple[float, ...]:
    """The mean loss of every epoch."""
    return tuple(float(np.mean(part)) for part in np.array_split(losses, epochs))
