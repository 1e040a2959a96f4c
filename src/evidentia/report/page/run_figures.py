"""The figures of an evaluated run, in reading order. They draw what the result holds; nothing is computed here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from evidentia.report.page.content import Content
from evidentia.report.page.figure import Figure, Row, draw, field, table_of
from evidentia.report.page.theme import BLUE, GREEN, GREY, ORANGE, VERMILLION
from evidentia.report.tables import Table
from evidentia.results.names import parse_name

PANELS = ("AUROC", "AUPRC", "nDCG@10", "EvidenceRecall")
FOLD_PANELS = (*PANELS[:2], "ECE", *PANELS[2:], "ScreeningSensitivity", "AlertPrecision")
STAGES = {"retriever": "retriever cut", "gate": "gate", "k": "K", "ranking": "ranking"}
EVIDENCE = {"0": "without evidence", "1": "with evidence"}
GROUPS = {"NEG": "#9fb0c3", "UNCERTAIN": ORANGE, "POS": GREEN, "with evidence": BLUE, "without evidence": GREY}
DRAWN_DIGITS = 5  # of an operating point: finer than a pixel
HELD = 0.5  # a limit that decides for more queries than this has pinned K


def run_figures(content: Content) -> tuple[Figure, ...]:
    """Every figure that the result can fill."""
    by = ["criterion", *(content.manifest.get("options") or {}).get("by", ())]
    candidates = (
        roc(content),
        pr(content),
        draw("reliability", content.figure("reliability")),
        depth(content),
        *(groups(content, column, place) for place, column in enumerate(by)),
        draw("operating_screening", content.figure("operating_screening")),
        draw("operating_alerts", content.figure("operating_alerts")),
        decision(content),
        threshold_grid(content),
        gamma(content),
        attribution(content),
        dynamic_k(content),
        folds(content),
    )
    return tuple(figure for figure in candidates if figure is not None)


def threshold_grid(content: Content) -> Figure | None:
    """What every candidate did where the thresholds were chosen."""
    choices = (content.manifest.get("applied_thresholds") or {}).get("choices") or {}
    rows = "the other folds (cross_fit)" if choices.get("cross_fit") else "TUNE"
    return draw("threshold_grid", content.figure("tune_grid"), rows=rows)


def roc(content: Content) -> Figure | None:
    """The curve through every operating point, with its band, and the folds as thin lines behind it."""
    table, turns = content.figure("roc"), content.figure("roc_points")
    if table is None or turns is None:
        return None
    points = [
        dict(zip(turns.columns, (round(float(cell or 0), DRAWN_DIGITS) for cell in row), strict=True))
        for row in turns.rows
    ]
    values = _swept(table, "chance")
    return draw("roc", table, points=points, risen=_risen(table, values["folds"]), **values)


def pr(content: Content) -> Figure | None:
    """A pooled curve with its band, and the folds as thin lines behind it."""
    table = content.figure("pr")
    return None if table is None else draw("pr", table, **_swept(table, "share of positives"))


def _swept(table: Table, worst: str) -> dict[str, Any]:
    """The columns of the folds, and the lines of a curve with their colours."""
    folds = [field(column) for column in table.columns if column.startswith("fold ")]
    lines = {"all queries": BLUE} | ({"each fold": GREY} if folds else {}) | {worst: VERMILLION}
    return {"folds": folds, "lines": list(lines), "colours": list(lines.values())}


def _risen(table: Table, folds: Collection[str]) -> float:
    """How high the curves of the folds rise before the first false positive."""
    first = [cell for column, cell in zip(table.columns, table.rows[0], strict=True) if field(column) in folds]
    return max((cell for cell in first if isinstance(cell, int | float)), default=0.0)


def decision(content: Content) -> Figure | None:
    """Net benefit of acting on the probability, against acting on all or on none."""
    table = content.figure("decision")
    if table is None:
        return None
    best = max(float(row[table.columns.index("net_benefit")] or 0) for row in table.rows)
    return draw("decision", table, scale={"domain": [-0.25 * best, 1.1 * best] if best > 0 else [-0.1, 0.1]})


def entries(content: Content, measure: str, column: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The groups of a column with the entries of one measure."""
    measures: Mapping[str, Mapping[str, Any]] = content.numbers["measures"]
    named = ((parse_name(name).group, entry) for name, entry in measures.items() if name.startswith(f"{measure}["))
    return [(group[0][1], entry) for group, entry in named if [key for key, _ in group] == [column]]


