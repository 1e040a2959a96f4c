"""Figures of an evaluated run that follow a threshold: ROC, precision and recall, reliability, decisions."""

from __future__ import annotations

from typing import Any

from evidentia.report.page.content import Content
from evidentia.report.page.figure import Figure, Spec, drawn_as, field, tooltip, touchable, x
from evidentia.report.page.theme import BLUE, GREY, ORANGE, VERMILLION
from evidentia.report.tables import Table

UNIT = {"domain": [0, 1]}
DIAGONAL = {
    "data": {"values": [{"a": 0, "b": 0}, {"a": 1, "b": 1}]},
    **drawn_as("line", {"x": x("a", ""), "y": x("b", "")}, strokeDash=[4, 4], color=GREY),
}


def roc(content: Content) -> Figure | None:
    """ROC, pooled and per fold."""
    table = content.figure("roc")
    if table is None:
        return None
    layers = [DIAGONAL, *_curve(table, "fpr", "tpr", "False positive rate", "True positive rate")]
    words = "Over all queries, with its pointwise 95 % band (posts resampled). Thin lines are folds, the dashed line is chance."
    return Figure("roc", "Telling evidence from none: ROC", words, table, _view(layers, 320))


def precision_recall(content: Content) -> Figure | None:
    """Precision against recall, with the share of positives as its baseline."""
    table = content.figure("pr")
    if table is None:
        return None
    baseline = {"x": x("recall", "Recall"), "y": x("prevalence", "Precision")}
    layers = [
        drawn_as("line", baseline, strokeDash=[4, 4], color=VERMILLION),
        *_curve(table, "recall", "precision", "Recall", "Precision"),
    ]
    words = "With its pointwise 95 % band; thin lines are folds. The dashed line is the share of positives: what a coin reaches."
    return Figure("pr", "Precision and recall", words, table, _view(layers, 320))


def _view(layers: list[Spec], height: int) -> Spec:
    return {"width": "container", "height": height, "layer": layers}


def _curve(table: Table, along: str, up: str, title_x: str, title_y: str) -> list[Spec]:
    """A pooled curve with its band, and the folds as thin lines behind it."""
    across, banded = x(along, title_x, scale=UNIT), "low" in table.columns
    layers: list[Spec] = []
    if banded:
        band = {"x": across, "y": x("low", title_y, scale=UNIT), "y2": {"field": "high"}}
        layers.append(drawn_as("area", band, color=BLUE, opacity=0.18))
    folds = [field(column) for column in table.columns if column.startswith("fold ")]
    if folds:
        thin = {"x": across, "y": x("of fold", title_y, scale=UNIT), "detail": {"field": "fold", "type": "nominal"}}
        layer = drawn_as("line", thin, color=GREY, strokeWidth=0.8, opacity=0.8)
        layers.append({"transform": [{"fold": folds, "as": ["fold", "of fold"]}], **layer})
    limits = (("low", "from"), ("high", "to")) if banded else ()
    hover = tooltip((along, title_x), (up, title_y), *limits)
    line = {"x": across, "y": x(up, title_y, scale=UNIT), "tooltip": hover}
    return [*layers, drawn_as("line", line, color=BLUE, strokeWidth=2.5), touchable(line)]


def reliability(content: Content) -> Figure | None:
    """Stated probability against observed share, and how many queries each bin holds."""
    table = content.figure("reliability")
    if table is None:
        return None
    bins = (("low", "bin from"), ("high", "to"), ("n:c", "queries"), ("mean_prob", "stated"))
    hover = tooltip(*bins, ("positive_share", "observed"), ("share_low", "observed from"), ("share_high", "to"))
    across = x("mean_prob", "Stated probability", scale=UNIT)
    span = {"x": across, "y": x("share_low", "Observed share", scale=UNIT), "y2": {"field": "share_high"}}
    dots = {"x": across, "y": x("positive_share", "Observed share", scale=UNIT), "tooltip": hover}
    upper = [
        DIAGONAL,
        drawn_as("rule", span, color=BLUE, strokeWidth=1.5),
        drawn_as("line", dots, color=BLUE, strokeWidth=1.5, opacity=0.5),
        drawn_as("point", dots, color=BLUE, filled=True, size=70),
    ]
    below = {"x": x("low", "Stated probability", scale=UNIT, bin={"binned": True}), "x2": {"field": "high"}}
    lower = drawn_as("bar", below | {"y": x("n", "Queries"), "tooltip": hover}, color=GREY)
    parts = [{"width": 400, "height": 300, "layer": upper}, {"width": 400, "height": 70, **lower}]
    words = "Stated probability against observed share, with limits by the spread of posts; below, how many queries each bin holds."
    spec = {"vconcat": parts, "transform": [{"filter": "datum.n > 0"}], "spacing": 8}
    return Figure("reliability", "Do the probabilities mean what they say?", words, table, spec)


