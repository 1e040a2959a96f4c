"""Read what the interval check must know of a number's name: its definition with all choices, and its group."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

Group = tuple[tuple[str, str], ...]
_DEFINITION = re.compile(r"([A-Za-z]\w*)(?:\(([^()]*)\))?(?:@(\S+))?")
_READINGS = {"same", "tuned"}


@dataclass(frozen=True)
class Defined:
    """A definition taken apart: ``Name(choice=value,...)@cut``. How a threshold was had is the choice ``threshold``."""

    base: str
    choices: Mapping[str, str]
    cut: str | None = None

    def get(self, choice: str, usual: str = "") -> str:
        """What was chosen, or the usual thing where the measure has no such choice."""
        return self.choices.get(choice, usual)

    @property
    def tuned(self) -> bool:
        """Whether it stands at a threshold that TUNE chose."""
        return self.get("threshold") == "tuned"

    @property
    def debiased(self) -> bool:
        """Whether the bias is taken off it; a word by itself is read as the choice ``threshold``."""
        return self.get("threshold") == "debiased"

    @property
    def depth(self) -> int | None:
        """The rank at which it is cut; None is the whole ranking."""
        return None if self.cut is None or self.cut == "ALL" else int(self.cut)

    @property
    def level(self) -> float:
        """The false positive budget, or the threshold probability, at which it is cut."""
        text = str(self.cut).partition("=")[2]
        share = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        return float(share)

    @property
    def over_criteria(self) -> bool:
        """Whether it is a mean over criteria."""
        return self.get("avg") in {"criterion", "label_weighted"}

    def within_criterion(self) -> Defined:
        """What such a mean averages."""
        return replace(self, choices=MappingProxyType({**self.choices, "avg": "pooled"}))


def read_definition(text: str) -> Defined:
    """Take a written-out definition apart.

    >>> found = read_definition("TPR(same)@FPR=5%")
    >>> found.base, dict(found.choices), found.level
    ('TPR', {'threshold': 'same'}, 0.05)
    """
    found = _DEFINITION.fullmatch(text)
    if found is None:
        raise ValueError(text)
    choices: dict[str, str] = {}
    for part in (found[2] or "").split(","):
        key, equals, value = part.partition("=")
        if key:
            choices[key if equals else "threshold"] = value if equals else key
    return Defined(found[1], MappingProxyType(choices), found[3])


def read_group(name: str) -> Group:
    """The group that a number's name ends with; parts that are quoted are JSON strings.

    >>> read_group("AUROC[fold=3]"), read_group('F1(t=gate)[site="a,b"]'), read_group("AUROC")
    ((('fold', '3'),), (('site', 'a,b'),), ())
    """
    _, bracket, rest = name.partition("[")
    if not bracket:
        return ()
    if not rest.endswith("]"):
        raise ValueError(name)
    pairs: list[tuple[str, str]] = []
    text = rest[:-1]
    while text:
        column, text = _word(text, "=")
        value, text = _word(text, ",")
        pairs.append((column, value))
    return tuple(pairs)


def _word(text: str, end: str) -> tuple[str, str]:
    """A plain or quoted word, and what follows the sign that ends it."""
    if not text.startswith('"'):
        word, _, rest = text.partition(end)
        return word, rest
    word, at = json.JSONDecoder().raw_decode(text)
    if text[at : at + 1] not in {"", end}:
        raise ValueError(text)
    return str(word), text[at + 1 :]