def depth(content: Content) -> Figure | None:
    """Recall and nDCG over the depth of the ranking."""
    rows: list[Row] = []
    for name, entry in content.numbers["measures"].items():
        measure, _, at = name.partition("@")
        if measure in {"Recall", "nDCG"} and at.isdigit():
            rows.append((measure, int(at), entry["value"], *(entry["ci"] or (None, None)), entry["n"]))
    table = table_of(("measure", "K", "value", "low", "high", "n"), rows)
    return draw("depth", table, depths=list(dict.fromkeys(row[1] for row in rows)))


def dynamic_k(content: Content) -> Figure | None:
    """How many sentences are selected, by state and by evidence."""
    rows: list[Row] = []
    for by, column in (("by state", "state"), ("by evidence", "has_evidence")):
        for group, entry in entries(content, "SelectedK", column):
            label = group if column == "state" else EVIDENCE.get(group, group)
            rows += [(by, label, int(k), n) for k, n in (entry["distribution"] or {}).get("histogram", {}).items()]
    present = [group for group in GROUPS if any(row[1] == group for row in rows)]
    table = table_of(("by", "group", "K", "queries"), rows)
    return draw("dynamic_k_histogram", table, groups=present, colours=[GROUPS[group] for group in present])


def attribution(content: Content) -> Figure | None:
    """Which stage lost the evidence that was missed."""
    losses = content.table("attribution")
    if losses is None:
        return None
    places = [(losses.columns.index(column), label) for column, label in STAGES.items()]
    rows = [(row[0], label, row[place]) for row in losses.rows if row[0] != "all" for place, label in places]
    table = Table("attribution", "", ("criterion", "stage", "missed"), tuple(rows))
    return draw("attribution", table, height=20 * max(len({row[0] for row in rows}), 1))


def folds(content: Content) -> Figure | None:
    """The spread over folds."""
    measures: Mapping[str, Any] = content.numbers["measures"]
    rows: list[Row] = [
        (panel, fold, entry["value"], entry["n"], measures[panel]["fold_mean"])
        for panel in FOLD_PANELS
        for fold, entry in entries(content, panel, "fold")
        if entry["degenerate"] is None
    ]
    return draw("folds", table_of(("measure", "fold", "value", "n", "mean"), rows), panels=list(FOLD_PANELS))


def groups(content: Content, column: str, place: int) -> Figure | None:
    """One panel for each measure, one bar for each group, best first, with intervals; few positives are faint."""
    rows: list[Row] = []
    for panel in PANELS:
        for group, entry in entries(content, panel, column):
            if entry["degenerate"] is None:
                sample = "few positives" if entry["warnings"] else "enough"
                rows.append((panel, group, entry["value"], *(entry["ci"] or (None, None)), entry["n"], sample))
    table = table_of(("measure", "group", "value", "low", "high", "n", "sample"), rows)
    panels = [{"panel": panel, "label": field(column)} for panel in PANELS if any(row[0] == panel for row in rows)]
    name = "criteria" if column == "criterion" else f"slice_{place}"
    return draw("groups", table, name=name, column=column, panels=panels)


def gamma(content: Content) -> Figure | None:
    """What a larger or smaller share of the candidates' probability would return."""
    table = content.figure("gamma_sweep")
    return draw("gamma_sweep", table, pinned="" if table is None else _pinned(table))


def _pinned(table: Table) -> str:
    """Where gamma decides little or nothing, in words."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    same: dict[Any, list[str]] = {}
    for row in rows:
        same.setdefault(row["mean_k"], []).append(str(row["gamma"]))
    words = [
        f" K is pinned: its mean is the same at gamma {', '.join(equal)}."
        for mean, equal in same.items()
        if mean is not None and len(equal) > 1
    ]
    for column, limit in (("at_floor", "floor"), ("at_cap", "cap")):
        held = [str(row["gamma"]) for row in rows if float(row[column] or 0) > HELD]
        if held:
            words.append(f" At gamma {', '.join(held)} the {limit} decides K for most queries.")
    return "".join(words)
