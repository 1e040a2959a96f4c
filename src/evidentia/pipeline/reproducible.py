"""Learning that repeats to the byte, and loading that keeps quiet; both leave the libraries as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evidentia.pipeline.extras import neural


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
