"""What can be reported: every measure with its choices, and the definition that a name means under a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property

from evidentia.verify.names import Name, Pairs, kind_of, parse, shortest

USUAL = ("fold", "criterion", "state", "slice")
Defaults = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Choice:
    """A parameter, the values that it takes, and the one that is meant when it is left out (None: it must be written)."""

    name: str
    values: tuple[str, ...]
    default: str | None
    number: bool = False  # any share of 1, or any count, beside the listed words
    bare: bool = False

    def normal(self, value: str) -> str | None:
        """The value as it is printed, or None if the parameter does not take it."""
        if value in self.values:
            return value
        try:
            return shortest(Decimal(value)) if self.number else None
        except InvalidOperation:
            return None


@dataclass(frozen=True)
class Measure:
    """A family of definitions that share a base name and a kind of cut."""

    base: str
    cut: str
    choices: tuple[Choice, ...]
    family: str
    direction: str
    groups: tuple[str, ...] = USUAL


@dataclass(frozen=True)
class Definition:
    """A measure with all its choices made."""

    measure: Measure
    params: Pairs
    cut: str | None

    @cached_property
    def choices(self) -> dict[str, str]:
        """The chosen values by parameter."""
        return dict(self.params)

    def get(self, name: str) -> str | None:
        """The chosen value, or None if the measure has no such parameter."""
        return self.choices.get(name)

    @property
    def base(self) -> str:
        """The name without everything else."""
        return self.measure.base

    @cached_property
    def expanded(self) -> str:
        """The name with every choice written out."""
        return self._written(self.measure.choices)

    @property
    def averaged(self) -> bool:
        """Whether it is a mean over criteria."""
        return self.get("avg") in {"criterion", "label_weighted"}

    def short(self, defaults: Defaults) -> str:
        """The name under a profile: what it would choose anyway is left out, and so is what has no meaning."""
        moot = moot_choices(self.base, self.choices)
        return self._written(
            tuple(
                c
                for c in self.measure.choices
                if c.name not in moot and self.choices[c.name] != _usual(self.measure, c, defaults)
            )
        )

    def _written(self, choices: tuple[Choice, ...]) -> str:
        parts = [self.choices[c.name] if c.bare else f"{c.name}={self.choices[c.name]}" for c in choices]
        return self.base + (f"({','.join(parts)})" if parts else "") + (f"@{self.cut}" if self.cut else "")


def moot_choices(base: str, chosen: Mapping[str, str]) -> set[str]:
    """The parameters that other choices make meaningless; they take their default."""
    if base == "SelectedK" and chosen["given"] == "gate":
        return {"closed"}
    if base == "EvidenceRecall" and (chosen["pool"] == "micro" or chosen["given"] == "gate"):
        return {"pop"}
    if base == "F1" and "empty" in chosen and chosen["avg"] != "post":
        return {"empty"}
    return set()


def define(name: Name | str, defaults: Defaults | None = None) -> Definition:
    """The definition that a name means, with a profile's defaults where it leaves something out."""
    asked = parse(name) if isinstance(name, str) else name
    for measure in MEASURES.get(asked.base.lower(), ()):
        if measure.cut == kind_of(asked.cut):
            params = _params(measure, asked.params, defaults or {})
            if params is not None:
                return Definition(measure, params, asked.cut)
    raise ValueError(f"{asked.base} with these choices is not known")


def _params(measure: Measure, given: Pairs, defaults: Defaults) -> Pairs | None:
    chosen: dict[str, str] = {}
    for key, value in given:
        fits = [c for c in measure.choices if (c.name == key or (not key and c.bare)) and c.normal(value) is not None]
        if not fits:
            return None
        chosen[fits[0].name] = str(fits[0].normal(value))
    for choice in measure.choices:
        usual = _usual(measure, choice, defaults)
        if choice.name not in chosen and usual is None:
            return None
        chosen.setdefault(choice.name, str(usual))
    moot = moot_choices(measure.base, chosen)
    return tuple((c.name, str(c.default) if c.name in moot else chosen[c.name]) for c in measure.choices)


