"""The figures of a selective result. They draw what the result holds; nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evidentia.report.page.figure import Figure, Spec, table_of, tooltip, x
from evidentia.report.page.selective_view import DrawnSystem, SelectiveView
from evidentia.report.page.theme import BLUE, GREY, ORANGE, PURPLE
from evidentia.report.tables import Table, Value
from evidentia.results.names import parse_name

MOST_POINTS = 500
SIDES = (BLUE, ORANGE)
SHARE = {"format": ".3~%", "grid": False, "tickCount": 6}
Rows = list[tuple[Value, ...]]


def curve_figures(view: SelectiveView) -> tuple[Figure, ...]:
    """Risk and joint risk over coverage, a pair for each signal, best signal first."""
    made = [_curve(view, signal, column) for signal in view.stems for column in ("risk", "joint_risk")]
    return tuple(figure for figure in made if figure is not None)


def signal_figures(view: SelectiveView) -> tuple[Figure, ...]:
    """Which confidence is worth most, and what ties do to the areas."""
    made = (_ranking(view), _ties(view, "AURC"), _ties(view, "AUGRC"), _overlay(view))
    return tuple(figure for figure in made if figure is not None)


def _curve(view: SelectiveView, signal: str, column: str) -> Figure | None:
    """One curve for each system, with its band, its end, and how far both reach."""
    drawn = {system.label: found for system in view.systems if (found := _drawn(view, system, signal, column))}
    rows, shown = [row for found in drawn.values() for row in found], list(drawn)
    if not rows:
        return None
    joint = column == "joint_risk"
    label, up = view.labels[signal], "Joint risk" if joint else "Mean error of what is answered"
    table = table_of(column, up, ("system", "part", "coverage", "risk", "low", "high"), rows)
    across = x("coverage", "Coverage: share of items answered", scale={"domain": [0, 1]}, axis=SHARE)
    height = x("risk", up, axis={"tickCount": 5})
    colour = {
        "field": "system",
        "type": "nominal",
        "scale": {"domain": shown, "range": list(SIDES[: len(shown)])},
        "legend": None if len(shown) < 2 else {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1},
    }
    hover = tooltip(
        *(("system:n", "system"), ("coverage", "coverage"), ("risk", up.lower())),
        *(("low", f"{view.percent} from"), ("high", "to")),
    )
    band = {"x": across, "y": x("low", up), "y2": {"field": "high"}, "color": colour}
    line = {"x": across, "y": height, "color": colour}
    layers: list[Spec] = [
        *_reach(view),
        {"transform": _only("band"), "mark": {"type": "area", "opacity": 0.16}, "encoding": band},
        {"transform": _only("curve"), "mark": {"type": "line", "strokeWidth": 2.2, "clip": True}, "encoding": line},
        {
            "transform": _only("end"),
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": line,
        },
        {"mark": {"type": "point", "filled": True, "opacity": 0, "size": 90}, "encoding": line | {"tooltip": hover}},
    ]
    ends = "Each curve ends in a dot, at its Cmax: beyond it the system does not answer."
    what = (
        "Error that reaches a reader, spread over all items: what is left open adds none. The area below is AUGRC, up to its scale."
        if joint
        else "Items are taken in from the surest on; the curve is their mean error so far. The area below is AURC."
    )
    bands = f" Shaded: pointwise {view.percent} intervals, {_units(view)} resampled." if _has_bands(rows) else ""
    title = f"{'Generalised risk (joint risk)' if joint else 'Risk and coverage'} by {label}"
    spec = {"width": "container", "height": 300, "layer": layers}
    return Figure(f"{column}_{view.stems[signal]}", title, f"{what} {ends}{bands}{_of_abs(view)}", table, spec)


def _drawn(view: SelectiveView, system: DrawnSystem, signal: str, column: str) -> Rows:
    """A curve's points, at most 500, its band where there is one, and its end."""
    stem = view.stems[signal]
    steps = view.content.figure(f"{system.prefix}risk_coverage_{stem}")
    if steps is None or not steps.rows:
        return []
    points = [_cells(steps, row, "coverage", column) for row in thinned(steps.rows)]
    made: Rows = [(system.label, "curve", *point, None, None) for point in points]
    bands = view.content.figure(f"{system.prefix}risk_coverage_band_{stem}")
    for row in () if bands is None else bands.rows:
        cells = _cells(bands, row, "coverage", column, f"{column}_low", f"{column}_high")
        if cells[1] is not None and cells[2] is not None:
            made.append((system.label, "band", *cells))
    return [*made, (system.label, "end", *points[-1], None, None)]


