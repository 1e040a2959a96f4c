"""One value per query: ranking, extraction and the losses, each by its definition."""

from __future__ import annotations

import math

from evidentia.verify.calibration import log_loss
from evidentia.verify.catalogue import Definition
from evidentia.verify.evidence import Query

EMPTY = "no queries in the population"
FLAWS = {"Brier": "no queries", "LogLoss": "no queries", "EvidenceRecall": "no gold sentences in the population"}


def has_values(definition: Definition) -> bool:
    """Whether a definition is the mean of one value per query."""
    if definition.averaged or definition.get("pool") == "micro":
        return False
    own = definition.base in {"Brier", "LogLoss", "SelectedK", "EvidenceRecall", "EvidencePrecision"}
    return own or definition.measure.family == "ranking"


def flaw_of(definition: Definition) -> str:
    """What is said where the population is empty."""
    return FLAWS.get(definition.base, EMPTY)


def value_of(query: Query, definition: Definition) -> float:
    """The query's own value."""
    base = definition.base
    if definition.measure.family == "ranking":
        return _ranked(query, definition)
    if base in {"Brier", "LogLoss"}:
        prob = float(query.prob or 0.0)
        return (prob - query.label) ** 2 if base == "Brier" else log_loss(prob, query.label)
    if base == "SelectedK":
        stopped = definition.get("closed") == "zero" and not query.gate
        return 0.0 if stopped else float(len(query.selected or ()))
    gold, selected = len(query.gold or ()), len(query.selected or ())
    if base == "EvidenceRecall":
        return query.right / gold if gold else float(selected == 0)
    return query.right / selected if selected else float(definition.get("pop") == "all" and gold == 0)


def _ranked(query: Query, definition: Definition) -> float:
    gold, listed = len(query.gold or ()), len(query.ranked or ())
    depth = None if definition.cut in {None, "ALL"} else int(str(definition.cut))
    top = [rank for rank in query.gold_ranks if depth is None or rank <= depth]
    base = definition.base
    if gold == 0 or not top:
        return 0.0
    if base == "Precision":
        whole = depth is None or definition.get("depth") == "k_eff"
        return len(top) / (min(listed, depth or listed) if whole else int(depth or 0))
    if base == "nDCG":
        return _gain(top) / _gain(range(1, min(gold, depth or gold) + 1))
    if base == "MAP":
        return _average_precision(top, gold, listed, depth, str(definition.get("norm")))
    return {"Recall": len(top) / gold, "HitRate": 1.0, "MRR": 1 / top[0]}[base]


def _gain(ranks: list[int] | range) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank in ranks)


def _average_precision(top: list[int], gold: int, listed: int, depth: int | None, norm: str) -> float:
    """Precision at the rank of every gold sentence found, over what the norm says."""
    within = gold if depth is None else min(gold, depth)
    divisor = {"gold": gold, "found": len(top), "min": within, "min_eff": min(within, listed)}[norm]
    return math.fsum(found / rank for found, rank in enumerate(top, 1)) / divisor