def decision(content: Content) -> Figure | None:
    """Net benefit of acting on the probability, against acting on all or on none."""
    table = content.figure("decision")
    if table is None:
        return None
    best = max(float(row[table.columns.index("net_benefit")] or 0) for row in table.rows)
    scale = {"domain": [-0.25 * best, 1.1 * best] if best > 0 else [-0.1, 0.1]}
    across = x("threshold", "Probability from which on one would act")

    def along(column: str) -> Spec:
        return {"x": across, "y": x(column, "Net benefit", scale=scale)}

    hover = tooltip(("threshold", "threshold"), ("net_benefit", "net benefit"), ("treat_all", "act on all"))
    line = along("net_benefit") | {"tooltip": hover}
    layers = [
        drawn_as("line", along("treat_all"), color=GREY, strokeDash=[4, 4], clip=True),
        drawn_as("line", along("treat_none"), color=GREY, clip=True),
        drawn_as("line", line, color=BLUE, strokeWidth=2.5, clip=True),
        touchable(line, clip=True),
    ]
    if "low" in table.columns:
        band = along("low") | {"y2": {"field": "high"}}
        layers.insert(0, drawn_as("area", band, color=BLUE, opacity=0.18, clip=True))
    words = "Net benefit of acting on the probability, against acting on every query (dashed) and on none (flat line)."
    return Figure("decision", "Is it worth acting on? Decision curve", words, table, _view(layers, 260))


def screening(content: Content) -> Figure | None:
    """What the lower threshold does."""
    table = content.figure("operating_screening")
    if table is None:
        return None
    lines = {"sensitivity": ("positives kept", BLUE), "neg_rate": ("queries skipped", ORANGE)}
    words = "What the threshold for skipping does: positives that are kept, against queries that nobody has to read."
    title = "Skipping: workload against the lower threshold"
    return Figure("operating_screening", title, words, table, _view(_swept(table, "tau_neg", lines), 260))


def alerts(content: Content) -> Figure | None:
    """What the upper threshold does."""
    table = content.figure("operating_alerts")
    if table is None:
        return None
    lines = {"alert_precision": ("alerts that are right", BLUE), "tpr": ("positives that alert", ORANGE)}
    words = "What the threshold for alerting does: how many alerts are right, against how many positives raise one."
    title = "Alerting: precision against the upper threshold"
    return Figure("operating_alerts", title, words, table, _view(_swept(table, "tau_pos", lines), 260))


def _swept(table: Table, axis: str, lines: dict[str, tuple[str, str]]) -> list[Spec]:
    """Lines over a threshold, with bands where there are any."""
    across = x("tau", axis, scale={"zero": True})
    legend: dict[str, Any] = {"domain": [name for name, _ in lines.values()], "range": [c for _, c in lines.values()]}
    layers: list[Spec] = []
    for column, (label, colour) in lines.items():
        if f"{column}_low" in table.columns:
            band = {"x": across, "y": x(f"{column}_low", "Share", scale=UNIT), "y2": {"field": f"{column}_high"}}
            layers.append(drawn_as("area", band, color=colour, opacity=0.15))
        line = {"x": across, "y": x(column, "Share", scale=UNIT), "tooltip": tooltip(("tau", axis), (column, label))}
        coloured = line | {"color": {"datum": label, "type": "nominal", "scale": legend}}
        layers += [drawn_as("line", coloured, strokeWidth=2.5), touchable(line)]
    return layers
