"""A selective comparison in figures and words: two systems at the same coverage, and the differences that could be tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.report.page.figure import Figure, Spec, table_of, tooltip, x
from evidentia.report.page.selective_figures import SHARE, Rows
from evidentia.report.page.selective_view import SelectiveView, labels
from evidentia.report.page.theme import BLUE, GREY, ORANGE, VERMILLION
from evidentia.results.names import parse_name
from evidentia.results.selective import REFUSED, UNTESTED

Delta = Mapping[str, Any]
VERDICTS = {"win": "better", "loss": "worse", "tie": "no difference shown", "differs": "differs"}
COLOURS = {"better": BLUE, "worse": VERMILLION, "no difference shown": GREY, "differs": ORANGE}
FAMILIES = {
    "measures": "Differences",
    "coverage": "Differences at the same coverage",
    "truncated": "Differences of areas up to a coverage",
}
FORESTS = {
    ("measures", "error"): "Areas under the risk curve",
    ("measures", "joint"): "Areas under the joint risk curve",
    ("coverage", "error"): "Mean error at the same coverage",
    ("truncated", "error"): "Areas under the risk curve, up to a coverage",
    ("truncated", "joint"): "Areas under the joint risk curve, up to a coverage",
}


@dataclass(frozen=True)
class Aside:
    """Differences that are not tested, all for one reason."""

    kind: str
    reason: str
    names: tuple[str, ...]


def key_of(delta: Delta) -> str:
    """How the numbers of a difference are marked in a page."""
    return f"{delta['name']}|{delta['system']}|{delta['baseline']}"


def verdict_of(delta: Delta) -> str:
    """What was found, in words; what was not tested is never a tie."""
    if delta["p"] is None:
        return aside_kind(delta)
    return VERDICTS.get(str(delta["verdict"]), "not decided")


def aside_kind(delta: Delta) -> str:
    """Why a difference has no test: refused, not tested, or not there."""
    reason = _reason(delta)
    return "refused" if reason.startswith(REFUSED) else "not tested" if reason.startswith(UNTESTED) else "out of reach"


def asides(deltas: Sequence[Delta]) -> list[Aside]:
    """What was not tested and why, by reason."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for delta in deltas:
        if delta["p"] is None:
            reason = _reason(delta).removeprefix(REFUSED).removeprefix(UNTESTED)
            found.setdefault((aside_kind(delta), reason), {})[_measure(delta)] = None
    return [Aside(kind, reason, tuple(names)) for (kind, reason), names in found.items()]


def matched_figures(view: SelectiveView) -> tuple[Figure, ...]:
    """The mean error at each coverage: of two systems by each signal, or of one system by all signals."""
    if view.comparison is None:
        rows = [row for signal in view.stems for row in _own_rows(view, signal, view.labels[signal])]
        made = [_matched(view, "matched", "Error at each coverage", rows, "confidence")]
    else:
        made = [
            _matched(
                view, f"matched_{view.stems[s]}", f"Error at the same coverage by {view.labels[s]}", rows, "system"
            )
            for s in view.stems
            if (rows := [*_own_rows(view, s, view.systems[0].label), *_their_rows(view, s)])
        ]
    return tuple(figure for figure in made if figure is not None)


def _own_rows(view: SelectiveView, signal: str, label: str) -> Rows:
    return [
        (label, entry["details"]["coverage"], entry["value"], *(entry["ci"] or (None, None)))
        for name, entry in view.measures.items()
        if _at_coverage(name) and entry["details"]["confidence"] == signal and entry["value"] is not None
    ]


def _their_rows(view: SelectiveView, signal: str) -> Rows:
    """The other system's values from the comparison; their intervals are those of its band, which is of the absolute error."""
    assert view.comparison is not None
    bands = view.content.figure(f"{view.systems[1].prefix}risk_coverage_band_{view.stems[signal]}")
    places = [] if bands is None else [bands.columns.index(c) for c in ("coverage", "risk_low", "risk_high")]
    limits = {row[places[0]]: (row[places[1]], row[places[2]]) for row in (() if bands is None else bands.rows)}
    rows: Rows = []
    for delta in view.comparison["deltas"]:
        group = dict(parse_name(delta["name"]).group)
        if (
            _at_coverage(delta["name"])
            and delta["baseline_value"] is not None
            and group.get("confidence", signal) == signal
        ):
            coverage = _cut(delta["name"])
            low, high = limits.get(coverage, (None, None)) if view.loss in {None, "abs"} else (None, None)
            rows.append((view.systems[1].label, coverage, delta["baseline_value"], low, high))
    return rows


