"""A whole pipeline as configured: its steps, its gate, how it selects and what is tuned. It can be sent to another process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from evidentia.pipeline.fold import Step
from evidentia.pipeline.selection import Selection
from evidentia.protocol import Choices

GATE = "gate"


@dataclass(frozen=True)
class System:
    """The steps from the retriever to the graph reranker, the gate over them, and what happens to its scores."""

    steps: tuple[Step, ...]
    gate: Step
    selection: Selection = field(default_factory=Selection)
    mean_k_at_most: float | None = 3.5  # None: gamma is given, not tuned
    choices: Choices = field(default_factory=lambda: Choices(calibrate="auto"))
    cross_fit: int = 3
    seed: int = 7

    def __iter__(self) -> Iterator[Step]:
        return iter((*self.steps, self.gate))

    @property
    def last(self) -> str:
        """The step whose scores rank the candidates in the end."""
        return self.steps[-1].name
