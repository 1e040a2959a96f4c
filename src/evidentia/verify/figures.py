"""The data behind the figures: curves, and every number at every threshold, with limits from the draws of the intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.results.curve import EVERY_CURVE, curves_of
from evidentia.verify.attribution import gamma_sheets
from evidentia.verify.calibration import bins_of
from evidentia.verify.draws import Draws, Progress, counter, over_blocks
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import CELLS, Basis, Settings, all_drawn, limits_of
from evidentia.verify.limits import Pair, all_or_none, deviate, effective_posts, from_odds, percentile_limits
from evidentia.verify.points import Points
from evidentia.verify.recipes import Finish, Sums, batches, over
from evidentia.verify.sheet import Cell, Sheet
from evidentia.verify.study import Study
from evidentia.verify.sweeps import Passed, ThresholdSweep, sweep_of
from evidentia.verify.tables import BINS

MOST = 201  # thresholds in a figure
MOST_DEPLOYED = 50
MOST_TURNS = 5_000  # of a ROC curve
MOST_OF_EACH = 1_000  # of each of several on one axis
PERCENT = tuple(percent / 100 for percent in range(1, 100))
SCREENING, ALERTS, DECISION = "figures/operating_screening", "figures/operating_alerts", "figures/decision"
UNIT, PER_1000, BENEFIT = (0.0, 1.0), (0.0, 1000.0), (float("-inf"), 1.0)
INFINITE = 1e300  # a ratio over zero: more than any other, and still a number that can be ranked and subtracted
BEYOND = 1e150  # a limit between a ratio and an infinite one lies somewhere past this
At = Callable[[Floats, Floats], Floats]  # sums (queries, positives, and both below) and thresholds to values


@dataclass(frozen=True)
class SweptCurve:
    """A curve: its file, its axes, where it is read, and how it is read off a sweep (points x replicates)."""

    path: str
    axes: tuple[str, str]
    grid: Floats
    read: Callable[[Passed, Floats], Floats]


def found_within(passed: Passed, rates: Floats) -> Floats:
    """The share found with a false positive rate of at most so much; undefined with one class."""
    within = np.array([np.searchsorted(column, rates, side="right") for column in passed.rate.T.copy()]).T
    hits = np.take_along_axis(np.concatenate([np.zeros((1, within.shape[1])), passed.hits]), within, axis=0)
    return over(hits, np.broadcast_to(np.where(passed.negatives > 0, passed.positives, 0.0), hits.shape))


def precision_at(passed: Passed, recalls: Floats) -> Floats:
    """The precision at the first threshold that finds so much; undefined without positives."""
    shares = passed.hits / np.maximum(passed.positives, 1)
    if not len(shares):
        return np.full((len(recalls), shares.shape[1]), np.nan)
    short = np.array([np.searchsorted(column, recalls, side="left") for column in shares.T.copy()]).T
    at = np.minimum(short, len(shares) - 1)
    hits, alarms = (np.take_along_axis(counts, at, axis=0) for counts in (passed.hits, passed.alarms))
    return over(hits, np.where(passed.positives > 0, hits + alarms, 0.0))


PR = SweptCurve("figures/pr", ("recall", "precision"), np.arange(1, 101) / 100, precision_at)
CURVES = (SweptCurve("figures/roc", ("fpr", "tpr"), np.arange(101) / 100, found_within), PR)


def asked_curves(folder: ResultFolder) -> frozenset[str]:
    """The curves that belong to the measures of a result; all of them where nobody named measures."""
    named = folder.manifest["options"].get("measures") is not None
    return curves_of(folder.summary["measures"]) if named else EVERY_CURVE


def all_figures(
    points: Points, settings: Settings, asked: frozenset[str] = EVERY_CURVE, progress: Progress | None = None
) -> list[Sheet]:
    """Every figure that was asked for and that the run allows."""
    study, sheets = points.study, []
    if "roc" in asked and all(query.score is not None for query in study.queries):
        sheets += swept_sheets(study, settings, progress)
    entry = points.expected.entries.get("ECE")
    if entry is not None and points.number(entry).flaw is None:
        sheets.append(_reliability(points, settings.level))
    if "operating" in asked:
        sheets += operating_sheets(study, settings, progress)
    return [*sheets, *gamma_sheets(study.queries)] if "gamma" in asked else sheets


def swept_sheets(study: Study, settings: Settings, progress: Progress | None = None) -> list[Sheet]:
    """Both curves on their grids, over all queries with limits, and in every fold."""
    replicates = _replicates(study, settings, progress) if settings.resamples else {}
    sheets = []
    for curve in CURVES:
        columns: dict[str, Sequence[Cell]] = {curve.axes[0]: curve.grid.tolist()}
        columns[curve.axes[1]] = _curve_of(curve, study, study.everyone)
        if replicates:
            limits = [percentile_limits(values, settings.level) or (None, None) for values in replicates[curve.path]]
            columns |= dict(zip(("low", "high"), zip(*limits, strict=True), strict=True))
        for fold in study.folds:
            columns[f"fold {fold}"] = _curve_of(curve, study, study.members((("fold", fold),)))
        if curve.axes[0] == "recall":
            columns["prevalence"] = [int(study.label.sum()) / len(study)] * len(curve.grid)
        sheets.append(Sheet(curve.path, tuple(columns), tuple(zip(*columns.values(), strict=True))))
    units = study.units("query")
    turns = operating_points(units.score.tolist(), units.label.tolist(), MOST_TURNS)
    return [*sheets, Sheet("figures/roc_points", ("fpr", "tpr"), turns)] if turns else sheets


def operating_points(scores: Sequence[float], labels: Sequence[bool], most: int) -> tuple[tuple[float, float], ...]:
    """Where the ROC curve changes direction, from (0, 0) to (1, 1); nothing with one class.

    >>> operating_points([0.9, 0.8, 0.8, 0.1], [True, True, False, False], 9)
    ((0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0))
    """
    steps: dict[float, list[int]] = {}
    for score, label in zip(scores, labels, strict=True):
        steps.setdefault(score, [0, 0])[label] += 1
    points, before, at = [(0, 0)], (0, 0), (0, 0)
    for score in sorted(steps, reverse=True):
        across, up = steps[score]
        if before[0] * up != before[1] * across:
            points.append(at)
        before, at = (across, up), (at[0] + across, at[1] + up)
    if 0 in at:
        return ()
    points.append(at)
    if len(points) > most:
        points = [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]
    return tuple((alarms / at[0], hits / at[1]) for alarms, hits in points)


def sheets_of_systems(systems: Sequence[tuple[str, Study]], names: Collection[str]) -> list[Sheet]:
    """The curves of compared systems, one system below the other: what the compared measures ask for."""
    swept = "roc" in curves_of(names)
    roc, pr, bins = list[tuple[Cell, ...]](), list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for name, study in systems:
        units = study.units("query")
        turns = operating_points(units.score.tolist(), units.label.tolist(), MOST_OF_EACH) if swept else ()
        roc += [(name, *turn) for turn in turns]
        pr += [
            (name, *point)
            for point in zip(PR.grid.tolist(), _curve_of(PR, study, study.everyone), strict=True)
            if turns
        ]
        bins += [(name, *row) for row in _held_bins(study)] if "ECE" in names else []
    tables = {"roc": (("fpr", "tpr"), roc), "pr": (PR.axes, pr), "reliability": (BINS, bins)}
    return [
        Sheet(f"figures/{name}_systems", ("system", *columns), tuple(rows))
        for name, (columns, rows) in tables.items()
        if rows
    ]


def _held_bins(study: Study) -> Iterator[tuple[Cell, ...]]:
    """Every tenth of the probabilities that holds a query."""
    at = bins_of(study.prob, 10)
    for b in range(10):
        pairs = list(zip(study.prob[at == b].tolist(), study.label[at == b].tolist(), strict=True))
        if pairs:
            stated, positives = math.fsum(p for p, _ in pairs), sum(int(y) for _, y in pairs)
            yield b / 10, (b + 1) / 10, len(pairs), stated / len(pairs), positives / len(pairs)


def _sweep(study: Study, rows: Bools) -> ThresholdSweep:
    units = study.units("query")
    return sweep_of(units.score[rows], units.label[rows], study.post[rows], len(study.posts))


def _curve_of(curve: SweptCurve, study: Study, rows: Bools) -> list[float | None]:
    """The curve over some queries as they are; None where it is undefined."""
    values = curve.read(_sweep(study, rows).passed(np.ones((len(study.posts), 1), np.int32)), curve.grid)[:, 0]
    return [None if np.isnan(value) else value for value in values.tolist()]


def _replicates(study: Study, settings: Settings, progress: Progress | None) -> dict[str, Floats]:
    draws = settings.draws(study)
    sweep = _sweep(study, study.everyone)
    values = {curve.path: np.empty((len(curve.grid), settings.resamples)) for curve in CURVES}

    def work(rows: slice, weights: Floats) -> None:
        passed = sweep.passed(weights.astype(np.int32))
        for curve in CURVES:
            values[curve.path][:, rows] = curve.read(passed, curve.grid)

    over_blocks(draws, work, counter(progress, settings.resamples))
    return values


def _reliability(points: Points, level: float) -> Sheet:
    """The reliability table with limits of every share by the spread between posts."""
    study = points.study
    bins = points.number(points.expected.entries["ECE"]).details["bins"]
    at = bins_of(study.prob, len(bins))
    rows: list[tuple[Cell, ...]] = []
    for b, part in enumerate(bins):
        sizes, positives = study.per_post(study.everyone, at == b), study.per_post(study.label, at == b)
        held = [(int(n), int(y)) for n, y in zip(sizes, positives, strict=True) if n]
        rows.append((*(part[key] for key in BINS), *(share_limits(held, level) or (None, None))))
    return Sheet("figures/reliability", (*BINS, "share_low", "share_high"), tuple(rows))


def share_limits(posts: Sequence[tuple[int, int]] | Floats, level: float) -> Pair | None:
    """Limits of the share of positives among the queries of posts (queries, positives); exact over posts if all or none are.

    >>> [round(limit, 4) for limit in share_limits([(2, 1), (2, 0), (2, 2), (2, 1)], 0.95) or ()]
    [0.0692, 0.9308]
    """
    sizes, right = np.asarray(posts, np.float64).reshape(-1, 2).T
    size, positives, count = float(sizes.sum()), float(right.sum()), len(sizes)
    if not count:
        return None
    if positives in {0, size}:
        return all_or_none(count, level, every=positives > 0)
    if count < 2:
        return None
    share, effective = positives / size, size**2 / float((sizes**2).sum())
    squares = float(((right - share * sizes) ** 2).sum())
    error = math.sqrt(squares * effective / (effective - 1)) / size
    middle, step = math.log(share / (1 - share)), deviate(effective - 1, level) * error / (share * (1 - share))
    return from_odds(middle - step), from_odds(middle + step)


def _likelihood_ratio(s: Floats, tau: Floats) -> Floats:
    """Alerts per positive over alerts per negative; undefined without alerts or with one class."""
    right = s[1] - s[3]
    wrong = s[0] - s[2] - right
    some = np.where(right + wrong > 0, 1.0, np.nan)
    hit_rate, alarmed = over(right, s[1]) * some, over(wrong, s[0] - s[1]) * some
    return np.where(alarmed == 0, np.where(np.isnan(hit_rate), np.nan, INFINITE), over(hit_rate, alarmed))


def _benefit(right: Floats, alerts: Floats, queries: Floats, tau: Floats) -> Floats:
    """True alarms per query less false ones at the odds of the threshold."""
    return over(right - tau / (1 - tau) * (alerts - right), queries)


COUNTS = ("skipped", "missed", "alerts", "right")
FIGURES: dict[str, dict[str, At]] = {
    SCREENING: {
        "skipped": lambda s, tau: s[2],
        "missed": lambda s, tau: s[3],
        "neg_rate": lambda s, tau: over(s[2], s[0]),
        "sensitivity": lambda s, tau: over(s[1] - s[3], s[1]),
        "fn_per_1000": lambda s, tau: over(1000 * s[3], s[0]),
    },
    ALERTS: {
        "alerts": lambda s, tau: s[0] - s[2],
        "right": lambda s, tau: s[1] - s[3],
        "alert_precision": lambda s, tau: over(s[1] - s[3], s[0] - s[2]),
        "alerts_per_1000": lambda s, tau: over(1000 * (s[0] - s[2]), s[0]),
        "tpr": lambda s, tau: over(s[1] - s[3], s[1]),
        "fpr": lambda s, tau: over(s[0] - s[2] - (s[1] - s[3]), s[0] - s[1]),
        "likelihood_ratio": _likelihood_ratio,
    },
    DECISION: {
        "net_benefit": lambda s, tau: _benefit(s[1] - s[3], s[0] - s[2], s[0], tau),
        "treat_all": lambda s, tau: _benefit(s[1], s[0], s[0], tau),
        "treat_none": lambda s, tau: 0 * s[0],
    },
}
BOUNDS = {  # of the values that have limits
    **{"neg_rate": UNIT, "sensitivity": UNIT, "fn_per_1000": PER_1000, "alert_precision": UNIT},
    **{"alerts_per_1000": PER_1000, "likelihood_ratio": UNIT, "net_benefit": BENEFIT},
}


def thresholds(prob: Iterable[float], deployed: Collection[float], always: Collection[float] = ()) -> tuple[float, ...]:
    """The distinct probabilities and what is deployed; if that is too much, probabilities at even steps of rank.

    >>> thresholds([0.4, 0.2], [0.3], [0.0])
    (0.0, 0.2, 0.3, 0.4)
    """
    kept = {*always, *(deployed if len(deployed) <= MOST_DEPLOYED else ())}
    distinct = sorted(set(prob))
    if len(kept.union(distinct)) > MOST:
        steps = MOST - len(kept) - 1
        stride = (len(distinct) - 1) / steps
        if steps < len(distinct) - 1:
            distinct = [distinct[round(step * stride)] for step in range(steps)] + distinct[-1:]
    return tuple(sorted(kept.union(distinct)))


def _explored(study: Study) -> dict[str, tuple[float, ...]]:
    """The thresholds of every figure; none for a run without probabilities."""
    if not len(study) or np.isnan(study.prob).any():
        return {}
    prob = study.prob.tolist()
    low, high = ({getattr(query, name) for query in study.queries} - {None} for name in ("tau_neg", "tau_pos"))
    return {SCREENING: thresholds(prob, low, {0.0}), ALERTS: thresholds(prob, high), DECISION: PERCENT}


def operating_sheets(study: Study, settings: Settings, progress: Progress | None = None) -> list[Sheet]:
    """The three figures, with limits where there are resamples."""
    ranked, positives = np.sort(study.prob), np.sort(study.prob[study.label])
    limits = _all_limits(study, settings, progress) if settings.resamples else {}
    sheets = []
    for path, taus in _explored(study).items():
        at = np.array(taus)
        below, missed = np.searchsorted(ranked, at), np.searchsorted(positives, at)  # what equals one is not below
        sums = np.array([np.full(len(at), len(ranked)), np.full(len(at), len(positives)), below, missed], np.float64)
        columns: dict[str, Sequence[Cell]] = {"threshold" if path == DECISION else "tau": taus}
        for name, read in FIGURES[path].items():
            columns[name] = [_cell(name, value) for value in read(sums, at).tolist()]
            if limits and name in BOUNDS:
                names = ("low", "high") if path == DECISION else (f"{name}_low", f"{name}_high")
                columns |= dict(zip(names, zip(*limits[path, name], strict=True), strict=True))
        sheets.append(Sheet(path, tuple(columns), tuple(zip(*columns.values(), strict=True))))
    return sheets


def _cell(name: str, value: float) -> Cell:
    if name in COUNTS:
        return int(value)
    return None if np.isnan(value) or value > BEYOND else value


@dataclass(frozen=True, eq=False)
class ThresholdFigure:
    """A number at one threshold: the row and column of its limits, and from how many posts it comes."""

    path: str
    row: int
    column: str
    tau: float
    posts: tuple[int, float]

    @property
    def ratio(self) -> bool:
        """The ratio can be infinite, which no correction for bias survives: its limits are always percentiles."""
        return self.column == "likelihood_ratio"

    @property
    def finish(self) -> Finish:
        """The number from its sums: the same function at every threshold, but in the one figure that weighs by thresholds."""
        return _finish(self.path, self.column, self.tau if self.path == DECISION else 0.0)


@cache
def _finish(path: str, column: str, tau: float) -> Finish:
    return lambda sums: FIGURES[path][column](sums, np.full(1, tau))


def _all_limits(
    study: Study, settings: Settings, progress: Progress | None
) -> dict[tuple[str, str], list[tuple[float | None, float | None]]]:
    """The limits of every number at every threshold, by figure and column."""
    figures = list(_figures(study))
    draws = settings.draws(study)
    parts = batches(len(figures), CELLS, settings.resamples + 4 * draws.posts)
    report = counter(progress, settings.resamples * len(parts))
    limits: dict[tuple[str, str], list[tuple[float | None, float | None]]] = {}
    for part in parts:
        for figure, pair in zip(figures[part], _limits(study, figures[part], draws, settings, report), strict=True):
            limits.setdefault((figure.path, figure.column), []).append(pair)
    return limits


def _figures(study: Study) -> Iterator[ThresholdFigure]:
    everyone, with_evidence = _posts(study, study.everyone), _posts(study, study.label)
    for path, taus in _explored(study).items():
        for row, tau in enumerate(taus):
            alerting = _posts(study, study.prob >= tau) if path == ALERTS else everyone
            held = {"sensitivity": with_evidence, "alert_precision": alerting}
            for column in (name for name in FIGURES[path] if name in BOUNDS):
                yield ThresholdFigure(path, row, column, tau, held.get(column, everyone))


def _posts(study: Study, rows: Bools) -> tuple[int, float]:
    """From how many posts the queries come, and how many of one size would tell as much."""
    return study.clusters(rows), effective_posts(study.per_post(rows, rows))


def _limits(
    study: Study, figures: Sequence[ThresholdFigure], draws: Draws, settings: Settings, report: Callable[[int], None]
) -> Iterator[tuple[float | None, float | None]]:
    plans = [(recipe, ()) for recipe in _recipes(study, figures)]
    for figure, drawn in zip(figures, all_drawn(plans, draws, settings, report), strict=True):
        bounds = BOUNDS[figure.column]
        if figure.ratio and drawn.point > BEYOND:
            yield None, None
            continue
        how = replace(settings, method="percentile") if figure.ratio else settings
        basis = Basis(*figure.posts, proportion=bounds != BENEFIT and not figure.ratio, limits=bounds)
        limits, _, _ = limits_of(how, replace(drawn, without=None) if figure.ratio else drawn, basis)
        yield (None, None) if limits is None else (_finite(limits[0]), _finite(limits[1]))


def _recipes(study: Study, figures: Sequence[ThresholdFigure]) -> list[Sums]:
    """What is added up per post for every threshold, and how each number is made of it."""
    everyone, columns = study.everyone, dict[float, Floats]()
    whole = [study.per_post(everyone, everyone), study.per_post(study.label, everyone)]
    for tau in dict.fromkeys(figure.tau for figure in figures):
        below = study.prob < tau
        columns[tau] = np.array(
            [*whole, study.per_post(below, everyone), study.per_post(below & study.label, everyone)]
        )
    return [Sums(columns[figure.tau], figure.finish) for figure in figures]


def _finite(limit: float) -> float | None:
    return None if limit > BEYOND else limit
