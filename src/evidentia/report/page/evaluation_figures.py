"""The figures of an evaluated run. They draw what the result holds; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evidentia.report.page.content import Content
from evidentia.report.page.figure import Figure, field, table_of, tooltip, x
from evidentia.report.page.theme import BLUE, GREY, ORANGE, STAGES, STATES, VERMILLION
from evidentia.report.tables import Table, Value

UNIT = {"domain": [0, 1]}
CRITERION_PANELS = ("AUROC", "AUPRC", "nDCG@10", "EvidenceRecall")
FOLD_PANELS = ("AUROC", "AUPRC", "ECE", "nDCG@10", "EvidenceRecall", "ScreeningSensitivity", "AlertPrecision")


def evaluation_figures(content: Content) -> tuple[Figure, ...]:
    """Every figure that the result can fill, in reading order."""
    makers: tuple[Callable[[Content], Figure | None], ...] = (
        *(_roc, _pr, _reliability, _depth, _screening, _alerts, _decision, _attribution, _k_histogram, _folds),
    )
    made = [maker(content) for maker in makers]
    groups = [_groups(content, column, place) for place, column in enumerate(_group_columns(content))]
    return tuple(figure for figure in (*made[:4], *groups, *made[4:]) if figure is not None)


def _roc(content: Content) -> Figure | None:
    table = content.figure("roc")
    if table is None:
        return None
    spec = _curve(table, "fpr", "tpr", "False positive rate", "True positive rate")
    chance = {"mark": {"type": "line", "strokeDash": [4, 4], "color": GREY}, "encoding": _line_of(1)}
    spec["layer"].insert(0, {"data": {"values": [{"a": 0, "b": 0}, {"a": 1, "b": 1}]}, **chance})
    words = "ROC over all queries with its pointwise 95 % band (posts resampled); thin lines are folds, the dashed line is chance."
    return Figure("roc", "Telling evidence from none: ROC", words, table, spec)


def _pr(content: Content) -> Figure | None:
    table = content.figure("pr")
    if table is None:
        return None
    spec = _curve(table, "recall", "precision", "Recall", "Precision")
    spec["layer"].insert(
        0,
        {
            "mark": {"type": "line", "strokeDash": [4, 4], "color": VERMILLION},
            "encoding": {"x": x("recall", "Recall"), "y": x("prevalence", "Precision")},
        },
    )
    words = "Precision against recall with its pointwise 95 % band. The dashed line is the share of positives: what a coin would reach."
    return Figure("pr", "Precision and recall", words, table, spec)


def _curve(table: Table, along: str, up: str, title_x: str, title_y: str) -> dict[str, Any]:
    """A pooled curve with its band, and the folds as thin lines behind it."""
    across = x(along, title_x, scale=UNIT)
    layers: list[dict[str, Any]] = []
    if "low" in table.columns:
        band = {"x": across, "y": x("low", title_y, scale=UNIT), "y2": {"field": "high"}}
        layers.append({"mark": {"type": "area", "color": BLUE, "opacity": 0.18}, "encoding": band})
    folds = [field(column) for column in table.columns if column.startswith("fold ")]
    if folds:
        thin = {"x": across, "y": x("of fold", title_y, scale=UNIT), "detail": {"field": "fold", "type": "nominal"}}
        layers.append(
            {
                "transform": [{"fold": folds, "as": ["fold", "of fold"]}],
                "mark": {"type": "line", "color": GREY, "strokeWidth": 0.8, "opacity": 0.8},
                "encoding": thin | {"tooltip": tooltip(("fold:n", "fold"), (along, title_x), ("of fold", title_y))},
            }
        )
    shown = [(along, title_x), (up, title_y), *((("low", "from"), ("high", "to")) if "low" in table.columns else ())]
    line = {"x": across, "y": x(up, title_y, scale=UNIT), "tooltip": tooltip(*shown)}
    layers.append({"mark": {"type": "line", "color": BLUE, "strokeWidth": 2.5}, "encoding": line})
    layers.append({"mark": {"type": "point", "opacity": 0, "size": 80}, "encoding": line})
    return {"width": "container", "height": 320, "layer": layers}


def _line_of(_: int) -> dict[str, Any]:
    return {"x": x("a", ""), "y": x("b", "")}


def _reliability(content: Content) -> Figure | None:
    table = content.figure("reliability")
    if table is None:
        return None
    across = x("mean_prob", "Stated probability", scale=UNIT)
    hover = tooltip(
        *(
            ("low", "bin from"),
            ("high", "to"),
            ("n:c", "queries"),
            ("mean_prob", "stated"),
            ("positive_share", "observed"),
        ),
        *(("share_low", "observed from"), ("share_high", "to")),
    )
    diagonal = {
        "data": {"values": [{"a": 0, "b": 0}, {"a": 1, "b": 1}]},
        "mark": {"type": "line", "strokeDash": [4, 4], "color": GREY},
        "encoding": _line_of(1),
    }
    span = {"x": across, "y": x("share_low", "Observed share", scale=UNIT), "y2": {"field": "share_high"}}
    dots = {"x": across, "y": x("positive_share", "Observed share", scale=UNIT), "tooltip": hover}
    upper = {
        "width": 400,
        "height": 300,
        "layer": [
            diagonal,
            {"mark": {"type": "rule", "color": BLUE, "strokeWidth": 1.5}, "encoding": span},
            {"mark": {"type": "line", "color": BLUE, "strokeWidth": 1.5, "opacity": 0.5}, "encoding": dots},
            {"mark": {"type": "point", "filled": True, "size": 70, "color": BLUE}, "encoding": dots},
        ],
    }
    bins = {
        "x": x("low", "Stated probability", scale=UNIT, bin={"binned": True}),
        "x2": {"field": "high"},
        "y": x("n", "Queries"),
        "tooltip": hover,
    }
    lower = {"width": 400, "height": 70, "mark": {"type": "bar", "color": GREY}, "encoding": bins}
    spec = {"vconcat": [upper, lower], "transform": [{"filter": "datum.n > 0"}], "spacing": 8}
    words = "Stated probability against observed share in ten bins, with exact binomial limits; below, how many queries each bin holds."
    return Figure("reliability", "Do the probabilities mean what they say?", words, table, spec)


def _depth(content: Content) -> Figure | None:
    rows: list[tuple[Value, ...]] = []
    for measure in ("Recall", "nDCG"):
        for name, entry in content.numbers["measures"].items():
            base, _, depth = name.partition("@")
            if base == measure and depth.isdigit():
                rows.append((measure, int(depth), entry["value"], *(entry["ci"] or (None, None)), entry["n"]))
    if not rows:
        return None
    table = table_of("depth", "Ranking by depth", ("measure", "K", "value", "low", "high", "n"), rows)
    colour = {"field": "measure", "type": "nominal"}
    across = x(
        "K",
        "Depth K",
        scale={"type": "sqrt"},
        axis={"values": sorted({row[1] for row in rows}, key=float), "grid": False},
    )  # type: ignore[arg-type]
    hover = tooltip(
        ("measure:n", "measure"), ("K:c", "K"), ("value", "value"), ("low", "from"), ("high", "to"), ("n:c", "queries")
    )
    up = x("value", "Value", scale=UNIT)
    spec = {
        "width": "container",
        "height": 280,
        "encoding": {"x": across, "color": colour},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {"y": x("low", "Value", scale=UNIT), "y2": {"field": "high"}},
            },
            {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {"y": up}},
            {"mark": {"type": "point", "filled": True, "size": 60}, "encoding": {"y": up, "tooltip": hover}},
        ],
    }
    words = "Over queries that have evidence. Fixed depths describe the ranking; what a reader gets is decided by the dynamic K."
    return Figure("depth", "Recall and nDCG over depth", words, table, spec)


def _k_histogram(content: Content) -> Figure | None:
    rows: list[tuple[Value, ...]] = []
    for name, entry in content.numbers["measures"].items():
        for by, column in (("by state", "state"), ("by evidence", "has_evidence")):
            start = f"SelectedK[{column}="
            if name.startswith(start) and entry["distribution"]:
                group = name[len(start) : -1]
                label = (
                    {"0": "without evidence", "1": "with evidence"}.get(group, group) if column != "state" else group
                )
                rows += [(by, label, int(k), n) for k, n in entry["distribution"]["histogram"].items()]
    if not rows:
        return None
    table = table_of("dynamic_k_histogram", "Sentences selected", ("by", "group", "K", "queries"), rows)
    colours = STATES | {"with evidence": BLUE, "without evidence": GREY}
    present = [group for group in colours if any(row[1] == group for row in rows)]
    spec = {
        "facet": {"column": {"field": "by", "title": None, "sort": ["by state", "by evidence"]}},
        "spec": {
            "width": 400,
            "height": 220,
            "mark": {"type": "bar"},
            "encoding": {
                "x": {"field": "K", "type": "ordinal", "title": "Sentences selected", "axis": {"labelAngle": 0}},
                "y": x("queries", "Queries", stack=True),
                "color": {
                    "field": "group",
                    "type": "nominal",
                    "scale": {"domain": present, "range": [colours[g] for g in present]},
                },
                "order": {"field": "group"},
                "tooltip": tooltip(("group:n", "group"), ("K:c", "sentences"), ("queries:c", "queries")),
            },
        },
    }
    words = (
        "How many sentences a query returns. A pile at the smallest or largest K says that the rule is pinned there."
    )
    return Figure("dynamic_k_histogram", "How much a reader gets: dynamic K", words, table, spec, wide=True)


def _attribution(content: Content) -> Figure | None:
    found = content.table("attribution")
    if found is None:
        return None
    stages = {"retriever": "retriever cut", "gate": "gate", "k": "K", "ranking": "ranking"}
    places = [(found.columns.index(column), label) for column, label in stages.items()]
    rows = [(row[0], label, row[place]) for row in found.rows if row[0] != "all" for place, label in places]
    table = table_of("attribution", "Where evidence was lost", ("criterion", "stage", "missed"), rows)
    spec = {
        "width": "container",
        "height": {"step": 20},
        "mark": {"type": "bar"},
        "encoding": {
            "y": {
                "field": "criterion",
                "type": "nominal",
                "title": None,
                "sort": {"field": "missed", "op": "sum", "order": "descending"},
            },
            "x": x("missed", "Gold sentences missed"),
            "color": {
                "field": "stage",
                "type": "nominal",
                "scale": {"domain": list(STAGES), "range": list(STAGES.values())},
            },
            "tooltip": tooltip(("criterion:n", "criterion"), ("stage:n", "lost at"), ("missed:c", "sentences")),
        },
    }
    words = "Every gold sentence that was not returned, charged to the first stage that lost it: the one to mend."
    return Figure("attribution", "Where evidence was lost", words, table, spec)


def _folds(content: Content) -> Figure | None:
    measures: Mapping[str, Any] = content.numbers["measures"]
    rows: list[tuple[Value, ...]] = []
    for panel in FOLD_PANELS:
        for name, entry in measures.items():
            if name.startswith(f"{panel}[fold=") and entry["degenerate"] is None:
                rows.append(
                    (panel, name[len(panel) + 6 : -1], entry["value"], entry["n"], measures[panel]["fold_mean"])
                )
    if not rows:
        return None
    table = table_of("folds", "Spread over folds", ("measure", "fold", "value", "n", "mean"), rows)
    hover = tooltip(
        ("measure:n", "measure"), ("fold:n", "fold"), ("value", "value"), ("n:c", "n"), ("mean", "mean of folds")
    )
    spec = {
        "facet": {"field": "measure", "type": "nominal", "title": None, "sort": [p for p in FOLD_PANELS]},
        "columns": 4,
        "resolve": {"scale": {"x": "independent"}},
        "spec": {
            "width": 200,
            "height": 60,
            "layer": [
                {
                    "mark": {"type": "tick", "thickness": 2, "color": ORANGE, "height": 40},
                    "encoding": {"x": x("mean", "", scale={"zero": False})},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 70, "color": BLUE, "opacity": 0.8},
                    "encoding": {"x": x("value", "", scale={"zero": False}, axis={"tickCount": 3}), "tooltip": hover},
                },
            ],
        },
    }
    words = "Each dot is a fold, the orange mark is their mean. The spread over folds is not an interval: folds share training data."
    return Figure("folds", "Spread over folds", words, table, spec, wide=True)


def _decision(content: Content) -> Figure | None:
    table = content.figure("decision")
    if table is None:
        return None
    across = x("threshold", "Threshold: the probability from which on one would act")
    top = max((row[table.columns.index("net_benefit")] or 0.0) for row in table.rows)  # type: ignore[type-var]
    scale = {"domain": [-0.25 * float(top), 1.1 * float(top)], "clamp": True}  # type: ignore[arg-type]
    hover = tooltip(("threshold", "threshold"), ("net_benefit", "net benefit"), ("treat_all", "act on all"))
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "color": GREY, "strokeDash": [4, 4]},
            "encoding": {"x": across, "y": x("treat_all", "Net benefit", scale=scale)},
        },
        {
            "mark": {"type": "line", "color": GREY},
            "encoding": {"x": across, "y": x("treat_none", "Net benefit", scale=scale)},
        },
        {
            "mark": {"type": "line", "color": BLUE, "strokeWidth": 2.5},
            "encoding": {"x": across, "y": x("net_benefit", "Net benefit", scale=scale), "tooltip": hover},
        },
        {
            "mark": {"type": "point", "opacity": 0, "size": 80},
            "encoding": {"x": across, "y": x("net_benefit", "Net benefit", scale=scale), "tooltip": hover},
        },
    ]
    if "low" in table.columns:
        band = {"x": across, "y": x("low", "Net benefit", scale=scale), "y2": {"field": "high"}}
        layers.insert(0, {"mark": {"type": "area", "color": BLUE, "opacity": 0.18}, "encoding": band})
    words = "Net benefit of acting on the system's probability, against acting on every query (dashed) and on none (flat line)."
    return Figure(
        "decision",
        "Is it worth acting on? Decision curve",
        words,
        table,
        {"width": "container", "height": 280, "layer": layers},
    )


def _screening(content: Content) -> Figure | None:
    table = content.figure("operating_screening")
    columns = (("sensitivity", "screening sensitivity", BLUE), ("neg_rate", "share skipped", ORANGE))
    words = "What a lower threshold for skipping does: positives kept, against queries that nobody has to read. Explore, then tune on TUNE."
    return (
        None
        if table is None
        else Figure(
            "operating_screening",
            "Skipping: workload against the lower threshold",
            words,
            table,
            _swept(table, "tau_neg", columns),
        )
    )


def _alerts(content: Content) -> Figure | None:
    table = content.figure("operating_alerts")
    columns = (("alert_precision", "alert precision", BLUE), ("tpr", "positives alerted", ORANGE))
    words = (
        "What an upper threshold for alerting does: how many alerts are right, against how many positives raise one."
    )
    return (
        None
        if table is None
        else Figure(
            "operating_alerts",
            "Alerting: precision against the upper threshold",
            words,
            table,
            _swept(table, "tau_pos", columns),
        )
    )


def _swept(table: Table, axis: str, columns: tuple[tuple[str, str, str], ...]) -> dict[str, Any]:
    """Lines over a threshold, with bands where there are any."""
    across = x("tau", axis)
    layers: list[dict[str, Any]] = []
    for column, label, colour in columns:
        if f"{column}_low" in table.columns:
            band = {"x": across, "y": x(f"{column}_low", "Share", scale=UNIT), "y2": {"field": f"{column}_high"}}
            layers.append({"mark": {"type": "area", "color": colour, "opacity": 0.15}, "encoding": band})
        shown = {
            "x": across,
            "y": x(column, "Share", scale=UNIT),
            "color": {
                "datum": label,
                "type": "nominal",
                "scale": {"domain": [one[1] for one in columns], "range": [one[2] for one in columns]},
            },
            "tooltip": tooltip(("tau", axis), (column, label)),
        }
        layers.append({"mark": {"type": "line", "strokeWidth": 2.5, "interpolate": "step-before"}, "encoding": shown})
        layers.append({"mark": {"type": "point", "opacity": 0, "size": 60}, "encoding": shown})
    return {"width": "container", "height": 260, "layer": layers}


def _group_columns(content: Content) -> list[str]:
    """Criteria, then the slices that were asked for."""
    return ["criterion", *(content.manifest.get("options") or {}).get("by", ())]


def _groups(content: Content, column: str, place: int) -> Figure | None:
    """One panel for each measure, one bar for each group, best first, with intervals; few positives are faint."""
    measures: Mapping[str, Any] = content.numbers["measures"]
    rows: list[tuple[Value, ...]] = []
    for panel in CRITERION_PANELS:
        start = f"{panel}[{column}="
        for name, entry in measures.items():
            if name.startswith(start) and entry["degenerate"] is None:
                small = "few positives" if entry["warnings"] else "enough"
                rows.append(
                    (panel, name[len(start) : -1], entry["value"], *(entry["ci"] or (None, None)), entry["n"], small)
                )
    if not rows:
        return None
    columns = ("measure", column, "value", "low", "high", "n", "sample")
    table = table_of("groups", f"Per {column}", columns, rows)
    group = field(column)
    panels = [panel for panel in CRITERION_PANELS if any(row[0] == panel for row in rows)]
    spec = {
        "hconcat": [_panel(panel, group, first=panel == panels[0]) for panel in panels],
        "spacing": 18,
    }
    words = f"Each {column} with its 95 % interval, best first; faint bars rest on few positives, so their order means little."
    name = "criteria" if column == "criterion" else f"slice_{place}"
    return Figure(name, f"Measures per {column}", words, table, spec, wide=True)


def _panel(panel: str, group: str, *, first: bool) -> dict[str, Any]:
    rows = {"field": group, "type": "nominal", "title": None, "sort": {"field": "value", "order": "descending"}}
    hover = tooltip(
        (f"{group}:n", group),
        ("value", panel),
        ("low", "from"),
        ("high", "to"),
        ("n:c", "queries"),
        ("sample:n", "sample"),
    )
    faint = {"condition": {"test": "datum.sample == 'few positives'", "value": 0.35}, "value": 0.85}
    return {
        "title": panel,
        "width": 165,
        "height": {"step": 20},
        "transform": [{"filter": {"field": "measure", "equal": panel}}],
        "encoding": {"y": rows | {"axis": {"labelLimit": 110}}},
        "layer": [
            {
                "mark": {"type": "bar", "color": BLUE, "height": 12},
                "encoding": {
                    "x": x("value", "", scale=UNIT, axis={"tickCount": 3}),
                    "opacity": faint,
                    "tooltip": hover,
                },
            },
            {
                "mark": {"type": "rule", "color": ORANGE, "strokeWidth": 2},
                "encoding": {"x": x("low", ""), "x2": {"field": "high"}},
            },
        ],
    }
