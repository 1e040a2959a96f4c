"""Figures of an evaluated run that set groups beside each other: criteria, slices, folds, depths, states, stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidentia.report.page.content import Content
from evidentia.report.page.curve_figures import UNIT
from evidentia.report.page.figure import Figure, Spec, drawn_as, field, table_of, tooltip, x
from evidentia.report.page.theme import BLUE, GREY, ORANGE, STAGES, STATES
from evidentia.report.tables import Value
from evidentia.results.names import parse_name

PANELS = ("AUROC", "AUPRC", "nDCG@10", "EvidenceRecall")
FOLD_PANELS = (*PANELS[:2], "ECE", *PANELS[2:], "ScreeningSensitivity", "AlertPrecision")


def entries(content: Content, measure: str, column: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The groups of a column with the entries of one measure."""
    measures: Mapping[str, Mapping[str, Any]] = content.numbers["measures"]
    named = ((parse_name(name).group, entry) for name, entry in measures.items() if name.startswith(f"{measure}["))
    return [(group[0][1], entry) for group, entry in named if [key for key, _ in group] == [column]]


def depth(content: Content) -> Figure | None:
    """Recall and nDCG over the depth of the ranking."""
    rows: list[tuple[Value, ...]] = []
    for name, entry in content.numbers["measures"].items():
        measure, _, at = name.partition("@")
        if measure in {"Recall", "nDCG"} and at.isdigit():
            rows.append((measure, int(at), entry["value"], *(entry["ci"] or (None, None)), entry["n"]))
    if not rows:
        return None
    table = table_of("depth", "Ranking by depth", ("measure", "K", "value", "low", "high", "n"), rows)
    limits = (("low", "from"), ("high", "to"))
    hover = tooltip(("measure:n", "measure"), ("K:c", "K"), ("value", "value"), *limits, ("n:c", "queries"))
    ticks = {"values": list(dict.fromkeys(row[1] for row in rows)), "grid": False}
    up, band = x("value", "Value", scale=UNIT), {"y": x("low", "Value", scale=UNIT), "y2": {"field": "high"}}
    colour = {"field": "measure", "type": "nominal", "legend": {"symbolOpacity": 1}}
    spec = {
        "width": "container",
        "height": 320,
        "encoding": {"x": x("K", "Depth K", scale={"type": "sqrt"}, axis=ticks), "color": colour},
        "layer": [
            drawn_as("area", band, opacity=0.18),
            drawn_as("line", {"y": up}, strokeWidth=2.5),
            drawn_as("point", {"y": up, "tooltip": hover}, filled=True, size=60),
        ],
    }
    words = "Over queries that have evidence. Fixed depths describe the ranking; what a reader gets is decided by the dynamic K."
    return Figure("depth", "Recall and nDCG over depth", words, table, spec)


def dynamic_k(content: Content) -> Figure | None:
    """How many sentences are selected, by state and by evidence."""
    evidence = {"0": "without evidence", "1": "with evidence"}
    rows: list[tuple[Value, ...]] = []
    for by, column in (("by state", "state"), ("by evidence", "has_evidence")):
        for group, entry in entries(content, "SelectedK", column):
            label = group if column == "state" else evidence.get(group, group)
            rows += [(by, label, int(k), n) for k, n in (entry["distribution"] or {}).get("histogram", {}).items()]
    if not rows:
        return None
    table = table_of("dynamic_k_histogram", "Sentences selected", ("by", "group", "K", "queries"), rows)
    colours = STATES | {"with evidence": BLUE, "without evidence": GREY}
    present = [group for group in colours if any(row[1] == group for row in rows)]
    scale = {"domain": present, "range": [colours[group] for group in present]}
    bars = {
        "x": {"field": "K", "type": "ordinal", "title": "Sentences selected", "axis": {"labelAngle": 0}},
        "y": x("queries", "Queries", stack=True),
        "color": {"field": "group", "type": "nominal", "scale": scale},
        "tooltip": tooltip(("group:n", "group"), ("K:c", "sentences"), ("queries:c", "queries")),
    }
    facet = {"column": {"field": "by", "title": None, "sort": ["by state", "by evidence"]}}
    spec = {"facet": facet, "spec": {"width": 400, "height": 220, **drawn_as("bar", bars)}}
    words = (
        "How many sentences a query returns. A pile at the smallest or largest K says that the rule is pinned there."
    )
    return Figure("dynamic_k_histogram", "How much a reader gets: dynamic K", words, table, spec, wide=True)


