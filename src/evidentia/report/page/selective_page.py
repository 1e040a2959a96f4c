"""What the page of a selective result puts where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidentia.report.page import selective_figures as drawn
from evidentia.report.page.content import Content
from evidentia.report.page.questionnaire_figures import questionnaire_figures
from evidentia.report.page.selective_view import SelectiveView, asides, coverage_of, measure_of, signal_of, verdict_of
from evidentia.report.wording import wording
from evidentia.results.names import parse_name

HALF = 0.5  # the coverage of the first screen, where the system reaches it
KINDS = wording("selective_kinds")
AREAS = wording("selective_areas")
FAMILIES = wording("selective_families")


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
    groups = {
        "item_figures": drawn.item_figures(view),
        "curve_figures": drawn.curve_figures(view),
        "matched_figures": drawn.matched_figures(view),
        "signal_figures": drawn.signal_figures(view),
        "forest_figures": drawn.forest_figures(view),
        "questionnaire_figures": questionnaire_figures(view),
    }
    figures = {name: [figure for figure in group if figure is not None] for name, group in groups.items()}
    return {
        "dataset": view.dataset,
        "view": view,
        "cards": cards(view),
        "best": view.ranked[0] if view.ranked else None,
        "kinds": _kinds(view),
        "matched_rows": [(name, entry) for name, entry in view.measures.items() if coverage_of(name) is not None],
        "signal_rows": list(view.excess.items()),
        "compared": _compared(view),
        "by_item": _by_item(view),
        "cut_offs": _cut_offs(view),
        **figures,
        "figures": tuple(figure for group in figures.values() for figure in group),
        "scripts": ("selective.js",),
    }


def cards(view: SelectiveView) -> list[Card]:
    """The five numbers that matter most, of those that the result has."""
    signal = next(iter(view.stems), None)
    areas = []
    for base, words in AREAS.items():
        area = next((pair for pair in view.measures.items() if _is_area(*pair, base, signal)), None)
        areas.append(Card(area[0], base, area[1], words, signal, area=True) if area else None)
    return [card for card in (_cmax(view), _at_one_coverage(view, signal), *areas) if card is not None]


def _cmax(view: SelectiveView) -> Card | None:
    if "Cmax" not in view.measures:
        return None
    words = (
        "The share of items that the system answers at all. On the others it abstains, and nothing below judges those."
    )
    return Card("Cmax", "Answered (Cmax)", view.measures["Cmax"], words)


def _at_one_coverage(view: SelectiveView, signal: str | None) -> Card | None:
    """The mean error at half of the items where it is known, else at the largest coverage that is reached."""
    at = {
        coverage: (name, entry)
        for name, entry in view.measures.items()
        if (coverage := coverage_of(name)) is not None and entry["details"]["confidence"] == signal
    }
    if not at:
        return None
    reached = [coverage for coverage, (_, entry) in at.items() if entry["value"] is not None]
    coverage = HALF if HALF in reached else max(reached, default=min(at))
    name, entry = at[coverage]
    scale = f", in points on a scale {view.scale}" if view.scale else ""
    loss = "error" if view.loss is None else f"loss ({view.loss})"
    half = "half" if coverage == HALF else f"{100 * coverage:g} %"
    words = (
        f"Mean {loss} when the surest {half} of all items is answered{scale}. Systems may be compared here: each answers "
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


def _kinds(view: SelectiveView) -> list[dict[str, Any]]:
    """All numbers, by what they are about."""
    by_kind: dict[str, list[tuple[str, Any]]] = {kind: [] for kind in KINDS}
    for name, entry in view.measures.items():
        by_kind[_kind(name)].append((name, entry))
    return [{"name": kind, "title": KINDS[kind], "rows": rows} for kind, rows in by_kind.items() if rows]


def _kind(name: str) -> str:
    parsed = parse_name(name)
    if parsed.group and parsed.group[0][0] == "item":
        return "by_item"
    if parsed.base.startswith("Total"):
        return "totals"
    if parsed.cut is not None:
        return "coverage" if parsed.cut.kind == "coverage" else "truncated"
    if dict(parsed.params).get("order") == "oracle":
        return "oracle"
    return "answers" if parsed.base in {"Cmax", "MAE", "WeightedKappa"} else "areas"


def _by_item(view: SelectiveView) -> dict[str, Any]:
    """Every item with its numbers, a column for each measure that is reported item by item."""
    items: dict[str, dict[str, tuple[str, Any]]] = {}
    for name, entry in view.measures.items():
        item = dict(parse_name(name).group).get("item")
        if item is not None:
            items.setdefault(item, {})[name.partition("[item=")[0]] = (name, entry)
    columns = dict.fromkeys(measure for cells in items.values() for measure in cells)
    return {"columns": list(columns), "rows": items}


def _cut_offs(view: SelectiveView) -> dict[int, dict[str, tuple[str, Any]]]:
    """Every cut-off with what is decided there, and the bounds of sensitivity and specificity."""
    cuts: dict[int, dict[str, tuple[str, Any]]] = {}
    for name, entry in view.measures.items():
        if "cut" in entry["details"]:
            cuts.setdefault(entry["details"]["cut"], {})[name.partition("@")[0]] = (name, entry)
    return cuts


def _compared(view: SelectiveView) -> dict[str, Any] | None:
    """The comparison, laid out: what is read first, each family, and what was not tested."""
    comparison = view.comparison
    if comparison is None:
        return None
    deltas = [
        {
            "key": f"{delta['name']}|{delta['system']}|{delta['baseline']}",  # how its numbers are marked in a page
            "said": verdict_of(delta),
            "signal": signal_of(delta),
            "measure": measure_of(delta),
            "delta": delta,
        }
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
    return (parsed.base == "Cmax" and not parsed.group) or (
        common and dict(parsed.params).get("ties", "step") == "step"
    )
