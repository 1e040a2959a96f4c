"""The figures of a selective result. They draw what the result holds; nothing is computed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from evidentia.report.page.figure import Figure, Row, draw, table_of
from evidentia.report.page.selective_view import (
    Delta,
    DrawnSystem,
    SelectiveView,
    coverage_of,
    labels,
    measure_of,
    signal_of,
    verdict_of,
)
from evidentia.report.page.theme import BLUE, GREY, ORANGE, SKY, VERMILLION
from evidentia.report.tables import Table
from evidentia.report.wording import wording
from evidentia.results.names import parse_name

MOST_POINTS = 500
MOST_ITEMS = 24  # rows of the picture of items; with more kinds of items they are drawn as one
SIDES = (BLUE, ORANGE)
OUTCOMES = {
    "exact": BLUE,
    "off by up to one point": SKY,
    "further off": VERMILLION,
    "answered": BLUE,
    "abstained": "#a3afbb",
}
COLOURS = {"better": BLUE, "worse": VERMILLION, "no difference shown": GREY, "differs": ORANGE}
FORESTS = wording("selective_forests")  # the family of differences, and what their axis is about


def item_figures(view: SelectiveView) -> list[Figure | None]:
    """One picture for each system of what becomes of its items."""
    return [_items(view, system) for system in view.systems if system.items in view.content.items]


def curve_figures(view: SelectiveView) -> list[Figure | None]:
    """Risk and joint risk over coverage, a pair for each signal, best signal first."""
    return [_curve(view, signal, column) for signal in view.stems for column in ("risk", "joint_risk")]


def signal_figures(view: SelectiveView) -> list[Figure | None]:
    """Which confidence is worth most, and what ties do to the areas."""
    return [_ranking(view), _ties(view, "AURC"), _ties(view, "AUGRC"), _overlay(view)]


def matched_figures(view: SelectiveView) -> list[Figure | None]:
    """The mean error at each coverage: of two systems by each signal, or of one system by all signals."""
    if view.comparison is None:
        rows = [row for signal in view.stems for row in _own_rows(view, signal, view.labels[signal])]
        return [_matched(view, "matched", "Error at each coverage", rows, "confidence")]
    return [
        _matched(
            view,
            f"matched_{stem}",
            f"Error at the same coverage by {view.labels[signal]}",
            [*_own_rows(view, signal, view.systems[0].label), *_their_rows(view, signal)],
            "system",
        )
        for signal, stem in view.stems.items()
    ]


def forest_figures(view: SelectiveView) -> list[Figure | None]:
    """The differences that were tested, with intervals and what they mean; those on one scale in one figure."""
    tested = [d for d in (view.comparison or {}).get("deltas", ()) if d["p"] is not None]
    return [
        _forest(view, f"deltas_{name}", title, [d for d in tested if _scale(d) == name])
        for name, title in FORESTS.items()
    ]


def _items(view: SelectiveView, system: DrawnSystem) -> Figure | None:
    columns, there = view.content.items[system.items], set(view.content.items["items"]["cluster_id"])
    kept = zip(*(columns[name] for name in ("cluster_id", "item", "pred", "gt")), strict=True)
    outcomes = [(item, _outcome(view, pred, gt)) for cluster, item, pred, gt in kept if cluster in there]
    kinds = list(dict.fromkeys(item for item, _ in outcomes))
    together = not view.people or len(kinds) > MOST_ITEMS
    counts = Counter(("all items" if together else item, outcome) for item, outcome in outcomes)
    rows = [
        (item, outcome, counts[item, outcome])
        for item in (["all items"] if together else kinds)
        for outcome in OUTCOMES
        if counts[item, outcome]
    ]
    present = [outcome for outcome in OUTCOMES if any(row[1] == outcome for row in rows)]
    people = " Colours are its errors against the recorded score, not how severe anything is."
    return draw(
        "items",
        Table("items", "", ("item", "outcome", "items"), tuple(rows)),
        name=f"{system.prefix}items",
        system=system.label,
        step=46 if together else 25,
        outcomes=present,
        range=[OUTCOMES[outcome] for outcome in present],
        colours=people if view.people else "",
    )


def _outcome(view: SelectiveView, pred: str, gt: str) -> str:
    if not pred:
        return "abstained"
    if not view.people:
        return "answered"
    error = abs(float(pred) - float(gt))
    return "exact" if error == 0 else "off by up to one point" if error <= 1 else "further off"


def _curve(view: SelectiveView, signal: str, column: str) -> Figure | None:
    """One curve for each system, with its band, its end, and how far both reach."""
    drawn = {system.label: rows for system in view.systems if (rows := _points(view, system, signal, column))}
    rows = [row for own in drawn.values() for row in own]
    shaded = f" Shaded: pointwise {view.percent} intervals, {view.dataset['unit']}s resampled."
    bands = shaded if any(row[1] == "band" for row in rows) else ""
    legend = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1, "columns": _beside(drawn)}
    return draw(
        column,
        table_of(("system", "part", "coverage", "risk", "low", "high"), rows),
        name=f"{column}_{view.stems[signal]}",
        label=view.labels[signal],
        percent=view.percent,
        scale={"domain": list(drawn), "range": list(SIDES[: len(drawn)])},
        legend=None if len(drawn) < 2 else legend,
        common=(view.comparison or {}).get("common_coverage"),
        remarks=f"{bands}{_of_abs(view)}",
    )


def _points(view: SelectiveView, system: DrawnSystem, signal: str, column: str) -> list[Row]:
    """A curve's points, at most 500, its band where there is one, and its end."""
    points = _cells(view, f"{system.prefix}risk_coverage_{view.stems[signal]}", "coverage", column)
    if not points:
        return []
    bands = f"{system.prefix}risk_coverage_band_{view.stems[signal]}"
    limits = _cells(view, bands, "coverage", column, f"{column}_low", f"{column}_high")
    points = thinned(points)
    return [
        *((system.label, "curve", *point, None, None) for point in points),
        *((system.label, "band", *cells) for cells in limits if cells[1] is not None and cells[2] is not None),
        (system.label, "end", *points[-1], None, None),
    ]


