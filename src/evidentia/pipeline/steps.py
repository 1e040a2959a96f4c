"""The six configurations of an ablation: the pipeline, one stage longer each time."""

from __future__ import annotations

from collections.abc import Iterator

from evidentia.errors import InputError
from evidentia.pipeline.build import GRAPH, RERANKER, RETRIEVER
from evidentia.pipeline.decide import Variant
from evidentia.pipeline.system import GATE, System
from evidentia.protocol import Choices, parse_rule

WORDS = "words"
OPEN = "fixed=0"  # without a gate every query is answered
ONE_THRESHOLD = "max-f1"


def ablation(system: System) -> tuple[Variant, ...]:
    """From the retriever alone to the whole pipeline; what a system does not have is left out.

    Before there is a gate the best candidate's score stands in, calibrated on TUNE, and nothing is held back. The gate alone
    has one threshold, chosen on TUNE by its F1; the last configuration is the system as configured.
    """
    return tuple(_variants(system))


def _variants(system: System) -> Iterator[Variant]:
    known = [step.name for step in system.steps]
    titles = {RETRIEVER: "retriever", RERANKER: "+ reranker", GRAPH: "+ graph reranker"}
    opened = _choices(system, OPEN)
    for name in (name for name in titles if name in known):
        yield Variant(titles[name], name, name, "nothing", opened)
    if system.choices.rule is not None:
        raise InputError("An ablation ends with the three-state gate. Leave three_state.rule out.")
    yield Variant("+ dynamic K", system.last, system.last, "all", opened)
    yield Variant("+ no-evidence gate", system.last, GATE, "states", _choices(system, ONE_THRESHOLD))
    yield full(system, "+ three-state gate")


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
