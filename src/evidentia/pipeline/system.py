"""What a pipeline is: its steps in their order, its gate, how it selects, what is tuned; and the shorter ones of an ablation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from evidentia.errors import InputError
from evidentia.pipeline.selection import Selection
from evidentia.pipeline.stage import Parts, Stage
from evidentia.protocol import Choices, parse_rule

RETRIEVER, RERANKER, GRAPH, GATE = "retriever", "reranker", "graph", "gate"
WORDS = "words"
AUTO = "auto"  # a cut that the stage chooses on TUNE
OPEN = "fixed=0"  # without a gate every query is answered
ONE_THRESHOLD = "max-f1"
Scope = Literal["nothing", "all", "states"]


@dataclass(frozen=True)
class Step:
    """A stage at its place: under which name its scores are known, and how many candidates it lets through."""

    name: str
    stage: Stage
    keep: int | Literal["auto"] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.keep, int) and self.keep < 1:
            raise InputError(f"Step {self.name} must keep 1 candidate or more, not {self.keep}.")

    def cut(self, model: Callable[[], Parts]) -> int | None:
        """How many candidates of a query go on; one that was chosen on TUNE is asked of the model."""
        return self.keep if self.keep is None or isinstance(self.keep, int) else int(model().document["keep"])


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


@dataclass(frozen=True)
class Variant:
    """Up to where the pipeline goes: the step that ranks, what stands for detection, and what is selected.

    ``selects`` nothing, for all queries alike, or by the state of each. ``cuts`` False ranks all sentences of a post.
    """

    name: str
    ranked_by: str
    detects: str
    selects: Scope
    choices: Choices
    cuts: bool = True


def ablation(system: System) -> tuple[Variant, ...]:
    """From the retriever alone to the whole pipeline; what a system does not have is left out.

    Before there is a gate the best candidate's score stands in, calibrated on TUNE, and nothing is held back. The gate alone
    has one threshold, chosen on TUNE by its F1; the last configuration is the system as configured.
    """
    known = [step.name for step in system.steps]
    titles = {RETRIEVER: "retriever", RERANKER: "+ reranker", GRAPH: "+ graph reranker"}
    opened = _choices(system, OPEN)
    if system.choices.rule is not None:
        raise InputError("An ablation ends with the three-state gate. Leave three_state.rule out.")
    return (
        *(Variant(titles[name], name, name, "nothing", opened) for name in titles if name in known),
        Variant("+ dynamic K", system.last, system.last, "all", opened),
        Variant("+ no-evidence gate", system.last, GATE, "states", _choices(system, ONE_THRESHOLD)),
        full(system, "+ three-state gate"),
    )


def baseline(system: System) -> Variant | None:
    """The one-liner to beat: words of one sentence, a logistic regression per criterion, the best sentence for the query.

    None where the system has no such part.
    """
    if WORDS not in {step.name for step in system.steps}:
        return None
    return Variant("baseline: words of a sentence", WORDS, WORDS, "nothing", _choices(system, OPEN), cuts=False)


def full(system: System, name: str = "full pipeline") -> Variant:
    """The whole pipeline."""
    return Variant(name, system.last, GATE, "states", system.choices)


def _choices(system: System, rule: str) -> Choices:
    return Choices(parse_rule(rule), calibrate=system.choices.calibrate, seed=system.choices.seed)
