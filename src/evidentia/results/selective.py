"""The result of comparing two predictors that may abstain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.results.comparison import Delta

REFUSED, UNTESTED = "not compared: ", "not tested: "  # how warnings begin that keep a reader from an unfair comparison
PAIRED = "only over the "  # how one begins that says what both answer


@dataclass(frozen=True)
class SelectiveComparison:
    """The deltas of a system against a baseline, and which coverages both reach."""

    baseline: str
    system: str
    seed: int
    resamples: int
    alpha: float
    participants: int
    items: int
    baseline_predicted: int
    system_predicted: int
    coverages: tuple[Mapping[str, Any], ...]
    deltas: tuple[Delta, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Delta:
        for delta in self.deltas:
            if delta.name == name:
                return delta
        raise KeyError(name)

    @property
    def common_coverage(self) -> float:
        """The smaller of both Cmax."""
        return min(self.baseline_predicted, self.system_predicted) / self.items

    def to_dict(self) -> dict[str, Any]:
        """The ``comparison`` of ``summary.json``."""
        sides = {"baseline": self.baseline_predicted, "system": self.system_predicted}
        return {
            "baseline": self.baseline,
            "system": self.system,
            "seed": self.seed,
            "resamples": self.resamples,
            "alpha": self.alpha,
            "participants": self.participants,
            "items": self.items,
            "predicted": sides,
            "cmax": {side: count / self.items for side, count in sides.items()},
            "common_coverage": self.common_coverage,
            "coverages": [dict(row) for row in self.coverages],
            "deltas": [delta.to_dict() for delta in self.deltas],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Answered:
    """How many items a system was asked, and how many of them it answers."""

    name: str
    predicted: int
    items: int

    @property
    def coverage(self) -> str:
        """Its Cmax as it is written in sentences."""
        return f"{self.predicted / self.items:.4g}"


def area_ends_early(coverage: float, reached: float) -> Iterator[str]:
    """Warn of an area that ends before the coverage it should go up to."""
    if coverage > reached:
        yield f"Cmax is {reached:.4g}: the area ends there, before the coverage that was asked for"


def out_of_reach(needed: int, sides: Sequence[Answered]) -> str | None:
    """Who answers fewer items than a coverage takes; None if nobody does."""
    short = [f"{side.name} reaches only {side.coverage}" for side in sides if side.predicted < needed]
    return "; ".join(short) or None


def answered_by_both(sides: Sequence[Answered], shared: int, unit: str) -> Iterator[str]:
    """Say that a difference rests on what both answer, where that is not everything, and how much each answers alone."""
    if shared < sides[0].items:
        units = "items that both answer" if unit == "item" else f"{unit}s of whom both answer every item"
        alone = ", ".join(f"{side.name} {side.predicted} ({side.coverage})" for side in sides)
        yield f"{PAIRED}{shared} of {sides[0].items} {units}; each alone: {alone}"


def refused_mean(sides: Sequence[Answered]) -> str:
    """Why mean losses of different shares of the items are not compared."""
    return (
        f"{REFUSED}the two answer different shares of the items ({_shares(sides)}), and the one that answers less leaves "
        "out harder items; compare MAE at a coverage that both reach, or areas up to the common coverage"
    )


def refused_answers(sides: Sequence[Answered]) -> str:
    """Why mean losses of as many but other items of a questionnaire are not compared."""
    return (
        f"{REFUSED}the two answer other items ({_shares(sides)}); compare MAE(avg=item), which is over the items that both "
        "answer, or areas up to the common coverage"
    )


def untested_area(sides: Sequence[Answered]) -> str:
    """Why a difference of areas that end at different coverages is not tested."""
    return f"{UNTESTED}the areas end at different coverages ({_shares(sides)}); compare them at C=common"


def _shares(sides: Sequence[Answered]) -> str:
    return " and ".join(side.coverage for side in sides)


def never_significant(family: str, tests: int, resamples: int, alpha: float) -> Iterator[str]:
    """Say where the number of resamples keeps every corrected p of a family above alpha."""
    least = 2 / (resamples + 1) * tests
    if least > alpha:
        yield (
            f"with {resamples:,} resamples and {tests} tests in the family '{family}' the smallest corrected p is "
            f"{min(least, 1):.3g}, so nothing in it can be significant at {alpha:g}: take more resamples or fewer measures"
        )
