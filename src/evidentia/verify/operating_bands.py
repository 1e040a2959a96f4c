"""The limits in the figures over thresholds, made again: every number at every threshold in every resample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evidentia.verify.draws import Bools, Draws, Floats, LeftOut, Progress, draws_of
from evidentia.verify.folder import ResultFolder, Row
from evidentia.verify.intervals import CELLS, Drawn, Settings, limits_of
from evidentia.verify.limits import Pair, effective_posts
from evidentia.verify.operating_points import (
    ALERTS,
    DECISION,
    PERCENT,
    SCREENING,
    Explored,
    explored,
    limit_columns,
)
from evidentia.verify.recipes import Finish, Sums, batches, on_all, over, replicated
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally

UNIT, PER_1000, BENEFIT = (0.0, 1.0), (0.0, 1000.0), (float("-inf"), 1.0)
INFINITE = 1e300  # a ratio over zero: more than any other, and still a number that can be ranked and subtracted
BEYOND = 1e150  # a limit between a ratio and an infinite one lies somewhere past this


@dataclass(frozen=True, eq=False)
class Figure:
    """A number at one threshold: the row and columns of its limits, and how it is made of sums.

    The sums are queries, positives, queries below, positives below. ``posts``: how many
    it rests on, and how many of one size would tell as much.
    """

    path: str
    row: int
    column: str
    tau: float
    finish: Finish
    bounds: Pair
    posts: tuple[int, float] = (0, 0.0)

    @property
    def ratio(self) -> bool:
        """The ratio can be infinite, which no correction for bias survives: its limits are always percentiles."""
        return self.column == "likelihood_ratio"


def check_operating_bands(
    folder: ResultFolder, study: Study, settings: Settings, tally: Tally, progress: Progress | None = None
) -> None:
    """Compare the limits of every number of every figure over thresholds."""
    explore = explored(study.queries)
    if explore is None:
        return
    figures = list(_figures(study, explore))
    rows = {path: folder.rows(f"{path}.csv") for path in (SCREENING, ALERTS, DECISION) if folder.has(f"{path}.csv")}
    draws = draws_of(study.queries, settings.resamples, settings.seed, stratified=settings.stratified)
    parts = batches(len(figures), CELLS, settings.resamples + 4 * draws.posts)
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, settings.resamples * len(parts))

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


def _figures(run: Study, explore: Explored) -> Iterator[Figure]:
    everyone, with_evidence = _posts(run, run.everyone), _posts(run, run.label)
    for row, tau in enumerate(explore.skipping):
        yield Figure(SCREENING, row, "neg_rate", tau, lambda s: over(s[2], s[0]), UNIT, everyone)
        yield Figure(SCREENING, row, "sensitivity", tau, _sensitivity, UNIT, with_evidence)
        yield Figure(SCREENING, row, "fn_per_1000", tau, _missed, PER_1000, everyone)
    for row, tau in enumerate(explore.alerting):
        posts = _posts(run, run.prob >= tau)
        yield Figure(ALERTS, row, "alert_precision", tau, _precision, UNIT, posts)
        yield Figure(ALERTS, row, "alerts_per_1000", tau, _alerts, PER_1000, everyone)
        yield Figure(ALERTS, row, "likelihood_ratio", tau, _ratio, UNIT)
    for row, threshold in enumerate(PERCENT):
        yield Figure(DECISION, row, "net_benefit", threshold, _benefit(threshold), BENEFIT, everyone)


def _posts(run: Study, rows: Bools) -> tuple[int, float]:
    return run.clusters(rows), effective_posts(run.per_post(rows, rows))


def _sensitivity(sums: Floats) -> Floats:
    return over(sums[1] - sums[3], sums[1])


def _missed(sums: Floats) -> Floats:
    return over(1000 * sums[3], sums[0])


def _precision(sums: Floats) -> Floats:
    return over(sums[1] - sums[3], sums[0] - sums[2])


def _alerts(sums: Floats) -> Floats:
    return over(1000 * (sums[0] - sums[2]), sums[0])


def _ratio(sums: Floats) -> Floats:
    """Alerts per positive over alerts per negative; undefined without alerts or with one class."""
    queries, positives, below, missed = sums
    right = positives - missed
    wrong, negatives = queries - below - right, queries - positives
    some = np.where(right + wrong > 0, 1.0, np.nan)
    found = over(right, positives) * some
    alarmed = over(wrong, negatives) * some
    finite = over(found, alarmed)
    return np.where(alarmed == 0, np.where(np.isnan(found), np.nan, INFINITE), finite)


def _benefit(threshold: float) -> Finish:
    worth = threshold / (1 - threshold)

    def finish(sums: Floats) -> Floats:
        queries, positives, below, missed = sums
        right = positives - missed
        return over(right - worth * (queries - below - right), queries)

    return finish


def _limits(
    run: Study, figures: Sequence[Figure], draws: Draws, settings: Settings, report: Callable[[int], None]
) -> Iterator[tuple[float | None, float | None]]:
    recipes = _recipes(run, figures)
    points = on_all(recipes, draws.posts)
    values = replicated(recipes, draws, report)
    left_out = replicated(recipes, LeftOut(draws.posts)) if settings.method == "bca" else None
    for at, figure in enumerate(figures):
        point = float(points[at])
        if figure.ratio and point > BEYOND:
            yield None, None
            continue
        without = None if left_out is None or figure.ratio else left_out[at]
        clusters, effective = figure.posts
        proportion = figure.bounds != BENEFIT and not figure.ratio
        how = replace(settings, method="percentile") if figure.ratio else settings
        drawn = Drawn(point, values[at], without)
        found, _, _ = limits_of(
            how, drawn, clusters=clusters, effective=effective, proportion=proportion, bounds=figure.bounds
        )
        yield (None, None) if found is None else (_finite(found[0]), _finite(found[1]))


def _recipes(run: Study, figures: Sequence[Figure]) -> list[Sums]:
    """What is added up per post for every threshold, and how each number is made of it."""
    everyone = run.everyone
    whole = [run.per_post(everyone, everyone), run.per_post(run.label, everyone)]
    columns: dict[float, Floats] = {}
    for tau in dict.fromkeys(figure.tau for figure in figures):
        below = run.prob < tau
        columns[tau] = np.array([*whole, run.per_post(below, everyone), run.per_post(below & run.label, everyone)])
    return [Sums(columns[figure.tau], figure.finish) for figure in figures]


def _finite(limit: float) -> float | None:
    return None if limit > BEYOND else limit


def as_number(cell: str | None) -> float | str | None:
    """A cell as a number; what is not one stays as it is and matches nothing."""
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell
