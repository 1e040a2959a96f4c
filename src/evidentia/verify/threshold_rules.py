"""Given thresholds chosen anew on TUNE rows: one by a rule, the two of a three-state gate, and their certificates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.verify.tuning import TuneRow, best_point, lacking, operating_points

MOST = 201
SAME = 1e-12  # figures closer than this are equally good
FIGURE = {"max-f1": "F1", "max-mcc": "MCC", "youden": "J"}
WRITTEN = (  # the first three at tau_neg, the others at tau_pos
    *("ScreeningSensitivity", "ScreeningFNPer1000", "Workload"),
    *("AlertPrecision", "AlertsPer1000", "AlertRecall"),
)
SCREENING = "ScreeningSensitivity(unit=post)"
ALERTS = "AlertPrecision(unit=post)"
Content = dict[str, Any]


def one_threshold(rule: str, target: float | None, rows: Sequence[TuneRow]) -> Content:
    """What a rule chooses on the rows, and its figures there."""
    reason = None if rule == "fixed" else lacking(rows)
    value = None if reason else target if rule == "fixed" else _chosen(rule, target, rows)
    metrics: dict[str, float] = {}
    if reason is None:
        yes = [row.label for row in rows if value is not None and row.prob >= value]
        positives = sum(row.label for row in rows)
        metrics = figures(sum(yes), len(yes) - sum(yes), positives, len(rows) - positives)
        reason = "reject_all" if value is None else None
    return {"rule": rule, "target": target, "value": value, "reason": reason, "metrics": metrics}


def _chosen(rule: str, target: float | None, rows: Sequence[TuneRow]) -> float | None:
    """The largest threshold that serves the rule best; None where rejecting everything does as well."""
    points = operating_points([row.prob for row in rows], [row.label for row in rows])
    if rule == "fpr":
        chosen = best_point(points, Decimal(repr(target)))
        return None if chosen is None else chosen.value
    counts = [(0, 0), *((point.tp, point.fp) for point in points)]
    reached = [figures(*count, *counts[-1])[FIGURE[rule]] for count in counts]
    values = [None, *(point.value for point in points)]
    return next(value for value, figure in zip(values, reached, strict=True) if figure >= max(reached) - SAME)


def figures(tp: int, fp: int, positives: int, negatives: int) -> dict[str, float]:
    """The figures of a confusion table; 0/0 is 0."""
    fn, tn = positives - tp, negatives - fp
    tpr, fpr = _share(tp, positives), _share(fp, negatives)
    return {
        **{"TPR": tpr, "FPR": fpr, "Precision": _share(tp, tp + fp), "F1": _share(2 * tp, 2 * tp + fp + fn)},
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


def at_taus(taus: Sequence[float], rows: Sequence[TuneRow]) -> dict[str, Floats]:
    """What thresholds do as tau_neg, below which queries are skipped, and as tau_pos, from which on they alert."""
    prob, label = np.array([row.prob for row in rows]), np.array([row.label for row in rows], bool)
    size, positives = len(prob), int(label.sum())
    kept = size - np.searchsorted(np.sort(prob), taus)  # what equals a threshold is kept
    right = positives - np.searchsorted(np.sort(prob[label]), taus)
    return {
        "ScreeningSensitivity": right / positives,
        "ScreeningFNPer1000": 1000 * (positives - right) / size,
        "Workload": kept / size,
        "AlertPrecision": right / np.maximum(kept, 1),
        "AlertsPer1000": 1000 * kept / size,
        "AlertRecall": right / positives,
        "kept": np.asarray(kept, np.float64),
        "skipped": np.asarray(size - kept, np.float64),
    }


def pair_figures(
    does: Mapping[str, Floats], low: Sequence[int] | Ints, high: Sequence[int] | Ints
) -> dict[str, Floats]:
    """The figures of the three states where thresholds at some places are tau_neg and those at others are tau_pos."""
    kept, alerting = does["kept"][low], does["kept"][high]
    size = does["kept"][low] + does["skipped"][low]
    figures = {name: does[name][low] for name in ("ScreeningSensitivity", "ScreeningFNPer1000")}
    figures |= {name: does[name][high] for name in ("AlertPrecision", "AlertsPer1000")}
    return figures | {
        "NegRate": does["skipped"][low] / size,
        "UncertainRate": (kept - alerting) / size,
        "PosRate": alerting / size,
    }


def missed(name: str, wanted: float, reached: Floats) -> Floats:
    """How far figures are on the wrong side of a target."""
    too_little, too_much = np.clip(wanted - reached, 0, None), np.clip(reached - wanted, 0, None)
    return too_little if name[-2:] == ">=" else too_much


def over_queries(targets: Mapping[str, float]) -> list[tuple[str, float]]:
    """The targets that a pair is chosen by, those that count most first; the others are about posts."""
    return [(name, float(value)) for name, value in targets.items() if "(unit=post)" not in name]


def best_pair(taus: Sequence[float], does: Mapping[str, Floats], targets: Mapping[str, float]) -> tuple[float, float]:
    """All pairs with tau_neg <= tau_pos: least missed of each target in turn; least work; most right alerts; larger thresholds."""
    low, high = np.triu_indices(len(taus))
    at, reached = np.array(taus), pair_figures(does, low, high)
    shortfalls = [missed(name, value, reached[name[:-2]]) for name, value in over_queries(targets)]
    keys = (-at[high], -at[low], -does["AlertRecall"][high], does["Workload"][low], *reversed(shortfalls))
    best = np.lexsort(keys)[0]  # the last key counts first
    return taus[low[best]], taus[high[best]]


def three_state(rows: Sequence[TuneRow], targets: Mapping[str, float], certified: Sequence[float | None]) -> Content:
    """The best pair, with what it does on TUNE, what becomes of the targets, and the grid.

    A certified threshold takes the place of its own, and tau_neg never lies above tau_pos.
    """
    taus = candidates([row.prob for row in rows])
    grid = at_taus(taus, rows)
    low, high = (
        own if certificate is None else certificate
        for own, certificate in zip(best_pair(taus, grid, targets), certified, strict=True)
    )
    low = min(low, high)
    does = at_taus([low, high], rows)
    metrics = {name: float(does[name][at]) for at, names in enumerate((WRITTEN[:3], WRITTEN[3:])) for name in names}
    reached = pair_figures(does, [0], [1])
    outcomes = [
        {"name": name, "target": wanted, "reached": float(reached[name[:-2]][0])}
        | {"missed_by": float(missed(name, wanted, reached[name[:-2]])[0])}
        for name, wanted in over_queries(targets)
    ]
    return {
        **{"tau_neg": low, "tau_pos": high, "reason": None},
        "met": all(outcome["missed_by"] == 0 for outcome in outcomes),
        **{"metrics": metrics, "targets": outcomes},
        "grid": {"tau": taus} | {name: grid[name].tolist() for name in WRITTEN},
    }


def chance_of_at_most(misses: int, posts: int, rate: float) -> float:
    """The probability of at most so many misses among the posts, each at the rate.

    >>> chance_of_at_most(1, 2, 0.5)
    0.75
    """
    from scipy.special import bdtr

    return float(bdtr(misses, posts, rate))


def shown(posts: int, misses: int, target: float, delta: float) -> bool:
    """Whether a share below the target would have as few misses with a chance of at most delta."""
    return chance_of_at_most(misses, posts, 1 - target) <= delta


def posts_needed(misses: int, target: float, delta: float) -> int:
    """The fewest posts that show the target with so many misses: more posts never show less."""
    low, high = misses, misses + 1
    while not shown(high, misses, target, delta):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shown(middle, misses, target, delta) else (middle, high)
    return high


def lower_limit(posts: int, misses: int, delta: float) -> float:
    """The share at which as few misses have a chance of exactly delta: halving until nothing is between."""
    low, high = 0.0, 1.0
    for _ in range(80 if posts > misses else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_of_at_most(misses, posts, 1 - middle) <= delta else (low, middle)
    return (low + high) / 2 if posts > misses else 0.0


def screening_certificate(rows: Sequence[TuneRow], taus: Sequence[float], target: float, delta: float) -> Content:
    """tau_neg ascends from 0 as long as enough posts with evidence keep all of it."""
    lowest: dict[str, float] = {}
    for row in rows:
        if row.label:
            lowest[row.post] = min(row.prob, lowest.get(row.post, math.inf))
    order = [(tau, len(lowest), sum(score < tau for score in lowest.values())) for tau in sorted({0.0, *taus})]
    certificate = _in_sequence(SCREENING, order, target, delta)
    if certificate["value"] is None:
        needed = posts_needed(order[0][2], target, delta)
        reason = f"{_posts(len(lowest))} with evidence; {needed:,} without a miss are needed"
        certificate |= {"posts_needed": needed, "reason": reason}
    return certificate


def alert_certificate(rows: Sequence[TuneRow], taus: Sequence[float], target: float, delta: float) -> Content:
    """tau_pos descends, from the first with enough alerting posts, as long as enough of them have only right alerts."""
    highest: dict[str, float] = {}
    wrong: dict[str, float] = {}
    for row in rows:
        for scores in (highest,) if row.label else (highest, wrong):
            scores[row.post] = max(row.prob, scores.get(row.post, -math.inf))
    everything = [
        (tau, sum(score >= tau for score in highest.values()), sum(score >= tau for score in wrong.values()))
        for tau in sorted(set(taus), reverse=True)
    ]
    enough = posts_needed(0, target, delta)
    order = [point for point in everything if point[1] >= enough]
    certificate = _in_sequence(ALERTS, order or everything[-1:], target, delta)
    posts, misses = certificate["posts"], certificate["misses"]
    if not order:
        reason = f"{_posts(posts)} alert at most; {enough:,} without a wrong alert are needed"
        certificate |= {"tested": 0, "posts_needed": enough, "reason": reason}
    elif certificate["value"] is None:
        needed = posts_needed(misses, target, delta)
        counts = f"{misses} of {posts} alerting posts have a wrong alert at the first threshold"
        certificate |= {"posts_needed": needed, "reason": f"{counts}; with as many wrong, {needed:,} posts are needed"}
    return certificate


def _in_sequence(name: str, order: Sequence[tuple[float, int, int]], target: float, delta: float) -> Content:
    """Test (threshold, posts, misses) in turn up to the first failure; the last before it is certified."""
    passed = 0
    while passed < len(order) and shown(*order[passed][1:], target, delta):
        passed += 1
    tau, posts, misses = order[max(passed - 1, 0)]
    return {
        **{"name": name, "target": target, "delta": delta, "value": tau if passed else None},
        **{"posts": posts, "misses": misses, "bound": lower_limit(posts, misses, delta)},
        **{"tested": min(passed + 1, len(order)), "posts_needed": None, "reason": None},
    }


def _posts(count: int) -> str:
    return f"{count:,} post{'' if count == 1 else 's'}"
