"""Measures over a plain list of rows: a drawn post's rows stand in the list as often as it was drawn. No package code.

Written from CONTRACT.md with the standard library, and scipy where a root is needed; NaN where a measure is undefined.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.random import Generator, Philox
from scipy import stats
from scipy.optimize import brentq

UNDEFINED = math.nan


@dataclass(frozen=True, eq=False)
class Row:
    """One query."""

    post: str
    criterion: str
    group: dict[str, str]  # fold, criterion, state, has_evidence and slices
    label: bool
    prob: float
    gold: frozenset[str]
    ranked: tuple[str, ...]
    selected: tuple[str, ...]
    state: str
    tuned: dict[str, int] = field(default_factory=dict)  # by cut: 1 yes, 0 no, -1 not to be had
    candidates: tuple[tuple[float, bool], ...] = ()

    @cached_property
    def ranks(self) -> list[int]:
        return [i + 1 for i, uid in enumerate(self.ranked) if uid in self.gold]

    @cached_property
    def found(self) -> int:
        return len(self.gold & set(self.selected))

    @property
    def gate(self) -> bool:
        return self.state != "NEG"


@dataclass(frozen=True, eq=False)
class Copy:
    """A row as it was drawn: which of the draws it belongs to."""

    draw: int
    row: Row


def drawn(rows: Iterable[Row], seed: int, replicate: int) -> list[Copy]:
    """The rows of every drawn post, once per draw (CONTRACT section 4)."""
    by_post: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_post[row.post].append(row)
    posts = sorted(by_post)
    picks = Generator(Philox(key=[seed, replicate])).integers(len(posts), size=len(posts))
    return [Copy(draw, row) for draw, pick in enumerate(picks) for row in by_post[posts[pick]]]


def mean(values: Iterable[float]) -> float:
    held = list(values)
    return math.fsum(held) / len(held) if held else UNDEFINED


def over(top: float, bottom: float) -> float:
    return top / bottom if bottom else UNDEFINED


def points(scored: Iterable[tuple[float, bool]]) -> list[tuple[int, int]]:
    """(true positives, false positives) after every distinct score, best first, from (0, 0) on."""
    passed = [(0, 0)]
    for _, tied in itertools.groupby(sorted(scored, reverse=True), key=lambda pair: pair[0]):
        labels = [label for _, label in tied]
        tp, fp = passed[-1]
        passed.append((tp + sum(labels), fp + len(labels) - sum(labels)))
    return passed


def auroc(scored: Iterable[tuple[float, bool]]) -> float:
    curve = points(scored)
    twice = sum((fp - old_fp) * (tp + old_tp) for (old_tp, old_fp), (tp, fp) in itertools.pairwise(curve))
    return over(twice, 2 * curve[-1][0] * curve[-1][1])


def auprc(scored: Iterable[tuple[float, bool]]) -> float:
    curve = points(scored)
    if not all(curve[-1]):
        return UNDEFINED
    gains = ((tp - old_tp) * tp / (tp + fp) for (old_tp, _), (tp, fp) in itertools.pairwise(curve))
    return math.fsum(gains) / curve[-1][0]


def tpr_within(scored: Iterable[tuple[float, bool]], budget: float) -> float:
    curve = points(scored)
    positives, negatives = curve[-1]
    if not positives or not negatives:
        return UNDEFINED
    return max(tp for tp, fp in curve if fp / negatives <= budget) / positives


def said(row: Row, t: str | None, cut: str | None) -> int:
    """1 yes, 0 no, -1 neither, at an operating point or at the threshold tuned for a cut."""
    if t is None:
        assert cut is not None
        return row.tuned[cut]
    if t == "gate":
        return int(row.gate)
    if t == "alert":
        return int(row.state == "POS")
    if t == "returned":
        return int(len(row.selected) > 0)
    return int(row.prob >= float(t))


def table(rows: Iterable[Copy], t: str | None, cut: str | None) -> tuple[int, int, int, int]:
    """TP, FP, FN, TN."""
    answers = [(said(copy.row, t, cut), copy.row.label) for copy in rows]
    return tuple(answers.count(cell) for cell in ((1, True), (1, False), (0, True), (0, False)))  # type: ignore[return-value]


def mcc(tp: int, fp: int, fn: int, tn: int) -> float:
    return over(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def balanced(tp: int, fp: int, fn: int, tn: int) -> float:
    return (over(tp, tp + fn) + over(tn, tn + fp)) / 2


FROM_TABLE: dict[str, Callable[[int, int, int, int], float]] = {
    "TP": lambda tp, fp, fn, tn: tp,
    "FP": lambda tp, fp, fn, tn: fp,
    "FN": lambda tp, fp, fn, tn: fn,
    "TN": lambda tp, fp, fn, tn: tn,
    "Sensitivity": lambda tp, fp, fn, tn: over(tp, tp + fn),
    "TPR": lambda tp, fp, fn, tn: over(tp, tp + fn),
    "Specificity": lambda tp, fp, fn, tn: over(tn, tn + fp),
    "FPR": lambda tp, fp, fn, tn: over(fp, fp + tn),
    "FNR": lambda tp, fp, fn, tn: over(fn, fn + tp),
    "Precision": lambda tp, fp, fn, tn: over(tp, tp + fp),
    "NPV": lambda tp, fp, fn, tn: over(tn, tn + fn),
    "F1": lambda tp, fp, fn, tn: over(2 * tp, 2 * tp + fp + fn),
    "MCC": mcc,
    "BalancedAccuracy": balanced,
}


def ece(rows: Sequence[Copy], bins: int) -> float:
    gap: dict[int, list[float]] = defaultdict(list)
    for copy in rows:
        bin_ = max(i for i in range(bins) if i / bins <= copy.row.prob)
        gap[bin_].append(copy.row.prob - copy.row.label)
    return over(math.fsum(abs(math.fsum(parts)) for parts in gap.values()), len(rows))


def log_loss(row: Row) -> float:
    tiny = 2.0**-52
    prob = min(max(row.prob, tiny), 1 - tiny)
    return -math.log(prob if row.label else 1 - prob)


def net_benefit(rows: Sequence[Copy], level: float) -> float:
    tp, fp, _, _ = table(rows, str(level), None)
    return over(tp - level / (1 - level) * fp, len(rows))


def average_precision(row: Row, k: int) -> float:
    return math.fsum((i + 1) / rank for i, rank in enumerate(row.ranks) if rank <= k) / len(row.gold)


def ndcg(row: Row, k: int) -> float:
    ideal = math.fsum(1 / math.log2(i + 2) for i in range(min(len(row.gold), k)))
    return math.fsum(1 / math.log2(rank + 1) for rank in row.ranks if rank <= k) / ideal


RANKED: dict[str, Callable[[Row, int], float]] = {
    "Recall": lambda row, k: sum(rank <= k for rank in row.ranks) / len(row.gold),
    "Precision": lambda row, k: sum(rank <= k for rank in row.ranks) / k,
    "HitRate": lambda row, k: float(any(rank <= k for rank in row.ranks)),
    "MAP": average_precision,
    "nDCG": ndcg,
    "MRR": lambda row, k: 1 / row.ranks[0] if row.ranks else 0.0,
}


def positives(rows: Iterable[Copy]) -> list[Row]:
    return [copy.row for copy in rows if copy.row.label]


def pooled_recall(rows: Iterable[Copy], given: str) -> float:
    held = [row for row in positives(rows) if row.gate or given == "all"]
    return over(sum(row.found for row in held if row.gate), sum(len(row.gold) for row in held))


EXTRACTED: dict[str, Callable[[Sequence[Copy], dict[str, str]], float]] = {
    "SelectedK": lambda rows, p: mean(len(c.row.selected) for c in rows if p["given"] == "all" or c.row.gate),
    "EvidenceRecall": lambda rows, p: (
        pooled_recall(rows, p["given"])
        if p["pool"] == "micro"
        else mean(row.found / len(row.gold) for row in positives(rows))
    ),
    "EvidencePrecision": lambda rows, p: mean(
        row.found / len(row.selected) if row.selected else 0.0 for row in positives(rows)
    ),
}


def by_draw(rows: Iterable[Copy]) -> list[list[Row]]:
    """The rows of every drawn post."""
    posts: dict[int, list[Row]] = defaultdict(list)
    for copy in rows:
        posts[copy.draw].append(copy.row)
    return list(posts.values())


def screening_by_post(rows: Sequence[Copy]) -> float:
    held = [post for post in by_draw(rows) if any(row.label for row in post)]
    return mean(all(row.gate for row in post if row.label) for post in held)


def alerts_by_post(rows: Sequence[Copy]) -> float:
    held = [post for post in by_draw(rows) if any(row.state == "POS" for row in post)]
    return mean(all(row.label for row in post if row.state == "POS") for post in held)


def share(rows: Sequence[Copy], state: str) -> float:
    return over(sum(copy.row.state == state for copy in rows), len(rows))


GATE: dict[str, Callable[[Sequence[Copy]], float]] = {
    "NegRate": lambda rows: share(rows, "NEG"),
    "UncertainRate": lambda rows: share(rows, "UNCERTAIN"),
    "PosRate": lambda rows: share(rows, "POS"),
    "AlertsPer1000": lambda rows: over(1000 * sum(c.row.state == "POS" for c in rows), len(rows)),
    "ScreeningFNPer1000": lambda rows: over(1000 * sum(c.row.label and not c.row.gate for c in rows), len(rows)),
    "ScreeningSensitivity": lambda rows: mean(row.gate for row in positives(rows)),
    "AlertPrecision": lambda rows: mean(c.row.label for c in rows if c.row.state == "POS"),
}


def post_f1(post: Sequence[Row], empty: float) -> float:
    tp = sum(row.gate and row.label for row in post)
    wrong = sum(row.gate != row.label for row in post)
    return 2 * tp / (2 * tp + wrong) if tp or wrong else empty


def right_share(post: Sequence[Row]) -> float:
    return sum(row.gate == row.label for row in post) / len(post)


def weighted_post_f1(rows: Sequence[Copy]) -> float:
    posts = by_draw(rows)
    gold = [sum(row.label for row in post) for post in posts]
    return over(math.fsum(n * post_f1(post, 0.0) for n, post in zip(gold, posts, strict=True)), sum(gold))


MULTI_LABEL: dict[str, Callable[[Sequence[Copy]], float]] = {
    "ExactMatch": lambda rows: mean(right_share(post) == 1 for post in by_draw(rows)),
    "HammingScore": lambda rows: mean(right_share(post) for post in by_draw(rows)),
    "HammingLoss": lambda rows: mean(1 - right_share(post) for post in by_draw(rows)),
}
COUNTS: dict[str, Callable[[Sequence[Copy]], float]] = {
    "Queries": len,
    "Positives": lambda rows: len(positives(rows)),
    "PositiveRate": lambda rows: over(len(positives(rows)), len(rows)),
}


def value(rows: Sequence[Copy], base: str, params: dict[str, str], cut: str | None) -> float:
    """A measure of these rows, by its base name, parameters and cut (``10``, ``FPR=5%``, ``t=0.2``)."""
    if params.get("avg") in {"criterion", "label_weighted"}:
        return over_criteria(rows, base, params, cut)
    for family in (COUNTS, GATE, MULTI_LABEL):
        if base in family and params.get("unit") != "post":
            return float(family[base](rows))
    if base in EXTRACTED:
        return EXTRACTED[base](rows, params)
    if params.get("unit") == "post" or params.get("avg", "").startswith("post"):
        return of_posts(rows, base, params)
    if "t" in params or params.get("threshold") == "tuned":
        return FROM_TABLE[base](*table(rows, params.get("t"), cut))
    return of_scores(rows, base, params, cut)


def of_posts(rows: Sequence[Copy], base: str, params: dict[str, str]) -> float:
    """What counts every post once."""
    if base == "F1" and params["avg"] == "post":
        return mean(post_f1(post, float(params["empty"])) for post in by_draw(rows))
    return {"F1": weighted_post_f1, "ScreeningSensitivity": screening_by_post, "AlertPrecision": alerts_by_post}[base](
        rows
    )


def debiased(rows: Sequence[Copy], bins: int) -> float:
    """The error times the factor at which normal noise of the spread between posts makes the expected error what it is."""
    posts = by_draw(rows)
    if len(posts) < 2:
        return math.nan
    gaps = np.zeros((len(posts), bins))
    for gap, post in zip(gaps, posts, strict=True):
        for row in post:
            gap[max(b for b in range(bins) if b / bins <= row.prob)] += row.prob - row.label
    means, sizes = gaps.sum(axis=0) / len(rows), np.array([len(post) for post in posts])
    errors = np.sqrt(((gaps - means * sizes[:, None]) ** 2).sum(axis=0) * len(posts) / (len(posts) - 1)) / len(rows)
    noisy = errors > 1e-15
    if not noisy.any():
        return float(np.abs(means).sum())

    def excess(scale: float) -> float:
        expected = stats.foldnorm.mean(scale * np.abs(means[noisy]) / errors[noisy], scale=errors[noisy]).sum()
        return float(expected + scale * np.abs(means[~noisy]).sum() - np.abs(means).sum())

    return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0, 1, xtol=1e-15) * np.abs(means).sum())


def of_scores(rows: Sequence[Copy], base: str, params: dict[str, str], cut: str | None) -> float:
    """Rankings, sweeps and calibration."""
    if base in RANKED:
        return mean(RANKED[base](row, int(cut or 0)) for row in positives(rows))
    scored = [(copy.row.prob, copy.row.label) for copy in rows]
    if params.get("level") == "candidate":
        scored = [pair for copy in rows for pair in copy.row.candidates]
    if base in {"AUROC", "AUPRC"}:
        return {"AUROC": auroc, "AUPRC": auprc}[base](scored)
    if base == "TPR":
        return tpr_within(scored, float(str(cut).removeprefix("FPR=").removesuffix("%")) / 100)
    if base == "NetBenefit":
        return net_benefit(rows, float(str(cut).removeprefix("t=")))
    return {
        "ECE": lambda: (debiased if "estimate" in params else ece)(rows, int(params["bins"])),
        "Brier": lambda: mean((copy.row.prob - copy.row.label) ** 2 for copy in rows),
        "LogLoss": lambda: mean(log_loss(copy.row) for copy in rows),
    }[base]()


def over_criteria(rows: Sequence[Copy], base: str, params: dict[str, str], cut: str | None) -> float:
    """The mean over the criteria where the measure is defined, each one the same or by its positives."""
    inner = {**params, "avg": "pooled"}
    of: dict[str, list[Copy]] = defaultdict(list)
    for copy in rows:
        of[copy.row.criterion].append(copy)
    values = [(value(part, base, inner, cut), len(positives(part))) for part in of.values()]
    sound = [(found, n if params["avg"] == "label_weighted" else 1) for found, n in values if not math.isnan(found)]
    return over(math.fsum(found * n for found, n in sound), sum(n for _, n in sound))


def differences(left: Sequence[float], right: Sequence[float]) -> float:
    """The largest difference; infinite where only one of the two is undefined."""
    a, b = np.array(left), np.array(right)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return math.inf
    return float(np.nanmax(np.abs(a - b), initial=0.0)) if not np.isnan(a).all() else 0.0
