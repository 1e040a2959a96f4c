"""What the benchmarks share: the smallest of several measurements, figures beside their targets, and plain tables."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

TURN = 0.05  # seconds for which an action is repeated before the next one has its turn


class DisagreementError(Exception):
    """The two sides do not compute the same, so their times mean nothing."""


@dataclass(frozen=True)
class Figure:
    """One comparison of ours with another; with a ``ceiling`` ours may grow to that multiple, else it should be smaller."""

    part: str
    what: str
    unit: str
    ours: float
    other: float
    floor: float | None = None
    ceiling: float | None = None

    @property
    def ratio(self) -> float:
        """How many times the other is ours or, with a ceiling, how many times ours is the other."""
        return self.other / self.ours if self.ceiling is None else self.ours / self.other

    @property
    def verdict(self) -> str:
        """The target in words, and whether it is met."""
        if self.ceiling is not None:
            return f"at most {self.ceiling:g}: {'met' if self.ratio <= self.ceiling else 'NOT MET'}"
        if self.floor is not None:
            return f"at least {self.floor:g}: {'met' if self.ratio >= self.floor else 'NOT MET'}"
        return ""

    def to_dict(self) -> dict[str, object]:
        """The figure as JSON holds it."""
        return {**asdict(self), "ratio": self.ratio, "verdict": self.verdict}


def fastest(
    actions: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The smallest time of every action, over at least so many rounds and seconds.

    Actions take turns, so that a busy moment of the machine hits them alike. For actions too long to fall between the
    busy moments, ``clock`` can be time.process_time, which stands still while other programs have the processor.
    """
    best = dict.fromkeys(actions, float("inf"))
    began, done = time.perf_counter(), 0
    while done < rounds or time.perf_counter() - began < seconds:
        for name, action in actions.items():
            best[name] = min(best[name], _turn(action, clock))
        done += 1
    return best


def _turn(action: Callable[[], object], clock: Callable[[], float]) -> float:
    """Repeat an action for a moment and take its smallest time; as in timeit, the garbage collector rests."""
    best, total = float("inf"), 0.0
    gc.collect()
    gc.disable()
    try:
        while total < TURN:
            started = clock()
            result = action()
            took = clock() - started
            del result  # freed outside the clock
            best, total = min(best, took), total + took
    finally:
        gc.enable()
    return best


def versions(*packages: str) -> dict[str, str]:
    """Python and the packages that are installed, each with its version."""
    found = {"python": sys.version.split()[0]}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Shown:
    """A table as it was printed."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


SHOWN: list[Shown] = []  # all tables of this run, for README.md


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *notes: str) -> None:
    """Print a table: the first column to the left, numbers to the right, the last column (words) to the left."""
    SHOWN.append(Shown(title.strip(), tuple(head), tuple(map(tuple, rows)), notes))
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    print(f"\n{title}")
    for row in (head, *rows):
        first, *middle, last = (
            cell.ljust(width) if i in {0, len(head) - 1} else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print(f"  {'  '.join([first, *middle, last])}".rstrip())
    for note in notes:
        print(f"  {note}")
