"""The picture of what becomes of the items: answered, and how well, or left open."""

from __future__ import annotations

from collections import Counter

from evidentia.report.page.figure import Figure, table_of, tooltip, x
from evidentia.report.page.selective_figures import Rows, row_axis
from evidentia.report.page.selective_view import DrawnSystem, SelectiveView
from evidentia.report.page.theme import BLUE, SKY, VERMILLION

MOST_ITEMS = 24  # rows of the picture of items; with more kinds of items they are drawn as one
OUTCOMES = {
    "exact": BLUE,
    "off by up to one point": SKY,
    "further off": VERMILLION,
    "answered": BLUE,
    "abstained": "#a3afbb",
}


def item_figures(view: SelectiveView) -> tuple[Figure, ...]:
    """One picture for each system of what becomes of its items."""
    return tuple(_items(view, system) for system in view.systems if system.items in view.content.items)


def _items(view: SelectiveView, system: DrawnSystem) -> Figure:
    columns, there = view.content.items[system.items], set(view.content.items["items"]["cluster_id"])
    kept = zip(*(columns[name] for name in ("cluster_id", "item", "pred", "gt")), strict=True)
    told = [(item, _outcome(view, pred, gt)) for one, item, pred, gt in kept if one in there]
    kinds = dict.fromkeys(item for item, _ in told)
    together = not view.people or len(kinds) > MOST_ITEMS
    counts = Counter(("all items" if together else item, outcome) for item, outcome in told)
    order = list(OUTCOMES)
    rows: Rows = [(item, outcome, n) for (item, outcome), n in counts.items()]
    rows.sort(key=lambda row: (0 if together else list(kinds).index(str(row[0])), order.index(str(row[1]))))
    present = [one for one in order if any(row[1] == one for row in rows)]
    table = table_of(f"{system.prefix}items", "Items", ("item", "outcome", "items"), rows)
    spec = {
        "width": "container",
        "height": {"step": 46 if together else 25},
        "transform": [{"calculate": f"indexof({present!r}, datum.outcome)", "as": "place"}],
        "mark": {"type": "bar", "height": {"band": 0.74}},
        "encoding": {
            "y": row_axis("item"),
            "x": x("items", "Items", stack="zero", axis={"tickMinStep": 1, "grid": False}),
            "order": {"field": "place"},
            "color": {
                "field": "outcome",
                "type": "nominal",
                "scale": {"domain": present, "range": [OUTCOMES[one] for one in present]},
                "legend": {"symbolType": "square", "columns": 2},
            },
            "tooltip": tooltip(("item:n", "item"), ("outcome:n", "outcome"), ("items:c", "items")),
        },
    }
    words = "Grey is what the system leaves open. Colours are its errors against the recorded score, not how severe anything is."
    if not view.people:
        words = "Grey is what the system leaves open."
    return Figure(f"{system.prefix}items", f"Answered and left open: {system.label}", words, table, spec)


def _outcome(view: SelectiveView, pred: str, gt: str) -> str:
    if not pred:
        return "abstained"
    if not view.people:
        return "answered"
    error = abs(float(pred) - float(gt))
    return "exact" if error == 0 else "off by up to one point" if error <= 1 else "further off"