def _cells(view: SelectiveView, figure: str, *columns: str) -> list[Row]:
    """Some columns of a figure's data; nothing where there is no such figure."""
    table = view.content.figure(figure)
    if table is None:
        return []
    places = [table.columns.index(column) for column in columns]
    return [tuple(row[place] for place in places) for row in table.rows]


def thinned(rows: Sequence[Row], most: int = MOST_POINTS) -> list[Row]:
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
    rows: list[Row] = [
        (view.labels[signal], *cells)
        for signal, stem in (view.stems.items() if len(view.stems) > 1 else ())
        for cells in thinned(_cells(view, f"risk_coverage_{stem}", "coverage", "risk"))
    ]
    table, signals = table_of(("confidence", "coverage", "risk"), rows), [view.labels[signal] for signal in view.stems]
    return draw(
        "signals_risk",
        table,
        system=view.systems[0].label,
        signals=signals,
        beside=_beside(signals, 900),
        remark=_of_abs(view),
    )


def _ranking(view: SelectiveView) -> Figure | None:
    rows: list[Row] = [
        (view.labels[signal], place, entry["value"], *(entry["ci"] or (None, None)))
        for place, (signal, (_, entry)) in enumerate(view.excess.items(), 1)
        if signal in view.ranked
    ]
    advice = " Choosing one here is exploration: confirm it on other data." if len(rows) > 1 else ""
    table = table_of(("confidence", "rank", "eAURC", "low", "high"), rows)
    return draw("signals", table, percent=view.percent, advice=advice)


def _ties(view: SelectiveView, base: str) -> Figure | None:
    rows: list[Row] = []
    for name, entry in view.measures.items():
        ties, parsed = entry["details"].get("tie_sensitivity"), parse_name(name)
        unusual = view.loss is None and parsed.params
        if ties is None or entry["degenerate"] or parsed.base != base or unusual:
            continue
        label = view.labels[entry["details"]["confidence"]]
        rows.append((label, ties["best"], ties["expected"], ties["worst"], entry["value"], ties["tied_items"]))
    order = [view.labels[signal] for signal in view.stems]
    rows.sort(key=lambda row: order.index(str(row[0])))
    table = table_of(("confidence", "best", "expected", "worst", "reported", "tied"), rows)
    return draw("ties", table, name=f"ties_{base}", base=base)


