"""What each measure adds up per query or post, how the sums become its value, and which queries it speaks about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.verify.draws import Bools, Floats
from evidentia.verify.interval_arrays import Arrays
from evidentia.verify.interval_names import Defined
from evidentia.verify.replicate_table import Finish, over

Column = Floats | Bools


@dataclass(frozen=True, eq=False)
class Additive:
    """Columns per query, their finish, and the population as a mask; a proportion has exact limits where it collapses."""

    columns: Sequence[Column]
    finish: Finish
    population: Bools
    proportion: bool = False


def share(top: Column, bottom: Bools, *, proportion: bool = True) -> Additive:
    """A share of the queries of a population."""
    return Additive([top, bottom], first_over_second, bottom, proportion)


def mean(values: Floats, population: Bools, *, proportion: bool = False) -> Additive:
    """The mean of per-query values over a population."""
    return share(np.where(population, values, 0.0), population, proportion=proportion)


def first_over_second(sums: Floats) -> Floats:
    """A ratio of two sums."""
    return over(sums[0], sums[1])


def everyone(run: Arrays) -> Bools:
    """All queries."""
    return np.ones(len(run), bool)


def counts(run: Arrays, what: Defined) -> Additive:
    """Queries, queries with evidence, and their share."""
    if what.base == "PositiveRate":
        return share(run.label, everyone(run))
    column = everyone(run) if what.base == "Queries" else run.label
    return Additive([column], lambda sums: sums[0], everyone(run))


def said_yes(run: Arrays, what: Defined) -> tuple[Bools, Bools]:
    """The yes of every query at the operating point, and which queries have a yes or no at all."""
    if what.tuned:
        said = run.decisions[str(what.cut)]
        return said == 1, said >= 0
    point = what.get("t")
    if point == "gate":
        return run.gate, everyone(run)
    return (run.n_selected > 0 if point == "returned" else run.prob >= float(point)), everyone(run)


CELLS = ("TP", "FP", "FN", "TN")
SHARES = {  # numerator, and what is added to it below
    "Sensitivity": ("TP", "FN"),
    "TPR": ("TP", "FN"),
    "Specificity": ("TN", "FP"),
    "FPR": ("FP", "TN"),
    "FNR": ("FN", "TP"),
    "Precision": ("TP", "FP"),
    "NPV": ("TN", "FN"),
}


def _f1(cells: Floats) -> Floats:
    tp, fp, fn, _ = cells
    return over(2 * tp, 2 * tp + fp + fn)


def _mcc(cells: Floats) -> Floats:
    tp, fp, fn, tn = cells
    return over(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def _balanced(cells: Floats) -> Floats:
    tp, fp, fn, tn = cells
    return (over(tp, tp + fn) + over(tn, tn + fp)) / 2


COMBINED: dict[str, Finish] = {"F1": _f1, "MCC": _mcc, "BalancedAccuracy": _balanced}


def confusion(run: Arrays, what: Defined) -> Additive:
    """Figures of the confusion table at an operating point."""
    yes, decided = said_yes(run, what)
    no, label = decided & ~yes, run.label
    cells = dict(zip(CELLS, (yes & label, yes & ~label, no & label, no & ~label), strict=True))
    if what.base in COMBINED:
        return Additive(list(cells.values()), COMBINED[what.base], decided)
    if what.base in CELLS:
        return Additive([cells[what.base]], lambda sums: sums[0], decided)
    top, other = SHARES[what.base]
    return share(cells[top], cells[top] | cells[other])


def calibration_error(run: Arrays, what: Defined) -> Additive:
    """The gap between stated and observed, bin by bin: bin b holds b/m <= prob < (b+1)/m, the last one also 1."""
    gaps = bin_gaps(run, what)
    return Additive([*gaps, everyone(run)], lambda sums: over(np.abs(sums[:-1]).sum(axis=0), sums[-1]), everyone(run))


def bin_gaps(run: Arrays, what: Defined) -> list[Floats]:
    """Stated less true of every query, bin by bin."""
    bins = int(what.get("bins", "10"))
    at = sum((run.prob >= b / bins).astype(np.int64) for b in range(1, bins))
    return [np.where(at == b, run.prob - run.label, 0.0) for b in range(bins)]


TINY = 2.0**-52


def brier(run: Arrays, what: Defined) -> Additive:
    """Squared distance between the probability and what was true."""
    return mean((run.prob - run.label) ** 2, everyone(run))


def log_loss(run: Arrays, what: Defined) -> Additive:
    """Surprise at what was true, probabilities clipped away from 0 and 1."""
    prob = np.minimum(np.maximum(run.prob, TINY), 1 - TINY)
    return mean(np.where(run.label, -np.log(prob), -np.log(1 - prob)), everyone(run))


def net_benefit(run: Arrays, what: Defined) -> Additive:
    """True alarms per query, less false ones at the odds of the threshold; at 1 these odds are infinite."""
    yes = run.prob >= what.level
    odds = what.level / (1 - what.level) if what.level < 1 else np.nan
    columns = [yes & run.label, yes & ~run.label, everyone(run)]
    return Additive(columns, lambda sums: over(sums[0] - odds * sums[1], sums[2]), everyone(run))


def of_population(run: Arrays, what: Defined) -> Bools:
    """The queries that the ``pop`` choice names."""
    return everyone(run) if what.get("pop") == "all" else run.label


def selected(run: Arrays, what: Defined) -> Additive:
    """How many sentences are selected per query."""
    size = run.n_selected.astype(np.float64)
    if what.get("given") == "gate":
        return mean(size, run.gate)
    return mean(np.where(run.gate, size, 0.0) if what.get("closed") == "zero" else size, everyone(run))


def evidence_recall(run: Arrays, what: Defined) -> Additive:
    """The share of the gold sentences that was selected: per query, or over all gold sentences of open gates."""
    gated = what.get("given") == "gate"
    population = run.label & run.gate if gated else of_population(run, what)
    if what.get("pool") == "micro":
        there = np.where(run.gate, run.n_gold, 0) if gated else run.n_gold
        columns = [np.where(run.gate, run.n_found, 0).astype(np.float64), there.astype(np.float64)]
        return Additive(columns, first_over_second, run.label & run.gate if gated else run.label)
    found = np.where(run.n_gold > 0, run.n_found / np.maximum(run.n_gold, 1), run.n_selected == 0)
    return mean(found, population)


def evidence_precision(run: Arrays, what: Defined) -> Additive:
    """The share of gold among the selected; nothing selected is right only over all queries and without gold."""
    empty = (run.n_gold == 0) & (what.get("pop") == "all")
    found = np.where(run.n_selected > 0, run.n_found / np.maximum(run.n_selected, 1), empty)
    return mean(found, of_population(run, what))


def gate(run: Arrays, what: Defined) -> Additive:
    """The three-state gate, query by query."""
    neg, pos = run.in_state("NEG"), run.in_state("POS")
    if what.base == "ScreeningSensitivity":
        return share(run.label & ~neg, run.label)
    if what.base == "AlertPrecision":
        return share(run.label & pos, pos)
    rates = {"NegRate": neg, "UncertainRate": run.in_state("UNCERTAIN"), "PosRate": pos}
    if what.base in rates:
        return share(rates[what.base], everyone(run))
    counted = pos if what.base == "AlertsPer1000" else run.label & neg
    return share(np.where(counted, 1000.0, 0.0), everyone(run))


PER_QUERY: dict[str, Callable[[Arrays, Defined], Additive]] = {
    **dict.fromkeys(("Queries", "Positives", "PositiveRate"), counts),
    **dict.fromkeys((*CELLS, *SHARES, *COMBINED), confusion),
    **{"ECE": calibration_error, "Brier": brier, "LogLoss": log_loss, "NetBenefit": net_benefit},
    **{"SelectedK": selected, "EvidenceRecall": evidence_recall, "EvidencePrecision": evidence_precision},
    **dict.fromkeys(("NegRate", "UncertainRate", "PosRate", "AlertsPer1000", "ScreeningFNPer1000"), gate),
    **dict.fromkeys(("ScreeningSensitivity", "AlertPrecision"), gate),
}
