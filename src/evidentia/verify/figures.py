"""The data behind the figures, read off all operating points; bands are recomputed elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evidentia.results.curve import EVERY_CURVE
from evidentia.verify.bands import PR, ROC, Curve, curve_of
from evidentia.verify.calibration import bins_of
from evidentia.verify.gamma import gamma_sheets
from evidentia.verify.limits import Pair, all_or_none, deviate, from_odds
from evidentia.verify.operating import OPERATING_BANDS, operating_sheets
from evidentia.verify.points import Points
from evidentia.verify.sheet import Cell, Sheet
from evidentia.verify.tables import BINS

BAND = ("low", "high")
BANDS = (*BAND, *OPERATING_BANDS)  # columns that are verified with the bands


def all_figures(points: Points, level: float, asked: frozenset[str] = EVERY_CURVE) -> list[Sheet]:
    """Every figure that was asked for and that the run allows."""
    study, sheets = points.study, []
    if "roc" in asked and all(query.score is not None for query in study.queries):
        sheets += [_swept(points, ROC, ("fpr", "tpr")), _swept(points, PR, ("recall", "precision"))]
    entry = points.expected.entries.get("ECE")
    if entry is not None and points.number(entry).flaw is None:
        sheets.append(_reliability(points, level))
    if "operating" in asked:
        sheets += operating_sheets(study, bands=points.resamples > 0)
    return [*sheets, *gamma_sheets(study.queries)] if "gamma" in asked else sheets


def _swept(points: Points, curve: Curve, axes: tuple[str, str]) -> Sheet:
    """A curve on its grid, over all queries and in every fold."""
    study = points.study
    lines = [curve_of(curve, study, study.everyone)]
    lines += [curve_of(curve, study, study.members((("fold", fold),))) for fold in study.folds]
    band = BAND if points.resamples else ()
    last = () if curve is ROC else (int(study.label.sum()) / len(study),)
    columns = (*axes, *band, *(f"fold {fold}" for fold in study.folds), *(("prevalence",) if last else ()))
    rows = [
        (x, lines[0][at], *(None for _ in band), *(fold[at] for fold in lines[1:]), *last)
        for at, x in enumerate(curve.grid.tolist())
    ]
    return Sheet(curve.file.removesuffix(".csv"), columns, tuple(rows))


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


def share_limits(posts: Sequence[tuple[int, int]], level: float) -> Pair | None:
    """Limits of the share of positives among the queries of posts (queries, positives); exact over posts if all or none are.

    >>> [round(limit, 4) for limit in share_limits([(2, 1), (2, 0), (2, 2), (2, 1)], 0.95) or ()]
    [0.0692, 0.9308]
    """
    size, positives = sum(n for n, _ in posts), sum(y for _, y in posts)
    if not posts:
        return None
    if positives in {0, size}:
        return all_or_none(len(posts), level, every=positives > 0)
    if len(posts) < 2:
        return None
    share, effective = positives / size, size**2 / sum(n * n for n, _ in posts)
    squares = math.fsum((y - share * n) ** 2 for n, y in posts)
    error = math.sqrt(squares * effective / (effective - 1)) / size
    middle, step = math.log(share / (1 - share)), deviate(effective - 1, level) * error / (share * (1 - share))
    return from_odds(middle - step), from_odds(middle + step)
