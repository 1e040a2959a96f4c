"""What a three-state gate is asked to reach, what counts first, and by how much it misses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.errors import InputError, typed
from evidentia.protocol.plain import Plain

_TARGET = re.compile(r"(?P<name>\w+(?:\(unit=post\))?)(?P<sign>>=|<=)(?P<value>\d*\.?\d+)(?P<percent>%)?")
POST_SENSITIVITY, POST_PRECISION = "ScreeningSensitivity(unit=post)>=", "AlertPrecision(unit=post)>="
CONTRACT = (
    *(("ScreeningSensitivity>=", 0.995), ("ScreeningFNPer1000<=", 5.0), ("AlertPrecision>=", 0.90)),
    *((POST_SENSITIVITY, 0.995), (POST_PRECISION, 0.90)),
)
LARGEST = {  # every figure of the three states over queries; with either sign it can be a target
    **dict.fromkeys(("ScreeningSensitivity", "AlertPrecision", "NegRate", "UncertainRate", "PosRate"), 1.0),
    **dict.fromkeys(("ScreeningFNPer1000", "AlertsPer1000"), 1000.0),
}


@dataclass(frozen=True)
class Targets:
    """Values by name and sign, the first counts first; those per post are what certificates are about.

    The contract's unless others are given.
    """

    values: tuple[tuple[str, float], ...] = CONTRACT

    def __getitem__(self, name: str) -> float:
        return dict(self.values)[name]

    def to_dict(self) -> dict[str, float]:
        """By the names of the measures, with the sign that says which side is good, in their order."""
        return dict(self.values)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Targets:
        """Read it back."""
        return cls(tuple((name, float(value)) for name, value in content.items()))

    @property
    def over_queries(self) -> dict[str, float]:
        """Those that thresholds are chosen by."""
        return {name: value for name, value in self.values if "unit=post" not in name}

    def after(self, values: Mapping[str, float]) -> Targets:
        """These behind others, which count first; what is in both has the value of the others.

        >>> list(Targets().after({"AlertPrecision>=": 0.8}).over_queries.items())[:2]
        [('AlertPrecision>=', 0.8), ('ScreeningSensitivity>=', 0.995)]
        """
        return Targets((*values.items(), *((name, own) for name, own in self.values if name not in values)))


def parse_targets(texts: Iterable[str], *, usual: Targets | None = None) -> Targets:
    """Read targets as they are typed: the first counts first, and what is not named comes last with its usual value.

    Examples
    --------
    >>> parse_targets(["AlertsPer1000<=20", "AlertPrecision(unit=post) >= 80%"]).over_queries
    {'AlertsPer1000<=': 20.0, 'ScreeningSensitivity>=': 0.995, 'ScreeningFNPer1000<=': 5.0, 'AlertPrecision>=': 0.9}
    """
    named: dict[str, float] = {}
    for text in texts:
        name, value = _parse_target(text)
        if name in named:
            raise InputError(f"{typed(text)}: there is a target {name}... already. Give each once.")
        named[name] = value
    return (usual or Targets()).after(named)


def _parse_target(text: str) -> tuple[str, float]:
    match = _TARGET.fullmatch(re.sub(r"\s", "", text))
    name = "" if match is None else match["name"] + match["sign"]
    if match is None or (match["name"] not in LARGEST and name not in {POST_SENSITIVITY, POST_PRECISION}):
        known = ", ".join((*LARGEST, *(f"{name}..." for name in (POST_SENSITIVITY, POST_PRECISION))))
        raise InputError(
            f"{typed(text)} is not a target for thresholds. Write >= or <= and a number after one of: {known}"
        )
    value = float(match["value"]) / (100 if match["percent"] else 1)
    of_posts = match["name"] not in LARGEST
    if value > LARGEST.get(match["name"], 1.0) or (of_posts and not 0 < value < 1):
        raise InputError(f"{typed(text)}: the number is outside the range of the figure.")
    return name, value


def unnamed_targets(texts: Iterable[str], *, usual: Targets | None = None) -> tuple[str, ...]:
    """The targets that keep their usual value, by name and sign.

    Examples
    --------
    >>> unnamed_targets(["ScreeningSensitivity>=0.98", "AlertPrecision(unit=post) >= 80%"])
    ('ScreeningFNPer1000<=', 'AlertPrecision>=', 'ScreeningSensitivity(unit=post)>=')
    """
    named = {_parse_target(text)[0] for text in texts}
    return tuple(name for name, _ in (usual or Targets()).values if name not in named)


@dataclass(frozen=True)
class TargetResult(Plain):
    """A target with what was reached on TUNE; ``missed_by`` is 0 where it is met."""

    name: str
    target: float
    reached: float
    missed_by: float


def target_results(targets: Targets, figures: Mapping[str, float]) -> tuple[TargetResult, ...]:
    """The targets over queries against the figures of a point, in their order."""
    return tuple(
        TargetResult(name, wanted, figures[name[:-2]], float(shortfall(name, wanted, figures[name[:-2]])))
        for name, wanted in targets.over_queries.items()
    )


def shortfall(name: str, wanted: float, reached: Any) -> Any:
    """By how much a number, or each of an array, misses a target; 0 where it is met.

    >>> shortfall("AlertsPer1000<=", 20.0, np.array([15.0, 25.0])).tolist()
    [0.0, 5.0]
    """
    return np.maximum(0.0, wanted - reached if name.endswith(">=") else reached - wanted)
