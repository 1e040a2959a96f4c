"""Where evidence was lost: every missed gold sentence is charged to one stage, every false alert to the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

STAGES = ("retriever", "gate", "k", "ranking")


@dataclass(frozen=True)
class Losses:
    """Gold sentences by what became of them, and alerts on queries without evidence.

    ``false_alerts`` are queries without evidence in state POS (without states: that the gate lets through);
    ``false_returns`` are queries without evidence that return sentences.
    """

    gold: int
    returned: int
    retriever: int
    gate: int
    k: int
    ranking: int
    false_alerts: int
    false_returns: int

    @property
    def missed(self) -> int:
        """Gold sentences that were not returned."""
        return self.gold - self.returned

    @property
    def charged(self) -> int:
        """Gold sentences that were charged to a stage; the same as those missed."""
        return self.retriever + self.gate + self.k + self.ranking


@dataclass(frozen=True)
class KRegret:
    """How far the chosen K is from the best one, over queries with evidence that the gate lets through.

    The oracle takes the top K of the ranking with the largest F1 against the gold sentences, the smallest such K.
    """

    queries: int
    mean_k: float
    mean_oracle_k: float
    too_small: int
    too_large: int
    f1: float
    oracle_f1: float

    @property
    def regret(self) -> float:
        """The mean F1 that a better K would add."""
        return self.oracle_f1 - self.f1


@dataclass(frozen=True)
class KRange:
    """The smallest and the largest selection of a run, and how many of its selections are of that size."""

    selections: int
    floor: int
    cap: int
    at_floor: int
    at_cap: int

    @property
    def pinned(self) -> float:
        """The share of selections at the more crowded end."""
        return max(self.at_floor, self.at_cap) / self.selections if self.selections else 0.0


@dataclass(frozen=True)
class Attribution:
    """Losses and regret over the whole run and by criterion, and the range of K."""

    losses: Losses
    losses_by_criterion: Mapping[str, Losses]
    regret: KRegret | None
    regret_by_criterion: Mapping[str, KRegret]
    k: KRange

    def __post_init__(self) -> None:
        for name in ("losses_by_criterion", "regret_by_criterion"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