def _usual(measure: Measure, choice: Choice, defaults: Defaults) -> str | None:
    of_profile = defaults.get((measure.base, choice.name))
    return of_profile if of_profile is not None and choice.normal(of_profile) is not None else choice.default


LEVEL = Choice("level", ("query", "candidate"), "query")
AVG = Choice("avg", ("pooled", "criterion"), "pooled")
POINT = Choice("t", ("gate", "returned"), None, number=True)
POP = Choice("pop", ("positives", "all"), "positives")
GIVEN = Choice("given", ("all", "gate"), "all")
UNIT = Choice("unit", ("query", "post"), "query")
TUNED = Choice("threshold", ("tuned",), None, bare=True)
AVERAGES = ("micro", "post", "criterion", "post_weighted", "label_weighted")


@dataclass
class _Table:
    rows: dict[str, list[Measure]] = field(default_factory=dict)

    def add(
        self, family: str, direction: str, bases: str, *choices: Choice, cut: str = "", groups: tuple[str, ...] = USUAL
    ) -> None:
        for base in bases.split():
            measure = Measure(base, cut, choices, family, direction, groups)
            self.rows.setdefault(base.lower(), []).append(measure)


def _all_measures() -> dict[str, list[Measure]]:
    table = _Table()
    table.add("counts", "neither", "Queries Positives PositiveRate")
    table.add("detection", "higher", "AUROC AUPRC", LEVEL, AVG)
    table.add("detection", "higher", "TPR", Choice("threshold", ("same", "tuned"), "same", bare=True), cut="FPR")
    table.add("detection", "higher", "TP TN", POINT)
    table.add("detection", "lower", "FP FN", POINT)
    table.add("detection", "higher", "Sensitivity Specificity Precision NPV F1 MCC BalancedAccuracy", POINT, AVG)
    table.add("detection", "lower", "FPR FNR", POINT, AVG)
    table.add("detection", "higher", "Precision F1 MCC", TUNED, cut="FPR")
    table.add("detection", "lower", "FPR", TUNED, cut="FPR")
    bins = Choice("bins", ("10",), "10", number=True)
    table.add("calibration", "lower", "ECE", bins)
    table.add("calibration", "lower", "ECE", bins, Choice("estimate", ("debiased",), None, bare=True))
    table.add("calibration", "lower", "Brier LogLoss")
    table.add("calibration", "higher", "NetBenefit", cut="t")
    table.add("calibration", "neither", "CalibrationSlope CalibrationIntercept")
    table.add("ranking", "higher", "Recall HitRate nDCG MRR", POP, AVG, cut="k")
    table.add("ranking", "higher", "Precision", Choice("depth", ("k", "k_eff"), "k"), POP, AVG, cut="k")
    table.add(
        "ranking", "higher", "MAP", Choice("norm", ("gold", "found", "min", "min_eff"), "gold"), POP, AVG, cut="k"
    )
    table.add("ranking", "higher", "MRR", POP, AVG)
    closed = Choice("closed", ("counted", "zero"), "counted")
    table.add("extraction", "neither", "SelectedK", GIVEN, closed, groups=(*USUAL, "has_evidence"))
    table.add("extraction", "higher", "EvidenceRecall", Choice("pool", ("mean", "micro"), "mean"), GIVEN, POP)
    table.add("extraction", "higher", "EvidencePrecision", POP)
    rates, within = "NegRate UncertainRate PosRate AlertsPer1000", ("fold", "criterion", "slice")
    table.add("gate", "neither", rates, groups=(*within, "has_evidence"))
    table.add("gate", "lower", "ScreeningFNPer1000", groups=within)
    table.add("gate", "higher", "ScreeningSensitivity AlertPrecision", UNIT, groups=within)
    whole = ("fold", "slice")
    table.add("multi-label", "higher", "ExactMatch HammingScore", groups=whole)
    table.add("multi-label", "lower", "HammingLoss", groups=whole)
    average, empty, at = Choice("avg", AVERAGES, None), Choice("empty", ("0", "1"), "0"), Choice("t", ("gate",), "gate")
    table.add("multi-label", "higher", "F1", average, empty, at, groups=whole)
    return table.rows


MEASURES = _all_measures()
