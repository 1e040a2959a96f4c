"""What is said of a measure: its names, choices, words, bounds and population. Both measures/ and verify/ read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from evidentia.results.names import Cut

_SHARE = re.compile(r"0|1|0\.\d*[1-9]")  # shortest decimals in [0, 1], so that one threshold has one name
_DECIMAL = re.compile(r"\d*\.?\d+")
_COUNT = re.compile(r"[1-9]\d{0,2}|1000")  # enough for any histogram, and small enough for memory
NEEDS = {  # what a run lacks where a measure cannot be computed
    "prob": "needs a prob column (calibrated probability that evidence exists)",
    "score": "needs a prob or a detection_score column",
    "gate": "needs a yes/no for every query: a state column, or prob",
    "state": "needs a state column, or prob with tau_neg and tau_pos",
    "gold": "needs gold_sent_uids",
    "ranking": "needs gold_sent_uids and ranked_sent_uids",
    "selection": "needs selected_sent_uids",
    "candidates": "needs a candidates table with scores and gold marks (--candidates)",
    "complete": "needs one query for every (post, criterion) pair",
    "items": "needs a run of a predictor that may abstain (see `evidentia selective`)",
    "questionnaire": "needs a run of a questionnaire (its JSON file), which a table is not",
    "tune": "needs folds and TUNE rows (a split column) with the same score column as EVAL, to choose thresholds on",
}
CROSS_FIT = "its thresholds are cross_fit: chosen on other folds, not on TUNE"
Unit = Literal["query", "post", "candidate", "item", "participant"]
Direction = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Args:
    """The resolved parameters of a definition, all of them, and its cut."""

    params: Mapping[str, str]
    cut: Cut | None = None

    def __getitem__(self, name: str) -> str:
        return self.params[name]

    def get(self, name: str) -> str | None:
        """The value of a parameter, or None where the measure has no such parameter."""
        return self.params.get(name)

    @property
    def k(self) -> int | None:
        """The rank at which the measure is cut; None means the whole ranking."""
        assert self.cut is not None
        return None if self.cut.value is None else int(self.cut.value)

    @property
    def level(self) -> float:
        """The budget or threshold at which the measure is cut."""
        assert self.cut is not None
        assert isinstance(self.cut.value, Decimal)
        return float(self.cut.value)


@dataclass(frozen=True)
class Parameter:
    """A choice that is part of a definition.

    Attributes
    ----------
    name : str
        Name of the parameter.
    values : tuple of str
        Its values.
    default : str or None
        Value of a name that leaves it out; None means that it must be written.
    bare : bool
        Whether it is written as its value alone (``tuned``).
    whole_number : bool
        Whether any whole number from 1 to 1000 is a value too.
    share : bool
        Whether any decimal in [0, 1] is a value too.
    """

    name: str
    values: tuple[str, ...]
    default: str | None
    bare: bool = False
    whole_number: bool = False
    share: bool = False

    def accepts(self, value: str) -> bool:
        """Whether this is a legal value."""
        if value in self.values or (self.whole_number and _COUNT.fullmatch(value) is not None):
            return True
        return self.share and _SHARE.fullmatch(value) is not None

    def plain(self, value: str) -> str:
        """The one way to write a number: 0.50 and .5 become 0.5, 010 becomes 10."""
        if self.share and _DECIMAL.fullmatch(value):
            text = f"{Decimal(value):f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        return str(int(value)) if self.whole_number and value.isdecimal() and len(value) < 10 else value


@dataclass(frozen=True)
class Population:
    """Which units a number speaks about, in words, and as a mask over the queries for measures/ (None stands for all)."""

    words: str
    left_out: str
    mask: Callable[[Any, Args], Any]
    unit: Unit = "query"


@dataclass(frozen=True)
class Measure:
    """One registered measure: how it is computed and described.

    ``kind`` and ``variants`` hold the code of measures/. Verification reads the words only and computes with twins of its own.

    Attributes
    ----------
    base : str
        Name without parameters and cut.
    family : str
        Family of the measure.
    label : str
        Title.
    kind : Kind
        How it is computed.
    population : callable
        Function from ``Args`` to the population.
    requires : callable
        Function from ``Args`` to the needs of the run, keys of ``NEEDS``.
    direction : {"higher", "lower", "neither"}
        Which values are better.
    bounds : tuple of (float or None, float or None)
        Least and largest value; None is unbounded.
    formula : str
        The definition.
    meaning : str
        One sentence on how to read the value.
    reference : str
        Source of the definition.
    params : tuple of Parameter
        Choices that are part of a name.
    cut : str or None
        Kind of cut: "k", "FPR", "t", "coverage", "C" or "cut".
    reasons : tuple of str
        Why the value can be undefined; its conventional value is in ``convention``.
    convention : str
        The value where it is undefined.
    groups : frozenset of str
        Groupings that it is reported for.
    conventions : mapping of str to str
        What other tools compute under this name.
    choices : mapping of str to str
        What each parameter value means.
    moot : mapping of (str, str) to tuple of str
        Choices that make other parameters meaningless.
    variants : mapping of (str, str) to Kind
        Parameter values that change the kind.
    """

    base: str
    family: str
    label: str
    kind: Any
    population: Callable[[Args], Population]
    requires: Callable[[Args], tuple[str, ...]]
    direction: Direction
    bounds: tuple[float | None, float | None]
    formula: str
    meaning: str
    reference: str
    params: tuple[Parameter, ...] = ()
    cut: str | None = None
    reasons: tuple[str, ...] = ()  # why the value can be undefined; the convention is in ``convention``
    convention: str = "0.0"
    groups: frozenset[str] = frozenset({"fold", "criterion", "state", "slice"})
    conventions: Mapping[str, str] = field(default_factory=dict)  # what other tools do under this name
    choices: Mapping[str, str] = field(default_factory=dict)  # what each parameter value means
    moot: Mapping[tuple[str, str], tuple[str, ...]] = field(
        default_factory=dict
    )  # choices that make others meaningless
    variants: Mapping[tuple[str, str], Any] = field(default_factory=dict)  # parameter values that change the kind

    @property
    def key(self) -> tuple[str, str | None, frozenset[str]]:
        """Identifies the measure: base name, kind of cut, and the parameters that must be written."""
        return (self.base, self.cut, frozenset(p.name for p in self.params if p.default is None))

    def kind_of(self, args: Args) -> Any:
        """What computes a definition of this measure."""
        for (name, value), kind in self.variants.items():
            if args.get(name) == value:
                return kind
        return self.kind

    def without_effect(self, params: Mapping[str, str]) -> frozenset[str]:
        """The parameters that other choices make meaningless."""
        return frozenset(
            name for (chosen, value), names in self.moot.items() if params[chosen] == value for name in names
        )

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if the measure has it."""
        return next((p for p in self.params if p.name == name), None)
