"""Learning with torch that repeats to the byte: seeded, deterministic, by AdamW, and stopped where TUNE stops getting better.

The libraries are left as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Ints
from evidentia.pipeline.encoders.interface import Progress
from evidentia.pipeline.extras import neural
from evidentia.protocol.plain import Plain

Tensor = Any  # torch's; torch is not imported to say so
_SORTED_TOGETHER = 20  # batches whose texts are sorted by length, so that little is padding


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """Seed torch, allow deterministic algorithms only, and one thread; afterwards everything is as it was."""
    torch = neural("torch")
    memory = neural("torch.utils.deterministic")
    before, filled = torch.are_deterministic_algorithms_enabled(), memory.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[]), one_thread():
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        memory.fill_uninitialized_memory = False  # costs time; nothing here reads memory that it has not written
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)
            memory.fill_uninitialized_memory = filled


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums that do not depend on the number of cores; afterwards torch has as many threads as before."""
    torch = neural("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and reports of transformers while it loads a model."""
    log = neural("transformers.utils.logging")
    bars, verbosity = log.is_progress_bar_enabled(), log.get_verbosity()
    log.disable_progress_bar()
    log.set_verbosity_error()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()


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
        losses.append(_learn(model, optimizer, loss_of(batch)))
        if progress is not None:
            progress(step + 1, len(plan))
    model.eval()
    return losses


def mean_losses(losses: Sequence[float], epochs: int) -> tuple[float, ...]:
    """The mean loss of every epoch."""
    return tuple(float(np.mean(part)) for part in np.array_split(losses, epochs))


@dataclass(frozen=True)
class Training(Plain):
    """How a network was fitted: the losses of every epoch that was run, and the epoch (from 1) whose weights are kept."""

    seed: int
    epochs_run: int
    epochs_used: int
    train_curve: tuple[float, ...]
    tune_curve: tuple[float, ...]


def train(
    parts: Any,
    loss: Callable[[Ints], Tensor],
    epoch: Callable[[np.random.Generator], Iterable[Ints]],
    *,
    tune_loss: Callable[[], float] | None,
    optimizer: Mapping[str, float],
    seed: int,
    epochs: int,
    patience: int,
    progress: Progress | None = None,
) -> Training:
    """Fit the parts in place by AdamW. Without TUNE all epochs are run and the last weights kept.

    With TUNE the weights of its best epoch are kept, and learning stops ``patience`` epochs after it.
    """
    torch = neural("torch")
    descent = torch.optim.AdamW(parts.parameters(), **optimizer)
    rng = np.random.default_rng(seed)
    curve: list[float] = []
    tune_curve: list[float] = []
    best = _weights(parts)
    for number in range(1, epochs + 1):
        parts.train()
        curve.append(float(np.mean([_learn(parts, descent, loss(places)) for places in epoch(rng)])))
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


def _learn(model: Any, optimizer: Any, loss: Tensor) -> float:
    """One step down the loss of a batch, and that loss."""
    optimizer.zero_grad()
    loss.backward()
    neural("torch").nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def _weights(parts: Any) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in parts.state_dict().items()}


def shuffled(places: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
    """The places in a random order, cut into batches."""
    order = rng.permutation(places)
    return [order[start : start + size] for start in range(0, len(order), size)]
