"""The data behind the figures, read off all operating points; bands are recomputed elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from evidentia.verify.detection import points_of
from evidentia.verify.gamma import gamma_sheets
from evidentia.verify.operating_points import OPERATING_BANDS, operating_sheets
from evidentia.verify.points import Points
from evidentia.verify.sheet import Cell, Sheet
from evidentia.verify.study import Scope
from evidentia.verify.tables import BINS
from evidentia.verify.tuning import Point

BAND = ("low", "high")
BANDS = (*BAND, *OPERATING_BANDS)  # columns that are verified with the bands


def all_figures(points: Points, level: float) -> list[Sheet]:
    """Every figure that the run allows."""
    study, made = points.study, []
    if all(query.score is not None for query in study.queries):
        made += [_swept(points, "roc"), _swept(points, "pr")]
    entry = points.expected.entries.get("ECE")
    if entry is not None and points.found(entry).flaw is None:
        made.append(_reliability(points.found(entry).details["bins"], level))
    operating = operating_sheets(study.queries, bands=points.resamples > 0)
    return [*made, *operating, *gamma_sheets(study.queries)]


def _swept(points: Points, name: str) -> Sheet:
    """A curve on its grid, over all queries and in every fold."""
    study = points.study
    grid = range(101) if name == "roc" else range(1, 101)
    read = _rates if name == "roc" else _precisions
    curve = read(_of(points, study.whole), grid)
    folds = [read(_of(points, scope), grid) for scope in study.groups("fold")]
    band = BAND if points.resamples else ()
    axes = ("fpr", "tpr") if name == "roc" else ("recall", "precision")
    columns = (*axes, *band, *(f"fold {fold}" for fold in study.folds), *(() if name == "roc" else ("prevalence",)))
    prevalence = sum(query.label for query in study.queries) / len(study.queries)
    last = () if name == "roc" else (prevalence,)
    rows = [
        (percent / 100, curve[at], *(None for _ in band), *(fold[at] for fold in folds), *last)
        for at, percent in enumerate(grid)
    ]
    return Sheet(f"figures/{name}", columns, tuple(rows))


def _of(points: Points, scope: Scope) -> list[Point]:
    return points_of(points.study, scope, "query")


def _rates(at: list[Point], grid: range) -> list[float | None]:
    """The best true positive rate with at most each false positive rate, in percent."""
    positives, negatives = (at[-1].tp, at[-1].fp) if at else (0, 0)
    if not positives or not negatives:
        return [None] * len(grid)
    return [max((p.tp for p in at if p.fp * 100 <= percent * negatives), default=0) / positives for percent in grid]


def _precisions(at: list[Point], grid: range) -> list[float | None]:
    """The precision at the highest threshold that reaches each recall, in percent."""
    positives = at[-1].tp if at else 0
    if not positives:
        return [None] * len(grid)
    first = [next(p for p in at if p.tp * 100 >= percent * positives) for percent in grid]
    return [p.tp / (p.tp + p.fp) for p in first]


def _reliability(bins: list[dict[str, float | None]], level: float) -> Sheet:
    """The reliability table with exact binomial limits of every share."""
    rows: list[tuple[Cell, ...]] = []
    for one in bins:
        n = int(one["n"] or 0)
        positives = round((one["positive_share"] or 0.0) * n)
        rows.append((*(one[key] for key in BINS), *(exact_limits(positives, n, level) if n else (None, None))))
    return Sheet("figures/reliability", (*BINS, "share_low", "share_high"), tuple(rows))


def exact_limits(successes: int, trials: int, level: float) -> tuple[float, float]:
    """The Clopper-Pearson interval: the rates at which as many successes, or as few, have the probability of one tail.

    >>> [round(limit, 4) for limit in exact_limits(2, 10, 0.95)]
    [0.0252, 0.5561]
    """
    from scipy.special import bdtr, bdtrc

    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else _where(lambda p: bdtrc(successes - 1, trials, p) > tail)
    high = 1.0 if successes == trials else _where(lambda p: bdtr(successes, trials, p) < tail)
    return low, high


def _where(holds: Callable[[float], bool]) -> float:
    """The rate from which on a condition holds, by halving."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