def attribution(content: Content) -> Figure | None:
    """Which stage lost the evidence that was missed."""
    losses = content.table("attribution")
    if losses is None:
        return None
    stages = {"retriever": "retriever cut", "gate": "gate", "k": "K", "ranking": "ranking"}
    places = [(losses.columns.index(column), label) for column, label in stages.items()]
    rows = [(row[0], label, row[place]) for row in losses.rows if row[0] != "all" for place, label in places]
    table = table_of("attribution", "Where evidence was lost", ("criterion", "stage", "missed"), rows)
    order = {"field": "missed", "op": "sum", "order": "descending"}
    bars = {
        "y": {"field": "criterion", "type": "nominal", "title": None, "sort": order, "axis": {"labelLimit": 140}},
        "x": x("missed", "Gold sentences missed"),
        "color": {"field": "stage", "type": "nominal", "scale": {"domain": [*STAGES], "range": [*STAGES.values()]}},
        "tooltip": tooltip(("criterion:n", "criterion"), ("stage:n", "lost at"), ("missed:c", "sentences")),
    }
    spec = {"width": "container", "height": 20 * max(len({row[0] for row in rows}), 1), **drawn_as("bar", bars)}
    words = "Every gold sentence that was not returned, charged to the first stage that lost it: the one to mend."
    return Figure("attribution", "Where evidence was lost", words, table, spec)


def folds(content: Content) -> Figure | None:
    """The spread over folds."""
    measures: Mapping[str, Any] = content.numbers["measures"]
    rows: list[tuple[Value, ...]] = [
        (panel, fold, entry["value"], entry["n"], measures[panel]["fold_mean"])
        for panel in FOLD_PANELS
        for fold, entry in entries(content, panel, "fold")
        if entry["degenerate"] is None
    ]
    if not rows:
        return None
    table = table_of("folds", "Spread over folds", ("measure", "fold", "value", "n", "mean"), rows)
    shown = (("measure:n", "measure"), ("fold:n", "fold"), ("value", "value"), ("n:c", "n"), ("mean", "mean of folds"))
    close = {"zero": False}
    dots = {"x": x("value", "", scale=close, axis={"tickCount": 3}), "tooltip": tooltip(*shown)}
    layers = [
        drawn_as("tick", {"x": x("mean", "", scale=close)}, thickness=2, color=ORANGE, height=40),
        drawn_as("point", dots, filled=True, size=70, color=BLUE, opacity=0.8),
    ]
    spec = {
        "facet": {"field": "measure", "type": "nominal", "title": None, "sort": list(FOLD_PANELS)},
        "columns": 4,
        "resolve": {"scale": {"x": "independent"}},
        "spec": {"width": 200, "height": 60, "layer": layers},
    }
    words = "Each dot is a fold, the orange mark their mean. The spread over folds is not an interval: folds share training data."
    return Figure("folds", "Spread over folds", words, table, spec, wide=True)


def groups(content: Content, column: str, place: int) -> Figure | None:
    """One panel for each measure, one bar for each group, best first, with intervals; few positives are faint."""
    rows: list[tuple[Value, ...]] = []
    for panel in PANELS:
        for group, entry in entries(content, panel, column):
            if entry["degenerate"] is None:
                sample = "few positives" if entry["warnings"] else "enough"
                rows.append((panel, group, entry["value"], *(entry["ci"] or (None, None)), entry["n"], sample))
    if not rows:
        return None
    table = table_of("groups", f"Per {column}", ("measure", "group", "value", "low", "high", "n", "sample"), rows)
    panels = [panel for panel in PANELS if any(row[0] == panel for row in rows)]
    spec = {"hconcat": [_panel(panel, column) for panel in panels], "spacing": 18}
    words = f"Each {column} with its 95 % interval, best first; faint bars rest on few positives, so their order means little."
    name = "criteria" if column == "criterion" else f"slice_{place}"
    return Figure(name, f"Measures per {column}", words, table, spec, wide=True)


def _panel(panel: str, column: str) -> Spec:
    order = {"field": "value", "op": "max", "order": "descending"}  # one order for both layers
    limits = (("low", "from"), ("high", "to"), ("n:c", "queries"), ("sample:n", "sample"))
    faint = {"condition": {"test": "datum.sample == 'few positives'", "value": 0.35}, "value": 0.85}
    bars = {
        "x": x("value", "", scale=UNIT, axis={"tickCount": 3}),
        "opacity": faint,
        "tooltip": tooltip(("group:n", field(column)), ("value", panel), *limits),
    }
    return {
        "title": panel,
        "width": 165,
        "height": {"step": 20},
        "transform": [{"filter": {"field": "measure", "equal": panel}}],
        "encoding": {
            "y": {"field": "group", "type": "nominal", "title": None, "sort": order, "axis": {"labelLimit": 110}}
        },
        "layer": [
            drawn_as("bar", bars, color=BLUE, height=12),
            drawn_as("rule", {"x": x("low", ""), "x2": {"field": "high"}}, color=ORANGE, strokeWidth=2),
        ],
    }
