"""The figures of an evaluated run, in reading order. They draw what the result holds; nothing is computed here."""

from __future__ import annotations

from evidentia.report.page import curve_figures, group_figures, tuning_figures
from evidentia.report.page.content import Content
from evidentia.report.page.figure import Figure


def evaluation_figures(content: Content) -> tuple[Figure, ...]:
    """Every figure that the result can fill."""
    by = ["criterion", *(content.manifest.get("options") or {}).get("by", ())]
    candidates = (
        curve_figures.roc(content),
        curve_figures.precision_recall(content),
        curve_figures.reliability(content),
        group_figures.depth(content),
        *(group_figures.groups(content, column, place) for place, column in enumerate(by)),
        curve_figures.screening(content),
        curve_figures.alerts(content),
        curve_figures.decision(content),
        tuning_figures.threshold_grid(content),
        tuning_figures.gamma(content),
        group_figures.attribution(content),
        group_figures.dynamic_k(content),
        group_figures.folds(content),
    )
    return tuple(figure for figure in candidates if figure is not None)
