"""Given thresholds chosen anew on the TUNE rows: one by a rule, or the two of a three-state gate from their grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from evidentia.verify.given_rows import TuneRow, lacking
from evidentia.verify.tuning import best_point, operating_points

MOST = 201
SAME = 1e-12  # figures closer than this are equally good
FIGURE = {"max-f1": "F1", "max-mcc": "MCC", "youden": "J"}
QUERY_TARGETS = ("ScreeningSensitivity>=", "ScreeningFNPer1000<=", "AlertPrecision>=")
Content = dict[str, Any]


def one_threshold(rule: str, target: float | None, rows: Sequence[TuneRow]) -> Content:
    """What a rule chooses on the rows, and its figures there."""
    reason = None if rule == "fixed" else lacking(rows)
    value = None if reason else target if rule == "fixed" else _chosen(rule, target, rows)
    metrics = {} if reason else _metrics_at(value, rows)
    if value is None and reason is None:
        reason = "reject_all"
    return {"rule": rule, "target": target, "value": value, "reason": reason, "metrics": metrics}


def _chosen(rule: str, target: float | None, rows: Sequence[TuneRow]) -> float | None:
    """The largest threshold that serves the rule best; None where rejecting everything does as well."""
    points = operating_points([row.prob for row in rows], [row.label for row in rows])
    if rule == "fpr":
        chosen = best_point(points, Decimal(repr(target)))
        return None if chosen is None else chosen.value
    positives, negatives = points[-1].tp, points[-1].fp
    best, value = figures(0, 0, positives, negatives)[FIGURE[rule]], None
    reached = [figures(point.tp, point.fp, positives, negatives)[FIGURE[rule]] for point in points]
    top = max(best, *reached)
    if best >= top - SAME:
        return value
    return next(point.value for point, figure in zip(points, reached, strict=True) if figure >= top - SAME)


def _metrics_at(value: float | None, rows: Sequence[TuneRow]) -> dict[str, float]:
    yes = [row.label for row in rows if value is not None and row.prob >= value]
    positives = sum(row.label for row in rows)
    return figures(sum(yes), len(yes) - sum(yes), positives, len(rows) - positives)


def figures(tp: int, fp: int, positives: int, negatives: int) -> dict[str, float]:
    """The figures of a confusion table; 0/0 is 0."""
    fn, tn = positives - tp, negatives - fp
    tpr, fpr = _share(tp, positives), _share(fp, negatives)
    return {
        "TPR": tpr,
        "FPR": fpr,
        "Precision": _share(tp, tp + fp),
        "F1": _share(2 * tp, 2 * tp + fp + fn),
        "MCC": _share(tp * tn - fp * fn, math.sqrt((tp + fp) * positives * negatives * (tn + fn))),
        "J": tpr - fpr,
    }


def _share(top: float, bottom: float) -> float:
    return top / bottom if bottom else 0.0


def candidates(scores: Sequence[float]) -> list[float]:
    """The different scores, ascending; of more than 201 those at 201 evenly spread ranks, halves to the even one."""
    distinct = sorted(set(scores))
    if len(distinct) <= MOST:
        return distinct
    step = (len(distinct) - 1) / (MOST - 1)
    return [distinct[round(at * step)] for at in range(MOST)]


def at_tau(tau: float, rows: Sequence[TuneRow]) -> dict[str, float]:
    """What a threshold does as tau_neg, below which queries are skipped, and as tau_pos, from which on they alert."""
    kept = [row.label for row in rows if row.prob >= tau]
    positives, right = sum(row.label for row in rows), sum(kept)
    return {
        "ScreeningSensitivity": right / positives,
        "ScreeningFNPer1000": 1000 * (positives - right) / len(rows),
        "Workload": len(kept) / len(rows),
        "AlertPrecision": _share(right, len(kept)),
        "AlertsPer1000": 1000 * len(kept) / len(rows),
        "AlertRecall": right / positives,
    }


def grid_of(rows: Sequence[TuneRow]) -> tuple[list[float], list[dict[str, float]]]:
    """Every candidate with its figures."""
    taus = candidates([row.prob for row in rows])
    return taus, [at_tau(tau, rows) for tau in taus]


def best_pair(
    taus: Sequence[float], does: Sequence[Mapping[str, float]], targets: Mapping[str, float]
) -> tuple[float, float]:
    """All pairs with tau_neg <= tau_pos: least missed, sensitivity first; least work; most right alerts; larger thresholds."""
    sensitivity, skipped, precision = (targets[name] for name in QUERY_TARGETS)
    short = [max(0.0, sensitivity - row["ScreeningSensitivity"]) for row in does]
    over = [max(0.0, row["ScreeningFNPer1000"] - skipped) for row in does]
    wrong = [max(0.0, precision - row["AlertPrecision"]) for row in does]
    ranked = (
        (short[n], over[n], wrong[p], does[n]["Workload"], -does[p]["AlertRecall"], -taus[n], -taus[p])
        for n in range(len(taus))
        for p in range(n, len(taus))
    )
    *_, low, high = min(ranked)
    return -low, -high


def three_state(
    pair: tuple[float, float],
    grid: tuple[list[float], list[dict[str, float]]],
    rows: Sequence[TuneRow],
    targets: Mapping[str, float],
) -> Content:
    """A pair of thresholds with what it does on TUNE, what becomes of the targets, and the grid; certificates come apart."""
    low, high = (at_tau(tau, rows) for tau in pair)
    metrics = {name: low[name] for name in ("ScreeningSensitivity", "ScreeningFNPer1000", "Workload")}
    metrics |= {name: high[name] for name in ("AlertPrecision", "AlertsPer1000", "AlertRecall")}
    reached = [(name, float(targets[name]), metrics[name[:-2]]) for name in QUERY_TARGETS]
    outcomes = [
        {
            "name": name,
            "target": wanted,
            "reached": got,
            "missed_by": max(0.0, wanted - got if ">" in name else got - wanted),
        }
        for name, wanted, got in reached
    ]
    taus, does = grid
    return {
        "tau_neg": pair[0],
        "tau_pos": pair[1],
        "reason": None,
        "met": all(outcome["missed_by"] == 0 for outcome in outcomes),
        "metrics": metrics,
        "targets": outcomes,
        "grid": {"tau": taus} | {name: [row[name] for row in does] for name in does[0]},
    }


def untunable(reason: str) -> Content:
    """A three-state gate that cannot be tuned."""
    nothing: Content = {"tau_neg": None, "tau_pos": None, "reason": reason, "met": False}
    return nothing | {"metrics": {}, "targets": [], "grid": {}}
