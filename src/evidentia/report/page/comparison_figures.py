"""The figures of a comparison. They draw the differences that the comparison holds; nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence

from evidentia.report.page.comparison_marks import (
    COLUMNS,
    HOVER,
    VERDICT,
    Delta,
    Numbers,
    Row,
    compared,
    cut,
    definition_of,
    facet,
    headline,
    in_unit,
    looks,
    room,
    row_of,
)
from evidentia.report.page.comparison_words import VERDICTS
from evidentia.report.page.evaluation_page import FAMILIES
from evidentia.report.page.figure import Figure, Spec, drawn_as, table_of, tooltip, x
from evidentia.report.page.theme import GREY

DUMBBELLS = ("AUROC", "nDCG@10", "EvidenceRecall", "Recall@10")  # the first three that there are
STEPS = ("AUROC", "nDCG@10", "EvidenceRecall", "ScreeningSensitivity", "AlertPrecision", "ECE")
START = "start"


def comparison_figures(numbers: Numbers) -> tuple[Figure, ...]:
    """Every figure that the comparison can fill, in reading order."""
    candidates = (steps(numbers), *forests(numbers), other_units(numbers), *dumbbells(numbers), verdicts(numbers))
    return tuple(figure for figure in candidates if figure is not None)


def forests(numbers: Numbers) -> list[Figure]:
    """Differences with intervals around a line at zero: a figure for each pair, all on the same axis."""
    drawn = {
        (place, name): [
            row_of(d) for d in headline(deltas) if d["delta"] is not None and in_unit(d, numbers["profile"])
        ]
        for place, name, deltas in compared(numbers)
    }
    ends = [float(e) for rows in drawn.values() for row in rows for e in row[5:8] if isinstance(e, int | float)]
    scale = {"domain": [min([0.0, *ends]), max([0.0, *ends])], "nice": True}
    words = (
        f"Differences of measures between 0 and 1, with {100 * numbers['interval']['level']:g} % intervals over the same draws of "
        "posts for both. Right of the line the system has the higher value; an arrow marks measures of which less is better."
    )
    figures = []
    for (place, name), rows in drawn.items():
        spec = {"width": "container", "height": 24 * len(rows), **_around_zero(rows, "measure", scale)}
        table = table_of(f"forest_{place}", name, COLUMNS, rows)
        figures += [Figure(f"forest_{place}", name, words, table, spec)] if rows else []
    return figures


def other_units(numbers: Numbers) -> Figure | None:
    """Measures in units of their own, each on its own axis."""
    profile = numbers["profile"]
    deltas = [d for _, _, mine in compared(numbers) for d in headline(mine)]
    rows = [row_of(d) for d in deltas if d["delta"] is not None and not in_unit(d, profile)]
    if not rows:
        return None
    table = table_of("forest_units", "Differences in other units", COLUMNS, rows)
    width = room((row[2] for row in rows), 3, widest=120)
    spec = {
        "facet": facet("measure", rows, 0),
        "columns": 3,
        "spacing": 24,
        "resolve": {"scale": {"x": "independent"}},
        "spec": {"width": width, "height": {"step": 26}, **_around_zero(rows, "system", {"zero": True})},
    }
    words = "Counts and the like have units of their own, so each has its own axis: sentences, or queries per 1,000."
    return Figure("forest_units", "Differences in other units", words, table, spec, wide=True)


def _around_zero(rows: Sequence[Row], down: str, scale: Spec) -> Spec:
    """A line at zero, and differences with their intervals."""
    look = looks([row[VERDICT] for row in rows])
    y = {"y": {"field": down, "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 150}}}
    axis = {"labelFlush": False, "tickCount": 6}
    across = x("delta", "Difference (system minus baseline)", scale=scale, axis=axis)
    span = {**y, "x": x("low", "", scale=scale), "x2": {"field": "high"}, "color": look["color"]}
    zero = drawn_as("rule", {"x": x("none", "", scale=scale)}, color=GREY, strokeWidth=1.5)
    dots = drawn_as("point", {**y, "x": across, **look, "tooltip": HOVER}, filled=True, size=85, opacity=1)
    return {
        "layer": [
            {"data": {"values": [{"none": 0}]}, **zero},
            drawn_as("rule", span, strokeWidth=2.5, opacity=0.8),
            dots,
        ]
    }


def dumbbells(numbers: Numbers) -> list[Figure]:
    """Baseline and system joined by a line, criterion by criterion."""
    figures = []
    for place, name, deltas in compared(numbers):
        by_panel = {panel: _criteria(panel, deltas) for panel in DUMBBELLS}
        panels = [panel for panel, rows in by_panel.items() if rows][:3]
        rows = [row for panel in panels for row in by_panel[panel]]
        if rows:
            title = f"Per criterion: {name}"
            spec = {"hconcat": [_dumbbell(panel, rows, len(panels)) for panel in panels], "spacing": 18}
            words = (
                "Open circles are the baseline, filled marks the system, largest gain first. Faint ones carry a warning (few "
                "posts, few queries with evidence, or no interval), so their order means little."
            )
            table = table_of(f"dumbbells_{place}", title, (*COLUMNS, "criterion", "sample"), rows)
            figures.append(Figure(f"dumbbells_{place}", title, words, table, spec, wide=True))
    return figures


def _criteria(panel: str, deltas: Sequence[Delta]) -> list[Row]:
    start = f"{panel}[criterion="
    return [
        (panel, *row_of(d)[1:], d["name"][len(start) : -1], "warned" if d["warnings"] else "enough")
        for d in deltas
        if d["name"].startswith(start) and d["delta"] is not None
    ]


def _dumbbell(panel: str, rows: Sequence[Row], panels: int) -> Spec:
    order = {"field": "delta", "op": "max", "order": "descending"}  # one order for all layers
    look = looks([row[VERDICT] for row in rows])
    near = {"zero": False, "nice": True, "padding": 6}
    before, after = (x(f"{side} value", "", scale=near, axis={"tickCount": 4}) for side in ("baseline", "system"))
    faint = {"opacity": {"condition": {"test": "datum.sample == 'warned'", "value": 0.4}, "value": 1}}
    hover = {"tooltip": [HOVER[0] | {"field": "criterion", "title": "criterion"}, *HOVER[1:]]}
    joined = {"x": before, "x2": {"field": "system value"}, "color": look["color"], **faint}
    down = {"field": "criterion", "type": "nominal", "title": None, "sort": order, "axis": {"labelLimit": 100}}
    return {
        "title": panel,
        "width": room((row[-2] for row in rows), panels),
        "height": {"step": 22},
        "transform": [{"filter": {"field": "measure", "equal": panel}}],
        "encoding": {"y": down},
        "layer": [
            drawn_as("rule", joined, strokeWidth=3),
            drawn_as("point", {"x": before, **faint, **hover}, color=GREY, filled=False, size=60, strokeWidth=2),
            drawn_as("point", {"x": after, **look, **faint, **hover}, filled=True, size=85),
        ],
    }


def verdicts(numbers: Numbers) -> Figure | None:
    """How often a system was better, worse or neither, by what the measures are about."""
    rows = [row for _, name, deltas in compared(numbers) for row in _counted(numbers, name, deltas)]
    if not rows:
        return None
    order = list(dict.fromkeys(row[1] for row in rows))
    bars = {
        "y": {"field": "about", "type": "nominal", "title": None, "sort": order, "axis": {"labelLimit": 190}},
        "x": x("measures", "Measures", stack="zero"),
        "color": looks([row[2] for row in rows])["color"],
        "order": {"field": "place", "type": "quantitative"},
        "tooltip": tooltip(("of:n", "of"), ("about:n", "about"), ("verdict:n", "verdict"), ("measures:c", "measures")),
    }
    table = table_of("verdicts", "Verdicts", ("of", "about", "verdict", "measures", "place"), rows)
    several = len({row[0] for row in rows}) > 1
    size: Spec = {"width": 320 if several else "container", "height": 24 * len(order)}
    panel = size | drawn_as("bar", bars, height=14)
    spec = {"facet": facet("of", rows, 0), "columns": 2, "spacing": 24, "spec": panel} if several else panel
    words = (
        "How many differences were shown after correction, by what the measures are about. Many measures say the same thing in "
        "other words, so their number is not evidence; no difference shown is not proof that there is none."
    )
    return Figure("verdicts", "Wins and losses", words, table, spec, wide=several)


def _counted(numbers: Numbers, name: str, deltas: Sequence[Delta]) -> list[Row]:
    counts: dict[tuple[str, str], int] = {}
    for delta in deltas:
        definition = definition_of(delta["name"], numbers["profile"])
        family = FAMILIES.get(definition.measure.family, definition.measure.family) if definition else "Other measures"
        about = "Per criterion" if delta["family"] == "criteria" else family
        counts[about, delta["verdict"]] = counts.get((about, delta["verdict"]), 0) + 1
    places = list(VERDICTS)
    return [(name, about, VERDICTS[v], count, places.index(v)) for (about, v), count in counts.items()]


def steps(numbers: Numbers) -> Figure | None:
    """The way of the headline measures through the configurations, with the interval of every step."""
    rows = _step_rows(numbers) if numbers.get("design") == "successive" else []
    if not rows:
        return None
    spec = {
        "facet": facet("measure", rows, 0),
        "columns": 3,
        "spacing": 22,
        "resolve": {"scale": {"y": "independent"}},
        "spec": _step_panel(rows),
    }
    words = (
        "Each configuration against the one before it. The short grey line is where the one before stood; the bar is the "
        "interval of the step, set upon it (it can reach past 1). Where the two do not touch, the interval excludes 0."
    )
    table = table_of("steps", "Step by step", (*COLUMNS, "configuration", "value"), rows)
    return Figure("steps", "Step by step", words, table, spec, wide=True)


def _step_rows(numbers: Numbers) -> list[Row]:
    """A row for every configuration and measure; the first configuration has a value and no difference."""
    names = [f"{place}. {cut(name)}" for place, name in enumerate(numbers["systems"])]
    rows: list[Row] = []
    for place, _, deltas in compared(numbers):
        by_name = {d["name"]: d for d in headline(deltas)}
        chosen = [by_name[name] for name in STEPS if name in by_name] or list(by_name.values())[: len(STEPS)]
        for d in chosen if place == 1 else ():
            at_start = (row_of(d)[0], None, d["baseline"], None, d["baseline_value"], *(None,) * 4, START, d["n"])
            rows.append((*at_start, names[0], d["baseline_value"]))
        rows += [(*row_of(d), names[place], d["system_value"]) for d in chosen]
    return rows


def _step_panel(rows: Sequence[Row]) -> Spec:
    look = looks([row[VERDICT] for row in rows])
    near = {"zero": False, "nice": True, "padding": 8}
    order = list(dict.fromkeys(row[-2] for row in rows))
    axis = {"labelAngle": -30, "labelLimit": 90}
    along = {"x": {"field": "configuration", "type": "ordinal", "title": None, "sort": order, "axis": axis}}
    value = {**along, "y": x("value", "", scale=near, axis={"tickCount": 4})}
    before = {**along, "y": x("baseline value", "", scale=near)}
    reach = {**along, "y": x("reach low", "", scale=near), "y2": {"field": "reach high"}, "color": look["color"]}
    ends = {f"reach {end}": f"datum['baseline value'] + datum.{end}" for end in ("low", "high")}
    start, taken, known = (
        [{"filter": test}]
        for test in (f"datum.verdict == '{START}'", f"datum.verdict != '{START}'", "datum.low != null")
    )
    dots = drawn_as("point", {**value, **look, "tooltip": HOVER}, filled=True, size=90, opacity=1)
    first = drawn_as("point", {**value, "tooltip": HOVER[:3]}, filled=False, color=GREY, size=60, strokeWidth=2)
    return {
        "width": room(["0.000"], 3),
        "height": 160,
        "transform": [{"calculate": words, "as": name} for name, words in ends.items()],
        "layer": [
            drawn_as("line", value, color=GREY, strokeWidth=1.5, opacity=0.7),
            {"transform": taken, **drawn_as("tick", before, color=GREY, thickness=2, width=20)},
            {"transform": known, **drawn_as("rule", reach, strokeWidth=3, opacity=0.75)},
            {"transform": start, **first},
            {"transform": taken, **dots},
        ],
    }
