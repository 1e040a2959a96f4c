"""What the figures of a comparison share: rows of deltas, and the looks of a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from evidentia.errors import InputError
from evidentia.measures import Definition, resolve
from evidentia.report.console import HEADLINE
from evidentia.report.page.comparison_words import VERDICTS
from evidentia.report.page.figure import Spec, tooltip
from evidentia.report.page.theme import GREEN, GREY, PURPLE, VERMILLION
from evidentia.report.tables import Value
from evidentia.results import pairs
from evidentia.results.profiles import PROFILES

Row = tuple[Value, ...]
Delta = Mapping[str, Any]
Numbers = Mapping[str, Any]
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
VERDICT = COLUMNS.index("verdict")
HOVER = tooltip(
    *(("measure:n", "measure"), ("system:n", "system"), ("system value", "its value"), ("baseline:n", "baseline")),
    *(("baseline value", "its value"), ("delta", "difference"), ("low", "from"), ("high", "to")),
    *(("p_holm", "corrected p"), ("verdict:n", "verdict"), ("n:c", "n")),
)


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
    present = [verdict for verdict in LOOKS if VERDICTS[verdict] in verdicts]
    domain = [VERDICTS[verdict] for verdict in present]
    colours, shapes = ([LOOKS[verdict][i] for verdict in present] for i in (0, 1))
    legend = {"symbolOpacity": 1, "symbolStrokeWidth": 0}
    base = {"field": "verdict", "type": "nominal", "title": None, "legend": legend}
    return {
        "color": base | {"scale": {"domain": domain, "range": colours}},
        "shape": base | {"scale": {"domain": domain, "range": shapes}},
    }


def facet(field: str, rows: Sequence[Row], place: int) -> Spec:
    """A panel for every value of a column, in the order of the rows."""
    order = list(dict.fromkeys(row[place] for row in rows))
    return {"field": field, "type": "nominal", "title": None, "sort": order, "header": {"labelLimit": 260}}


def room(labels: Iterable[object], panels: int, widest: int = 100) -> int:
    """How wide each of some panels beside each other can be in a wide figure, with these labels left of each."""
    letters = max((len(str(label)) for label in labels), default=0)
    return (1030 - 18 * panels) // panels - min(widest, 12 + 7 * letters) - 14
