"""The figures over thresholds, made again: every number at every threshold, and its limits from every resample."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evidentia.verify.draws import Bools, Draws, Floats, LeftOut, Progress, counter, draws_of
from evidentia.verify.folder import ResultFolder, Row
from evidentia.verify.intervals import CELLS, Drawn, Settings, limits_of
from evidentia.verify.limits import effective_posts
from evidentia.verify.recipes import Sums, batches, on_all, over, replicated
from evidentia.verify.sheet import Cell, Sheet
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally

MOST = 201  # thresholds in a figure
MOST_DEPLOYED = 50
PERCENT = tuple(percent / 100 for percent in range(1, 100))
SCREENING, ALERTS, DECISION = "figures/operating_screening", "figures/operating_alerts", "figures/decision"
UNIT, PER_1000, BENEFIT = (0.0, 1.0), (0.0, 1000.0), (float("-inf"), 1.0)
INFINITE = 1e300  # a ratio over zero: more than any other, and still a number that can be ranked and subtracted
BEYOND = 1e150  # a limit between a ratio and an infinite one lies somewhere past this
At = Callable[[Floats, Floats], Floats]  # sums (queries, positives, and both below) and thresholds to values


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
OPERATING_BANDS = tuple(f"{name}_{side}" for name in BOUNDS if name != "net_benefit" for side in ("low", "high"))


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


def operating_sheets(study: Study, *, bands: bool) -> list[Sheet]:
    """The three figures; the limits are left empty, and compared elsewhere."""
    ranked, positives = np.sort(study.prob), np.sort(study.prob[study.label])
    sheets = []
    for path, taus in _explored(study).items():
        at = np.array(taus)
        below, missed = (
            np.searchsorted(ranked, at),
            np.searchsorted(positives, at),
        )  # what equals a threshold is not below
        sums = np.array([np.full(len(at), len(ranked)), np.full(len(at), len(positives)), below, missed], np.float64)
        columns: dict[str, Sequence[Cell]] = {"threshold" if path == DECISION else "tau": taus}
        for name, read in FIGURES[path].items():
            columns[name] = [_cell(name, value) for value in read(sums, at).tolist()]
            if bands and name in BOUNDS:
                columns |= dict.fromkeys(limit_columns(path, name), [None] * len(at))
        sheets.append(Sheet(path, tuple(columns), tuple(zip(*columns.values(), strict=True))))
    return sheets


def _cell(name: str, value: float) -> Cell:
    if name in COUNTS:
        return int(value)
    return None if np.isnan(value) or value > BEYOND else value


def limit_columns(path: str, column: str) -> tuple[str, str]:
    """The columns that hold the limits of a value."""
    return ("low", "high") if path == DECISION else (f"{column}_low", f"{column}_high")


@dataclass(frozen=True, eq=False)
class Figure:
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

    def finish(self, sums: Floats) -> Floats:
        """The number from its sums."""
        return FIGURES[self.path][self.column](sums, np.full(1, self.tau))


def check_operating_bands(
    folder: ResultFolder, study: Study, settings: Settings, tally: Tally, progress: Progress | None = None
) -> None:
    """Compare the limits of every number of every figure over thresholds."""
    figures = list(_figures(study))
    rows = {path: folder.rows(f"{path}.csv") for path in FIGURES if folder.has(f"{path}.csv")}
    draws = draws_of(study.queries, settings.resamples, settings.seed, stratified=settings.stratified)
    parts = batches(len(figures), CELLS, settings.resamples + 4 * draws.posts)
    report = counter(progress, settings.resamples * len(parts))

    for part in parts:
        for figure, limits in zip(figures[part], _limits(study, figures[part], draws, settings, report), strict=True):
            _compare(figure, rows.get(figure.path, []), limits, tally)


def _compare(figure: Figure, rows: Sequence[Row], limits: Sequence[float | None], tally: Tally) -> None:
    for column, limit in zip(limit_columns(figure.path, figure.column), limits, strict=True):
        where = f"{figure.path}.csv: {column} at {figure.tau:g}"
        if figure.row < len(rows) and column in rows[figure.row]:
            tally.number(where, as_number(rows[figure.row][column]), limit)
        else:
            tally.exact(where, "no such cell", limit)


def _figures(study: Study) -> Iterator[Figure]:
    everyone, with_evidence = _posts(study, study.everyone), _posts(study, study.label)
    for path, taus in _explored(study).items():
        for row, tau in enumerate(taus):
            alerting = _posts(study, study.prob >= tau) if path == ALERTS else everyone
            held = {"sensitivity": with_evidence, "alert_precision": alerting}
            for column in (name for name in FIGURES[path] if name in BOUNDS):
                yield Figure(path, row, column, tau, held.get(column, everyone))


def _posts(study: Study, rows: Bools) -> tuple[int, float]:
    """From how many posts the queries come, and how many of one size would tell as much."""
    return study.clusters(rows), effective_posts(study.per_post(rows, rows))


def _limits(
    study: Study, figures: Sequence[Figure], draws: Draws, settings: Settings, report: Callable[[int], None]
) -> Iterator[tuple[float | None, float | None]]:
    recipes = _recipes(study, figures)
    points = on_all(recipes, draws.posts)
    values = replicated(recipes, draws, report)
    left_out = replicated(recipes, LeftOut(draws.posts)) if settings.method == "bca" else None
    for at, figure in enumerate(figures):
        point, bounds = float(points[at]), BOUNDS[figure.column]
        if figure.ratio and point > BEYOND:
            yield None, None
            continue
        without = None if left_out is None or figure.ratio else left_out[at]
        clusters, effective = figure.posts
        limits, _, _ = limits_of(
            replace(settings, method="percentile") if figure.ratio else settings,
            Drawn(point, values[at], without),
            clusters=clusters,
            effective=effective,
            proportion=bounds != BENEFIT and not figure.ratio,
            bounds=bounds,
        )
        yield (None, None) if limits is None else (_finite(limits[0]), _finite(limits[1]))


def _recipes(study: Study, figures: Sequence[Figure]) -> list[Sums]:
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


def as_number(cell: str | None) -> float | str | None:
    """A cell as a number; what is not one stays as it is and matches nothing."""
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell
