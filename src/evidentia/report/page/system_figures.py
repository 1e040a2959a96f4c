"""Figures of several systems on one axis. They draw what the comparison holds; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evidentia.report.page.comparison_figures import cut
from evidentia.report.page.content import Content
from evidentia.report.page.figure import Figure, Row, draw, table_of
from evidentia.report.tables import Table

UNIT = {"domain": [0, 1]}
SHAPES: dict[str, dict[str, Any]] = {
    "roc_systems": {
        "heading": "ROC of the systems",
        "words": "Over the queries that all systems have. The dashed line is chance. Whether curves differ is told by the "
        "interval of the difference in AUROC, not by the distance between them.",
        **{"x": "fpr", "across": "False positive rate", "y": "tpr", "up": "True positive rate", "references": [{}]},
    },
    "pr_systems": {
        "heading": "Precision and recall of the systems",
        "words": "Over the queries that all systems have, at every percent of recall.",
        **{"x": "recall", "across": "Recall", "y": "precision", "up": "Precision"},
    },
    "reliability_systems": {
        "heading": "Reliability of the systems",
        "words": "Stated probability against observed share in ten bins. On the dashed line the "
        "probabilities mean what they say; bins of few queries jump.",
        **{"x": "mean_prob", "across": "Stated probability", "y": "positive_share", "up": "Observed share"},
        **{"references": [{}], "dots": 1},
    },
}
RECALL: dict[str, Any] = {
    "heading": "Recall over depth",
    "words": "Over queries that have evidence: the share of it among the first K sentences.",
    **{"x": "K", "across": "Depth K", "y": "recall", "up": "Recall", "across_scale": {"type": "sqrt"}, "dots": 1},
}


def system_figures(content: Content) -> tuple[Figure, ...]:
    """Every curve that the comparison holds of its systems, in reading order."""
    labels = _labels(content.numbers["systems"])
    usual: dict[str, Any] = {"across_scale": UNIT, "axis": {"tickCount": 6}, "references": [], "dots": 0}
    usual["systems"] = list(labels.values())
    drawn = [
        draw("systems", _labelled(content.figure(name), labels), name=name, **usual | shape)
        for name, shape in SHAPES.items()
    ]
    recall = table_of(("system", "K", "recall", "n"), _recall(content.numbers["deltas"], labels))
    depths = sorted({row[1] for row in recall.rows if isinstance(row[1], int)}) if recall is not None else []
    if len(depths) > 1:
        axis = {"values": depths, "grid": False}
        drawn.append(draw("systems", recall, name="recall_systems", **usual | RECALL | {"axis": axis}))
    return tuple(figure for figure in drawn if figure is not None)


def _labels(names: Sequence[str]) -> dict[str, str]:
    """What systems are called in a legend: numbered where names are too long to be told apart."""
    short = {name: cut(name) for name in names}
    distinct = len(set(short.values())) == len(names)
    return short if distinct else {name: f"{place}. {cut(name)}" for place, name in enumerate(names)}


def _labelled(table: Table | None, labels: Mapping[str, str]) -> Table | None:
    return None if table is None else table_of(table.columns, ((labels[str(row[0])], *row[1:]) for row in table.rows))


def _recall(deltas: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> list[Row]:
    """Recall at every depth that was compared; a system is in several pairs and is drawn once."""
    rows: dict[tuple[str, int], Row] = {}
    for delta in deltas:
        measure, _, depth = delta["name"].partition("@")
        if measure == "Recall" and depth.isdigit():
            for side, n in (("baseline", "n"), ("system", "system_n")):
                label = labels[delta[side]]
                rows[label, int(depth)] = (label, int(depth), delta[f"{side}_value"], delta[n])
    places = list(labels.values())
    return [rows[key] for key in sorted(rows, key=lambda key: (places.index(key[0]), key[1]))]
