"""The measures once more in plain Python, over queries that may occur several times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evidentia.verify.evidence import Query
from evidentia.verify.interval_names import Defined

Scored = tuple[float, bool]
NOTHING = math.nan


@dataclass(frozen=True)
class Row:
    """A query with its yes (1), no (0) or neither (-1) at tuned thresholds."""

    query: Query
    said: Mapping[str, int]


def ratio(top: float, bottom: float) -> float:
    """One over the other; undefined over zero."""
    return top / bottom if bottom else NOTHING


def average(values: Sequence[float]) -> float:
    """The mean; undefined of nothing."""
    return ratio(math.fsum(values), len(values))


def scored(what: Defined, rows: Iterable[Row]) -> list[Scored]:
    """What a sweep runs over: queries, or their candidates."""
    if what.get("level") != "candidate":
        return [(row.query.score or 0.0, row.query.label) for row in rows]
    return [
        (one.score if one.node_prob is None else one.node_prob, one.gold)
        for row in rows
        for one in row.query.candidates or ()
    ]


def swept(what: Defined, units: list[Scored]) -> float:
    """AUROC, average precision, or the best rate within a budget: tie group by tie group, highest score first."""
    positives = sum(label for _, label in units)
    negatives = len(units) - positives
    if not positives or not negatives:
        return NOTHING
    budget = what.level if what.base == "TPR" else 0.0
    found = alarms = best = 0
    right = precision = 0.0
    for _, tied in itertools.groupby(sorted(units, reverse=True), key=lambda unit: unit[0]):
        labels = [label for _, label in tied]
        gained = sum(labels)
        right += gained * (negatives - alarms - (len(labels) - gained) / 2)
        found, alarms = found + gained, alarms + len(labels) - gained
        precision += gained * found / (found + alarms)
        best = found if alarms / negatives <= budget else best
    tops = {"AUROC": right / negatives, "AUPRC": precision, "TPR": float(best)}
    return tops[what.base] / positives


def decision(what: Defined, row: Row) -> int:
    """The yes (1) or no (0) of a query at the operating point, or -1 if it has neither."""
    if what.tuned:
        return row.said[str(what.cut)]
    point = what.get("t")
    if point == "gate":
        return int(bool(row.query.gate))
    if point == "returned":
        return int(bool(row.query.selected))
    return int((row.query.prob or 0.0) >= float(point))


def of_table(what: Defined, rows: Iterable[Row]) -> float:
    """A figure of the confusion table."""
    said = [(decision(what, row), row.query.label) for row in rows]
    tp, fp, fn, tn = (said.count(cell) for cell in ((1, True), (1, False), (0, True), (0, False)))
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    found: dict[str, Callable[[], float]] = {
        **{"TP": lambda: tp, "FP": lambda: fp, "FN": lambda: fn, "TN": lambda: tn},
        **dict.fromkeys(("Sensitivity", "TPR"), lambda: ratio(tp, tp + fn)),
        **{"FPR": lambda: ratio(fp, fp + tn), "FNR": lambda: ratio(fn, fn + tp)},
        **{"Specificity": lambda: ratio(tn, tn + fp), "NPV": lambda: ratio(tn, tn + fn)},
        **{"Precision": lambda: ratio(tp, tp + fp), "F1": lambda: ratio(2 * tp, 2 * tp + fp + fn)},
        "MCC": lambda: ratio(tp * tn - fp * fn, math.sqrt(margins)),
        "BalancedAccuracy": lambda: (ratio(tp, tp + fn) + ratio(tn, tn + fp)) / 2,
    }
    return float(found[what.base]())


def of_rows(what: Defined, rows: Sequence[Row]) -> float:
    """Everything that is neither a ranking nor a sweep nor about whole posts."""
    queries = [row.query for row in rows]
    if what.base in SIMPLE:
        return SIMPLE[what.base](what, queries)
    return of_table(what, rows)


def _ece(what: Defined, queries: Sequence[Query]) -> float:
    count = int(what.get("bins", "10"))
    bins: list[list[float]] = [[] for _ in range(count)]
    for query in queries:
        prob = query.prob or 0.0
        bins[max(b for b in range(count) if b / count <= prob)].append(prob - query.label)
    return ratio(math.fsum(abs(math.fsum(gaps)) for gaps in bins), len(queries))


def _surprise(query: Query) -> float:
    prob = min(max(query.prob or 0.0, 2.0**-52), 1 - 2.0**-52)
    return -math.log(prob if query.label else 1 - prob)


def _net_benefit(what: Defined, queries: Sequence[Query]) -> float:
    if what.level == 1:
        return NOTHING
    yes = [query.label for query in queries if (query.prob or 0.0) >= what.level]
    return ratio(sum(yes) - what.level / (1 - what.level) * (len(yes) - sum(yes)), len(queries))


def _selected(what: Defined, queries: Sequence[Query]) -> float:
    held = [query for query in queries if query.gate or what.get("given") != "gate"]
    return average([0 if what.get("closed") == "zero" and not q.gate else len(q.selected or ()) for q in held])


def _found(query: Query) -> int:
    return len(set(query.gold or ()).intersection(query.selected or ()))


def _evidence_recall(what: Defined, queries: Sequence[Query]) -> float:
    gated = what.get("given") == "gate"
    if what.get("pool") == "micro":
        there = sum(len(query.gold or ()) for query in queries if query.gate or not gated)
        return ratio(sum(_found(query) for query in queries if query.gate), there)
    whole = what.get("pop") == "all" and not gated
    held = [query for query in queries if whole or (query.label and (query.gate or not gated))]
    return average([_found(q) / len(q.gold) if q.gold else float(not q.selected) for q in held])


def _evidence_precision(what: Defined, queries: Sequence[Query]) -> float:
    whole = what.get("pop") == "all"
    held = [query for query in queries if whole or query.label]
    return average([_found(q) / len(q.selected) if q.selected else float(whole and not q.gold) for q in held])


def _state(state: str) -> Callable[[Defined, Sequence[Query]], float]:
    return lambda what, queries: ratio(sum(query.state == state for query in queries), len(queries))


def _per_1000(counts: Callable[[Query], bool]) -> Callable[[Defined, Sequence[Query]], float]:
    return lambda what, queries: ratio(1000 * sum(map(counts, queries)), len(queries))


SIMPLE: dict[str, Callable[[Defined, Sequence[Query]], float]] = {
    "Queries": lambda what, queries: len(queries),
    "Positives": lambda what, queries: sum(query.label for query in queries),
    "PositiveRate": lambda what, queries: average([query.label for query in queries]),
    "ECE": _ece,
    "Brier": lambda what, queries: average([((query.prob or 0.0) - query.label) ** 2 for query in queries]),
    "LogLoss": lambda what, queries: average([_surprise(query) for query in queries]),
    "NetBenefit": _net_benefit,
    "SelectedK": _selected,
    "EvidenceRecall": _evidence_recall,
    "EvidencePrecision": _evidence_precision,
    "NegRate": _state("NEG"),
    "UncertainRate": _state("UNCERTAIN"),
    "PosRate": _state("POS"),
    "AlertsPer1000": _per_1000(lambda query: query.state == "POS"),
    "ScreeningFNPer1000": _per_1000(lambda query: query.label and query.state == "NEG"),
    "ScreeningSensitivity": lambda what, queries: average([q.state != "NEG" for q in queries if q.label]),
    "AlertPrecision": lambda what, queries: average([q.label for q in queries if q.state == "POS"]),
}


def _ranks(row: Row, what: Defined) -> list[int]:
    """The ranks of the gold sentences above the cut."""
    gold = set(row.query.gold or ())
    return [rank for rank, uid in enumerate((row.query.ranked or ())[: what.depth], 1) if uid in gold]


def _precision(row: Row, what: Defined) -> float:
    length = len(row.query.ranked or ())
    depth = length if what.depth is None else what.depth if what.get("depth") == "k" else min(what.depth, length)
    return len(_ranks(row, what)) / depth if depth else 0.0


def _average_precision(row: Row, what: Defined) -> float:
    ranks, gold, length = _ranks(row, what), len(row.query.gold or ()), len(row.query.ranked or ())
    least = gold if what.depth is None else min(gold, what.depth)
    by = {"gold": gold, "found": len(ranks), "min": least, "min_eff": min(least, length)}[what.get("norm")]
    return math.fsum(n / rank for n, rank in enumerate(ranks, 1)) / by if by else 0.0


def _ndcg(row: Row, what: Defined) -> float:
    best = range(1, len((row.query.gold or ())[: what.depth]) + 1)
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in best)
    return math.fsum(1 / math.log2(rank + 1) for rank in _ranks(row, what)) / ideal if ideal else 0.0


RANKED: dict[str, Callable[[Row, Defined], float]] = {
    "Recall": lambda row, what: len(_ranks(row, what)) / len(row.query.gold) if row.query.gold else 0.0,
    "Precision": _precision,
    "HitRate": lambda row, what: float(bool(_ranks(row, what))),
    "MRR": lambda row, what: 1 / min(_ranks(row, what), default=math.inf),
    "MAP": _average_precision,
    "nDCG": _ndcg,
}


def of_post(what: Defined, post: Sequence[Row]) -> tuple[float, float] | None:
    """What a post scores and weighs; None if the figure does not speak about it."""
    queries = [row.query for row in post]
    if what.base == "ScreeningSensitivity":
        held = [query.state != "NEG" for query in queries if query.label]
        return (float(all(held)), 1) if held else None
    if what.base == "AlertPrecision":
        held = [query.label for query in queries if query.state == "POS"]
        return (float(all(held)), 1) if held else None
    if not queries:
        return None
    right = sum(query.gate == query.label for query in queries)
    if what.base != "F1":
        share = right / len(queries)
        return {"ExactMatch": float(share == 1), "HammingScore": share, "HammingLoss": 1 - share}[what.base], 1
    twice = 2 * sum(bool(query.gate) and query.label for query in queries)
    wrong = len(queries) - right
    score = twice / (twice + wrong) if twice + wrong else float(what.get("empty", "0"))
    return score, sum(query.label for query in queries) if what.get("avg") == "post_weighted" else 1
