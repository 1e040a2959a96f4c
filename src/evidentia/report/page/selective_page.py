"""What the page of a selective result puts where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidentia.report.page.content import Content
from evidentia.report.page.evaluation_page import verification_state
from evidentia.report.page.selective_deltas import (
    FAMILIES,
    asides,
    forest_figures,
    key_of,
    matched_figures,
    verdict_of,
)
from evidentia.report.page.selective_figures import curve_figures, signal_figures
from evidentia.report.page.selective_items import item_figures
from evidentia.report.page.selective_view import SelectiveView
from evidentia.results.names import parse_name

HALF = 0.5  # the coverage of the first screen, where the system reaches it
KINDS = {
    "answers": "How much is answered, and how well",
    "coverage": "At the same coverage",
    "areas": "Areas over everything that is answered",
    "truncated": "Areas up to a coverage",
    "oracle": "The best that any confidence could reach with these answers",
}


@dataclass(frozen=True)
class Card:
    """One number of the first screen; an area always has Cmax beside it."""

    name: str
    title: str
    entry: Mapping[str, Any]
    words: str
    signal: str | None = None
    area: bool = False


def selective_page(content: Content) -> dict[str, Any]:
    """Everything that the template asks for."""
    view = SelectiveView(content)
    numbers = content.numbers
    items, curves, matched = item_figures(view), curve_figures(view), matched_figures(view)
    signals, forests = signal_figures(view), forest_figures(view)
    return {
        "title": f"Evidentia: {content.name}",
        "numbers": numbers,
        "measures": numbers["measures"],
        "dataset": numbers["dataset"],
        "view": view,
        "state": verification_state(content),
        "checks": numbers["checks"],
        "check_counts": Counter(check["status"] for check in numbers["checks"]),
        "cards": cards(view),
        "best": view.ranked[0] if view.ranked else None,
        "kinds": _kinds(view),
        "matched_rows": _at_coverages(view),
        "signal_rows": list(view.excess.items()),
        "compared": _compared(view),
        "item_figures": items,
        "curve_figures": curves,
        "matched_figures": matched,
        "signal_figures": signals,
        "forest_figures": forests,
        "figures": (*items, *curves, *matched, *signals, *forests),
        "scripts": ("selective.js",),
    }


def cards(view: SelectiveView) -> list[Card]:
    """The five numbers that matter most, of those that the result has."""
    signal = next(iter(view.stems), None)
    made = [_cmax(view), _at_one_coverage(view, signal)]
    for base, (title, words) in AREAS.items():
        found = next((pair for pair in view.measures.items() if _is_area(*pair, base, signal)), None)
        made.append(Card(found[0], title, found[1], words, signal, area=True) if found else None)
    return [card for card in made if card is not None]


AREAS = {
    "AURC": (
        "AURC",
        "Error averaged over every willingness to answer, from the surest item on. 0 is perfect; it grows with coverage.",
    ),
    "AUGRC": (
        "AUGRC",
        "Error that reaches a reader, averaged likewise; what is left open adds none. A share of the largest error, 0 is perfect.",
    ),
    "eAURC": (
        "eAURC",
        "What the confidence costs: AURC above that of a perfect order of the same answers. 0: it knows when it is wrong.",
    ),
}


def _cmax(view: SelectiveView) -> Card | None:
    if "Cmax" not in view.measures:
        return None
    words = (
        "The share of items that the system answers at all. On the others it abstains, and nothing below judges those."
    )
    return Card("Cmax", "Answered (Cmax)", view.measures["Cmax"], words)


def _at_one_coverage(view: SelectiveView, signal: str | None) -> Card | None:
    """The mean error at half of the items where it is known, else at the largest coverage that is reached."""
    found = {
        float(entry["details"]["coverage"]): (name, entry)
        for name, entry in view.measures.items()
        if _cut(name) == "coverage" and entry["details"]["confidence"] == signal
    }
    reached = [coverage for coverage, (_, entry) in found.items() if entry["value"] is not None]
    if not found:
        return None
    coverage = HALF if HALF in reached else max(reached, default=min(found))
    name, entry = found[coverage]
    top = view.dataset["item_max"]
    scale = f", in points on a scale from 0 to {top:g}" if view.people and top is not None else ""
    what = "error" if view.loss is None else f"loss ({view.loss})"
    half = "half" if coverage == HALF else f"{100 * coverage:g} %"
    words = (
        f"Mean {what} when the surest {half} of all items is answered{scale}. Systems may be compared here: each answers "
        "the same share."
    )
    return Card(name, f"Error at {100 * coverage:g} % coverage", entry, words, signal)


def _is_area(name: str, entry: Mapping[str, Any], base: str, signal: str | None) -> bool:
    """A whole step area of this kind in the order of this signal, with the loss that it usually has."""
    parsed = parse_name(name)
    params = dict(parsed.params)
    usual = params.get("order", "confidence") == "confidence" and params.get("ties", "step") == "step"
    return (
        parsed.base == base
        and parsed.cut is None
        and usual
        and entry["details"].get("confidence") == signal
        and ("plateau" in entry["details"])
    )


def _cut(name: str) -> str | None:
    cut = parse_name(name).cut
    return None if cut is None else cut.kind


def _kinds(view: SelectiveView) -> list[dict[str, Any]]:
    """All numbers, by what they are about."""
    made: dict[str, list[tuple[str, Any]]] = {kind: [] for kind in KINDS}
    for name, entry in view.measures.items():
        made[_kind(name)].append((name, entry))
    return [{"name": kind, "title": KINDS[kind], "rows": rows} for kind, rows in made.items() if rows]


def _kind(name: str) -> str:
    parsed = parse_name(name)
    if parsed.cut is not None:
        return "coverage" if parsed.cut.kind == "coverage" else "truncated"
    if dict(parsed.params).get("order") == "oracle":
        return "oracle"
    return "answers" if parsed.base in {"Cmax", "MAE"} else "areas"


def _at_coverages(view: SelectiveView) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, entry) for name, entry in view.measures.items() if _cut(name) == "coverage"]


def _compared(view: SelectiveView) -> dict[str, Any] | None:
    """The comparison, laid out: what is read first, each family, and what was not tested."""
    comparison = view.comparison
    if comparison is None:
        return None
    deltas = [
        {
            "key": key_of(delta),
            "said": verdict_of(delta),
            "signal": dict(parse_name(delta["name"]).group).get("confidence"),
        }
        | {"measure": delta["name"].partition("[")[0], "delta": delta}
        for delta in comparison["deltas"]
    ]
    own, other = view.systems
    return {
        "own": own,
        "other": other,
        "same_people": comparison["participants"] == view.dataset["participants"],
        "first": [row for row in deltas if _is_headline(row["delta"]["name"])],
        "families": [
            {"name": family, "title": title, "rows": rows}
            for family, title in FAMILIES.items()
            if (rows := [row for row in deltas if row["delta"]["family"] == family])
        ],
        "asides": asides(comparison["deltas"]),
        "coverages": view.content.table("coverages"),
    }


def _is_headline(name: str) -> bool:
    """Cmax, and step areas up to the common coverage: what two systems are compared by first."""
    parsed = parse_name(name)
    common = parsed.cut is not None and parsed.cut.kind == "C" and parsed.cut.value is None
    return parsed.base == "Cmax" or (common and dict(parsed.params).get("ties", "step") == "step")
