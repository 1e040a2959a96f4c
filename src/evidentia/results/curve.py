"""A curve as data: columns of equal length, ready to be drawn or tabulated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# Which measures ask for which curves, where somebody names measures; else a result has every curve that its run allows.
MEASURES_OF = {
    "roc": frozenset({"AUROC", "AUPRC", "TPR"}),  # beside the precision-recall curve
    "operating": frozenset(
        {"NegRate", "UncertainRate", "PosRate", "AlertsPer1000", "ScreeningFNPer1000", "ScreeningSensitivity"}
    )
    | {"AlertPrecision", "NetBenefit"},
    "gamma": frozenset({"SelectedK", "EvidenceRecall", "EvidencePrecision"}),
    "attribution": frozenset({"SelectedK", "EvidenceRecall", "EvidencePrecision"}),
}
EVERY_CURVE = frozenset(MEASURES_OF)


@dataclass(frozen=True)
class Curve:
    """A named set of columns; None marks a point where a value is undefined."""

    name: str
    title: str
    columns: Mapping[str, tuple[float | None, ...]]

    def rows(self) -> list[tuple[float | None, ...]]:
        """The points, one after the other."""
        return list(zip(*self.columns.values(), strict=True))


def curves_of(names: Iterable[str]) -> frozenset[str]:
    """The curves that belong to named measures.

    >>> sorted(curves_of(["nDCG@10", "AUROC(level=query)[fold=1]"]))
    ['roc']
    """
    bases = {re.split(r"[(@\[]", name, maxsplit=1)[0] for name in names}
    return frozenset(curve for curve, measures in MEASURES_OF.items() if measures & bases)
