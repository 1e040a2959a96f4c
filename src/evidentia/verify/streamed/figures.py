"""The curves of a result whose rows stayed in files, from counts at every threshold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evidentia.array_types import Bools
from evidentia.verify.calibration import bins_of
from evidentia.verify.figures import CURVES, MOST_TURNS, SweptCurve, share_limits
from evidentia.verify.points import Points
from evidentia.verify.sheet import Cell, Sheet
from evidentia.verify.streamed.study import StreamedStudy
from evidentia.verify.streamed.sweeps import turns
from evidentia.verify.tables import BINS


def streamed_figures(study: StreamedStudy, points: Points, level: float, asked: frozenset[str]) -> list[Sheet]:
    """Every figure that was asked for and that the run allows."""
    sheets = swept_sheets(study) if "roc" in asked and study.has("score") else []
    entry = points.expected.entries.get("ECE")
    if entry is not None and points.number(entry).flaw is None:
        sheets.append(_reliability(study, points.number(entry).details["bins"], level))
    return sheets


def swept_sheets(study: StreamedStudy) -> list[Sheet]:
    """Both curves on their grids, over all queries and in every fold, and the turns of the first."""
    sheets = []
    for curve in CURVES:
        columns: dict[str, Sequence[Cell]] = {curve.axes[0]: curve.grid.tolist()}
        columns[curve.axes[1]] = _curve_of(curve, study, study.everyone)
        for fold in study.folds:
            columns[f"fold {fold}"] = _curve_of(curve, study, study.members((("fold", fold),)))
        if curve.axes[0] == "recall":
            columns["prevalence"] = [int(study.label.sum()) / len(study)] * len(curve.grid)
        sheets.append(Sheet(curve.path, tuple(columns), tuple(zip(*columns.values(), strict=True))))
    turned = turns(study.score, study.label, MOST_TURNS)
    return [*sheets, Sheet("figures/roc_points", ("fpr", "tpr"), turned)] if turned else sheets


def _curve_of(curve: SweptCurve, study: StreamedStudy, rows: Bools) -> list[float | None]:
    """The curve over some queries as they are; None where it is undefined."""
    values = curve.read(study.steps(rows).passed(), curve.grid)[:, 0]
    return [None if np.isnan(value) else value for value in values.tolist()]


def _reliability(study: StreamedStudy, bins: Sequence[dict[str, Cell]], level: float) -> Sheet:
    """The reliability table with limits of every share by the spread between posts."""
    at = bins_of(study.prob, len(bins))
    rows: list[tuple[Cell, ...]] = []
    for b, part in enumerate(bins):
        sizes, positives = study.per_post(study.everyone, at == b), study.per_post(study.label, at == b)
        held = np.column_stack([sizes, positives])[sizes > 0]
        rows.append((*(part[key] for key in BINS), *(share_limits(held, level) or (None, None))))
    return Sheet("figures/reliability", (*BINS, "share_low", "share_high"), tuple(rows))
