"""What a three-state gate is asked to reach, and by how much it misses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evidentia.errors import InputError, typed
from evidentia.protocol.plain import Plain

_TARGET = re.compile(r"(?P<name>\w+(?:\(unit=post\))?)(?P<sign>>=|<=)(?P<value>\d*\.?\d+)(?P<percent>%)?")
_FIELDS = {
    ("ScreeningSensitivity", ">="): "sensitivity",
    ("ScreeningFNPer1000", "<="): "fn_per_1000",
    ("AlertPrecision", ">="): "precision",
    ("ScreeningSensitivity(unit=post)", ">="): "post_sensitivity",
    ("AlertPrecision(unit=post)", ">="): "post_precision",
}


@dataclass(frozen=True)
class Targets:
    """The contract's targets unless told otherwise; those per post are what certificates are about."""

    sensitivity: float = 0.995
    fn_per_1000: float = 5.0
    precision: float = 0.90
    post_sensitivity: float = 0.995
    post_precision: float = 0.90

    def to_dict(self) -> dict[str, float]:
        """By the names of the measures, with the sign that says which side is good."""
        return {f"{name}{sign}": getattr(self, field) for (name, sign), field in _FIELDS.items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Targets:
        """Read it back."""
        return cls(**{field: float(content[f"{name}{sign}"]) for (name, sign), field in _FIELDS.items()})


def parse_targets(texts: Iterable[str]) -> Targets:
    """Read targets as they are typed; what is not named keeps the contract's value.

    Examples
    --------
    >>> parse_targets(["ScreeningSensitivity>=0.98", "AlertPrecision(unit=post) >= 80%"]).post_precision
    0.8
    """
    targets = Targets()
    for text in texts:
        match = _TARGET.fullmatch(re.sub(r"\s", "", text))
        field = None if match is None else _FIELDS.get((match["name"], match["sign"]))
        if match is None or field is None:
            known = ", ".join(f"{name}{sign}..." for name, sign in _FIELDS)
            raise InputError(f"{typed(text)} is not a target for thresholds. Write one of: {known}")
        value = float(match["value"]) / (100 if match["percent"] else 1)
        if value > (1000 if field == "fn_per_1000" else 1) or (field.startswith("post") and not 0 < value < 1):
            raise InputError(f"{typed(text)}: the number is outside the range of the figure.")
        targets = replace(targets, **{field: value})
    return targets


def unnamed_targets(texts: Iterable[str]) -> tuple[str, ...]:
    """The targets that keep the contract's value, by name and sign.

    Examples
    --------
    >>> unnamed_targets(["ScreeningSensitivity>=0.98", "AlertPrecision(unit=post) >= 80%"])
    ('ScreeningFNPer1000<=', 'AlertPrecision>=', 'ScreeningSensitivity(unit=post)>=')
    """
    typed_ones = [re.sub(r"\s", "", text) for text in texts]
    names = [f"{name}{sign}" for name, sign in _FIELDS]
    return tuple(name for name in names if not any(text.startswith(name) for text in typed_ones))


@dataclass(frozen=True)
class TargetResult(Plain):
    """A target with what was reached on TUNE; ``missed_by`` is 0 where it is met."""

    name: str
    target: float
    reached: float
    missed_by: float


def target_results(targets: Targets, metrics: Mapping[str, float]) -> tuple[TargetResult, ...]:
    """The three targets over queries against the figures of a point."""
    results = []
    for (name, sign), field in list(_FIELDS.items())[:3]:
        wanted, reached = getattr(targets, field), metrics[name]
        missed = max(0.0, wanted - reached if sign == ">=" else reached - wanted)
        results.append(TargetResult(f"{name}{sign}", wanted, reached, missed))
    return tuple(results)
