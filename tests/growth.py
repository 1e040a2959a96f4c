"""How the cost of something grows with its size, so that no test depends on the speed or the load of a machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")


def growth(work: Callable[[Input], object], small: Input, large: Input) -> float:
    """How many times the processor time of the small input the large one takes; the best of three tries each."""
    work(small)  # what is loaded at the first call is no part of it
    return _seconds(work, large) / _seconds(work, small)


def _seconds(work: Callable[[Input], object], argument: Input) -> float:
    def once() -> float:
        start = time.process_time()
        work(argument)
        return time.process_time() - start

    return max(min(once() for _ in range(3)), 0.005)  # below that is noise
