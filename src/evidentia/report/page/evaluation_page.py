"""What the page of an evaluated run puts where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidentia.checks.folder import evaluation_of
from evidentia.checks.targets import judge, targets_of
from evidentia.report.page.content import Content
from evidentia.report.page.explorer import explorer_of
from evidentia.report.page.run_figures import run_figures
from evidentia.report.page.words import headlines, workload
from evidentia.report.tables import Table
from evidentia.report.wording import wording
from evidentia.results.names import group_suffix, parse_name
from evidentia.tables.card import DatasetCard, Target

GROUP_TABLES = ("criteria", "states", "evidence", "folds", "confusion", "reliability", "attribution", "dynamic_k")
FAMILIES = wording("families")


def evaluation_page(content: Content) -> dict[str, Any]:
    """Everything that the template asks for."""
    measures = content.numbers["measures"]
    return {
        "headlines": headlines(measures),
        "workload": workload(measures),
        "targets": _targets(content),
        "families": _families(measures),
        "group_columns": _group_columns(measures),
        "group_tables": _tables(content),
        "others": content.table("other_definitions"),
        "figures": run_figures(content),
        "styles": ("errors.css",),
        "explorer": explorer_of(content),
        "scripts": ("explorer.js", "errors.js"),
    }


def _targets(content: Content) -> list[dict[str, Any]]:
    """The targets of the dataset card, each decided by its interval; what nobody set is no target."""
    known = (content.manifest.get("read") or {}).get("card") or {}
    targets = {name: Target(**bounds) for name, bounds in known.get("targets", {}).items()}
    if not targets:
        return []
    evaluation = evaluation_of(content.numbers, dict(content.manifest))
    card = DatasetCard(known["name"], targets=targets)
    judged = [judge(target, evaluation) for target in targets_of((), card, selective=False)]
    return [
        {"target": str(o.target), "name": o.estimate.name, "decision": o.decision, "reason": o.reason}
        for o in judged
        if o.estimate is not None
    ]


def _families(measures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The measures of the whole run, by family."""
    by_family: dict[str, list[tuple[str, Any]]] = {}
    for name, entry in measures.items():
        if "[" not in name:
            by_family.setdefault(entry["family"], []).append((name, entry))
    return [{"name": family, "title": FAMILIES.get(family, family), "rows": rows} for family, rows in by_family.items()]


def _group_columns(measures: Mapping[str, Any]) -> dict[str, str]:
    """The columns that numbers are grouped by: as the names of measures have them, and as they are called.

    >>> _group_columns({"AUROC": 0, "AUROC[fold=1]": 0, 'AUROC["a=b"=1]': 0})
    {'fold': 'fold', '"a=b"': 'a=b'}
    """
    columns = dict.fromkeys(parse_name(name).group[0][0] for name in measures if "[" in name)
    return {group_suffix(((column, "x"),))[1:].removesuffix("=x]"): column for column in columns}


def _tables(content: Content) -> list[Table]:
    """The tables by group, slices after the rest."""
    named = [table for name in GROUP_TABLES if (table := content.table(name)) is not None]
    return [*named, *(table for table in content.tables if table.name.startswith("slice_"))]