def _matched(view: SelectiveView, name: str, title: str, rows: Rows, series: str) -> Figure | None:
    if not rows:
        return None
    table = table_of(name, title, (series, "coverage", "error", "low", "high"), rows)
    domain = list(dict.fromkeys(str(row[0]) for row in rows))
    colour: Spec = {
        "field": series,
        "type": "nominal",
        "sort": None,
        "scale": {"domain": domain},
        "legend": {"columns": 3, "symbolOpacity": 1},
    }
    if len(domain) == 1:
        colour["legend"] = None
    if series == "system":
        colour["scale"]["range"] = [BLUE, ORANGE][: len(domain)]
    up = "Mean error" if view.loss is None else f"Mean loss ({view.loss})"
    spread = {"xOffset": {"field": series, "type": "nominal", "sort": domain}} if len(domain) > 1 else {}
    across = {
        "field": "coverage",
        "type": "ordinal",
        "title": "Coverage: share of items answered",
        "axis": SHARE | {"labelAngle": 0},
    }
    hover = tooltip(
        *((f"{series}:n", series), ("coverage", "coverage"), ("error", up.lower())),
        *(("low", f"{view.percent} from"), ("high", "to")),
    )
    shared = {"x": across, "color": colour, **spread}
    spec = {
        "width": "container",
        "height": 260,
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.45},
                "encoding": shared | {"y": x("low", up), "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 75, "opacity": 1},
                "encoding": shared
                | {"y": x("error", up, scale={"zero": True}, axis={"tickCount": 5}), "tooltip": hover},
            },
        ],
    }
    words = (
        f"Mean error of the surest items, with {view.percent} intervals. Only at the same coverage may systems be "
        "compared; a mark is missing where one does not answer that much."
    )
    return Figure(name, title, words, table, spec)


def forest_figures(view: SelectiveView) -> tuple[Figure, ...]:
    """The differences that were tested, with intervals and what they mean; those on one scale in one figure."""
    if view.comparison is None:
        return ()
    made = []
    for (family, scale), title in FORESTS.items():
        tested = [
            d for d in view.comparison["deltas"] if d["family"] == family and d["p"] is not None and _scale(d) == scale
        ]
        if tested:
            made.append(_forest(view, f"deltas_{family}_{scale}", title, tested))
    return tuple(made)


def _forest(view: SelectiveView, name: str, title: str, deltas: Sequence[Delta]) -> Figure:
    signals = labels(dict.fromkeys(_signal(delta) for delta in deltas if _signal(delta)))
    rows: Rows = [
        (
            *(_measure(d), signals.get(_signal(d), "any"), d["delta"], *(d["ci"] or (None, None))),
            *(d["p_holm"], verdict_of(d)),
        )
        for d in deltas
    ]
    table = table_of(name, title, ("measure", "confidence", "difference", "low", "high", "p_holm", "verdict"), rows)
    several = len({row[1] for row in rows}) > 1
    hover = tooltip(
        *(("measure:n", "measure"), ("confidence:n", "confidence"), ("difference", "difference"), ("low", "from")),
        *(("high", "to"), ("p_holm", "p (Holm)"), ("verdict:n", "verdict")),
    )
    found = {str(row[6]) for row in rows}
    domain = [one for one in COLOURS if one in found or one != "differs"]
    colour = {
        "field": "verdict",
        "type": "nominal",
        "scale": {"domain": domain, "range": [COLOURS[one] for one in domain]},
        "legend": {"symbolType": "circle", "symbolOpacity": 1},
    }
    order = list(dict.fromkeys(str(row[0]) for row in rows))
    axis = {"ticks": False, "domain": False, "labelPadding": 8, "labelLimit": 190, "grid": several}
    up: Spec = {"y": {"field": "measure", "type": "nominal", "sort": order, "title": None, "axis": axis}}
    shape: Spec = {}
    if several:
        shown = list(dict.fromkeys(str(row[1]) for row in rows))
        up["yOffset"] = {"field": "confidence", "type": "nominal", "sort": shown}
        legend = {"columns": 3, "orient": "bottom", "symbolFillColor": GREY, "symbolStrokeColor": GREY}
        shape = {"shape": {"field": "confidence", "type": "nominal", "scale": {"domain": shown}, "legend": legend}}
    across = x("difference", "Difference; left of the line the error is smaller", axis={"tickCount": 5})
    spec = {
        "width": "container",
        "height": {"step": 15 if several else 24},
        "encoding": up | {"color": colour},
        "layer": [
            _zero(),
            {
                "mark": {"type": "rule", "strokeWidth": 2.5, "opacity": 0.55},
                "encoding": {"x": x("low", ""), "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 75, "opacity": 1},
                "encoding": {"x": across, "tooltip": hover, **shape},
            },
        ],
    }
    words = (
        f"{view.systems[0].label} minus {view.systems[1].label}, with {view.percent} intervals of each difference alone. "
        "The colour is the verdict after Holm's correction over its whole family, so an interval may clear the line and "
        "still be grey."
    )
    return Figure(name, title, words, table, spec, wide=name == "deltas_coverage_error")


def _zero() -> Spec:
    """The line of no difference, over the whole height."""
    place = {"x": x("zero", ""), "y": {"value": 0}, "y2": {"value": "height"}, "yOffset": {"value": 0}}
    return {
        "data": {"values": [{"zero": 0}]},
        "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
        "encoding": place | {"color": {"value": GREY}},
    }


def _reason(delta: Delta) -> str:
    return str(delta["warnings"][-1]) if delta["warnings"] else "undefined for at least one of the two"


def _at_coverage(name: str) -> bool:
    cut = parse_name(name).cut
    return cut is not None and cut.kind == "coverage"


def _cut(name: str) -> float:
    cut = parse_name(name).cut
    assert cut is not None
    assert cut.value is not None
    return float(cut.value)


def _measure(delta: Delta) -> str:
    return str(delta["name"]).partition("[")[0]


def _signal(delta: Delta) -> str:
    return dict(parse_name(str(delta["name"])).group).get("confidence", "")


def _scale(delta: Delta) -> str:
    base = parse_name(str(delta["name"])).base
    return "share" if base == "Cmax" else "joint" if base.endswith("AUGRC") else "error"