def thinned(rows: Sequence[tuple[Value, ...]], most: int = MOST_POINTS) -> list[tuple[Value, ...]]:
    """Evenly spaced rows, the first and the last among them.

    >>> [row[0] for row in thinned([(k,) for k in range(10)], 4)]
    [0, 3, 6, 9]
    """
    last = len(rows) - 1
    if last < most:
        return list(rows)
    return [rows[round(place * last / (most - 1))] for place in range(most)]


def _overlay(view: SelectiveView) -> Figure | None:
    """The curves of all signals of the run itself, without bands."""
    if len(view.stems) < 2:
        return None
    rows: Rows = []
    for signal, stem in view.stems.items():
        steps = view.content.figure(f"risk_coverage_{stem}")
        for row in () if steps is None else thinned(steps.rows):
            rows.append((view.labels[signal], *_cells(steps, row, "coverage", "risk")))
    if not rows:
        return None
    table = table_of("signals_risk", "Risk by signal", ("confidence", "coverage", "risk"), rows)
    encoding = {
        "x": x("coverage", "Coverage: share of items answered", scale={"domain": [0, 1]}, axis=SHARE),
        "y": x("risk", "Mean error of what is answered", axis={"tickCount": 5}),
        "color": {
            "field": "confidence",
            "type": "nominal",
            "scale": {"domain": [view.labels[signal] for signal in view.stems]},
            "legend": {"symbolType": "stroke", "symbolStrokeWidth": 3, "columns": 3},
        },
    }
    hover = tooltip(("confidence:n", "confidence"), ("coverage", "coverage"), ("risk", "mean error"))
    layers = [
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": encoding},
        {
            "mark": {"type": "point", "filled": True, "opacity": 0, "size": 70},
            "encoding": encoding | {"tooltip": hover},
        },
    ]
    words = (
        f"The same answers of {view.systems[0].label}, put in order by each confidence. A good confidence keeps the curve low for "
        f"long; all end in the same point.{_of_abs(view)}"
    )
    spec = {"width": "container", "height": 300, "layer": layers}
    return Figure("signals_risk", "All confidence signals", words, table, spec, wide=True)


def _ranking(view: SelectiveView) -> Figure | None:
    rows: Rows = [
        (view.labels[signal], place, entry["value"], *(entry["ci"] or (None, None)))
        for place, (signal, (_, entry)) in enumerate(view.excess.items(), 1)
        if signal in view.ranked
    ]
    if not rows:
        return None
    table = table_of("signals", "Signals", ("confidence", "rank", "eAURC", "low", "high"), rows)
    hover = tooltip(
        ("confidence:n", "confidence"), ("rank:c", "rank"), ("eAURC", "eAURC"), ("low", "from"), ("high", "to")
    )
    across = x(
        "eAURC", "eAURC: what the confidence costs (0 is a perfect order)", scale={"zero": True}, axis={"tickCount": 5}
    )
    spec = {
        "width": "container",
        "height": {"step": 34},
        "encoding": {"y": row_axis("confidence")},
        "layer": [
            {
                "mark": {"type": "rule", "color": BLUE, "strokeWidth": 3, "opacity": 0.45},
                "encoding": {"x": x("low", ""), "x2": {"field": "high"}},
            },
            {"mark": _dot(BLUE, 110), "encoding": {"x": across, "tooltip": hover}},
        ],
    }
    one = " Choosing one here is exploration: confirm it on other data." if len(rows) > 1 else ""
    words = (
        f"Excess area over a perfect order of the same answers, with {view.percent} intervals, best first. Intervals that "
        f"overlap widely leave the order open.{one}"
    )
    return Figure("signals", "Which confidence knows best when it is wrong?", words, table, spec, wide=True)


