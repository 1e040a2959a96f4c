"""A figure: a Vega-Lite drawing of a table, and the words below it.

Drawings are templates in `figures/`: Vega-Lite with the marks of `filled`, and colours by their names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import prod
from string import Template
from typing import Any

from evidentia.report.page.theme import COLOURS
from evidentia.report.tables import Table, Value

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
Spec = dict[str, Any]
Row = tuple[Value, ...]
_INHERITED = frozenset(
    (
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString"),
        *("valueOf", "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
    )
)


@dataclass(frozen=True)
class Figure:
    """A drawing without its data, and the table that it draws; a wide one takes a row of the page."""

    name: str
    title: str
    caption: str
    table: Table
    spec: Mapping[str, Any]
    wide: bool = False

    def drawn(self, config: Mapping[str, Any]) -> Spec:
        """The whole specification, with its data."""
        drawing = {"$schema": SCHEMA, "data": {"values": records(self.table)}, "config": dict(config), **self.spec}
        whole: Spec = _own_names(drawing)
        return whole


def _own_names(part: Any) -> Any:
    """The same with other texts where JavaScript's objects have a member of that name: Vega looks labels up in such objects.

    The no-break space behind it cannot be seen.

    >>> _own_names({"domain": ["constructor", "plain"]})
    {'domain': ['constructor\\xa0', 'plain']}
    """
    if isinstance(part, Mapping):
        return {key: _own_names(inner) for key, inner in part.items()}
    if isinstance(part, list | tuple):
        return [_own_names(inner) for inner in part]
    return f"{part}\N{NO-BREAK SPACE}" if isinstance(part, str) and part in _INHERITED else part


def records(table: Table) -> list[dict[str, Value]]:
    """The rows of a table by column, under names that Vega cannot take for a path (it splits at dots and brackets)."""
    names = [_own_names(field(column)) for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def field(column: str) -> str:
    """A column's name as a field of Vega-Lite.

    >>> field("fold 0.5[a]")
    'fold 0_5_a_'
    """
    return "".join("_" if letter in ".[]\\'\"" else letter for letter in column)


def table_of(columns: Sequence[str], rows: Iterable[Row]) -> Table | None:
    """The table that a figure draws; None without a row."""
    listed = tuple(rows)
    return Table("", "", tuple(columns), listed) if listed else None


def draw(template: str, table: Table | None, *, name: str = "", **values: Any) -> Figure | None:
    """The figure that a template makes of a table; None without a table.

    The template may name ``values``, parts of its own and of `shared.json`, colours, and columns: true where one has a value.
    """
    if table is None:
        return None
    layout = _layout(template)
    filled_columns = {column: any(row[at] is not None for row in table.rows) for at, column in enumerate(table.columns)}
    known = {**filled_columns, **COLOURS, "columns": table.columns, **values}
    known = _with_parts(layout, _with_parts(_layout("shared"), known))
    title, caption, wide, spec = (filled(layout.get(key, False), known) for key in ("title", "caption", "wide", "spec"))
    return Figure(name or template, title, caption, table, _with_height(spec, table), wide)


def _with_height(spec: Spec, table: Table) -> Spec:
    """The height of all rows where each has a step: Vega-Lite cannot fit a width to a page and count rows at once."""
    if spec.get("width") != "container" or not isinstance(spec["height"], Mapping):
        return spec
    fields = [spec["encoding"][channel]["field"] for channel in ("y", "yOffset") if channel in spec["encoding"]]
    columns = [table.columns.index(column) for column in fields]
    return {**spec, "height": spec["height"]["step"] * prod(len({row[at] for row in table.rows}) for at in columns)}


@cache
def _layout(template: str) -> Spec:
    text = resources.files("evidentia.report.page").joinpath("figures", f"{template}.json").read_text(encoding="utf-8")
    layout: Spec = json.loads(text)
    return layout


def _with_parts(layout: Mapping[str, Any], known: Mapping[str, Any]) -> Spec:
    """What is known, and the tooltips and parts of a template, in their order."""
    known = dict(known)
    for name, columns in layout.get("tooltips", {}).items():
        known[name] = _tooltip(filled(columns, known), known["columns"])
    for name, part in layout.get("parts", {}).items():
        known[name] = filled(part, known)
    return known


def filled(part: Any, known: Mapping[str, Any]) -> Any:
    """A part of a template with its values: ``$name`` becomes a value, ``${name}`` a text inside of one.

    An object is left out where what its ``when`` names is not known, or nothing. A list has the entries of ``draw``
    once for every object of ``each``, whose members are known inside.

    >>> filled({"a": "$n", "b": ["t=${n}", {"when": "m"}], "c": [{"each": "$l", "draw": ["$k"]}]}, {"n": 1, "l": [{"k": 2}]})
    {'a': 1, 'b': ['t=1'], 'c': [2]}
    """
    if isinstance(part, dict):
        kept = ((key, inner) for key, inner in part.items() if key != "when" and _is_wanted(inner, known))
        return {_text(key, known): filled(inner, known) for key, inner in kept}
    if isinstance(part, list):
        return [entry for inner in part if _is_wanted(inner, known) for entry in _entries(inner, known)]
    return _text(part, known) if isinstance(part, str) else part


def _is_wanted(part: Any, known: Mapping[str, Any]) -> bool:
    return not isinstance(part, dict) or "when" not in part or bool(known.get(_text(part["when"], known)))


def _entries(part: Any, known: Mapping[str, Any]) -> list[Any]:
    if not isinstance(part, dict) or "each" not in part:
        return [filled(part, known)]
    rows = filled(part["each"], known)
    return [entry for row in rows for entry in filled(part["draw"], _with_parts(part, {**known, **row}))]


def _text(text: str, known: Mapping[str, Any]) -> Any:
    if text.startswith("$") and text[1:].isidentifier():
        return known[text[1:]]
    return Template(text).substitute(known) if "${" in text else text


def _tooltip(titles: Mapping[str, str], columns: Sequence[str]) -> list[Spec]:
    """What hovering shows of the columns that there are: texts are marked with ``:n``, counts with ``:c``."""
    parts = [(*column.partition(":")[::2], title) for column, title in titles.items()]
    forms = {"n": {}, "c": {"format": ","}, "": {"format": ".4f"}}
    return [
        {"field": name, "type": "nominal" if kind == "n" else "quantitative", "title": title, **forms[kind]}
        for name, kind, title in parts
        if name in columns
    ]