def _own_rows(view: SelectiveView, signal: str, label: str) -> list[Row]:
    return [
        (label, entry["details"]["coverage"], entry["value"], *(entry["ci"] or (None, None)))
        for name, entry in view.measures.items()
        if coverage_of(name) is not None and entry["details"]["confidence"] == signal and entry["value"] is not None
    ]


def _their_rows(view: SelectiveView, signal: str) -> list[Row]:
    """The other system's values from the comparison; their intervals are those of its band, which is of the absolute error."""
    assert view.comparison is not None
    other, absolute = view.systems[1], view.loss in {None, "abs"}
    bands = f"{other.prefix}risk_coverage_band_{view.stems[signal]}"
    limits = {cell[0]: cell[1:] for cell in _cells(view, bands, "coverage", "risk_low", "risk_high") if absolute}
    rows: list[Row] = []
    for delta in view.comparison["deltas"]:
        coverage, value = coverage_of(delta["name"]), delta["baseline_value"]
        if coverage is not None and value is not None and signal_of(delta) in {"", signal}:
            rows.append((other.label, coverage, value, *limits.get(coverage, (None, None))))
    return rows


def _matched(view: SelectiveView, name: str, heading: str, rows: Sequence[Row], series: str) -> Figure | None:
    domain = list(dict.fromkeys(str(row[0]) for row in rows))
    up = "Mean error" if view.loss is None else f"Mean loss ({view.loss})"
    sides = {"range": list(SIDES[: len(domain)])} if series == "system" else {}
    return draw(
        "matched",
        table_of((series, "coverage", "error", "low", "high"), rows),
        name=name,
        series=series,
        domain=domain,
        several=len(domain) > 1,
        scale={"domain": domain, **sides},
        legend=None if len(domain) == 1 else {"columns": _beside(domain), "symbolOpacity": 1},
        percent=view.percent,
        heading=heading,
        up=up,
        tip=up.lower(),
    )


def _forest(view: SelectiveView, name: str, heading: str, deltas: Sequence[Delta]) -> Figure | None:
    signals = labels(dict.fromkeys(signal_of(delta) for delta in deltas if signal_of(delta)))
    rows: list[Row] = [
        (
            *(measure_of(d), signals.get(signal_of(d), "any"), d["delta"], *(d["ci"] or (None, None))),
            *(d["p_holm"], verdict_of(d)),
        )
        for d in deltas
    ]
    verdicts = [v for v in COLOURS if v != "differs" or any(row[6] == v for row in rows)]
    listed = list(dict.fromkeys(row[1] for row in rows))
    return draw(
        "selective_forest",
        table_of(("measure", "confidence", "difference", "low", "high", "p_holm", "verdict"), rows),
        name=name,
        heading=heading,
        own=view.systems[0].label,
        other=view.systems[-1].label,
        percent=view.percent,
        wide=name == "deltas_coverage_error",
        order=list(dict.fromkeys(row[0] for row in rows)),
        signals=listed,
        several=len(listed) > 1,
        beside=_beside(listed, 800 if name == "deltas_coverage_error" else 260),
        step=15 if len(listed) > 1 else 24,
        verdicts=verdicts,
        colours=[COLOURS[verdict] for verdict in verdicts],
    )


def _beside(labels: Iterable[object], width: int = 420) -> int:
    """How many entries of a legend fit beside each other in so many pixels."""
    return max(1, width // (8 * max((len(str(label)) for label in labels), default=0) + 24))


def _scale(delta: Delta) -> str:
    """The family of a difference, and what its axis is about."""
    base = parse_name(str(delta["name"])).base
    axis = {"Cmax": "share", "WeightedKappa": "agreement"}.get(base, "joint" if base.endswith("AUGRC") else "error")
    return f"{delta['family']}_{axis}"


def _of_abs(view: SelectiveView) -> str:
    """Curves are of the absolute error, whatever loss the areas were asked for."""
    words = f" Drawn with the absolute error; the numbers of this result use the loss {view.loss}."
    return "" if view.loss is None else words
