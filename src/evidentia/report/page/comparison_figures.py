"""The figures of a comparison. They draw the differences that the comparison holds; nothing is computed here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from evidentia.errors import InputError
from evidentia.measures import Definition, resolve
from evidentia.report.page.evaluation_page import FAMILIES
from evidentia.report.page.figure import Figure, Row, Spec, draw, table_of
from evidentia.report.page.theme import GREEN, GREY, PURPLE, VERMILLION
from evidentia.report.page.words import VERDICTS
from evidentia.report.tables import Value
from evidentia.results import pairs
from evidentia.results.profiles import HEADLINE, PROFILES

Delta = Mapping[str, Any]
Numbers = Mapping[str, Any]
DUMBBELLS = ("AUROC", "nDCG@10", "EvidenceRecall", "Recall@10")  # the first three that there are
STEPS = ("AUROC", "nDCG@10", "EvidenceRecall", "ScreeningSensitivity", "AlertPrecision", "ECE")
LOOKS = {  # colour and shape, so that a verdict can be told without colours
    "win": (GREEN, "triangle-up"),
    "loss": (VERMILLION, "triangle-down"),
    "differs": (PURPLE, "diamond"),
    "tie": (GREY, "circle"),
    "undefined": ("#c9d2dc", "cross"),
}
FEW = 20  # measures in a figure where none of the usual ones is compared
LONGEST = 60  # letters of a name in a title
TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
COLUMNS = (
    *("measure", "baseline", "system", "baseline value", "system value"),
    *("delta", "low", "high", "p_holm", "verdict", "n"),
)


def comparison_figures(numbers: Numbers) -> tuple[Figure, ...]:
    """Every figure that the comparison can fill, in reading order."""
    candidates = (steps(numbers), *forests(numbers), other_units(numbers), *dumbbells(numbers), verdicts(numbers))
    return tuple(figure for figure in candidates if figure is not None)


def forests(numbers: Numbers) -> list[Figure | None]:
    """Differences with intervals around a line at zero: a figure for each pair, all on the same axis."""
    profile, level = numbers["profile"], 100 * numbers["interval"]["level"]
    drawn = {
        (place, pair): [row_of(d) for d in headline(deltas) if d["delta"] is not None and in_unit(d, profile)]
        for place, pair, deltas in compared(numbers)
    }
    ends = [float(e) for rows in drawn.values() for row in rows for e in row[5:8] if isinstance(e, int | float)]
    scale, words = {"domain": [min([0.0, *ends]), max([0.0, *ends])], "nice": True}, f"{level:g}"
    return [
        _deltas("forest", rows, name=f"forest_{place}", pair=pair, height=24 * len(rows), scale=scale, level=words)
        for (place, pair), rows in drawn.items()
    ]


def other_units(numbers: Numbers) -> Figure | None:
    """Measures in units of their own, each on its own axis."""
    deltas = [d for _, _, own in compared(numbers) for d in headline(own)]
    rows = [row_of(d) for d in deltas if d["delta"] is not None and not in_unit(d, numbers["profile"])]
    return _deltas("forest_units", rows, width=room((row[2] for row in rows), 3, widest=120))


def dumbbells(numbers: Numbers) -> list[Figure | None]:
    """Baseline and system joined by a line, criterion by criterion."""
    figures = []
    for place, pair, deltas in compared(numbers):
        by_panel = {panel: _criteria(panel, deltas) for panel in DUMBBELLS}
        panels = [panel for panel, rows in by_panel.items() if rows][:3]
        rows = [row for panel in panels for row in by_panel[panel]]
        width = room((row[-2] for row in rows), max(len(panels), 1))
        listed = [{"panel": panel, "width": width} for panel in panels]
        names = {"name": f"dumbbells_{place}", "pair": pair}
        figures.append(_deltas("dumbbells", rows, ("criterion", "sample"), panels=listed, **names))
    return figures


def _criteria(panel: str, deltas: Sequence[Delta]) -> list[Row]:
    start = f"{panel}[criterion="
    return [
        (panel, *row_of(d)[1:], d["name"][len(start) : -1], "warned" if d["warnings"] else "enough")
        for d in deltas
        if d["name"].startswith(start) and d["delta"] is not None
    ]


def verdicts(numbers: Numbers) -> Figure | None:
    """How often a system was better, worse or neither, by what the measures are about."""
    rows = [row for _, pair, deltas in compared(numbers) for row in _counted(numbers, pair, deltas)]
    topics, several = _distinct(rows, 1), len(_distinct(rows, 0)) > 1
    size: Spec = {"width": 320 if several else "container", "height": 24 * len(topics)}
    table = table_of(("of", "about", "verdict", "measures", "place"), rows)
    figure = draw("verdicts", table, topics=topics, **size, **looks([row[2] for row in rows]))
    if figure is None or not several:
        return figure
    order = _distinct(rows, 0)
    facet = {"field": "of", "type": "nominal", "title": None, "sort": order, "header": {"labelLimit": 260}}
    return replace(figure, spec={"facet": facet, "columns": 2, "spacing": 24, "spec": figure.spec}, wide=True)


def _counted(numbers: Numbers, pair: str, deltas: Sequence[Delta]) -> list[Row]:
    counts = Counter((_topic(delta, numbers["profile"]), str(delta["verdict"])) for delta in deltas)
    places = list(VERDICTS)
    return [(pair, topic, VERDICTS[v], count, places.index(v)) for (topic, v), count in counts.items()]


def _topic(delta: Delta, profile: str) -> str:
    definition = definition_of(delta["name"], profile)
    if delta["family"] == "criteria":
        return "Per criterion"
    return FAMILIES.get(definition.measure.family, definition.measure.family) if definition else "Other measures"


def steps(numbers: Numbers) -> Figure | None:
    """The way of the headline measures through the configurations, with the interval of every step."""
    rows = _step_rows(numbers) if numbers.get("design") == "successive" else []
    names = _distinct(rows, -2)
    return _deltas("steps", rows, ("configuration", "value"), configurations=names, width=room(["0.000"], 3))


def _step_rows(numbers: Numbers) -> list[Row]:
    """A row for every configuration and measure; the first configuration has a value and no difference."""
    names = [f"{place}. {cut(name)}" for place, name in enumerate(numbers["systems"])]
    rows: list[Row] = []
    for place, _, deltas in compared(numbers):
        by_name = {d["name"]: d for d in headline(deltas)}
        chosen = [by_name[name] for name in STEPS if name in by_name] or list(by_name.values())[: len(STEPS)]
        for d in chosen if place == 1 else ():
            at_start = (row_of(d)[0], None, d["baseline"], None, d["baseline_value"], *(None,) * 4, "start", d["n"])
            rows.append((*at_start, names[0], d["baseline_value"]))
        rows += [(*row_of(d), names[place], d["system_value"]) for d in chosen]
    return rows


def _deltas(template: str, rows: Sequence[Row], further: Sequence[str] = (), **values: Any) -> Figure | None:
    """A figure of differences, with the looks of their verdicts and panels in the order of the measures."""
    look = looks([row[COLUMNS.index("verdict")] for row in rows])
    return draw(template, table_of((*COLUMNS, *further), rows), order=_distinct(rows, 0), **look, **values)


def _distinct(rows: Sequence[Row], place: int) -> list[Value]:
    return list(dict.fromkeys(row[place] for row in rows))


def compared(numbers: Numbers) -> list[tuple[int, str, list[Delta]]]:
    """Every pair: its place, its name for a title, and its deltas."""
    numbered = enumerate(pairs(numbers["systems"], numbers.get("design", "against first")), 1)
    return [
        (place, f"{cut(s)} against {cut(b)}", [d for d in numbers["deltas"] if (d["baseline"], d["system"]) == (b, s)])
        for place, (b, s) in numbered
    ]


def cut(name: str) -> str:
    """A name that fits into a title, without letters that would turn the rest of the title around.

    >>> len(cut("x" * 1000)), cut("a\u202eb")
    (60, 'ab')
    """
    plain = TURNING.sub("", name)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 3]}..."


@cache
def definition_of(name: str, profile: str) -> Definition | None:
    """What a measure's name means, if this version knows it."""
    try:
        return resolve(name.partition("[")[0], PROFILES[profile]).definition
    except (InputError, KeyError):
        return None


