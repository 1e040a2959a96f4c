"""Figures about what was tuned, or could be: dynamic K over gamma, and the grid that thresholds were chosen from."""

from __future__ import annotations

from typing import Any

from evidentia.report.page.content import Content
from evidentia.report.page.curve_figures import UNIT
from evidentia.report.page.figure import Figure, Spec, drawn_as, tooltip, touchable, x
from evidentia.report.page.theme import BLUE, GREEN, GREY, ORANGE
from evidentia.report.tables import Table

HELD = 0.5  # a limit that decides for more queries than this has pinned K
GRID_LINES = {
    "sensitivity": ("positives kept", BLUE),
    "workload": ("queries left to look at", ORANGE),
    "alert_precision": ("alerts that are right", GREEN),
}
DASHES = {"tau_neg": [6, 3], "tau_pos": [1, 3]}


def gamma(content: Content) -> Figure | None:
    """What a larger or smaller share of the candidates' probability would return."""
    table = content.figure("gamma_sweep")
    if table is None:
        return None
    hover = tooltip(
        *(("gamma", "gamma"), ("mean_k", "mean K"), ("evidence_recall", "evidence recall")),
        *(("workload:c", "sentences to read"), ("at_floor", "raised to the floor"), ("at_cap", "lowered to the cap")),
    )
    parts = [
        _over_gamma("evidence_recall", "Evidence recall", BLUE, hover, scale=UNIT),
        _over_gamma("mean_k", "Mean K", ORANGE, hover, scale={"zero": True}),
    ]
    words = (
        "K is the fewest sentences that hold a share gamma of the candidates' probability, from 2 to 10 and at most half of them. "
        "Mean K is over queries that the gate lets through. On evaluation data, for looking: gamma is chosen on TUNE."
    )
    spec = {"vconcat": parts, "spacing": 8}
    return Figure("gamma_sweep", "Other gammas: recall against reading", words + _pinned(table), table, spec)


def _over_gamma(column: str, title: str, colour: str, hover: list[Spec], *, scale: Spec) -> Spec:
    across = x(
        "gamma", "gamma", scale={"domain": [0.68, 0.97]}, axis={"values": [0.7, 0.8, 0.9, 0.95], "format": ".2f"}
    )
    line = {"x": across, "y": x(column, title, scale=scale), "tooltip": hover}
    layer = [
        drawn_as("line", line, color=colour, strokeWidth=2.5),
        drawn_as("point", line, color=colour, filled=True, size=70),
    ]
    return {"width": 400, "height": 140, "layer": layer}


def _pinned(table: Table) -> str:
    """Where gamma decides little or nothing, in words."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    same: dict[Any, list[str]] = {}
    for row in rows:
        same.setdefault(row["mean_k"], []).append(str(row["gamma"]))
    words = [
        f" K is pinned: its mean is the same at gamma {', '.join(equal)}."
        for mean, equal in same.items()
        if mean is not None and len(equal) > 1
    ]
    for column, limit in (("at_floor", "floor"), ("at_cap", "cap")):
        held = [str(row["gamma"]) for row in rows if float(row[column] or 0) > HELD]
        if held:
            words.append(f" At gamma {', '.join(held)} the {limit} decides K for most queries.")
    return "".join(words)


def threshold_grid(content: Content) -> Figure | None:
    """What every candidate threshold did on TUNE, and which were chosen."""
    table = content.figure("tune_grid")
    if table is None:
        return None
    labels, colours = zip(*GRID_LINES.values(), strict=True)
    legend = {"domain": list(labels), "range": list(colours)}
    ticks = {"values": [0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1], "format": "~g"}
    across = x("tau", "Threshold", scale={"type": "sqrt", "zero": True}, axis=ticks)
    layers: list[Spec] = [_chosen(across, name) for name in DASHES]
    for column, (label, _) in GRID_LINES.items():
        hover = tooltip(("fold:n", "fold"), ("tau", "threshold"), (column, label))
        line = {"x": across, "y": x(column, "Share", scale=UNIT), "detail": {"field": "fold", "type": "nominal"}}
        coloured = line | {"color": {"datum": label, "type": "nominal", "scale": legend}}
        known = {"transform": [{"filter": f"isValid(datum.{column})"}]}
        layers += [known | drawn_as("line", coloured, strokeWidth=1.2), known | touchable(line | {"tooltip": hover})]
    words = (
        "Measured on TUNE, where the thresholds were chosen, not on the queries of this evaluation; one line for each fold. "
        "Upright lines are the chosen thresholds: dashed the lower one, which sets what is kept "
        "and what is left to look at; dotted the upper one, "
        "which sets how many alerts are right."
    )
    spec = {"width": "container", "height": 320, "layer": layers}
    return Figure("threshold_grid", "What the thresholds were chosen from", words, table, spec, wide=True)


def _chosen(across: Spec, name: str) -> Spec:
    """An upright line at the chosen threshold of every fold."""
    encoding = {"x": across, "tooltip": tooltip(("chosen:n", "chosen"), ("fold:n", "fold"), ("tau", "threshold"))}
    rule = drawn_as("rule", encoding, color=GREY, strokeDash=DASHES[name], strokeWidth=1.5)
    return {"transform": [{"filter": f"indexof(datum.chosen, '{name}') >= 0"}], **rule}