def _ties(view: SelectiveView, base: str) -> Figure | None:
    rows: Rows = []
    for name, entry in view.measures.items():
        ties = entry["details"].get("tie_sensitivity")
        parsed = parse_name(name)
        unusual = view.loss is None and parsed.params
        if ties is None or entry["degenerate"] or parsed.base != base or unusual:
            continue
        label = view.labels[entry["details"]["confidence"]]
        rows.append((label, ties["best"], ties["expected"], ties["worst"], entry["value"], ties["tied_items"]))
    if not rows:
        return None
    order = [view.labels[signal] for signal in view.stems]
    rows.sort(key=lambda row: order.index(str(row[0])))
    table = table_of(
        f"ties_{base}", f"Ties: {base}", ("confidence", "best", "expected", "worst", "reported", "tied"), rows
    )
    hover = tooltip(
        *(("confidence:n", "confidence"), ("best", "best order"), ("expected", "expected"), ("worst", "worst order")),
        *(("reported", "as reported"), ("tied:c", "tied items")),
    )
    zero = {"scale": {"zero": True}, "axis": {"tickCount": 5}}
    spec = {
        "width": "container",
        "height": {"step": 34},
        "encoding": {"y": row_axis("confidence"), "tooltip": hover},
        "layer": [
            {
                "mark": {"type": "bar", "color": PURPLE, "opacity": 0.35, "height": 12, "cornerRadius": 6},
                "encoding": {"x": x("best", base, **zero), "x2": {"field": "worst"}},
            },
            {
                "mark": {"type": "tick", "color": PURPLE, "thickness": 3, "height": 22},
                "encoding": {"x": x("expected", base)},
            },
            {"mark": _dot(BLUE, 80), "encoding": {"x": x("reported", base)}},
        ],
    }
    words = (
        "Items of equal confidence can be put in any order. The bar runs from the luckiest to the unluckiest one, the tick is the "
        "mean over all of them, the dot is what is reported. A long bar: the confidence is too coarse to tell."
    )
    return Figure(f"ties_{base}", f"How much ties matter: {base}", words, table, spec)


def _reach(view: SelectiveView) -> list[Spec]:
    """A line where the first of two systems stops answering."""
    if view.comparison is None:
        return []
    data = {"values": [{"at": view.comparison["common_coverage"], "words": "both answer up to here"}]}
    across = {"x": {"field": "at", "type": "quantitative"}}
    return [
        {"data": data, "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY}, "encoding": across},
        {
            "data": data,
            "mark": {"type": "text", "align": "right", "dx": -6, "y": 8, "fontSize": 11},
            "encoding": across | {"text": {"field": "words"}},
        },
    ]


def row_axis(name: str) -> Spec:
    """Rows with their names to the left, in the order of the data."""
    return {
        "field": name,
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"ticks": False, "domain": False, "labelPadding": 8, "labelLimit": 150},
    }


def _dot(colour: str, size: int) -> Spec:
    return {"type": "point", "filled": True, "size": size, "color": colour, "opacity": 1}


def _only(part: str) -> list[Any]:
    return [{"filter": f"datum.part === '{part}'"}]


def _cells(table: Table | None, row: tuple[Value, ...], *columns: str) -> tuple[Value, ...]:
    assert table is not None
    return tuple(row[table.columns.index(column)] for column in columns)


def _has_bands(rows: Rows) -> bool:
    return any(row[1] == "band" for row in rows)


def _units(view: SelectiveView) -> str:
    return f"{view.dataset['unit']}s"


def _of_abs(view: SelectiveView) -> str:
    """Curves are of the absolute error, whatever loss the areas were asked for."""
    return (
        ""
        if view.loss is None
        else f" Drawn with the absolute error; the numbers of this result use the loss {view.loss}."
    )