def in_unit(delta: Delta, profile: str) -> bool:
    """Whether a measure lives between 0 and 1 (or -1 and 1), so that differences can share an axis."""
    definition = definition_of(delta["name"], profile)
    bounds = (None, None) if definition is None else definition.measure.bounds
    return all(end is not None and abs(end) <= 1 for end in bounds)


def headline(deltas: Iterable[Delta]) -> list[Delta]:
    """The differences that a reader looks at first."""
    by_name = {d["name"]: d for d in deltas if d["family"] == "measures"}
    return [by_name[name] for name in HEADLINE if name in by_name] or list(by_name.values())[:FEW]


def row_of(delta: Delta) -> Row:
    """A delta as a row of a figure's table; an arrow marks a measure of which less is better."""
    arrow = " \N{DOWNWARDS ARROW}" if delta["direction"] == "lower" else ""
    return (
        *(delta["name"] + arrow, delta["baseline"], delta["system"], delta["baseline_value"], delta["system_value"]),
        *(delta["delta"], *(delta["ci"] or (None, None)), delta["p_holm"], VERDICTS[delta["verdict"]], delta["n"]),
    )


def looks(verdicts: Sequence[Value]) -> Spec:
    """Colour and shape by verdict, for those that there are."""
    present = {VERDICTS[verdict]: look for verdict, look in LOOKS.items() if VERDICTS[verdict] in verdicts}
    legend = {"symbolOpacity": 1, "symbolStrokeWidth": 0}
    base = {"field": "verdict", "type": "nominal", "title": None, "legend": legend}
    colours, shapes = ([look[i] for look in present.values()] for i in (0, 1))
    return {
        "color": base | {"scale": {"domain": list(present), "range": colours}},
        "shape": base | {"scale": {"domain": list(present), "range": shapes}},
    }


def room(labels: Iterable[object], panels: int, widest: int = 100) -> int:
    """How wide each of some panels beside each other can be in a wide figure, with these labels left of each."""
    letters = max((len(str(label)) for label in labels), default=0)
    return (1030 - 18 * panels) // panels - min(widest, 12 + 7 * letters) - 14
