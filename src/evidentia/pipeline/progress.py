"""How far the training of a run is: what is done, what is at hand, the time left; and a line for every stage in its log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from evidentia.errors import OutputError, counted

LOG = "run.log"
Place = tuple[str, str]  # a fold, and a step


class Progress(Protocol):
    """Told how much is done, of how much, and perhaps in which words to say it."""

    def __call__(self, done: int, total: int, words: str | None = None, /) -> None:
        """Show it."""


Bar = Callable[[str], AbstractContextManager[Progress | None]]


def no_bar(words: str) -> AbstractContextManager[None]:
    """Nobody watches."""
    return nullcontext()


@dataclass(frozen=True)
class Training:
    """The state of a training: what was just done with its seconds, what is at hand, and the seconds that are left."""

    done: int
    total: int
    just_done: Mapping[Place, float]
    at_hand: tuple[Place, ...]
    left: float | None

    @property
    def words(self) -> str:
        """For a bar.

        >>> Training(12, 30, {}, (("2", "reranker"),), 200.0).words
        'fold 2 reranker, 12 of 30 stages, about 3 min left'
        """
        places = " and ".join(f"fold {fold} {step}" for fold, step in self.at_hand)
        return ", ".join([*([places] if places else []), f"{self.done} of {self.total} stages", *self._left()])

    def lines(self) -> list[str]:
        """For a file: one for every stage that was just done."""
        return [f"fold {fold} {step} {seconds:.1f} s" for (fold, step), seconds in self.just_done.items()]

    def lines_with_counts(self) -> list[str]:
        """For a screen that is no terminal."""
        rest = ", ".join([f"{self.done} of {self.total} stages", *self._left()])
        return [f"{line} ({rest})" for line in self.lines()]

    def _left(self) -> list[str]:
        return [] if self.left is None or self.done == self.total else [f"about {_time(self.left)} left"]


def _time(seconds: float) -> str:
    """A length of time, roughly.

    >>> _time(4.2), _time(61), _time(4000)
    ('4 s', '1 min', '1 h 7 min')
    """
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def no_watch(training: Training) -> None:
    """Nobody watches."""


@dataclass
class Watch:
    """Looks at what is kept, and tells what is new."""

    folds: Sequence[str]
    steps: Sequence[str]
    at_once: int
    told: Callable[[Training], None]
    _seen: frozenset[Place] | None = field(default=None, repr=False)

    def look(self, spent: Mapping[Place, float]) -> None:
        """Tell how far it is, given the seconds of every step that is done; at the first look nothing is new."""
        new = {place: seconds for place, seconds in spent.items() if self._seen is not None and place not in self._seen}
        self._seen = frozenset(spent)
        total = len(self.folds) * len(self.steps)
        self.told(Training(len(spent), total, new, self._at_hand(spent), self._left(spent)))

    def _at_hand(self, spent: Mapping[Place, float]) -> tuple[Place, ...]:
        """Folds are begun in their order, and each does one step after the other."""
        missing = (next(((f, step) for step in self.steps if (f, step) not in spent), None) for f in self.folds)
        return tuple(place for place in missing if place is not None)[: self.at_once]

    def _left(self, spent: Mapping[Place, float]) -> float | None:
        """What the missing steps took on average in other folds; None as long as one of them was done in none."""
        known: dict[str, list[float]] = {}
        for (_, step), seconds in spent.items():
            known.setdefault(step, []).append(seconds)
        missing = [step for fold in self.folds for step in self.steps if (fold, step) not in spent]
        if not all(step in known for step in missing):
            return None
        busy = max(1, min(self.at_once, len({f for f in self.folds for s in self.steps if (f, s) not in spent})))
        return sum(sum(known[step]) / len(known[step]) for step in missing) / busy


@dataclass(frozen=True)
class RunLog:
    """A file with a line for every stage: when it was done, which, and how long it took. It holds no text of a post."""

    path: Path

    def add(self, lines: Sequence[str]) -> None:
        """Write lines behind those that are there."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        try:
            if lines:
                with self.path.open("a", encoding="utf-8") as file:
                    file.writelines(f"{now} {line}\n" for line in lines)
        except OSError as error:
            remedy = f"Make room (or {self.path.name} writable), then continue with --resume."
            raise OutputError(f"Cannot write {self.path.name}: {error.strerror}. {remedy}") from None


def reused_line(steps: int) -> str:
    """What the log says of steps that an earlier run did."""
    return f"{counted(steps, 'stage')} reused 0.0 s"


@contextmanager
def logged(bar: Bar, log: RunLog, words: str) -> Iterator[Progress | None]:
    """A bar whose work has a line in the log once it is done."""
    began = time.perf_counter()
    with bar(words) as progress:
        yield progress
    log.add([f"{words} {time.perf_counter() - began:.1f} s"])


def tell(log: RunLog, progress: Progress | None, note: Callable[[str], None], training: Training) -> None:
    """A line in the log for every stage that is done; a bar where there is one, else a line there too."""
    log.add(training.lines())
    if progress is not None:
        progress(training.done, training.total, training.words)
        return
    for line in training.lines_with_counts():
        note(line)
