"""Curves as data: ROC, precision-recall, reliability, and K at other gammas, with bands from the plan of every interval."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.measures.calibration import bin_of
from evidentia.protocol.dynamic_k import gamma_sweep
from evidentia.results import Curve, Estimate
from evidentia.results.curve import curves_of
from evidentia.stats.bands import precision_on_grid, tpr_on_grid
from evidentia.stats.intervals import percentile_limits, share_limits
from evidentia.stats.resampling import BootstrapPlan, over_replicates
from evidentia.stats.sweeps import Counts, sweep_counts
from evidentia.tables.queries import Coded, Queries

Column = tuple[float | None, ...]
TENTHS = 10  # bins of the probabilities of systems that are compared
BINS = ("low", "high", "n", "mean_prob", "positive_share")
GRID = np.arange(101) / 100
MOST_TURNS = 5_000  # of a ROC curve; further ones would not be seen
MOST_OF_EACH = 1_000  # of each of several ROC curves on one axis


@dataclass(frozen=True)
class Shape:
    """A curve that is read off a sweep at a grid."""

    name: str
    title: str
    x: str
    y: str
    read: Callable[[Counts, Floats], Floats]
    grid: Floats


ROC = Shape("roc", "ROC", "fpr", "tpr", tpr_on_grid, GRID)
PR = Shape("pr", "Precision-recall", "recall", "precision", precision_on_grid, GRID[1:])


def curves(
    queries: Queries,
    asked: frozenset[str],
    ece: Estimate | None,
    level: float,
    plan: BootstrapPlan,
    *,
    counted: Callable[[Queries, Coded | None], Iterable[Counts]] | None = None,
    shared: Callable[[Queries, int], Ints] | None = None,
) -> tuple[Curve, ...]:
    """The curves that were asked for and that the run's scores allow; without resamples they have no bands.

    ``counted`` gives the sweep of all queries, or of every fold, and ``shared`` what ``bin_shares`` does, where there are no rows.
    """
    drawn: list[Curve] = []
    if "roc" in asked and queries.scores is not None:
        drawn += _swept(queries, level, plan, counted or _counted)
    if ece is not None and ece.degenerate is None:
        drawn.append(reliability_curve(ece, (shared or bin_shares)(queries, len(ece.details["bins"])), level))
    return tuple(drawn)


def _counted(queries: Queries, groups: Coded | None) -> Iterable[Counts]:
    assert queries.scores is not None
    codes, number = (None, 1) if groups is None else (groups.codes, len(groups.labels))
    return sweep_counts(queries.scores, queries.label, None, codes, number)


def _swept(
    queries: Queries,
    level: float,
    plan: BootstrapPlan,
    counted: Callable[[Queries, Coded | None], Iterable[Counts]],
) -> list[Curve]:
    (whole,) = counted(queries, None)
    bands = _bands(queries, level, plan) if plan.resamples else {}
    fold = queries.fold
    parts = [] if fold is None else [[_point(part, shape) for shape in (ROC, PR)] for part in counted(queries, fold)]
    drawn = []
    for at, shape in enumerate((ROC, PR)):
        columns = {shape.x: tuple(shape.grid.tolist()), shape.y: _point(whole, shape)} | bands.get(shape.name, {})
        columns |= {f"fold {label}": part[at] for label, part in zip(fold.labels if fold else (), parts, strict=True)}
        if shape is PR:
            prevalence = float(whole.tp[-1] / (whole.tp[-1] + whole.fp[-1]))
            columns["prevalence"] = (prevalence,) * len(shape.grid)
        drawn.append(Curve(shape.name, shape.title, columns))
    return [*drawn, *_operating_points(whole, MOST_TURNS)]


def _operating_points(counts: Counts, most: int) -> list[Curve]:
    """The operating points at which the ROC curve turns: those between them lie on straight lines."""
    moved = np.append(True, (np.diff(counts.tp) > 0) | (np.diff(counts.fp) > 0))  # an empty step would hide a turn
    tp, fp = counts.tp[moved], counts.fp[moved]
    if not tp[-1] or not fp[-1]:
        return []
    up, across = np.diff(tp), np.diff(fp)
    turns = np.concatenate([[0], 1 + np.flatnonzero(up[:-1] * across[1:] != up[1:] * across[:-1]), [len(tp) - 1]])
    if len(turns) > most:
        turns = turns[np.rint(np.arange(most) * (len(turns) - 1) / (most - 1)).astype(np.int64)]
    columns = {"fpr": _column(fp[turns] / fp[-1]), "tpr": _column(tp[turns] / tp[-1])}
    return [Curve("roc_points", "ROC, every operating point", columns)]


def curves_of_systems(
    systems: Iterable[tuple[str, Queries]], names: Collection[str]
) -> dict[str, list[tuple[str, Curve]]]:
    """The curves that compared measures ask for, by what they are and by system, without bands."""
    drawn: dict[str, list[tuple[str, Curve]]] = {}
    for name, queries in systems:
        for curve in _one_of_several(queries, names):
            drawn.setdefault(f"{curve.name}_systems", []).append((name, curve))
    return drawn


def _one_of_several(queries: Queries, names: Collection[str]) -> Iterator[Curve]:
    if "roc" in curves_of(names) and queries.scores is not None:
        counts = sweep_counts(queries.scores, queries.label, None, None, 1)[0]
        for points in _operating_points(counts, MOST_OF_EACH):
            yield replace(points, name="roc")
            yield Curve("pr", PR.title, {PR.x: tuple(PR.grid.tolist()), PR.y: _point(counts, PR)})
    if "ECE" in names and queries.prob is not None:
        at = bin_of(queries.prob, TENTHS)
        n, stated, positives = (np.bincount(at, of, minlength=TENTHS) for of in (None, queries.prob, queries.label))
        held = np.flatnonzero(n)
        columns = (held / TENTHS, (held + 1) / TENTHS, n[held], stated[held] / n[held], positives[held] / n[held])
        yield Curve(
            "reliability", "Reliability", {key: tuple(c.tolist()) for key, c in zip(BINS, columns, strict=True)}
        )


def _bands(queries: Queries, level: float, plan: BootstrapPlan) -> dict[str, dict[str, Column]]:
    """Pointwise limits of both curves, read off the same sweeps."""
    from evidentia.stats.segments import segments

    assert queries.scores is not None
    whole = segments(queries.scores, queries.label, queries.post, len(queries.post_ids))

    def read(weights: Floats) -> dict[str, Floats]:
        counts = whole.counts(weights)
        return {shape.name: shape.read(counts, shape.grid).T for shape in (ROC, PR)}

    replicates = over_replicates(read, plan)
    limits = {name: percentile_limits(values, level) for name, values in replicates.items()}
    return {name: {"low": _column(band.low), "high": _column(band.high)} for name, band in limits.items()}


def _point(counts: Counts, shape: Shape) -> Column:
    single = replace(counts, tp=counts.tp[:, None], fp=counts.fp[:, None])
    return _column(shape.read(single, shape.grid)[0])


def reliability_curve(ece: Estimate, shares: Ints, level: float) -> Curve:
    """Stated probability against observed share per bin, with limits of the share by the spread between posts."""
    bins = ece.details["bins"]
    limits = share_limits(shares[:, 1], shares[:, 0], level)
    columns: dict[str, tuple[float | None, ...]] = {key: tuple(b[key] for b in bins) for key in BINS}
    columns["share_low"], columns["share_high"] = _column(limits.low), _column(limits.high)
    return Curve("reliability", "Reliability", columns)


def bin_shares(queries: Queries, bins: int) -> Ints:
    """How many queries of every post lie in every bin, and how many of them have evidence: posts x 2 x bins."""
    assert queries.prob is not None
    cells, posts = queries.post * bins + bin_of(queries.prob, bins), len(queries.post_ids)
    counts = [np.bincount(some, minlength=posts * bins) for some in (cells, cells[queries.label])]
    return np.stack([each.reshape(posts, bins) for each in counts], axis=1)


def _column(values: Floats) -> Column:
    return tuple(None if np.isnan(value) else float(value) for value in values)


def gamma_curves(queries: Queries) -> tuple[Curve, ...]:
    """The sweep over gamma on the queries of a run; for looking only, since gamma is chosen on TUNE.

    There is none where candidates have no node probabilities: scores alone need not be shares of anything.
    """
    candidates, gate = queries.candidates, queries.gate
    if candidates is None or candidates.node_prob is None:
        return ()
    points = gamma_sweep(candidates, gate=gate, entering=queries.n_ranked)
    some_open, some_gold = gate is None or bool(gate.any()), bool(candidates.is_gold.any())
    columns: dict[str, Column] = {
        "gamma": tuple(point.gamma for point in points),
        "mean_k": tuple(point.mean_k if some_open else None for point in points),
        "evidence_recall": tuple(point.evidence_recall if some_gold else None for point in points),
        "workload": tuple(point.sentences for point in points),
        "at_floor": tuple(point.at_floor if some_open else None for point in points),
        "at_cap": tuple(point.at_cap if some_open else None for point in points),
    }
    return (Curve("gamma_sweep", "Dynamic K at other gammas", columns),)
